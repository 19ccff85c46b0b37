//! Polls: when to poll, and what each answer means. A poll is harmless to repeat, so a lost or unreadable answer
//! is polled again. Also the end of a task that its client does not want any more.

use std::time::Duration;

use gatehouse_sdk::{Context, Event, Failure, Outage, Outcome, Reply, Stage, Step, UnixMs, log, pace};
use serde_json::json;

use crate::interruption::unexpected;
use crate::upstream_error::unavailable;
use crate::video::provider::{self, Polled, Ready};
use crate::video::request::VideoRequest;
use crate::video::state::{Job, VideoState};

/// The usual duration of a task.
pub(crate) const USUAL_DURATION: Duration = Duration::from_secs(150);
/// Unreadable answers in a row before the task fails.
const MAX_FAULTS: u32 = 8;
/// "Not found" in a row: one server may lag behind another.
const MAX_MISSES: u32 = 5;
/// New links to poll for after a video could not be copied.
const MAX_LOSSES: u32 = 3;
/// The provider reports no progress. These are a task in the queue, and one just begun and about to end.
const QUEUED: u8 = 5;
const ESTIMATED: (u8, u8) = (10, 95);

/// The provider has accepted it.
pub(crate) fn accepted(cx: &Context, id: String, request: &VideoRequest) -> Step<VideoState> {
    let job = Job {
        id,
        model: request.model,
        return_last_frame: request.return_last_frame,
        since: cx.now,
        wake: cx.now,
        is_running: false,
        progress: QUEUED,
        faults: 0,
        misses: 0,
        losses: 0,
        last_frame: None,
        without_frame: false,
    };
    job.rest(cx)
}

impl Job {
    /// Polls later, at the usual pace.
    fn rest(self, cx: &Context) -> Step<VideoState> {
        let wake = pace::poll(cx, self.since);
        self.wait(wake)
    }

    fn wait(mut self, wake: UnixMs) -> Step<VideoState> {
        self.wake = wake;
        self.with_progress(|job| Step::wait(VideoState::Running(job), wake))
    }

    fn fail(self, failure: Failure) -> Step<VideoState> {
        self.with_progress(|job| Step::fail(VideoState::Running(job), failure))
    }

    /// A step with the job's stage and progress on it.
    fn with_progress(self, step: impl FnOnce(Self) -> Step<VideoState>) -> Step<VideoState> {
        let stage = if self.is_running { Stage::Processing } else { Stage::Pending };
        let progress = self.progress;
        step(self).stage(stage).progress(progress)
    }
}

pub(crate) fn step(cx: &Context, job: Job, event: Event) -> Step<VideoState> {
    match event {
        Event::Timer => {
            let call = provider::poll(&job.id);
            job.with_progress(|job| Step::call(VideoState::Running(job), call))
        }
        Event::Reply(reply) => answered(cx, job, &reply),
        Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => job.rest(cx),
        Event::Outage(Outage::TooLarge) => faulty(cx, job, "the answer is too large"),
        Event::Outage(Outage::Refused) => {
            log::error("the host refused to poll, see the provider's configuration", &[("id", &job.id)]);
            job.fail(unavailable())
        }
        Event::Lost((source, reason)) => lost(cx, job, &source, &reason),
        // What is queued can be stopped, what runs cannot.
        Event::Cancel(_) if !job.is_running => {
            let call = provider::stop(&job.id);
            job.with_progress(|job| Step::call(VideoState::Stopping(job), call))
        }
        Event::Cancel(_) => {
            let wake = job.wake.max(cx.now);
            job.wait(wake)
        }
        other @ (Event::Start(_) | Event::Joined(_) | Event::Probed(_)) => job.fail(unexpected(&other)),
    }
}

/// The answer to the call that stops the task. Unless it is stopped, it goes on.
pub(crate) fn stopping(cx: &Context, job: Job, event: Event) -> Step<VideoState> {
    match event {
        Event::Reply(reply) if reply.is_success() => {
            job.fail(Failure::request("cancelled while it was queued"))
        }
        Event::Reply(_) | Event::Outage(_) | Event::Timer => job.rest(cx),
        Event::Cancel(_) => {
            let wake = job.wake.max(cx.now);
            job.with_progress(|job| Step::wait(VideoState::Stopping(job), wake))
        }
        other => job.fail(unexpected(&other)),
    }
}

fn answered(cx: &Context, mut job: Job, reply: &Reply) -> Step<VideoState> {
    match provider::polled(cx, job.model, reply) {
        Polled::Queued => {
            job.answered_clearly();
            job.rest(cx)
        }
        Polled::Running => {
            job.answered_clearly();
            job.is_running = true;
            job.progress = estimate(cx, job.since).max(job.progress);
            job.rest(cx)
        }
        Polled::Ready(ready) => {
            job.answered_clearly();
            done(job, ready)
        }
        Polled::Missing if job.misses < MAX_MISSES => {
            job.misses += 1;
            job.rest(cx)
        }
        Polled::Missing => {
            log::warn("the provider does not know the task it took", &[("id", &job.id)]);
            job.fail(provider::failed())
        }
        Polled::Busy => job.rest(cx),
        Polled::Faulty(reason) => faulty(cx, job, &reason),
        Polled::Failed(failure) => job.fail(failure),
    }
}

/// The result. The last frame is there when it was asked for, came, and can be copied: the provider does not always
/// give it.
fn done(mut job: Job, ready: Ready) -> Step<VideoState> {
    let asked = job.return_last_frame && !job.without_frame;
    job.last_frame = ready.last_frame.filter(|_| asked);
    let mut private = ready.private;
    private["id"] = json!(job.id);
    let mut public = json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]});
    if job.last_frame.is_some() {
        public["last_frame_url"] = json!("media:1");
    }
    let mut outcome = Outcome::new(public).product(ready.video, Some("video/mp4")).private(private);
    if let Some(frame) = &job.last_frame {
        outcome = outcome.product(frame, None);
    }
    job.is_running = true;
    job.with_progress(|job| Step::done(VideoState::Running(job), outcome))
}

impl Job {
    /// A clear answer resets the counts of unclear ones.
    fn answered_clearly(&mut self) {
        self.faults = 0;
        self.misses = 0;
    }
}

fn faulty(cx: &Context, mut job: Job, reason: &str) -> Step<VideoState> {
    job.faults += 1;
    log::warn("a poll went wrong", &[("id", &job.id), ("reason", reason)]);
    if job.faults > MAX_FAULTS {
        return job.fail(provider::failed());
    }
    let wake = pace::backoff(cx, job.faults);
    job.wait(wake)
}

fn lost(cx: &Context, mut job: Job, source: &str, reason: &str) -> Step<VideoState> {
    if job.last_frame.as_deref() == Some(source) {
        log::warn("a last frame could not be copied, the video goes without it", &[("reason", reason)]);
        job.without_frame = true;
        return job.rest(cx);
    }
    job.losses += 1;
    log::warn("a finished video could not be copied", &[("id", &job.id), ("reason", reason)]);
    if job.losses > MAX_LOSSES {
        return job.fail(Failure::upstream("the finished video could not be fetched from the upstream"));
    }
    let wake = pace::backoff(cx, job.losses);
    job.wait(wake)
}

/// The progress of a task of the usual duration.
fn estimate(cx: &Context, since: UnixMs) -> u8 {
    let (begun, ending) = ESTIMATED;
    let share = cx.now.since(since).as_millis() * u128::from(ending - begun) / USUAL_DURATION.as_millis();
    begun + u8::try_from(share).map_or(ending - begun, |share| share.min(ending - begun))
}

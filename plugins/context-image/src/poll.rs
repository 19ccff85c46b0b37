//! Polls: when to poll, and what each answer means. A poll is harmless to repeat, so a lost or unreadable answer
//! is polled again.

use gatehouse_sdk::{Call, Context, Event, Failure, Outage, Outcome, Reply, Stage, Step, UnixMs, log, pace};
use serde_json::json;

use crate::params::Format;
use crate::provider::{self, Polled};
use crate::request::USUAL_DURATION;
use crate::state::{Job, State, unexpected};

/// Unreadable answers in a row before the task fails.
const MAX_FAULTS: u32 = 8;
/// "Task not found" in a row: one region may lag behind another.
const MAX_MISSES: u32 = 5;
/// New links to poll for after an image could not be copied.
const MAX_LOSSES: u32 = 3;
/// The highest estimated progress.
const MAX_ESTIMATED: u8 = 95;

impl Job {
    pub(crate) fn new(cx: &Context, id: String, polling_url: String, format: Format) -> Self {
        Self {
            id,
            polling_url,
            format,
            since: cx.now,
            wake: cx.now,
            seen: false,
            progress: 0,
            faults: 0,
            misses: 0,
            losses: 0,
        }
    }

    /// Polls later, at the usual pace.
    pub(crate) fn rest(self, cx: &Context) -> Step<State> {
        let wake = pace::poll(cx, self.since);
        self.wait(wake)
    }

    fn wait(mut self, wake: UnixMs) -> Step<State> {
        self.wake = wake;
        self.with_progress(|state| Step::wait(state, wake))
    }

    fn poll(self) -> Step<State> {
        let call = Call::get(provider::NAME, self.polling_url.as_str()).timeout(provider::POLL_TIMEOUT);
        self.with_progress(|state| Step::call(state, call))
    }

    fn fail(self, failure: Failure) -> Step<State> {
        self.with_progress(|state| Step::fail(state, failure))
    }

    /// A step with the job's stage and progress on it.
    fn with_progress(self, step: impl FnOnce(State) -> Step<State>) -> Step<State> {
        let stage = if self.seen { Stage::Processing } else { Stage::Pending };
        let progress = self.progress;
        step(State::Running(self)).stage(stage).progress(progress)
    }
}

pub(crate) fn step(cx: &Context, job: Job, event: Event) -> Step<State> {
    match event {
        Event::Timer => job.poll(),
        Event::Reply(reply) => answered(cx, job, &reply),
        Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => job.rest(cx),
        Event::Outage(Outage::TooLarge) => faulty(cx, job, "the answer is too large"),
        Event::Outage(Outage::Refused) => {
            log::error(
                "the host refused to poll, see the provider's `origins`",
                &[("polling_url", &job.polling_url)],
            );
            job.fail(provider::unavailable())
        }
        Event::Lost((_, reason)) => lost(cx, job, &reason),
        // The provider has no way to stop a task.
        Event::Cancel(_) => {
            let wake = job.wake.max(cx.now);
            job.wait(wake)
        }
        other @ (Event::Start(_) | Event::Joined(_) | Event::Probed(_)) => job.fail(unexpected(&other)),
    }
}

fn answered(cx: &Context, mut job: Job, reply: &Reply) -> Step<State> {
    match provider::polled(reply) {
        Polled::Running(share) => {
            job.answered_clearly();
            job.progress = share.unwrap_or_else(|| estimate(cx, job.since)).max(job.progress);
            job.rest(cx)
        }
        Polled::Ready { sample, seed } => {
            job.answered_clearly();
            let outcome = Outcome::new(json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}))
                .product(sample, Some(job.format.mime()))
                .private(json!({"id": job.id, "seed": seed}));
            job.with_progress(|state| Step::done(state, outcome))
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

impl Job {
    /// A clear answer resets the counts of unclear ones.
    fn answered_clearly(&mut self) {
        self.seen = true;
        self.faults = 0;
        self.misses = 0;
    }
}

fn faulty(cx: &Context, mut job: Job, reason: &str) -> Step<State> {
    job.faults += 1;
    log::warn("a poll went wrong", &[("id", &job.id), ("reason", reason)]);
    if job.faults > MAX_FAULTS {
        return job.fail(provider::failed());
    }
    let wake = pace::backoff(cx, job.faults);
    job.wait(wake)
}

fn lost(cx: &Context, mut job: Job, reason: &str) -> Step<State> {
    job.losses += 1;
    log::warn("a finished picture could not be copied", &[("id", &job.id), ("reason", reason)]);
    if job.losses > MAX_LOSSES {
        return job.fail(Failure::upstream("the finished image could not be fetched from the upstream"));
    }
    let wake = pace::backoff(cx, job.losses);
    job.wait(wake)
}

/// The progress of a task of the usual duration.
fn estimate(cx: &Context, since: UnixMs) -> u8 {
    let share = cx.now.since(since).as_millis() * u128::from(MAX_ESTIMATED) / USUAL_DURATION.as_millis();
    u8::try_from(share).map_or(MAX_ESTIMATED, |share| share.min(MAX_ESTIMATED))
}

//! A task at the provider: when to poll, what each answer means, and the cancel. A poll is harmless to repeat, so a lost or
//! unreadable answer is polled again.
//!
//! The provider reports no percentage; the progress is 5 while it waits and 10 to 95 by its age while it is worked on.

use gatehouse_sdk::{Context, Event, Failure, Outage, Outcome, Reply, Stage, Step, UnixMs, log, pace};
use serde_json::json;

use crate::provider::{self, Polled};
use crate::state::{Job, State, cancelled, unexpected};
use crate::submit::USUAL_DURATION;

/// Unreadable answers in a row before the task fails.
const MAX_FAULTS: u32 = 8;
/// "Unknown task" in a row: what was accepted may take a moment to be known everywhere.
const MAX_MISSES: u32 = 5;
/// New links to poll for after a video could not be copied.
const MAX_LOSSES: u32 = 3;
/// The progress of a task that waits.
const WAITING: u8 = 5;
/// The progress of one that is worked on, from the first to the highest.
const WORKING: (u8, u8) = (10, 95);

impl Job {
    pub(crate) fn new(cx: &Context, id: String) -> Self {
        Self {
            id,
            since: cx.now,
            begun: None,
            wake: cx.now,
            cancelling: false,
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
        self.cancelling = false;
        self.with_progress(|state| Step::wait(state, wake))
    }

    fn poll(mut self) -> Step<State> {
        self.cancelling = false;
        let call = provider::poll(&self.id);
        self.with_progress(|state| Step::call(state, call))
    }

    fn cancel(mut self) -> Step<State> {
        self.cancelling = true;
        let call = provider::cancel(&self.id);
        self.with_progress(|state| Step::call(state, call))
    }

    fn fail(self, failure: Failure) -> Step<State> {
        self.with_progress(|state| Step::fail(state, failure))
    }

    /// A step with the job's stage and progress on it.
    fn with_progress(self, step: impl FnOnce(State) -> Step<State>) -> Step<State> {
        let stage = if self.begun.is_some() { Stage::Processing } else { Stage::Pending };
        let progress = self.progress;
        step(State::Running(self)).stage(stage).progress(progress)
    }

    /// A clear answer resets the counts of unclear ones.
    fn answered_clearly(&mut self, progress: u8) {
        self.faults = 0;
        self.misses = 0;
        self.progress = self.progress.max(progress);
    }
}

pub(crate) fn step(cx: &Context, job: Job, event: Event) -> Step<State> {
    match event {
        Event::Timer => job.poll(),
        Event::Reply(reply) if job.cancelling => match reply.status {
            200..300 => job.fail(cancelled()),
            // It is worked on already, or over.
            _ => job.poll(),
        },
        Event::Reply(reply) => answered(cx, job, &reply),
        Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => job.rest(cx),
        Event::Outage(Outage::TooLarge) => faulty(cx, job, "the answer is too large"),
        Event::Outage(Outage::Refused) => {
            log::error("the host refused to poll, see the provider's configuration", &[("id", &job.id)]);
            job.fail(provider::unavailable())
        }
        Event::Lost((_, reason)) => lost(cx, job, &reason),
        // The provider cancels only what it has not begun.
        Event::Cancel(_) if job.begun.is_none() => job.cancel(),
        Event::Cancel(_) => {
            let wake = job.wake.max(cx.now);
            job.wait(wake)
        }
        other @ (Event::Start(_) | Event::Joined(_) | Event::Probed(_)) => job.fail(unexpected(&other)),
    }
}

fn answered(cx: &Context, mut job: Job, reply: &Reply) -> Step<State> {
    match provider::polled(reply) {
        Polled::Waiting => {
            job.answered_clearly(WAITING);
            job.rest(cx)
        }
        Polled::Working => {
            let begun = *job.begun.get_or_insert(cx.now);
            job.answered_clearly(estimate(cx, begun));
            job.rest(cx)
        }
        Polled::Ready { video } => {
            job.begun.get_or_insert(cx.now);
            job.answered_clearly(WORKING.1);
            let outcome = Outcome::new(json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]}))
                .product(video, Some("video/mp4"))
                .private(json!({"id": job.id}));
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
    log::warn("a finished video could not be copied", &[("id", &job.id), ("reason", reason)]);
    if job.losses > MAX_LOSSES {
        return job.fail(Failure::upstream("the finished video could not be fetched from the upstream"));
    }
    let wake = pace::backoff(cx, job.losses);
    job.wait(wake)
}

/// The progress of a task of the usual duration.
fn estimate(cx: &Context, begun: UnixMs) -> u8 {
    let (first, highest) = WORKING;
    let share = cx.now.since(begun).as_millis() * u128::from(highest - first) / USUAL_DURATION.as_millis();
    u8::try_from(share).map_or(highest, |share| first.saturating_add(share).min(highest))
}

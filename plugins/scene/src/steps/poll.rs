//! An operation at the provider: when to poll, and what each answer means. A poll is harmless to repeat, so a lost or
//! unreadable answer is polled again. There is no way to stop an operation.
//!
//! The provider reports no percentage; the progress is 10 to 95 by its age.

use gatehouse_sdk::{Context, Event, Failure, Outage, Reply, Stage, Step, UnixMs, log, pace};

use crate::provider::{self, Polled};
use crate::request::VideoRequest;
use crate::state::{Job, State, unexpected};
use crate::steps::{fetch, finish};
use crate::submit::USUAL_DURATION;

/// Unreadable answers in a row before the task fails.
const MAX_FAULTS: u32 = 8;
/// "Not found" in a row: what was accepted may take a moment to be known everywhere.
const MAX_MISSES: u32 = 5;
/// Polls for new videos after one could not be copied.
const MAX_LOSSES: u32 = 3;
/// The progress from the first poll to the highest.
pub(super) const WORKING: (u8, u8) = (10, 95);

impl Job {
    pub(super) fn new(cx: &Context, operation: String, request: VideoRequest) -> Self {
        Self {
            operation,
            dialect: request.dialect,
            model: request.model,
            kind: request.kind,
            since: cx.now,
            wake: cx.now,
            progress: WORKING.0,
            faults: 0,
            misses: 0,
            losses: 0,
        }
    }

    /// Polls later, at the usual pace.
    pub(super) fn rest(self, cx: &Context) -> Step<State> {
        let wake = pace::poll(cx, self.since);
        self.wait(wake)
    }

    fn wait(mut self, wake: UnixMs) -> Step<State> {
        self.wake = wake;
        self.with_progress(|state| Step::wait(state, wake))
    }

    fn poll(self, cx: &Context) -> Step<State> {
        let call = provider::poll(cx, self.dialect, self.model, &self.operation);
        self.with_progress(|state| Step::call(state, call))
    }

    pub(super) fn fail(self, failure: Failure) -> Step<State> {
        self.with_progress(|state| Step::fail(state, failure))
    }

    /// A step with the stage and the job's progress on it.
    pub(super) fn with_progress(self, step: impl FnOnce(State) -> Step<State>) -> Step<State> {
        let progress = self.progress;
        step(State::Running(self)).stage(Stage::Processing).progress(progress)
    }

    /// A clear answer resets the counts of unclear ones.
    fn answered_clearly(&mut self, progress: u8) {
        self.faults = 0;
        self.misses = 0;
        self.progress = self.progress.max(progress);
    }
}

pub(super) fn step(cx: &Context, job: Job, event: Event) -> Step<State> {
    match event {
        Event::Timer => job.poll(cx),
        Event::Reply(reply) => answered(cx, job, &reply),
        Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => job.rest(cx),
        Event::Outage(Outage::TooLarge) => faulty(cx, job, "the answer is too large"),
        Event::Outage(Outage::Refused) => {
            log::error(
                "the host refused to poll, see the provider's configuration",
                &[("operation", &job.operation)],
            );
            job.fail(provider::unavailable())
        }
        Event::Lost((_, reason)) => lost(cx, job, &reason),
        Event::Cancel(_) => {
            let wake = job.wake.max(cx.now);
            job.wait(wake)
        }
        other @ (Event::Start(_) | Event::Joined(_) | Event::Probed(_)) => job.fail(unexpected(&other)),
    }
}

fn answered(cx: &Context, mut job: Job, reply: &Reply) -> Step<State> {
    match provider::polled(reply) {
        Polled::Working => {
            job.answered_clearly(estimate(cx, job.since));
            job.rest(cx)
        }
        Polled::Ready(ready) => {
            job.answered_clearly(WORKING.1);
            fetch::begin(cx, job, ready)
        }
        Polled::Missing if job.misses < MAX_MISSES => {
            job.misses += 1;
            job.rest(cx)
        }
        Polled::Missing => {
            log::warn("the provider does not know the operation it began", &[("operation", &job.operation)]);
            job.fail(provider::failed())
        }
        Polled::Busy => job.rest(cx),
        Polled::Faulty(reason) => faulty(cx, job, &reason),
        Polled::Failed(failure) => job.fail(failure),
    }
}

fn faulty(cx: &Context, mut job: Job, reason: &str) -> Step<State> {
    job.faults += 1;
    log::warn("a poll went wrong", &[("operation", &job.operation), ("reason", reason)]);
    if job.faults > MAX_FAULTS {
        return job.fail(provider::failed());
    }
    let wake = pace::backoff(cx, job.faults);
    job.wait(wake)
}

/// A video could not be copied, or not be cut; the reason of the latter is the client's to read.
fn lost(cx: &Context, mut job: Job, reason: &str) -> Step<State> {
    job.losses += 1;
    log::warn("a finished video could not be copied", &[("operation", &job.operation), ("reason", reason)]);
    if job.kind.hidden_milliseconds > 0 && reason.contains("cannot be cut") {
        return job.fail(Failure::upstream(format!("the new part cannot be had alone: {reason}")));
    }
    if job.losses > MAX_LOSSES {
        return job.fail(finish::not_fetched());
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

//! Polls: when to poll, and what follows from each answer. A poll is harmless to repeat, so a lost or unreadable answer
//! is polled again.

use gatehouse_sdk::{Context, Event, Failure, Outage, Reply, Step, UnixMs, log, pace};

use crate::job::Job;
use crate::provider::polled::{Polled, polled};
use crate::provider::{calls, failure};
use crate::record::Status;
use crate::steps::finish;
use crate::steps::state::{Running, State, shown, stage, too_late, unexpected};

/// Unreadable answers in a row before the task fails.
const MAX_FAULTS: u32 = 8;
/// Answers in a row that do not know the task: a server may lag behind itself.
const MAX_MISSES: u32 = 5;
/// Tries to get the results after one could not be copied.
const MAX_LOSSES: u32 = 3;
/// The highest progress before the results are copied.
const MAX_PROGRESS: u8 = 99;

/// What follows from an event.
pub(crate) enum Next {
    Step(Box<Step<State>>),
    /// The provider waits for a dialog that nobody asked for.
    Confirm(Job, String, u8),
    /// The provider waits for the client.
    Ask(Job, String, u8),
}

/// The first wait for a task that the provider has accepted.
pub(crate) fn begin(
    cx: &Context,
    job: Job,
    id: String,
    confirmed: bool,
    status: Status,
    progress: u8,
) -> Step<State> {
    let (since, wake) = (cx.now, cx.now);
    Running { job, id, since, wake, confirmed, status, progress, faults: 0, misses: 0, losses: 0 }.rest(cx)
}

impl Running {
    /// Polls later, at the usual pace.
    fn rest(self, cx: &Context) -> Step<State> {
        let wake = pace::poll(cx, self.since);
        self.wait(wake)
    }

    fn wait(mut self, wake: UnixMs) -> Step<State> {
        self.wake = wake;
        self.with_progress(|state| Step::wait(state, wake))
    }

    fn poll(self) -> Step<State> {
        let call = calls::fetch(&self.id);
        self.with_progress(|state| Step::call(state, call))
    }

    fn fail(self, failure: Failure) -> Step<State> {
        self.with_progress(|state| Step::fail(state, failure))
    }

    /// A step with the task's stage and progress on it.
    fn with_progress(self, step: impl FnOnce(State) -> Step<State>) -> Step<State> {
        let (stage, progress) = (stage(self.status), self.progress);
        step(State::Running(self)).stage(stage).progress(progress)
    }

    /// A clear answer resets the counts of unclear ones.
    fn answered_clearly(&mut self) {
        self.faults = 0;
        self.misses = 0;
    }
}

pub(crate) fn step(cx: &Context, running: Running, event: Event) -> Next {
    let step = match event {
        Event::Timer => running.poll(),
        Event::Reply(reply) => return answered(cx, running, &reply),
        Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => running.rest(cx),
        Event::Outage(Outage::TooLarge) => faulty(cx, running, "the answer is too large"),
        Event::Outage(Outage::Refused) => {
            log::error("the host refused to poll, see the provider's configuration", &[]);
            running.fail(failure::unavailable())
        }
        Event::Lost((_, reason)) => lost(cx, running, &reason),
        Event::Cancel(_) => {
            // The engine's work goes on and is paid for, whatever the proxy forgets.
            let wake = running.wake.max(cx.now);
            running.wait(wake)
        }
        Event::Joined(_) => {
            too_late();
            let wake = running.wake.max(cx.now);
            running.wait(wake)
        }
        other @ (Event::Start(_) | Event::Probed(_)) => running.fail(unexpected(&other)),
    };
    Next::Step(Box::new(step))
}

fn answered(cx: &Context, mut running: Running, reply: &Reply) -> Next {
    let step = match polled(reply, &running.job) {
        Polled::Running(status, progress) => {
            running.answered_clearly();
            going_on(cx, running, status, progress)
        }
        // The server has not noticed yet that the dialog is finished.
        Polled::Modal if running.confirmed => running.rest(cx),
        Polled::Modal if running.job.waits_for_client() => {
            return Next::Ask(running.job, running.id, running.progress);
        }
        Polled::Modal => return Next::Confirm(running.job, running.id, running.progress),
        Polled::Finished(finished) => {
            let outcome = finish::outcome(&running.job, &running.id, *finished, running.confirmed);
            running.answered_clearly();
            running.progress = MAX_PROGRESS;
            running.with_progress(|state| Step::done(state, outcome))
        }
        Polled::Missing if running.misses < MAX_MISSES => {
            running.misses += 1;
            running.rest(cx)
        }
        Polled::Missing => {
            log::warn("the provider does not know the task it took", &[("id", &running.id)]);
            running.fail(failure::unavailable())
        }
        Polled::Busy => running.rest(cx),
        Polled::Faulty(reason) => faulty(cx, running, &reason),
        Polled::Failed(failure) => running.fail(failure),
    };
    Next::Step(Box::new(step))
}

/// The status only moves forward, and so does the progress.
fn going_on(cx: &Context, mut running: Running, status: Status, progress: Option<u8>) -> Step<State> {
    running.progress = progress.unwrap_or(0).min(MAX_PROGRESS).max(running.progress);
    let is_later = matches!(
        (running.status, status),
        (Status::NotStart, Status::Submitted | Status::InProgress) | (Status::Submitted, Status::InProgress)
    );
    if !is_later {
        return running.rest(cx);
    }
    running.status = status;
    let record = running.job.record(status, Some(&running.id), None);
    shown(running.rest(cx), &record)
}

fn faulty(cx: &Context, mut running: Running, reason: &str) -> Step<State> {
    running.faults += 1;
    log::warn("a poll went wrong", &[("id", &running.id), ("reason", reason)]);
    if running.faults > MAX_FAULTS {
        return running.fail(failure::unavailable());
    }
    let wake = pace::backoff(cx, running.faults);
    running.wait(wake)
}

fn lost(cx: &Context, mut running: Running, reason: &str) -> Step<State> {
    running.losses += 1;
    log::warn("a result could not be copied", &[("id", &running.id), ("reason", reason)]);
    if running.losses > MAX_LOSSES {
        return running.fail(Failure::upstream("the finished result could not be fetched from the upstream"));
    }
    let wake = pace::backoff(cx, running.losses);
    running.wait(wake)
}

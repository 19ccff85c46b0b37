//! Waiting for the picture: when to ask, and how each answer ends. Asking is harmless, so what is lost or
//! unreadable is asked for again.

use gatehouse_sdk::{Call, Context, Event, Failure, Outage, Outcome, Reply, Stage, Step, UnixMs, log, pace};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::advance::{State, unexpected};
use crate::params::Format;
use crate::provider::{self, Polled};
use crate::submit::USUAL;

/// Answers in a row that make no sense before the task is given up.
const MOST_FAULTS: u32 = 8;
/// "Task not found" in a row: a region may lag behind the one that took the task.
const MOST_MISSES: u32 = 5;
/// Fresh links to ask for after a picture could not be copied.
const MOST_LOSSES: u32 = 3;
/// An estimate never claims more than this.
const MOST_ESTIMATED: u8 = 95;

/// A task the provider has taken.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    id: String,
    polling_url: String,
    format: Format,
    /// When the provider took it.
    since: UnixMs,
    /// When to ask next.
    wake: UnixMs,
    /// Whether the provider has said anything about it yet.
    seen: bool,
    progress: u8,
    faults: u32,
    misses: u32,
    losses: u32,
}

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

    /// Asks later, at the usual pace.
    pub(crate) fn rest(self, cx: &Context) -> Step<State> {
        let wake = pace::poll(cx, self.since);
        self.wait(wake)
    }

    fn wait(mut self, wake: UnixMs) -> Step<State> {
        self.wake = wake;
        self.standing(|state| Step::wait(state, wake))
    }

    fn ask(self) -> Step<State> {
        let call = Call::get(provider::NAME, self.polling_url.as_str()).timeout(provider::POLL_TIMEOUT);
        self.standing(|state| Step::call(state, call))
    }

    fn fail(self, failure: Failure) -> Step<State> {
        self.standing(|state| Step::fail(state, failure))
    }

    /// A step with the job's stage and progress on it.
    fn standing(self, step: impl FnOnce(State) -> Step<State>) -> Step<State> {
        let stage = if self.seen { Stage::Processing } else { Stage::Pending };
        let progress = self.progress;
        step(State::Running(self)).stage(stage).progress(progress)
    }
}

pub(crate) fn step(cx: &Context, job: Job, event: Event) -> Step<State> {
    match event {
        Event::Timer => job.ask(),
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
        Event::Lost { reason, .. } => lost(cx, job, &reason),
        // The provider has no way to stop a task.
        Event::Cancel => {
            let wake = job.wake.max(cx.now);
            job.wait(wake)
        }
        other @ (Event::Start | Event::Probed(_)) => job.fail(unexpected(&other)),
    }
}

fn answered(cx: &Context, mut job: Job, reply: &Reply) -> Step<State> {
    match provider::polled(reply) {
        Polled::Running(share) => {
            job.heard();
            job.progress = share.unwrap_or_else(|| estimate(cx, job.since)).max(job.progress);
            job.rest(cx)
        }
        Polled::Ready { sample, seed } => {
            job.heard();
            let outcome = Outcome::new(json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}))
                .product(sample, Some(job.format.mime()))
                .private(json!({"id": job.id, "seed": seed}));
            job.standing(|state| Step::done(state, outcome))
        }
        Polled::Missing if job.misses < MOST_MISSES => {
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
    /// A clear answer ends every row of unclear ones.
    fn heard(&mut self) {
        self.seen = true;
        self.faults = 0;
        self.misses = 0;
    }
}

fn faulty(cx: &Context, mut job: Job, reason: &str) -> Step<State> {
    job.faults += 1;
    log::warn("a poll went wrong", &[("id", &job.id), ("reason", reason)]);
    if job.faults > MOST_FAULTS {
        return job.fail(provider::failed());
    }
    let wake = pace::backoff(cx, job.faults);
    job.wait(wake)
}

fn lost(cx: &Context, mut job: Job, reason: &str) -> Step<State> {
    job.losses += 1;
    log::warn("a finished picture could not be copied", &[("id", &job.id), ("reason", reason)]);
    if job.losses > MOST_LOSSES {
        return job.fail(Failure::upstream("the finished image could not be fetched from the upstream"));
    }
    let wake = pace::backoff(cx, job.losses);
    job.wait(wake)
}

/// How far a task of the usual length would be.
fn estimate(cx: &Context, since: UnixMs) -> u8 {
    let share = cx.now.since(since).as_millis() * u128::from(MOST_ESTIMATED) / USUAL.as_millis();
    u8::try_from(share).map_or(MOST_ESTIMATED, |share| share.min(MOST_ESTIMATED))
}

//! Polls of a job that the provider has taken. A poll is harmless to repeat, so a lost or unreadable answer is polled
//! again, and so is a result that could not be copied: its link may be a new one.

use serde::{Deserialize, Serialize};

use super::Next;
use super::policy::Policy;
use crate::contract::call::Call;
use crate::contract::context::{Context, UnixMs};
use crate::contract::failure::Failure;
use crate::contract::reply::{Outage, Reply};
use crate::contract::step::Action;
use crate::contract::submission::Event;
use crate::{log, pace};

/// What a provider's answer to a poll means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Polled<T> {
    /// How far the job is, or its result.
    Clear(T),
    /// The provider does not know the job, or not yet.
    Missing,
    /// Asked too often.
    Busy,
    /// Unreadable, with the reason for the operator's log.
    Faulty(String),
    /// The job has failed.
    Failed(Failure),
}

/// A job at the provider, and the polls of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Polls {
    /// The provider's id of the job.
    pub id: String,
    /// When the provider took it.
    pub since: UnixMs,
    /// Not used any more: the host knows until when a task waits. It stays in the state because older versions read it.
    wake: UnixMs,
    progress: u8,
    /// Unreadable answers in a row.
    faults: u32,
    /// Answers in a row that do not know the job.
    misses: u32,
    /// Results that could not be copied.
    losses: u32,
}

impl Polls {
    /// A job that the provider has just taken.
    #[must_use]
    pub fn new(cx: &Context, id: impl Into<String>) -> Self {
        let (id, since, wake) = (id.into(), cx.now, cx.now);
        Self { id, since, wake, progress: 0, faults: 0, misses: 0, losses: 0 }
    }

    /// The highest progress so far, percent.
    #[must_use]
    pub fn progress(&self) -> u8 {
        self.progress
    }

    /// Raises the progress, to 100 at most; a lower value changes nothing.
    pub fn reach(&mut self, percent: u8) {
        self.progress = self.progress.max(percent.min(100));
    }

    /// What follows from `event`: `call` asks for the job, `read` is the meaning of an answer.
    ///
    /// A cancel changes nothing, as if the provider could not stop a job. A family whose provider can, or that waits
    /// for requests that join, takes those events itself.
    pub fn step<T>(
        &mut self,
        cx: &Context,
        policy: &Policy,
        event: Event,
        call: impl FnOnce(&str) -> Call,
        read: impl FnOnce(&Reply) -> Polled<T>,
    ) -> Next<T> {
        Next::Action(match event {
            Event::Timer => Action::Call(call(&self.id)),
            Event::Reply(reply) => match read(&reply) {
                Polled::Clear(answer) => {
                    (self.faults, self.misses) = (0, 0);
                    return Next::Answer(answer);
                }
                Polled::Missing => self.missing(cx, policy),
                Polled::Busy => self.rest(cx),
                Polled::Faulty(reason) => self.faulty(cx, policy, &reason),
                Polled::Failed(failure) => Action::Fail(failure.into()),
            },
            Event::Outage(Outage::Unreachable | Outage::Timeout | Outage::Broken) => self.rest(cx),
            Event::Outage(Outage::TooLarge) => self.faulty(cx, policy, "the answer is too large"),
            Event::Outage(Outage::Refused) => {
                log::error("the host refused to poll, see the provider's configuration", &[("id", &self.id)]);
                Action::Fail(policy.unavailable().into())
            }
            Event::Lost((_, reason)) => self.lost(cx, policy, &reason),
            // The host goes on with the wait that is under way.
            Event::Cancel(_) => self.rest(cx),
            other @ (Event::Start(_) | Event::Joined(_) | Event::Probed(_) | Event::Other(_)) => {
                Action::Fail(policy.unexpected(&other).into())
            }
        })
    }

    /// Polls later, at the usual pace.
    #[must_use]
    pub fn rest(&self, cx: &Context) -> Action {
        Action::Wait(pace::poll(cx, self.since))
    }

    fn missing(&mut self, cx: &Context, policy: &Policy) -> Action {
        if self.misses < policy.misses {
            self.misses += 1;
            return self.rest(cx);
        }
        log::warn("the provider does not know the task it took", &[("id", &self.id)]);
        Action::Fail(policy.failed().into())
    }

    fn faulty(&mut self, cx: &Context, policy: &Policy, reason: &str) -> Action {
        self.faults += 1;
        log::warn("a poll went wrong", &[("id", &self.id), ("reason", reason)]);
        if self.faults > policy.faults {
            return Action::Fail(policy.failed().into());
        }
        Action::Wait(pace::backoff(cx, self.faults))
    }

    fn lost(&mut self, cx: &Context, policy: &Policy, reason: &str) -> Action {
        self.losses += 1;
        log::warn("a finished result could not be copied", &[("id", &self.id), ("reason", reason)]);
        if self.losses > policy.losses {
            return Action::Fail(Failure::upstream(policy.uncopied).into());
        }
        Action::Wait(pace::backoff(cx, self.losses))
    }
}

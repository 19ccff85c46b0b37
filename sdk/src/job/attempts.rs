//! A submission: sent once, and again only when the provider certainly did not take it. A second one that should not
//! have been sent would be billed twice.

use serde::{Deserialize, Serialize};

use super::Next;
use super::policy::Policy;
use crate::contract::accepted::Stage;
use crate::contract::call::Call;
use crate::contract::context::{Context, UnixMs};
use crate::contract::failure::Failure;
use crate::contract::reply::{Outage, Reply};
use crate::contract::step::Action;
use crate::contract::submission::Event;
use crate::{log, pace};

/// What a provider's answer to a submission means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted<T> {
    /// It was taken.
    Accepted(T),
    /// It was turned away for now, and certainly not taken: it is sent again later.
    Busy,
    /// It was refused for good.
    Failed(Failure),
}

/// The attempts to submit one request. With a new value no call was made, or the family has made the first one itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempts {
    /// Calls in a row that were not taken.
    rests: u32,
    /// Since when the provider is unreachable.
    unreachable: Option<UnixMs>,
    /// Waits until then; `None` while a call is out.
    until: Option<UnixMs>,
}

impl Attempts {
    /// Submitted until the first answer, pending after it.
    #[must_use]
    pub fn stage(&self) -> Stage {
        if self.rests == 0 { Stage::Submitted } else { Stage::Pending }
    }

    /// Whether it waits for the next try; otherwise a call is out.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.until.is_some()
    }

    /// What follows from `event`: `call` is the submission, which every try repeats, `read` the meaning of its answer.
    pub fn step<T>(
        &mut self,
        cx: &Context,
        policy: &Policy,
        event: Event,
        call: impl FnOnce() -> Call,
        read: impl FnOnce(&Reply) -> Submitted<T>,
    ) -> Next<T> {
        match event {
            Event::Reply(reply) => {
                self.unreachable = None;
                match read(&reply) {
                    Submitted::Accepted(taken) => Next::Answer(taken),
                    Submitted::Busy => Next::Action(self.rest(cx, policy)),
                    Submitted::Failed(failure) => Next::fail(failure),
                }
            }
            Event::Outage(outage) => Next::Action(self.unanswered(cx, policy, outage)),
            Event::Start(_) => Next::Action(Action::Call(call())),
            Event::Timer if self.is_waiting() => {
                self.until = None;
                Next::Action(Action::Call(call()))
            }
            Event::Cancel(_) if self.is_waiting() => Next::fail(policy.cancelled()),
            // Sent, and the outcome is not known yet.
            Event::Cancel(_) => Next::Action(self.keep_waiting(cx)),
            other => Next::fail(policy.unexpected(&other)),
        }
    }

    /// The wait that is under way; for a call that is out, [until the task's deadline](pace::until_deadline).
    #[must_use]
    pub fn keep_waiting(&self, cx: &Context) -> Action {
        Action::Wait(self.until.map_or_else(|| pace::until_deadline(cx), |until| until.max(cx.now)))
    }

    fn rest(&mut self, cx: &Context, policy: &Policy) -> Action {
        if self.rests >= policy.retries {
            return Action::Fail(policy.unavailable().into());
        }
        self.rests += 1;
        let until = pace::backoff(cx, self.rests);
        self.until = Some(until);
        Action::Wait(until)
    }

    fn unanswered(&mut self, cx: &Context, policy: &Policy, outage: Outage) -> Action {
        match outage {
            Outage::Unreachable => {
                let since = *self.unreachable.get_or_insert(cx.now);
                if cx.now.since(since) < policy.unreachable {
                    return self.rest(cx, policy);
                }
                Action::Fail(policy.unavailable().into())
            }
            Outage::Timeout | Outage::Broken | Outage::TooLarge => {
                log::warn("the answer to a submission was lost", &[("outage", outage.as_str())]);
                Action::Fail(Failure::upstream(policy.lost).into())
            }
            Outage::Refused => {
                log::error("the host refused to make the submission, see the provider's configuration", &[]);
                Action::Fail(policy.unavailable().into())
            }
        }
    }
}

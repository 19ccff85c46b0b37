//! The submission: sent once, and again only when the provider certainly did not take it.

use std::time::Duration;

use gatehouse_sdk::{Context, Event, Failure, Outage, Reply, Stage, Step, UnixMs, log, pace};
use serde::{Deserialize, Serialize};

use crate::advance::{State, cancelled, unexpected};
use crate::order::Order;
use crate::poll::Job;
use crate::provider::{self, Submitted};

/// How long to keep trying a provider that cannot be reached at all.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// A submission under way.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    order: Order,
    /// Tries in a row that were turned away or reached nobody.
    rests: u32,
    /// Since when nobody has been reached.
    unreachable: Option<UnixMs>,
    /// Resting until then; `None` while the call is out.
    until: Option<UnixMs>,
}

/// The first try.
pub(crate) fn submit(order: Order) -> Step<State> {
    Sending { order, rests: 0, unreachable: None, until: None }.call()
}

pub(crate) fn step(cx: &Context, sending: Sending, event: Event) -> Step<State> {
    match event {
        Event::Reply(reply) => answered(cx, sending, &reply),
        Event::Outage(outage) => unanswered(cx, sending, outage),
        Event::Timer if sending.until.is_some() => sending.call(),
        Event::Cancel if sending.until.is_some() => sending.fail(cancelled()),
        // Sent, and nobody knows yet what became of it.
        Event::Cancel => Step::wait(State::Sending(sending), cx.deadline.max(cx.now)),
        other => sending.fail(unexpected(&other)),
    }
}

impl Sending {
    fn call(mut self) -> Step<State> {
        self.until = None;
        let call = provider::submission(&self.order);
        let stage = self.stage();
        Step::call(State::Sending(self), call).stage(stage)
    }

    fn rest(mut self, cx: &Context) -> Step<State> {
        self.rests += 1;
        let until = pace::backoff(cx, self.rests);
        self.until = Some(until);
        Step::wait(State::Sending(self), until).stage(Stage::Pending)
    }

    fn fail(self, failure: Failure) -> Step<State> {
        let stage = self.stage();
        Step::fail(State::Sending(self), failure).stage(stage)
    }

    /// Before the first answer nothing is known to have been sent; after it the task queues.
    fn stage(&self) -> Stage {
        if self.rests == 0 { Stage::Submitted } else { Stage::Pending }
    }
}

fn answered(cx: &Context, mut sending: Sending, reply: &Reply) -> Step<State> {
    sending.unreachable = None;
    match provider::submitted(reply) {
        Submitted::Taken { id, polling_url } => Job::new(cx, id, polling_url, sending.order.format).rest(cx),
        Submitted::Busy => sending.rest(cx),
        Submitted::Failed(failure) => sending.fail(failure),
    }
}

fn unanswered(cx: &Context, mut sending: Sending, outage: Outage) -> Step<State> {
    match outage {
        Outage::Unreachable => {
            let since = *sending.unreachable.get_or_insert(cx.now);
            if cx.now.since(since) < PATIENCE {
                sending.rest(cx)
            } else {
                sending.fail(provider::unavailable())
            }
        }
        // It may have been taken; a second picture would be the operator's loss, a wrong one the client's.
        Outage::Timeout | Outage::Broken | Outage::TooLarge => {
            log::warn("the answer to a submission was lost", &[("outage", outage.as_str())]);
            sending.fail(Failure::upstream("the upstream's answer was lost, please submit the task again"))
        }
        Outage::Refused => {
            log::error("the host refused to make the submission, see the provider's configuration", &[]);
            sending.fail(provider::unavailable())
        }
    }
}

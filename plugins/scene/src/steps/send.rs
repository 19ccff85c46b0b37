//! The submission: sent once, and again only when the provider certainly did not accept it.

use std::time::Duration;

use gatehouse_sdk::{Context, Event, Failure, Outage, Reply, Stage, Step, log, pace};

use crate::provider::{self, Submitted};
use crate::request::VideoRequest;
use crate::state::{Job, Sending, State, cancelled, unexpected};

/// How long to retry an unreachable provider.
const MAX_UNREACHABLE: Duration = Duration::from_secs(5 * 60);

/// The first try.
pub(crate) fn submit(cx: &Context, request: VideoRequest) -> Step<State> {
    Sending { request, rests: 0, unreachable: None, until: None }.call(cx)
}

pub(crate) fn step(cx: &Context, sending: Sending, event: Event) -> Step<State> {
    match event {
        Event::Reply(reply) => answered(cx, sending, &reply),
        Event::Outage(outage) => unanswered(cx, sending, outage),
        Event::Timer if sending.until.is_some() => sending.call(cx),
        Event::Cancel(_) if sending.until.is_some() => sending.fail(cancelled()),
        // Sent, and the outcome is not known yet.
        Event::Cancel(_) => Step::wait(State::Sending(sending), cx.deadline.max(cx.now)),
        other => sending.fail(unexpected(&other)),
    }
}

impl Sending {
    fn call(mut self, cx: &Context) -> Step<State> {
        self.until = None;
        let call = provider::submission(cx, &self.request);
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

    /// Submitted until the first answer, pending after it.
    fn stage(&self) -> Stage {
        if self.rests == 0 { Stage::Submitted } else { Stage::Pending }
    }
}

fn answered(cx: &Context, mut sending: Sending, reply: &Reply) -> Step<State> {
    sending.unreachable = None;
    match provider::submitted(reply) {
        Submitted::Accepted(operation) => Job::new(cx, operation, sending.request).rest(cx),
        Submitted::Busy => sending.rest(cx),
        Submitted::Failed(failure) => sending.fail(failure),
    }
}

fn unanswered(cx: &Context, mut sending: Sending, outage: Outage) -> Step<State> {
    match outage {
        Outage::Unreachable => {
            let since = *sending.unreachable.get_or_insert(cx.now);
            if cx.now.since(since) < MAX_UNREACHABLE {
                sending.rest(cx)
            } else {
                sending.fail(provider::unavailable())
            }
        }
        // The provider may have accepted it; a second submission could be billed twice.
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

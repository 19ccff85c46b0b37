//! The submission: sent once, and again only when the provider certainly did not accept it.

use std::time::Duration;

use gatehouse_sdk::{Context, Event, Failure, Outage, Reply, Stage, Step, log, pace};

use crate::interruption::{cancelled, unexpected};
use crate::upstream_error::unavailable;
use crate::video::poll;
use crate::video::provider::{self, Submitted};
use crate::video::request::VideoRequest;
use crate::video::state::{Sending, VideoState};

/// How long to retry an unreachable provider.
const MAX_UNREACHABLE: Duration = Duration::from_secs(5 * 60);

/// The first try.
pub(crate) fn submit(cx: &Context, request: VideoRequest) -> Step<VideoState> {
    Sending { request, rests: 0, unreachable: None, until: None }.call(cx)
}

pub(crate) fn step(cx: &Context, sending: Sending, event: Event) -> Step<VideoState> {
    match event {
        Event::Reply(reply) => answered(cx, sending, &reply),
        Event::Outage(outage) => unanswered(cx, sending, outage),
        Event::Timer if sending.until.is_some() => sending.call(cx),
        Event::Cancel(_) if sending.until.is_some() => sending.fail(cancelled()),
        // Sent, and the outcome is not known yet.
        Event::Cancel(_) => Step::wait(VideoState::Sending(sending), cx.deadline.max(cx.now)),
        other => sending.fail(unexpected(&other)),
    }
}

impl Sending {
    fn call(mut self, cx: &Context) -> Step<VideoState> {
        self.until = None;
        let call = provider::submission(cx, &self.request);
        let stage = self.stage();
        Step::call(VideoState::Sending(self), call).stage(stage)
    }

    fn rest(mut self, cx: &Context) -> Step<VideoState> {
        self.rests += 1;
        let until = pace::backoff(cx, self.rests);
        self.until = Some(until);
        Step::wait(VideoState::Sending(self), until).stage(Stage::Pending)
    }

    fn fail(self, failure: Failure) -> Step<VideoState> {
        let stage = self.stage();
        Step::fail(VideoState::Sending(self), failure).stage(stage)
    }

    /// Submitted until the first answer, pending after it.
    fn stage(&self) -> Stage {
        if self.rests == 0 { Stage::Submitted } else { Stage::Pending }
    }
}

fn answered(cx: &Context, mut sending: Sending, reply: &Reply) -> Step<VideoState> {
    sending.unreachable = None;
    match provider::submitted(cx, sending.request.model, reply) {
        Submitted::Accepted(id) => poll::accepted(cx, id, &sending.request),
        Submitted::Busy => sending.rest(cx),
        Submitted::Failed(failure) => sending.fail(failure),
    }
}

fn unanswered(cx: &Context, mut sending: Sending, outage: Outage) -> Step<VideoState> {
    match outage {
        Outage::Unreachable => {
            let since = *sending.unreachable.get_or_insert(cx.now);
            if cx.now.since(since) < MAX_UNREACHABLE { sending.rest(cx) } else { sending.fail(unavailable()) }
        }
        // The provider may have accepted it; a second submission could be billed twice.
        Outage::Timeout | Outage::Broken | Outage::TooLarge => {
            log::warn("the answer to a submission was lost", &[("outage", outage.as_str())]);
            sending.fail(Failure::upstream("the upstream's answer was lost, please submit the task again"))
        }
        Outage::Refused => {
            log::error("the host refused to make the submission, see the provider's configuration", &[]);
            sending.fail(unavailable())
        }
    }
}

//! An operation at the provider: when to poll, and what follows from a clear answer. There is no way to stop one.
//!
//! The provider reports no percentage; the progress is 10 to 95 by its age.

use std::ops::RangeInclusive;

use gatehouse_sdk::job::{Next, Polls};
use gatehouse_sdk::{Action, Context, Event, Failure, Stage, Step, log, pace};

use crate::provider::{self, Answer, POLICY};
use crate::request::{USUAL_DURATION, VideoRequest};
use crate::state::{Job, State};
use crate::steps::fetch;

/// The progress from the first poll to the highest.
const WORKING: RangeInclusive<u8> = 10..=95;

impl Job {
    pub(super) fn new(cx: &Context, operation: String, request: VideoRequest) -> Self {
        let mut polls = Polls::new(cx, operation);
        polls.reach(*WORKING.start());
        Self { model: request.model, kind: request.kind, polls }
    }

    pub(super) fn fail(self, failure: Failure) -> Step<State> {
        self.then(Action::Fail(failure.into()))
    }

    /// A step with the stage and the job's progress on it.
    pub(super) fn then(self, action: Action) -> Step<State> {
        let progress = self.polls.progress();
        Step::new(State::Running(self), action).stage(Stage::Processing).progress(progress)
    }
}

pub(super) fn step(cx: &Context, mut job: Job, event: Event) -> Step<State> {
    // No further poll makes a video that can be cut; the reason is the client's to read.
    if let Event::Lost((_, reason)) = &event
        && job.kind.hidden_milliseconds > 0
        && reason.contains("cannot be cut")
    {
        log::warn("a finished video could not be cut", &[("id", &job.polls.id), ("reason", reason)]);
        let message = format!("the new part cannot be had alone: {reason}");
        return job.fail(Failure::upstream(message));
    }
    let model = job.model;
    let call = |operation: &str| provider::poll(cx, model, operation);
    match job.polls.step(cx, &POLICY, event, call, provider::polled) {
        Next::Action(action) => job.then(action),
        Next::Answer(Answer::Working) => {
            job.polls.reach(pace::estimate(cx, job.polls.since, USUAL_DURATION, WORKING));
            let wait = job.polls.rest(cx);
            job.then(wait)
        }
        Next::Answer(Answer::Ready(ready)) => {
            job.polls.reach(*WORKING.end());
            fetch::begin(cx, job, ready)
        }
    }
}

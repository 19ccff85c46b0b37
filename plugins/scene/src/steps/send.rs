//! The submission: sent once, and again only when the provider certainly did not accept it.

use gatehouse_sdk::job::{Attempts, Next};
use gatehouse_sdk::{Context, Event, Step};

use crate::provider::{self, POLICY};
use crate::request::VideoRequest;
use crate::state::{Job, Sending, State};

/// The first try.
pub(crate) fn submit(cx: &Context, request: VideoRequest) -> Step<State> {
    let call = provider::submission(cx, &request);
    Step::call(State::Sending(Sending { request, attempts: Attempts::default() }), call)
}

pub(crate) fn step(cx: &Context, mut sending: Sending, event: Event) -> Step<State> {
    let call = || provider::submission(cx, &sending.request);
    match sending.attempts.step(cx, &POLICY, event, call, provider::submitted) {
        Next::Action(action) => {
            let stage = sending.attempts.stage();
            Step::new(State::Sending(sending), action).stage(stage)
        }
        Next::Answer(operation) => {
            let job = Job::new(cx, operation, sending.request);
            let wait = job.polls.rest(cx);
            job.then(wait)
        }
    }
}

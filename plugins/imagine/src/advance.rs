//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe the reference) --> Sending --200--> Copying --> done
//!                                                |    ^            |   ^
//!                                     429, no con-`-wait'     lost-`-wait'
//!                                     nection
//! ```
//! `provider` reads the answer to the call, `deliver` hands its images over.

use gatehouse_sdk::job::{Attempts, Next};
use gatehouse_sdk::{Action, Context, Event, Probe, Stage, Step};

use crate::provider::{self, POLICY};
use crate::request::ImageRequest;
use crate::state::{Sending, State};
use crate::{deliver, reference};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(cx, request, event),
        State::Sending(sending) => send(cx, sending, event),
        State::Copying(delivery) => deliver::step(cx, delivery, event),
    }
}

/// Probes the reference, if there is one, and sends the call.
fn begin(cx: &Context, mut request: ImageRequest, event: Event) -> Step<State> {
    let failure = match (event, &request.reference) {
        (Event::Start(_), None) => return submit(cx, request),
        (Event::Start(_), Some(reference)) => {
            let probes = vec![Probe::keep(reference)];
            return Step::probe(State::Accepted(request), probes);
        }
        (Event::Probed(findings), Some(_)) if findings.len() == 1 => match reference::input(&findings[0]) {
            Ok(input) => {
                request.reference = Some(input);
                return submit(cx, request);
            }
            Err(failure) => failure,
        },
        (Event::Cancel(_), _) => POLICY.cancelled(),
        (other, _) => POLICY.unexpected(&other),
    };
    Step::fail(State::Accepted(request), failure)
}

/// The first try.
fn submit(cx: &Context, request: ImageRequest) -> Step<State> {
    let call = Action::Call(provider::call(cx, &request));
    Sending { request, attempts: Attempts::default() }.then(call)
}

fn send(cx: &Context, mut sending: Sending, event: Event) -> Step<State> {
    let call = || provider::call(cx, &sending.request);
    let read = |reply: &_| provider::answer(reply, &sending.request);
    match sending.attempts.step(cx, &POLICY, event, call, read) {
        Next::Action(action) => sending.then(action),
        Next::Answer(images) => deliver::begin(cx, sending.request.n, images),
    }
}

impl Sending {
    /// The provider works while the call lasts, so a task is pending only between two of them.
    fn then(self, action: Action) -> Step<State> {
        let stage = if self.attempts.is_waiting() { Stage::Pending } else { Stage::Processing };
        Step::new(State::Sending(self), action).stage(stage)
    }
}

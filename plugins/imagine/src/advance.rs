//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe the reference) --> Sending --200--> Copying --> done
//!                                                |    ^            |   ^
//!                                     429, no con-`-wait'     lost-`-wait'
//!                                     nection
//! ```
//! `send` reads the answer to the call, `deliver` hands its images over.

use gatehouse_sdk::{Context, Event, Probe, Step};

use crate::request::ImageRequest;
use crate::state::{State, cancelled, unexpected};
use crate::{deliver, reference, send};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(cx, request, event),
        State::Sending(sending) => send::step(cx, sending, event),
        State::Copying(delivery) => deliver::step(cx, delivery, event),
    }
}

/// Probes the reference, if there is one, and sends the call.
fn begin(cx: &Context, mut request: ImageRequest, event: Event) -> Step<State> {
    match (event, &request.reference) {
        (Event::Start(_), None) => send::begin(cx, request),
        (Event::Start(_), Some(reference)) => {
            let probes = vec![Probe::keep(reference)];
            Step::probe(State::Accepted(request), probes)
        }
        (Event::Probed(findings), Some(_)) if findings.len() == 1 => match reference::input(&findings[0]) {
            Ok(input) => {
                request.reference = Some(input);
                send::begin(cx, request)
            }
            Err(failure) => Step::fail(State::Accepted(request), failure),
        },
        (Event::Cancel(_), _) => Step::fail(State::Accepted(request), cancelled()),
        (other, _) => Step::fail(State::Accepted(request), unexpected(&other)),
    }
}

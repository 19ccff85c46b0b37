//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe the references) --> Sending --200--> Running --Ready--> done
//!                                                 |    ^            |   ^             |
//!                                      429, no con-`-wait'    Pending`-wait'<--copy lost
//!                                      nection
//! ```
//! `send` reads the answers to the submission, `poll` the answers to the polls.

use gatehouse_sdk::{Context, Event, Step};

use crate::request::ImageRequest;
use crate::state::{State, cancelled, unexpected};
use crate::{poll, references, send};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(request, event),
        State::Sending(sending) => send::step(cx, sending, event),
        State::Running(job) => poll::step(cx, job, event),
    }
}

/// Probes the references, if there are any, and sends the submission.
fn begin(mut request: ImageRequest, event: Event) -> Step<State> {
    match event {
        Event::Start(_) if request.references.is_empty() => send::submit(request),
        Event::Start(_) => {
            let probes = references::probes(&request.references);
            Step::probe(State::Accepted(request), probes)
        }
        Event::Probed(findings) if findings.len() == request.references.len() => {
            match references::settle(request.size, &findings) {
                Ok(inputs) => {
                    request.references = inputs;
                    send::submit(request)
                }
                Err(failure) => Step::fail(State::Accepted(request), failure),
            }
        }
        Event::Cancel(_) => Step::fail(State::Accepted(request), cancelled()),
        other => Step::fail(State::Accepted(request), unexpected(&other)),
    }
}

//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (probe a sound or a video) --> Sending --200--> Running --SUCCEEDED--> done
//!                                                     |    ^           |   ^                  |
//!                                          throttled, `-wait'  PENDING `-wait'<---copy lost---'
//!                                          no connection       RUNNING
//! ```
//! `send` reads the answers to the submission, `job` the answers to polls.

use gatehouse_sdk::{Context, Event, Step};

use crate::request::VideoRequest;
use crate::state::{State, cancelled, unexpected};
use crate::{job, send};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(cx, request, event),
        State::Sending(sending) => send::step(cx, sending, event),
        State::Running(job) => job::step(cx, job, event),
    }
}

/// Probes the source that has a rule, if there is one, and sends the submission.
fn begin(cx: &Context, request: VideoRequest, event: Event) -> Step<State> {
    match (event, &request.check) {
        (Event::Start(_), None) => send::submit(cx, request),
        (Event::Start(_), Some(check)) => {
            let probe = check.probe();
            Step::probe(State::Accepted(request), vec![probe])
        }
        (Event::Probed(findings), Some(check)) if findings.len() == 1 => match check.settle(&findings[0]) {
            Ok(()) => send::submit(cx, request),
            Err(failure) => Step::fail(State::Accepted(request), failure),
        },
        (Event::Cancel(_), _) => Step::fail(State::Accepted(request), cancelled()),
        (other, _) => Step::fail(State::Accepted(request), unexpected(&other)),
    }
}

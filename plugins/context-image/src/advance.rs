//! The life of a task, one event at a time.
//!
//! ```text
//! Ordered --start--> (probe the references) --> Sending --200--> Running --Ready--> done
//!                                                |    ^            |   ^             |
//!                                     429, nobody`-wait'     Pending`-wait'<--copy lost
//!                                     reached
//! ```
//! `send` reads the answers to the submission, `poll` those to the polls.

use gatehouse_sdk::{Context, Event, Failure, Step, log};
use serde::{Deserialize, Serialize};

use crate::order::Order;
use crate::poll::{self, Job};
use crate::references;
use crate::send::{self, Sending};

/// What is remembered between events.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; the references may be under inspection.
    Ordered(Order),
    /// The submission is under way, or rests before the next try.
    Sending(Sending),
    /// The provider has taken it.
    Running(Job),
}

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Ordered(order) => begin(order, event),
        State::Sending(sending) => send::step(cx, sending, event),
        State::Running(job) => poll::step(cx, job, event),
    }
}

/// Looks at the references, if there are any, and sends.
fn begin(mut order: Order, event: Event) -> Step<State> {
    match event {
        Event::Start if order.references.is_empty() => send::submit(order),
        Event::Start => {
            let probes = references::probes(&order.references);
            Step::probe(State::Ordered(order), probes)
        }
        Event::Probed(findings) if findings.len() == order.references.len() => {
            match references::settle(order.size, &findings) {
                Ok(inputs) => {
                    order.references = inputs;
                    send::submit(order)
                }
                Err(failure) => Step::fail(State::Ordered(order), failure),
            }
        }
        Event::Cancel => Step::fail(State::Ordered(order), cancelled()),
        other => Step::fail(State::Ordered(order), unexpected(&other)),
    }
}

/// The client's wish, while nothing has been sent.
pub(crate) fn cancelled() -> Failure {
    Failure::request("cancelled before it was sent")
}

/// An event no step of this family asks for: better an honest end than a task that hangs.
pub(crate) fn unexpected(event: &Event) -> Failure {
    log::error("an event came that nothing asked for", &[("event", event.name())]);
    Failure::upstream("the task was interrupted, please submit it again")
}

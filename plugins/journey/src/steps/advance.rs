//! The first step of a task, and the way of an event to the state that waits for it.

use gatehouse_sdk::{Context, Event, Failure, Finding, Probe, Step};

use crate::job::Job;
use crate::provider::failure::POLICY;
use crate::record::Status;
use crate::request::source;
use crate::state::{State, shown};
use crate::steps::{dialog, poll, send};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(job) => begin(cx, job, event),
        State::Sending(sending) => send::step(cx, sending, event),
        State::Running(running) => poll::step(cx, running, event),
        State::Modal(waiting) => dialog::step(cx, waiting, event),
    }
}

/// Probes the pictures, if there are any, and sends the job.
fn begin(cx: &Context, mut job: Job, event: Event) -> Step<State> {
    match event {
        Event::Start(_) if job.inputs.is_empty() => {
            let record = job.record(Status::NotStart, None, None);
            shown(send::create(cx, job, 0), &record)
        }
        Event::Start(_) => {
            let record = job.record(Status::NotStart, None, None);
            // The host keeps the bytes, so the provider never depends on a client's server.
            let probes = job.inputs.iter().map(|input| Probe::keep(&input.source)).collect();
            shown(Step::probe(State::Accepted(job), probes), &record)
        }
        Event::Probed(findings) if findings.len() == job.inputs.len() => match keep(&mut job, &findings) {
            Ok(()) => send::create(cx, job, 0),
            Err(problem) => Step::fail(State::Accepted(job), Failure::request(problem)),
        },
        Event::Cancel(_) => Step::fail(State::Accepted(job), POLICY.cancelled()),
        other => Step::fail(State::Accepted(job), POLICY.unexpected(&other)),
    }
}

/// Puts what the host keeps in the place of each source.
fn keep(job: &mut Job, findings: &[Finding]) -> Result<(), String> {
    for (input, finding) in job.inputs.iter_mut().zip(findings) {
        (_, input.source) = source::found(&input.field, finding)?;
    }
    Ok(())
}

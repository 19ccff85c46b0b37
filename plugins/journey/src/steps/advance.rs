//! The first step of a task, and the way of an event to the state that waits for it.

use gatehouse_sdk::{Context, Event, Failure, Finding, Probe, Stage, Step};

use crate::job::{Body, Job, ModalRequest, Tile};
use crate::provider::failure::POLICY;
use crate::provider::result::Finished;
use crate::record::Status;
use crate::request::follow_up::press_of;
use crate::request::parent::lacks_button;
use crate::request::source;
use crate::state::{State, Waiting, shown};
use crate::steps::{dialog, poll, send};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(job) => begin(cx, job, event),
        State::Sending(sending) => send::step(cx, sending, event),
        State::Running(running) => match poll::step(cx, running, event) {
            poll::Next::Step(step) => *step,
            poll::Next::Confirm(job, id, progress) => {
                let modal = ModalRequest { speed: job.speed, ..ModalRequest::default() };
                send::confirm(cx, job, id, modal, progress)
            }
            poll::Next::Ask(job, id, progress) => Waiting::ask(cx, job, id, progress),
            poll::Next::Follow(job, id, upscaled, progress) => follow(cx, job, id, &upscaled, progress),
        },
        State::Modal(waiting) => dialog::step(cx, waiting, event),
    }
}

/// Probes the pictures, if there are any, and sends the job.
fn begin(cx: &Context, mut job: Job, event: Event) -> Step<State> {
    match event {
        Event::Start(_) if job.inputs.is_empty() => {
            let record = job.record(Status::NotStart, None, None);
            shown(send::create(cx, job), &record)
        }
        Event::Start(_) => {
            let record = job.record(Status::NotStart, None, None);
            // The host keeps the bytes, so the provider never depends on a client's server.
            let probes = job.inputs.iter().map(|input| Probe::keep(&input.source)).collect();
            shown(Step::probe(State::Accepted(job), probes), &record)
        }
        Event::Probed(findings) if findings.len() == job.inputs.len() => match keep(&mut job, &findings) {
            Ok(()) => send::create(cx, job),
            Err(problem) => Step::fail(State::Accepted(job), Failure::request(problem)),
        },
        Event::Cancel(_) => Step::fail(State::Accepted(job), POLICY.cancelled()),
        other => Step::fail(State::Accepted(job), POLICY.unexpected(&other)),
    }
}

/// Presses the button of the picture that the tile has become.
fn follow(cx: &Context, mut job: Job, id: String, upscaled: &Finished, progress: u8) -> Step<State> {
    let Some(Tile::Upscaling(wanted)) = job.tile.take() else {
        return Step::fail(State::Accepted(job), POLICY.unexpected(&Event::Timer));
    };
    let Some(button) = upscaled.completed.button(&wanted.button) else {
        let failure = Failure::request(lacks_button(job.version, &wanted.what));
        return Step::fail(State::Accepted(job), failure).stage(Stage::Processing).progress(progress);
    };
    job.body = Body::Press(press_of(job.action, id, button.custom_id.clone()));
    let address = upscaled.products.first().map(|product| product.source.clone());
    job.tile = Some(Tile::Upscaled(address.unwrap_or_default()));
    send::again(cx, job, progress)
}

/// Puts what the host keeps in the place of each source.
fn keep(job: &mut Job, findings: &[Finding]) -> Result<(), String> {
    for (input, finding) in job.inputs.iter_mut().zip(findings) {
        (_, input.source) = source::found(&input.field, finding)?;
    }
    Ok(())
}

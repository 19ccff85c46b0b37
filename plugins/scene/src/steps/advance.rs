//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (fetch the images) --> Sending --200--> Running --done--> (Fetching) --> done
//!                                              |    ^           |   ^                            |
//!                                   throttled, `-wait'  running `-wait'<--------copy lost--------'
//!                                   no connection
//! ```

use gatehouse_sdk::job::{Attempts, Next};
use gatehouse_sdk::{Context, Event, Finding, Probe, Step};

use crate::provider::{self, POLICY};
use crate::request::{Input, VideoRequest};
use crate::sources::Image;
use crate::state::{Job, Sending, State};
use crate::steps::{fetch, poll};

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(cx, request, event),
        State::Sending(sending) => send(cx, sending, event),
        State::Running(job) => poll::step(cx, job, event),
        State::Fetching(fetching) => fetch::step(cx, fetching, event),
    }
}

/// Fetches the images that the client linked to, and sends the submission.
fn begin(cx: &Context, mut request: VideoRequest, event: Event) -> Step<State> {
    match event {
        Event::Start(_) => {
            let links = links(&mut request.input);
            let probes: Vec<Probe> = links.iter().map(|image| Probe::keep(&image.source)).collect();
            if probes.is_empty() {
                return submit(cx, request);
            }
            Step::probe(State::Accepted(request), probes)
        }
        Event::Probed(findings) => match settle(&mut request.input, &findings) {
            Ok(true) => submit(cx, request),
            Ok(false) => {
                let failure = POLICY.unexpected(&Event::Probed(findings));
                Step::fail(State::Accepted(request), failure)
            }
            Err(failure) => Step::fail(State::Accepted(request), failure),
        },
        Event::Cancel(_) => Step::fail(State::Accepted(request), POLICY.cancelled()),
        other => Step::fail(State::Accepted(request), POLICY.unexpected(&other)),
    }
}

/// The first try.
fn submit(cx: &Context, request: VideoRequest) -> Step<State> {
    let call = provider::submission(cx, &request);
    Step::call(State::Sending(Sending { request, attempts: Attempts::default() }), call)
}

/// The submission is sent once, and again only when the provider certainly did not accept it.
fn send(cx: &Context, mut sending: Sending, event: Event) -> Step<State> {
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

/// The images whose bytes are not here yet.
fn links(input: &mut Input) -> Vec<&mut Image> {
    match input {
        Input::Frames(images) => images.iter_mut().filter(|image| image.mime.is_none()).collect(),
        Input::Text | Input::Original(_) => Vec::new(),
    }
}

/// Whether there was one finding for each link; the reason when an image is not fit.
fn settle(input: &mut Input, findings: &[Finding]) -> Result<bool, gatehouse_sdk::Failure> {
    let links = links(input);
    if links.len() != findings.len() {
        return Ok(false);
    }
    for (image, finding) in links.into_iter().zip(findings) {
        *image = image.clone().settle(finding)?;
    }
    Ok(true)
}

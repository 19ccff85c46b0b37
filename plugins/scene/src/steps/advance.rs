//! The steps of a task, one event at a time.
//!
//! ```text
//! Accepted --start--> (fetch the images) --> Sending --200--> Running --done--> (Fetching) --> done
//!                                              |    ^           |   ^                            |
//!                                   throttled, `-wait'  running `-wait'<--------copy lost--------'
//!                                   no connection
//! ```

use gatehouse_sdk::job::{Attempts, Next};
use gatehouse_sdk::{Context, Event, Failure, Finding, Probe, Step};

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
    let links = links(&mut request.input);
    let failure = match event {
        Event::Start(_) if links.is_empty() => return submit(cx, request),
        Event::Start(_) => {
            let probes = links.iter().map(|image| Probe::keep(&image.source)).collect();
            return Step::probe(State::Accepted(request), probes);
        }
        Event::Probed(findings) if findings.len() == links.len() => match settle(links, &findings) {
            Ok(()) => return submit(cx, request),
            Err(failure) => failure,
        },
        Event::Cancel(_) => POLICY.cancelled(),
        other => POLICY.unexpected(&other),
    };
    Step::fail(State::Accepted(request), failure)
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

/// Puts what the host found in the place of each link; the reason when an image is not fit.
fn settle(links: Vec<&mut Image>, findings: &[Finding]) -> Result<(), Failure> {
    for (image, finding) in links.into_iter().zip(findings) {
        *image = image.clone().settle(finding)?;
    }
    Ok(())
}

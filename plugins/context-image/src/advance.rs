//! The steps of a task, one event at a time, and its state, kept as JSON between them.
//!
//! ```text
//! Accepted --start--> (probe the references) --> Sending --200--> Running --Ready--> done
//!                                                 |    ^            |   ^             |
//!                                      429, no con-`-wait'    Pending`-wait'<--copy lost
//!                                      nection
//! ```
//! `provider` reads the answers.

use gatehouse_sdk::job::{Attempts, Next, Polls};
use gatehouse_sdk::{Action, Context, Event, Outcome, Probe, Stage, Step, pace};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::params::Format;
use crate::provider::{self, Answer, POLICY, Task};
use crate::references;
use crate::request::{ImageRequest, USUAL_DURATION};

/// The highest estimated progress.
const MAX_ESTIMATED: u8 = 95;

/// The state of a task.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Accepted; the references may be probed.
    #[serde(rename = "Ordered")]
    Accepted(ImageRequest),
    /// The submission is sent, or waits for the next try.
    Sending(Sending),
    /// The provider has accepted it.
    Running(Job),
}

/// A submission.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sending {
    #[serde(rename = "order")]
    pub(crate) request: ImageRequest,
    #[serde(flatten)]
    pub(crate) attempts: Attempts,
}

/// A task the provider has accepted.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub(crate) polling_url: String,
    pub(crate) format: Format,
    /// Whether a poll has been answered clearly.
    pub(crate) seen: bool,
    #[serde(flatten)]
    pub(crate) polls: Polls,
}

pub(crate) fn step(cx: &Context, state: State, event: Event) -> Step<State> {
    match state {
        State::Accepted(request) => begin(request, event),
        State::Sending(sending) => send(cx, sending, event),
        State::Running(job) => poll(cx, job, event),
    }
}

/// Probes the references, if there are any, and sends the submission.
fn begin(mut request: ImageRequest, event: Event) -> Step<State> {
    let failure = match event {
        Event::Start(_) if request.references.is_empty() => return submit(request),
        Event::Start(_) => {
            // The host keeps the bytes, so the provider never depends on a client's server.
            let probes = request.references.iter().map(Probe::keep).collect();
            return Step::probe(State::Accepted(request), probes);
        }
        Event::Probed(findings) if findings.len() == request.references.len() => {
            match references::settle(request.size, &findings) {
                Ok(inputs) => {
                    request.references = inputs;
                    return submit(request);
                }
                Err(failure) => failure,
            }
        }
        Event::Cancel(_) => POLICY.cancelled(),
        other => POLICY.unexpected(&other),
    };
    Step::fail(State::Accepted(request), failure)
}

/// The first try.
fn submit(request: ImageRequest) -> Step<State> {
    let call = provider::submission(&request);
    Step::call(State::Sending(Sending { request, attempts: Attempts::default() }), call)
}

fn send(cx: &Context, mut sending: Sending, event: Event) -> Step<State> {
    let call = || provider::submission(&sending.request);
    match sending.attempts.step(cx, &POLICY, event, call, provider::submitted) {
        Next::Action(action) => {
            let stage = sending.attempts.stage();
            Step::new(State::Sending(sending), action).stage(stage)
        }
        Next::Answer(Task { id, polling_url }) => {
            let polls = Polls::new(cx, id);
            let wait = polls.rest(cx);
            Job { polling_url, format: sending.request.format, seen: false, polls }.then(wait)
        }
    }
}

fn poll(cx: &Context, mut job: Job, event: Event) -> Step<State> {
    let call = |_: &str| provider::poll(&job.polling_url);
    let action = match job.polls.step(cx, &POLICY, event, call, provider::polled) {
        Next::Action(action) => action,
        Next::Answer(Answer::Running(share)) => {
            job.seen = true;
            let estimated = pace::estimate(cx, job.polls.since, USUAL_DURATION, 0..=MAX_ESTIMATED);
            job.polls.reach(share.unwrap_or(estimated));
            job.polls.rest(cx)
        }
        Next::Answer(Answer::Ready { sample, seed }) => {
            job.seen = true;
            let outcome = Outcome::new(json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]}))
                .product(sample, Some(job.format.mime()))
                .private(json!({"id": job.polls.id, "seed": seed}));
            Action::Done(outcome)
        }
    };
    job.then(action)
}

impl Job {
    /// A step with the job's stage and progress on it.
    fn then(self, action: Action) -> Step<State> {
        let stage = if self.seen { Stage::Processing } else { Stage::Pending };
        let progress = self.polls.progress();
        Step::new(State::Running(self), action).stage(stage).progress(progress)
    }
}

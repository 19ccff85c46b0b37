//! Between the SDK's types and the host's. Types with one shape on both sides (calls, replies, facts, charges)
//! are converted through their common serde form; only types that differ are converted by hand.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model as host;
use gatehouse_sdk::{
    Accepted, Action, Answered, Chunk, Context, Event, Obstacle, Outcome, Parent, Prepared, Protocol,
    Refusal, Sse, Step, Submission, TextFailure, TextRequest, UnixMs,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A type of the other side with the same shape.
pub(crate) fn same_shape<T: Serialize, U: DeserializeOwned>(value: &T) -> U {
    let value = serde_json::to_value(value).expect("a type of the contract always serializes");
    serde_json::from_value(value).expect("the host's type has the shape of the contract's")
}

fn write(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// The host has checked that it is JSON.
fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("the host returns JSON only")
}

fn task(id: &str) -> host::TaskId {
    id.parse().expect("scripts use well-formed task ids")
}

pub(crate) fn context(cx: &Context) -> host::Context {
    host::Context {
        now: host::UnixMs(cx.now.0),
        seed: cx.seed,
        task: cx.task.as_deref().map(task),
        accepted_at: host::UnixMs(cx.accepted_at.0),
        deadline: host::UnixMs(cx.deadline.0),
        settings: Arc::from(write(&cx.settings)),
    }
}

pub(crate) fn submission(request: &Submission) -> host::Submission {
    let parent = |parent: &Parent| host::Parent {
        task: task(&parent.task),
        model: parent.model.clone(),
        completed: parent.completed,
        public: write(&parent.public),
        private: write(&parent.private),
    };
    host::Submission {
        surface: request.surface.clone(),
        body: write(&request.body).into(),
        parent: request.parent.as_ref().map(parent),
        blobs: same_shape(&request.blobs),
    }
}

pub(crate) fn event(event: &Event) -> host::Event {
    match event {
        Event::Lost((source, reason)) => host::Event::Lost { source: source.clone(), reason: reason.clone() },
        other => same_shape(other),
    }
}

pub(crate) fn accepted(accepted: host::Accepted) -> Accepted<Vec<u8>> {
    Accepted {
        model: accepted.model,
        charge: same_shape(&accepted.charge),
        stage: same_shape(&accepted.stage),
        progress: accepted.progress,
        expected: accepted.expected_ms.map(|ms| Duration::from_millis(ms.into())),
        state: accepted.doomed.is_none().then_some(accepted.state),
        doomed: same_shape(&accepted.doomed),
    }
}

pub(crate) fn refusal(refusal: host::Refusal) -> Refusal {
    match refusal {
        host::Refusal::Invalid { field, message } => Refusal::Invalid { field, message },
        host::Refusal::NotFound(message) => Refusal::NotFound(message),
        host::Refusal::Forbidden(message) => Refusal::Forbidden(message),
    }
}

pub(crate) fn step(step: host::Step) -> Step<Vec<u8>> {
    let next = match step.next {
        host::Action::Call(call) => Action::Call(same_shape(&call)),
        host::Action::Probe(probes) => Action::Probe(same_shape(&probes)),
        host::Action::Wait(moment) => Action::Wait(UnixMs(moment.0)),
        host::Action::Done(outcome) => Action::Done(Outcome {
            public: read(&outcome.public),
            private: read(&outcome.private),
            products: same_shape(&outcome.products),
            settle: same_shape(&outcome.settle),
        }),
        host::Action::Fail(failure) => Action::Fail(same_shape(&failure)),
    };
    Step { state: step.state, stage: same_shape(&step.stage), progress: step.progress, next }
}

pub(crate) fn text_request(request: &TextRequest) -> host::TextRequest {
    let header = |(name, value): &(String, String)| host::Header { name: name.clone(), value: value.clone() };
    host::TextRequest {
        surface: request.surface.clone(),
        body: request.body.clone().into(),
        headers: request.headers.iter().map(header).collect(),
        blobs: same_shape(&request.blobs),
        route: host::TextRoute {
            model: request.route.model.clone(),
            upstream: request.route.upstream.clone(),
            provider: request.route.provider.clone(),
            protocol: match request.route.protocol {
                Protocol::Messages => host::Protocol::Messages,
                Protocol::Chat => host::Protocol::Chat,
            },
            rules: write(&request.route.rules).into(),
        },
    }
}

pub(crate) fn prepared(prepared: host::Prepared) -> Prepared<Vec<u8>> {
    Prepared {
        call: same_shape(&prepared.call),
        streaming: prepared.streaming,
        input_bytes: prepared.input_bytes,
        pictures: prepared.pictures,
        max_output_tokens: prepared.max_output_tokens,
        state: prepared.state,
    }
}

pub(crate) fn answered(answered: host::Answered) -> Answered {
    Answered {
        body: String::from_utf8(answered.body).expect("the host returns JSON only"),
        usage: same_shape(&answered.usage),
        output_bytes: answered.output_bytes,
    }
}

pub(crate) fn chunk(chunk: host::Chunk) -> Chunk {
    Chunk {
        send: chunk.send.into_iter().map(|event| Sse { event: event.event, data: event.data }).collect(),
        usage: same_shape(&chunk.usage),
        output_bytes: chunk.output_bytes,
        last: chunk.last,
    }
}

pub(crate) fn text_failure(failure: host::TextFailure) -> TextFailure {
    let obstacle = match failure.obstacle {
        host::Obstacle::Invalid => Obstacle::Invalid,
        host::Obstacle::NotFound => Obstacle::NotFound,
        host::Obstacle::TooLarge => Obstacle::TooLarge,
        host::Obstacle::RateLimited => Obstacle::RateLimited,
        host::Obstacle::Account => Obstacle::Account,
        host::Obstacle::Upstream => Obstacle::Upstream,
    };
    TextFailure::new(obstacle, failure.message)
}

pub(crate) fn sse(event: &Sse) -> host::Sse {
    host::Sse { event: event.event.clone(), data: event.data.clone() }
}

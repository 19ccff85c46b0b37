//! What the host got out of a component.

use std::time::Duration;

use gatehouse_model as host;
use gatehouse_sdk::{
    Accepted, Action, Blame, Body, Call, Charge, Failure, Outcome, Part, Payload, Probe, Product, Refusal,
    Replay, Stage, Step, Target, UnixMs,
};
use serde_json::Value;

/// The host has checked that it is JSON.
fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("the host hands on JSON only")
}

pub(crate) fn accepted(yes: host::Accepted) -> Accepted<Vec<u8>> {
    Accepted {
        model: yes.model,
        charge: charge(yes.charge),
        stage: stage(yes.stage),
        progress: yes.progress,
        expected: yes.expected_ms.map(|ms| Duration::from_millis(ms.into())),
        state: yes.doomed.is_none().then_some(yes.state),
        doomed: yes.doomed.map(failure),
    }
}

pub(crate) fn refusal(no: host::Refusal) -> Refusal {
    match no {
        host::Refusal::Invalid { field, message } => Refusal::Invalid { field, message },
        host::Refusal::NotFound(message) => Refusal::NotFound(message),
        host::Refusal::Forbidden(message) => Refusal::Forbidden(message),
    }
}

fn charge(charge: host::Charge) -> Charge {
    Charge { keys: charge.keys, quantity: charge.quantity }
}

fn stage(stage: host::Stage) -> Stage {
    match stage {
        host::Stage::Submitted => Stage::Submitted,
        host::Stage::Pending => Stage::Pending,
        host::Stage::Processing => Stage::Processing,
    }
}

fn failure(failure: host::Failure) -> Failure {
    let blame = match failure.blame {
        host::Blame::Request => Blame::Request,
        host::Blame::Moderation => Blame::Moderation,
        host::Blame::Upstream => Blame::Upstream,
    };
    Failure { blame, message: failure.message }
}

pub(crate) fn step(step: host::Step) -> Step<Vec<u8>> {
    Step {
        state: step.state,
        stage: stage(step.stage),
        progress: step.progress,
        next: match step.next {
            host::Action::Call(next) => Action::Call(call(next)),
            host::Action::Probe(probes) => Action::Probe(
                probes.into_iter().map(|probe| Probe { source: probe.source, keep: probe.keep }).collect(),
            ),
            host::Action::Wait(moment) => Action::Wait(UnixMs(moment.0)),
            host::Action::Done(end) => Action::Done(outcome(end)),
            host::Action::Fail(why) => Action::Fail(failure(why)),
        },
    }
}

pub(super) fn call(call: host::Call) -> Call {
    Call {
        provider: call.provider,
        method: call.method,
        target: match call.target {
            host::Target::Path(path) => Target::Path(path),
            host::Target::Url(url) => Target::Url(url),
        },
        headers: call.headers.into_iter().map(|header| (header.name, header.value)).collect(),
        body: match call.body {
            host::Payload::None => Payload::None,
            host::Payload::Json(body) => Payload::Json(json(&body)),
            host::Payload::Form(parts) => Payload::Form(parts.into_iter().map(part).collect()),
        },
        timeout: Duration::from_millis(call.timeout_ms.into()),
        replay: match call.replay {
            host::Replay::Safe => Replay::Safe,
            host::Replay::Token => Replay::Token,
            host::Replay::Once => Replay::Once,
        },
        save_body: call.save_body,
    }
}

fn part(part: host::Part) -> Part {
    Part {
        name: part.name,
        filename: part.filename,
        mime: part.mime,
        data: match part.data {
            host::Body::Inline(bytes) => Body::Inline(bytes.into()),
            host::Body::Blob(id) => Body::Blob(id),
        },
    }
}

fn outcome(end: host::Outcome) -> Outcome {
    Outcome {
        public: json(&end.public),
        private: json(&end.private),
        products: end
            .products
            .into_iter()
            .map(|product| Product { source: product.source, mime: product.mime })
            .collect(),
        settle: end.settle.map(charge),
    }
}

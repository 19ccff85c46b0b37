//! Lifting: results of the contract's functions as the model's types. Shapes only; `exec/answer_rules` decides
//! whether an answer is acceptable.

use gatehouse_model as own;

use super::contract::bindings::exports::gatehouse::family::jobs as wit;
use super::contract::bindings::gatehouse::family::{types, upstream};

pub(super) fn accepted(value: wit::Accepted) -> own::Accepted {
    own::Accepted {
        model: value.model,
        charge: charge(value.charge),
        stage: stage(value.stage),
        progress: value.progress,
        expected_ms: value.expected_ms,
        state: value.state,
        doomed: value.doomed.map(failure),
    }
}

pub(super) fn refusal(value: types::Refusal) -> own::Refusal {
    match value {
        types::Refusal::Invalid((field, message)) => own::Refusal::Invalid { field, message },
        types::Refusal::NotFound(what) => own::Refusal::NotFound(what),
        types::Refusal::Forbidden(what) => own::Refusal::Forbidden(what),
    }
}

pub(super) fn step(value: wit::Step) -> own::Step {
    own::Step {
        state: value.state,
        stage: stage(value.stage),
        progress: value.progress,
        next: match value.next {
            wit::Action::Call(next) => own::Action::Call(call(next)),
            wit::Action::Probe(probes) => own::Action::Probe(probes.into_iter().map(probe).collect()),
            wit::Action::Wait(until) => own::Action::Wait(own::UnixMs(until)),
            wit::Action::Done(end) => own::Action::Done(outcome(end)),
            wit::Action::Fail(why) => own::Action::Fail(failure(why)),
        },
    }
}

fn stage(value: wit::Stage) -> own::Stage {
    match value {
        wit::Stage::Submitted => own::Stage::Submitted,
        wit::Stage::Pending => own::Stage::Pending,
        wit::Stage::Processing => own::Stage::Processing,
    }
}

fn charge(value: types::Charge) -> own::Charge {
    own::Charge { keys: value.keys, quantity: value.quantity }
}

fn failure(value: types::Failure) -> own::Failure {
    let blame = match value.blame {
        types::Blame::Request => own::Blame::Request,
        types::Blame::Moderation => own::Blame::Moderation,
        types::Blame::Upstream => own::Blame::Upstream,
    };
    own::Failure { blame, message: value.message }
}

pub(super) fn call(value: upstream::Call) -> own::Call {
    own::Call {
        provider: value.provider,
        method: value.method,
        target: match value.target {
            upstream::Target::Path(path) => own::Target::Path(path),
            upstream::Target::Url(url) => own::Target::Url(url),
        },
        headers: value
            .headers
            .into_iter()
            .map(|header| own::Header { name: header.name, value: header.value })
            .collect(),
        body: match value.body {
            upstream::Payload::None => own::Payload::None,
            upstream::Payload::Json(json) => own::Payload::Json(json.into()),
            upstream::Payload::Form(parts) => own::Payload::Form(parts.into_iter().map(part).collect()),
        },
        timeout_ms: value.timeout_ms,
        replay: match value.replay {
            upstream::Replay::Safe => own::Replay::Safe,
            upstream::Replay::Token => own::Replay::Token,
            upstream::Replay::Once => own::Replay::Once,
        },
        save_body: value.save_body,
    }
}

fn part(value: upstream::Part) -> own::Part {
    own::Part {
        name: value.name,
        filename: value.filename,
        mime: value.mime,
        data: match value.data {
            upstream::Bytes::Inline(bytes) => own::Body::Inline(bytes.into()),
            upstream::Bytes::Blob(id) => own::Body::Blob(id),
        },
    }
}

fn probe(value: wit::Probe) -> own::Probe {
    own::Probe { source: value.source, keep: value.keep }
}

fn outcome(value: wit::Outcome) -> own::Outcome {
    own::Outcome {
        public: value.public,
        private: value.private,
        products: value
            .products
            .into_iter()
            .map(|product| own::Product { source: product.source, mime: product.mime })
            .collect(),
        settle: value.settle.map(charge),
    }
}

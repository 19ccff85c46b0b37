//! What a plugin answers, from its words into ours. Shapes only; whether an answer is acceptable is
//! decided in `check`.

use gatehouse_model as own;

use super::bindings::exports::gatehouse::family::jobs as wit;
use super::bindings::gatehouse::family::{types, upstream};

pub(super) fn accepted(said: wit::Accepted) -> own::Accepted {
    own::Accepted {
        model: said.model,
        charge: charge(said.charge),
        stage: stage(said.stage),
        progress: said.progress,
        expected_ms: said.expected_ms,
        state: said.state,
        doomed: said.doomed.map(failure),
    }
}

pub(super) fn refusal(said: types::Refusal) -> own::Refusal {
    match said {
        types::Refusal::Invalid((field, message)) => own::Refusal::Invalid { field, message },
        types::Refusal::NotFound(what) => own::Refusal::NotFound(what),
        types::Refusal::Forbidden(what) => own::Refusal::Forbidden(what),
    }
}

pub(super) fn step(said: wit::Step) -> own::Step {
    own::Step {
        state: said.state,
        stage: stage(said.stage),
        progress: said.progress,
        next: match said.next {
            wit::Action::Call(next) => own::Action::Call(call(next)),
            wit::Action::Probe(probes) => own::Action::Probe(probes.into_iter().map(probe).collect()),
            wit::Action::Wait(until) => own::Action::Wait(own::UnixMs(until)),
            wit::Action::Done(end) => own::Action::Done(outcome(end)),
            wit::Action::Fail(why) => own::Action::Fail(failure(why)),
        },
    }
}

fn stage(said: wit::Stage) -> own::Stage {
    match said {
        wit::Stage::Submitted => own::Stage::Submitted,
        wit::Stage::Pending => own::Stage::Pending,
        wit::Stage::Processing => own::Stage::Processing,
    }
}

fn charge(said: types::Charge) -> own::Charge {
    own::Charge { keys: said.keys, quantity: said.quantity }
}

fn failure(said: types::Failure) -> own::Failure {
    let blame = match said.blame {
        types::Blame::Request => own::Blame::Request,
        types::Blame::Moderation => own::Blame::Moderation,
        types::Blame::Upstream => own::Blame::Upstream,
    };
    own::Failure { blame, message: said.message }
}

pub(super) fn call(said: upstream::Call) -> own::Call {
    own::Call {
        provider: said.provider,
        method: said.method,
        target: match said.target {
            upstream::Target::Path(path) => own::Target::Path(path),
            upstream::Target::Url(url) => own::Target::Url(url),
        },
        headers: said
            .headers
            .into_iter()
            .map(|header| own::Header { name: header.name, value: header.value })
            .collect(),
        body: match said.body {
            upstream::Payload::None => own::Payload::None,
            upstream::Payload::Json(json) => own::Payload::Json(json.into()),
            upstream::Payload::Form(parts) => own::Payload::Form(parts.into_iter().map(part).collect()),
        },
        timeout_ms: said.timeout_ms,
        replay: match said.replay {
            upstream::Replay::Safe => own::Replay::Safe,
            upstream::Replay::Token => own::Replay::Token,
            upstream::Replay::Once => own::Replay::Once,
        },
        save_body: said.save_body,
    }
}

fn part(said: upstream::Part) -> own::Part {
    own::Part {
        name: said.name,
        filename: said.filename,
        mime: said.mime,
        data: match said.data {
            upstream::Bytes::Inline(bytes) => own::Body::Inline(bytes.into()),
            upstream::Bytes::Blob(id) => own::Body::Blob(id),
        },
    }
}

fn probe(said: wit::Probe) -> own::Probe {
    own::Probe { source: said.source, keep: said.keep }
}

fn outcome(said: wit::Outcome) -> own::Outcome {
    own::Outcome {
        public: said.public,
        private: said.private,
        products: said
            .products
            .into_iter()
            .map(|product| own::Product { source: product.source, mime: product.mime })
            .collect(),
        settle: said.settle.map(charge),
    }
}

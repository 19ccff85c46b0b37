//! Lifting: results of the contract's functions as the model's types. Shapes only; `exec/answer_rules` decides
//! whether an answer is acceptable.

use gatehouse_model as own;

use super::contract::bindings::exports::gatehouse::family::jobs as wit;
use super::contract::bindings::gatehouse::family::{parents, types, upstream};

pub(super) fn accepted(value: wit::Accepted) -> own::Accepted {
    own::Accepted {
        model: value.model,
        charge: charge(value.charge),
        stage: stage(value.stage),
        progress: value.progress,
        expected_ms: value.expected_ms,
        state: value.state,
        brief: value.brief.into(),
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
        view: value.view.map(view),
        next: match value.next {
            wit::Action::Call(next) => own::Action::Call(call(next)),
            wit::Action::Probe(probes) => own::Action::Probe(probes.into_iter().map(probe).collect()),
            wit::Action::Wait(until) => own::Action::Wait(own::UnixMs(until)),
            wit::Action::Done(end) => own::Action::Done(outcome(end)),
            wit::Action::Fail(end) => own::Action::Fail(failed(end)),
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
        headers: value.headers.into_iter().map(header).collect(),
        body: match value.body {
            upstream::Payload::None => own::Payload::None,
            upstream::Payload::Json(json) => own::Payload::Json(json.into()),
            upstream::Payload::Raw(raw) => own::Payload::Raw { mime: raw.mime, data: body(raw.data) },
            upstream::Payload::Form(parts) => own::Payload::Form(parts.into_iter().map(part).collect()),
        },
        timeout_ms: value.timeout_ms,
        replay: match value.replay {
            upstream::Replay::Safe => own::Replay::Safe,
            upstream::Replay::Token => own::Replay::Token,
            upstream::Replay::Once => own::Replay::Once,
        },
        affinity: value.affinity,
        reading: match value.reading {
            upstream::Reading::Whole => own::Reading::Whole,
            upstream::Reading::Saved => own::Reading::Saved,
            upstream::Reading::Cut => own::Reading::Cut,
        },
        credentials: value.credentials,
        shared: value.shared.map(|shared| own::Shared { key: shared.key, item: shared.item }),
    }
}

/// A reply that a family made of a larger one.
pub(super) fn reply(value: upstream::Reply) -> own::Reply {
    own::Reply {
        status: value.status,
        headers: value.headers.into_iter().map(header).collect(),
        body: body(value.body),
        affinity: value.affinity,
    }
}

fn header(value: upstream::Header) -> own::Header {
    own::Header { name: value.name, value: value.value }
}

fn part(value: upstream::Part) -> own::Part {
    own::Part { name: value.name, filename: value.filename, mime: value.mime, data: body(value.data) }
}

fn body(value: upstream::Bytes) -> own::Body {
    match value {
        upstream::Bytes::Inline(bytes) => own::Body::Inline(bytes.into()),
        upstream::Bytes::Blob(id) => own::Body::Blob(id),
    }
}

fn probe(value: wit::Probe) -> own::Probe {
    own::Probe { source: value.source, keep: value.keep }
}

fn outcome(value: wit::Outcome) -> own::Outcome {
    own::Outcome {
        public: value.public.into(),
        private: value.private.into(),
        products: value.products.into_iter().map(product).collect(),
        claims: value.claims.into_iter().map(claim).collect(),
        settle: value.settle.map(charge),
    }
}

fn view(value: wit::View) -> own::InterimView {
    own::InterimView {
        public: value.public.into(),
        private: value.private.into(),
        products: value.products.into_iter().map(product).collect(),
    }
}

fn failed(value: wit::Ending) -> own::FailedOutcome {
    own::FailedOutcome {
        failure: failure(value.failure),
        public: value.public.map(Into::into),
        private: value.private.map(Into::into),
        products: value.products.into_iter().map(product).collect(),
        claims: value.claims.into_iter().map(claim).collect(),
    }
}

fn product(value: wit::Product) -> own::Product {
    let edit = value.edit.map(|edit| match edit {
        wit::Edit::Tile(wit::Tile { column, row, columns, rows }) => {
            own::Edit::Tile(own::Tile { column, row, columns, rows })
        }
        wit::Edit::Clip(wit::Clip { from, to }) => own::Edit::Clip(own::Clip { from_ms: from, to_ms: to }),
    });
    own::Product { source: value.source, mime: value.mime, edit }
}

fn claim(value: wit::Claim) -> own::Claim {
    own::Claim { name: value.name, private: value.private.into(), affinity: value.affinity }
}

/// A parent of a self-test; all others come from the host.
pub(super) fn parent(value: parents::Parent) -> Result<own::Parent, String> {
    Ok(own::Parent {
        task: value.task_id.parse().map_err(|_| format!("task-id {:?} is not a task id", value.task_id))?,
        family: value.family,
        model: value.model,
        status: match value.status {
            parents::Status::Submitted => own::Status::Submitted,
            parents::Status::Pending => own::Status::Pending,
            parents::Status::Processing => own::Status::Processing,
            parents::Status::Completed => own::Status::Completed,
            parents::Status::Failed => own::Status::Failed,
        },
        public: value.public.into(),
        private: value.private.into(),
        media: value.media.into_iter().map(facts).collect(),
        affinity: value.affinity,
    })
}

fn facts(value: types::Facts) -> own::Facts {
    own::Facts {
        kind: match value.kind {
            types::MediaKind::Image => own::MediaKind::Image,
            types::MediaKind::Video => own::MediaKind::Video,
            types::MediaKind::Audio => own::MediaKind::Audio,
            types::MediaKind::Other => own::MediaKind::Other,
        },
        mime: value.mime,
        bytes: value.bytes,
        width: value.width,
        height: value.height,
        milliseconds: value.milliseconds,
        fps_milli: value.fps_milli,
        has_audio: value.has_audio,
        has_alpha: value.has_alpha,
        blob: value.blob,
    }
}

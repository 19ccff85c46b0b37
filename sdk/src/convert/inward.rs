//! What the host hands over.

use serde_json::{Map, Value};

use crate::bindings::exports::gatehouse::family::{jobs, text};
use crate::bindings::gatehouse::family::{types, upstream};
use crate::{
    Body, Context, Event, Facts, Finding, MediaKind, Outage, Parent, Protocol, Reply, Route, Sse, Submission,
    TextRequest, UnixMs,
};

pub(crate) fn context(cx: types::Context) -> Context {
    Context {
        now: UnixMs(cx.now),
        seed: cx.seed,
        task: (!cx.task_id.is_empty()).then_some(cx.task_id),
        accepted_at: UnixMs(cx.accepted_at),
        deadline: UnixMs(cx.deadline),
        settings: record(&cx.settings),
    }
}

/// JSON of the host's own making; nothing at all stands for an empty object.
fn record(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_slice(bytes).expect("the host's own records are JSON")
}

/// A client's body.
pub(crate) fn body(bytes: &[u8]) -> Result<Value, types::Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| types::Refusal::Invalid((None, format!("expected a JSON object: {error}"))))
}

pub(crate) fn submission(request: jobs::Submission) -> Result<Submission, types::Refusal> {
    Ok(Submission {
        surface: request.surface,
        body: body(&request.body)?,
        parent: request.parent.map(|parent| Parent {
            task: parent.task_id,
            model: parent.model,
            completed: parent.completed,
            public: record(&parent.public),
            private: record(&parent.private),
        }),
        blobs: request.blobs.into_iter().map(facts).collect(),
    })
}

fn facts(facts: types::Facts) -> Facts {
    Facts {
        kind: match facts.kind {
            types::MediaKind::Image => MediaKind::Image,
            types::MediaKind::Video => MediaKind::Video,
            types::MediaKind::Audio => MediaKind::Audio,
            types::MediaKind::Other => MediaKind::Other,
        },
        mime: facts.mime,
        bytes: facts.bytes,
        width: facts.width,
        height: facts.height,
        milliseconds: facts.milliseconds,
        fps_milli: facts.fps_milli,
        has_audio: facts.has_audio,
        has_alpha: facts.has_alpha,
        blob: facts.blob,
    }
}

pub(crate) fn reply(reply: upstream::Reply) -> Reply {
    Reply {
        status: reply.status,
        headers: reply.headers.into_iter().map(|header| (header.name, header.value)).collect(),
        body: match reply.body {
            upstream::Bytes::Inline(bytes) => Body::Inline(bytes),
            upstream::Bytes::Blob(id) => Body::Blob(id),
        },
    }
}

pub(crate) fn event(event: jobs::Event) -> Event {
    match event {
        jobs::Event::Start => Event::Start,
        jobs::Event::Reply(got) => Event::Reply(reply(got)),
        jobs::Event::Outage(outage) => Event::Outage(match outage {
            upstream::Outage::Unreachable => Outage::Unreachable,
            upstream::Outage::Timeout => Outage::Timeout,
            upstream::Outage::Broken => Outage::Broken,
            upstream::Outage::TooLarge => Outage::TooLarge,
            upstream::Outage::Refused => Outage::Refused,
        }),
        jobs::Event::Probed(findings) => Event::Probed(
            findings
                .into_iter()
                .map(|finding| Finding { source: finding.source, found: finding.found.map(facts) })
                .collect(),
        ),
        jobs::Event::Timer => Event::Timer,
        jobs::Event::Cancel => Event::Cancel,
        jobs::Event::Lost((source, reason)) => Event::Lost { source, reason },
    }
}

/// The host has read the body as JSON before, so it is text.
pub(crate) fn inquiry(request: text::TextRequest) -> Result<TextRequest, types::Refusal> {
    let body = String::from_utf8(request.body)
        .map_err(|_| types::Refusal::Invalid((None, "the request body is not UTF-8".to_owned())))?;
    Ok(TextRequest {
        surface: request.surface,
        body,
        headers: request.headers.into_iter().map(|header| (header.name, header.value)).collect(),
        blobs: request.blobs.into_iter().map(facts).collect(),
        route: Route {
            model: request.route.model,
            upstream: request.route.upstream,
            provider: request.route.provider,
            protocol: if request.route.protocol == "chat" { Protocol::Chat } else { Protocol::Messages },
            rules: record(&request.route.rules),
        },
    })
}

pub(crate) fn sse_in(event: text::Sse) -> Sse {
    Sse { event: event.event, data: event.data }
}

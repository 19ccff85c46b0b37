//! What a script hands to the host.

use std::sync::Arc;

use gatehouse_model as host;
use gatehouse_sdk::{Body, Context, Event, Facts, Finding, MediaKind, Outage, Parent, Reply, Submission};
use serde_json::Value;

fn json(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn task(id: &str) -> host::TaskId {
    id.parse().expect("scripts name tasks by well-formed ids")
}

pub(crate) fn context(cx: &Context) -> host::Context {
    host::Context {
        now: host::UnixMs(cx.now.0),
        seed: cx.seed,
        task: cx.task.as_deref().map(task),
        accepted_at: host::UnixMs(cx.accepted_at.0),
        deadline: host::UnixMs(cx.deadline.0),
        settings: Arc::from(json(&cx.settings)),
    }
}

pub(crate) fn submission(request: &Submission) -> host::Submission {
    host::Submission {
        surface: request.surface.clone(),
        body: json(&request.body).into(),
        parent: request.parent.as_ref().map(parent),
        blobs: request.blobs.iter().map(facts).collect(),
    }
}

fn parent(parent: &Parent) -> host::Parent {
    host::Parent {
        task: task(&parent.task),
        model: parent.model.clone(),
        completed: parent.completed,
        public: json(&parent.public),
        private: json(&parent.private),
    }
}

pub(super) fn facts(facts: &Facts) -> host::Facts {
    host::Facts {
        kind: match facts.kind {
            MediaKind::Image => host::MediaKind::Image,
            MediaKind::Video => host::MediaKind::Video,
            MediaKind::Audio => host::MediaKind::Audio,
            MediaKind::Other => host::MediaKind::Other,
        },
        mime: facts.mime.clone(),
        bytes: facts.bytes,
        width: facts.width,
        height: facts.height,
        milliseconds: facts.milliseconds,
        fps_milli: facts.fps_milli,
        has_audio: facts.has_audio,
        has_alpha: facts.has_alpha,
        blob: facts.blob.clone(),
    }
}

pub(crate) fn event(event: &Event) -> host::Event {
    match event {
        Event::Start => host::Event::Start,
        Event::Reply(got) => host::Event::Reply(reply(got)),
        Event::Outage(why) => host::Event::Outage(outage(*why)),
        Event::Probed(findings) => host::Event::Probed(findings.iter().map(finding).collect()),
        Event::Timer => host::Event::Timer,
        Event::Cancel => host::Event::Cancel,
        Event::Lost { source, reason } => {
            host::Event::Lost { source: source.clone(), reason: reason.clone() }
        }
    }
}

pub(crate) fn reply(reply: &Reply) -> host::Reply {
    let header = |(name, value): &(String, String)| host::Header { name: name.clone(), value: value.clone() };
    host::Reply {
        status: reply.status,
        headers: reply.headers.iter().map(header).collect(),
        body: match &reply.body {
            Body::Inline(bytes) => host::Body::Inline(bytes.clone().into()),
            Body::Blob(id) => host::Body::Blob(id.clone()),
        },
    }
}

fn outage(outage: Outage) -> host::Outage {
    match outage {
        Outage::Unreachable => host::Outage::Unreachable,
        Outage::Timeout => host::Outage::Timeout,
        Outage::Broken => host::Outage::Broken,
        Outage::TooLarge => host::Outage::TooLarge,
        Outage::Refused => host::Outage::Refused,
    }
}

fn finding(finding: &Finding) -> host::Finding {
    host::Finding {
        source: finding.source.clone(),
        found: finding.found.as_ref().map(facts).map_err(Clone::clone),
    }
}

//! Lowering: the model's types as arguments of the contract's functions.

use gatehouse_model as own;
use wasmtime::component::{ComponentType, Lower};

use super::contract::bindings::exports::gatehouse::family::{jobs as wit, text};
use super::contract::bindings::gatehouse::family::{types, upstream};

pub(super) fn context(cx: &own::Context) -> types::Context {
    types::Context {
        now: cx.now.0,
        seed: cx.seed,
        task_id: cx.task.map(|task| task.to_string()).unwrap_or_default(),
        accepted_at: cx.accepted_at.0,
        deadline: cx.deadline.0,
        settings: cx.settings.to_vec(),
    }
}

/// The contract's `submission` with a borrowed body: the only copy is made inside the guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct Submission<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a [u8],
    pub(super) parent: Option<wit::Parent>,
    pub(super) blobs: Vec<types::Facts>,
}

/// The contract's `text-request`, also with a borrowed body.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct TextRequest<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a [u8],
    pub(super) headers: Vec<upstream::Header>,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) route: text::Route,
}

pub(super) fn parent(value: own::Parent) -> wit::Parent {
    wit::Parent {
        task_id: value.task.to_string(),
        model: value.model,
        completed: value.completed,
        public: value.public,
        private: value.private,
    }
}

pub(super) fn facts(value: own::Facts) -> types::Facts {
    types::Facts {
        kind: match value.kind {
            own::MediaKind::Image => types::MediaKind::Image,
            own::MediaKind::Video => types::MediaKind::Video,
            own::MediaKind::Audio => types::MediaKind::Audio,
            own::MediaKind::Other => types::MediaKind::Other,
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

pub(super) fn event(value: own::Event) -> wit::Event {
    match value {
        own::Event::Start => wit::Event::Start,
        own::Event::Reply(value) => wit::Event::Reply(reply(value)),
        own::Event::Outage(why) => wit::Event::Outage(outage(why)),
        own::Event::Probed(found) => wit::Event::Probed(found.into_iter().map(finding).collect()),
        own::Event::Timer => wit::Event::Timer,
        own::Event::Cancel => wit::Event::Cancel,
        own::Event::Lost { source, reason } => wit::Event::Lost((source, reason)),
    }
}

pub(super) fn reply(value: own::Reply) -> upstream::Reply {
    upstream::Reply {
        status: value.status,
        headers: value
            .headers
            .into_iter()
            .map(|header| upstream::Header { name: header.name, value: header.value })
            .collect(),
        body: match value.body {
            own::Body::Inline(bytes) => upstream::Bytes::Inline(bytes.into()),
            own::Body::Blob(id) => upstream::Bytes::Blob(id),
        },
    }
}

fn outage(why: own::Outage) -> upstream::Outage {
    match why {
        own::Outage::Unreachable => upstream::Outage::Unreachable,
        own::Outage::Timeout => upstream::Outage::Timeout,
        own::Outage::Broken => upstream::Outage::Broken,
        own::Outage::TooLarge => upstream::Outage::TooLarge,
        own::Outage::Refused => upstream::Outage::Refused,
    }
}

fn finding(value: own::Finding) -> wit::Finding {
    wit::Finding { source: value.source, found: value.found.map(facts) }
}

//! What a plugin is given, from our words into its own.

use gatehouse_model as own;
use wasmtime::component::{ComponentType, Lower};

use super::bindings::exports::gatehouse::family::{jobs as wit, text};
use super::bindings::gatehouse::family::{types, upstream};

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

/// The contract's `submission`, with its body lent: its only copy is the one inside the guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct Submission<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a [u8],
    pub(super) parent: Option<wit::Parent>,
    pub(super) blobs: Vec<types::Facts>,
}

/// The contract's `text-request`, lent likewise.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct TextRequest<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a [u8],
    pub(super) headers: Vec<upstream::Header>,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) route: text::Route,
}

pub(super) fn parent(given: own::Parent) -> wit::Parent {
    wit::Parent {
        task_id: given.task.to_string(),
        model: given.model,
        completed: given.completed,
        public: given.public,
        private: given.private,
    }
}

pub(super) fn facts(given: own::Facts) -> types::Facts {
    types::Facts {
        kind: match given.kind {
            own::MediaKind::Image => types::MediaKind::Image,
            own::MediaKind::Video => types::MediaKind::Video,
            own::MediaKind::Audio => types::MediaKind::Audio,
            own::MediaKind::Other => types::MediaKind::Other,
        },
        mime: given.mime,
        bytes: given.bytes,
        width: given.width,
        height: given.height,
        milliseconds: given.milliseconds,
        fps_milli: given.fps_milli,
        has_audio: given.has_audio,
        has_alpha: given.has_alpha,
        blob: given.blob,
    }
}

pub(super) fn event(given: own::Event) -> wit::Event {
    match given {
        own::Event::Start => wit::Event::Start,
        own::Event::Reply(given) => wit::Event::Reply(reply(given)),
        own::Event::Outage(why) => wit::Event::Outage(outage(why)),
        own::Event::Probed(found) => wit::Event::Probed(found.into_iter().map(finding).collect()),
        own::Event::Timer => wit::Event::Timer,
        own::Event::Cancel => wit::Event::Cancel,
        own::Event::Lost { source, reason } => wit::Event::Lost((source, reason)),
    }
}

pub(super) fn reply(given: own::Reply) -> upstream::Reply {
    upstream::Reply {
        status: given.status,
        headers: given
            .headers
            .into_iter()
            .map(|header| upstream::Header { name: header.name, value: header.value })
            .collect(),
        body: match given.body {
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

fn finding(given: own::Finding) -> wit::Finding {
    wit::Finding { source: given.source, found: given.found.map(facts) }
}

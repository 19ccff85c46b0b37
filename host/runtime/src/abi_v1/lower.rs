//! Lowering: the model's types as arguments of the contract's functions.

use gatehouse_model as own;
use wasmtime::component::{ComponentType, Lower};

use super::contract::bindings::exports::gatehouse::family::{jobs as wit, text};
use super::contract::bindings::gatehouse::family::{parents, types, upstream};

/// The contract's `context`, borrowed: it goes with every call.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct Context<'a> {
    now: u64,
    seed: u64,
    #[component(name = "task-id")]
    task_id: String,
    #[component(name = "accepted-at")]
    accepted_at: u64,
    deadline: u64,
    customer: &'a str,
    settings: &'a str,
}

pub(super) fn context(cx: &own::Context) -> Context<'_> {
    Context {
        now: cx.now.0,
        seed: cx.seed,
        task_id: cx.task.map(|task| task.to_string()).unwrap_or_default(),
        accepted_at: cx.accepted_at.0,
        deadline: cx.deadline.0,
        customer: &cx.customer,
        settings: &cx.settings,
    }
}

/// The contract's `submission` with a borrowed body: the only copy is made inside the guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct Submission<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a str,
    pub(super) parents: Vec<parents::Parent>,
    pub(super) owned: Vec<parents::Owned>,
    pub(super) blobs: Vec<types::Facts>,
}

/// The contract's `text-request`, also with a borrowed body.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct TextRequest<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a str,
    pub(super) headers: Vec<upstream::Header>,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) route: text::Route,
}

pub(super) fn parent(value: own::Parent) -> parents::Parent {
    parents::Parent {
        task_id: value.task.to_string(),
        family: value.family,
        model: value.model,
        status: match value.status {
            own::Status::Submitted => parents::Status::Submitted,
            own::Status::Pending => parents::Status::Pending,
            own::Status::Processing => parents::Status::Processing,
            own::Status::Completed => parents::Status::Completed,
            own::Status::Failed => parents::Status::Failed,
        },
        public: value.public.into(),
        private: value.private.into(),
        media: value.media.into_iter().map(facts).collect(),
        affinity: value.affinity,
    }
}

pub(super) fn owned(value: own::OwnedName) -> parents::Owned {
    parents::Owned { name: value.name, private: value.private.into(), affinity: value.affinity }
}

pub(super) fn failure(value: own::Failure) -> types::Failure {
    let blame = match value.blame {
        own::Blame::Request => types::Blame::Request,
        own::Blame::Moderation => types::Blame::Moderation,
        own::Blame::Upstream => types::Blame::Upstream,
    };
    types::Failure { blame, message: value.message }
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
        own::Event::Start(brief) => wit::Event::Start(brief.into()),
        own::Event::Joined(brief) => wit::Event::Joined(brief.into()),
        own::Event::Reply(value) => wit::Event::Reply(reply(value)),
        own::Event::Outage(why) => wit::Event::Outage(outage(why)),
        own::Event::Probed(found) => wit::Event::Probed(found.into_iter().map(finding).collect()),
        own::Event::Timer => wit::Event::Timer,
        own::Event::Cancel(own::Cause::Client) => wit::Event::Cancel(wit::Cause::Client),
        own::Event::Cancel(own::Cause::Deadline) => wit::Event::Cancel(wit::Cause::Deadline),
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
        affinity: value.affinity,
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

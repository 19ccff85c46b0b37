//! Arguments that are borrowed by a call: large ones, and those that go with every call.

use gatehouse_model as own;
use wasmtime::component::{ComponentType, Lower};

use super::exports::bindings::exports::gatehouse::family::jobs;
use super::exports::bindings::gatehouse::family::{parents, types, upstream};
pub(super) use super::types::EXTRA;

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
    extra: &'a str,
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
        extra: EXTRA,
    }
}

/// The contract's `submission` with a borrowed body: the only copy is made inside the guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct Submission<'a> {
    pub(super) surface: &'a str,
    pub(super) model: jobs::ModelName,
    pub(super) body: &'a str,
    pub(super) parents: Vec<parents::Parent>,
    pub(super) owned: Vec<parents::Owned>,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) extra: &'a str,
}

/// The contract's `direct-request`, also with a borrowed body.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct DirectRequest<'a> {
    pub(super) surface: &'a str,
    pub(super) model: &'a str,
    pub(super) body: &'a str,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) extra: &'a str,
}

/// The contract's `text-request`, also with a borrowed body.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct TextRequest<'a> {
    pub(super) surface: &'a str,
    pub(super) body: &'a str,
    pub(super) headers: Vec<upstream::Header>,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) route: upstream::Route,
    pub(super) extra: &'a str,
}

/// The contract's `dialect-request`, also with a borrowed body.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(super) struct DialectRequest<'a> {
    pub(super) body: &'a str,
    pub(super) streaming: bool,
    pub(super) blobs: Vec<types::Facts>,
    pub(super) route: upstream::Route,
    pub(super) extra: &'a str,
}

pub(super) fn route(route: own::TextRoute) -> upstream::Route {
    let own::TextRoute { model, upstream, provider, protocol, rules } = route;
    upstream::Route {
        model,
        upstream,
        provider,
        protocol: protocol.into(),
        rules: rules.to_string(),
        extra: EXTRA.to_owned(),
    }
}

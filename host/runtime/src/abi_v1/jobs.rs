//! The calls of the interfaces `jobs`, `views` and `bulk`.

use gatehouse_guest::Guest;
use gatehouse_model::{Accepted, Call, Context, Event, Json, Refusal, Reply, Step, Submission, TaskView};
use wasmtime::Store;

use super::exports::Family;
use super::exports::bindings::exports::gatehouse::family::{jobs as wit, views};
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::lower;
use super::types::Convert as _;

/// `jobs.submit`.
pub(crate) fn submit(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    submission: Submission,
) -> wasmtime::Result<Result<Accepted, Refusal>> {
    let cx = lower::context(cx);
    let request = lower::Submission {
        surface: &submission.surface,
        model: wit::ModelName { id: submission.model.id, alias: submission.model.alias },
        body: &submission.body,
        parents: submission.parents.convert(),
        owned: submission.owned.convert(),
        blobs: submission.blobs.convert(),
        extra: lower::EXTRA,
    };
    let submit = family.jobs()?.submit;
    family.ask::<_, Result<wit::Accepted, types::Refusal>, _>(store, submit, (&cx, &request))
}

/// `jobs.advance`.
pub(crate) fn advance(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    state: &[u8],
    event: Event,
) -> wasmtime::Result<Step> {
    let (cx, event): (_, wit::Event) = (lower::context(cx), event.convert());
    family.ask::<_, wit::Step, _>(store, family.jobs()?.advance, (&cx, state, &event))
}

/// `jobs.migrate`.
pub(crate) fn migrate(
    family: &Family,
    store: &mut Store<Guest>,
    from: u32,
    state: &[u8],
) -> wasmtime::Result<Result<Vec<u8>, String>> {
    family.call(store, family.jobs()?.migrate, (from, state))
}

/// `views.view`.
pub(crate) fn view(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    surface: &str,
    view: TaskView,
) -> wasmtime::Result<Json> {
    let view: views::TaskView = view.convert();
    family.ask::<_, String, _>(store, family.view()?, (&lower::context(cx), surface, &view))
}

/// `bulk.merge`.
pub(crate) fn merge(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    key: &str,
    items: &[String],
) -> wasmtime::Result<Call> {
    let merge = family.bulk()?.merge;
    family.ask::<_, upstream::Call, _>(store, merge, (&lower::context(cx), key, items))
}

/// `bulk.split`.
pub(crate) fn split(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    key: &str,
    items: &[String],
    reply: Reply,
) -> wasmtime::Result<Vec<Option<Reply>>> {
    let reply: upstream::Reply = reply.convert();
    let split = family.bulk()?.split;
    let parameters = (&lower::context(cx), key, items, &reply);
    family.ask::<_, Vec<Option<upstream::Reply>>, _>(store, split, parameters)
}

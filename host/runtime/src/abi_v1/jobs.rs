//! The calls of the `jobs` interface.

use gatehouse_model::{Accepted, Context, Event, Refusal, Step, Submission};
use wasmtime::Store;

use super::contract::bindings::exports::gatehouse::family::jobs as wit;
use super::contract::bindings::gatehouse::family::types;
use super::exports::Family;
use super::{lift, lower};
use crate::exec::guest::Guest;

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
        body: &submission.body,
        parents: submission.parents.into_iter().map(lower::parent).collect(),
        owned: submission.owned.into_iter().map(lower::owned).collect(),
        blobs: submission.blobs.into_iter().map(lower::facts).collect(),
    };
    let answer: Result<wit::Accepted, types::Refusal> =
        family.call(store, family.jobs()?.submit, (&cx, &request))?;
    Ok(answer.map(lift::accepted).map_err(lift::refusal))
}

/// `jobs.advance`.
pub(crate) fn advance(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &Context,
    state: &[u8],
    event: Event,
) -> wasmtime::Result<Step> {
    let (cx, event) = (lower::context(cx), lower::event(event));
    Ok(lift::step(family.call(store, family.jobs()?.advance, (&cx, state, &event))?))
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

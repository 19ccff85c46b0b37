//! The calls of the `jobs` interface.

use gatehouse_guest::Guest;
use gatehouse_model::{Accepted, Context, Event, Refusal, Step, Submission};
use wasmtime::Store;

use super::answers::Read as _;
use super::contract::bindings::exports::gatehouse::family::jobs as wit;
use super::contract::bindings::gatehouse::family::types;
use super::convert::Convert as _;
use super::exports::Family;
use super::lower;

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
    let answer: Result<wit::Accepted, types::Refusal> =
        family.call(store, family.jobs()?.submit, (&cx, &request))?;
    Ok(match answer {
        Ok(accepted) => Ok(accepted.read()?),
        Err(refusal) => Err(refusal.read()?),
    })
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
    let step: wit::Step = family.call(store, family.jobs()?.advance, (&cx, state, &event))?;
    Ok(step.read()?)
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

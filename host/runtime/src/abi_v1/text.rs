//! The calls of the `text` interface.

use gatehouse_guest::Guest;
use gatehouse_model as own;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::answers::Read;
use super::contract::bindings::exports::gatehouse::family::text as wit;
use super::contract::bindings::gatehouse::family::{types, upstream};
use super::convert::Convert as _;
use super::exports::Family;
use super::lower;

/// `text.prepare`.
pub(crate) fn prepare(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    request: own::TextRequest,
) -> wasmtime::Result<Result<own::Prepared, own::Refusal>> {
    let cx = lower::context(cx);
    let request = lower::TextRequest {
        surface: &request.surface,
        body: &request.body,
        headers: request.headers.convert(),
        blobs: request.blobs.convert(),
        route: lower::route(request.route),
        extra: lower::EXTRA,
    };
    let answer: Result<wit::Prepared, types::Refusal> =
        family.call(store, family.text()?.prepare, (&cx, &request))?;
    Ok(match answer {
        Ok(prepared) => Ok(prepared.read()?),
        Err(refusal) => Err(refusal.read()?),
    })
}

/// `text.answer`.
pub(crate) fn whole(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::Answered, own::TextFailure>> {
    let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
    let answer: Result<wit::Answered, wit::TextFailure> =
        family.call(store, family.text()?.answer, (&cx, state, &reply))?;
    read(answer)
}

/// The constructor of `text.relay`.
pub(crate) fn relay(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
) -> wasmtime::Result<ResourceAny> {
    family.call(store, family.text()?.relay, (&lower::context(cx), state))
}

/// `text.relay.push`.
pub(crate) fn push(
    family: &Family,
    store: &mut Store<Guest>,
    relay: ResourceAny,
    events: Vec<own::Sse>,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let events: Vec<wit::Sse> = events.convert();
    let answer: Result<wit::Chunk, wit::TextFailure> =
        family.call(store, family.text()?.push, (relay, events.as_slice()))?;
    read(answer)
}

/// `text.relay.end`.
pub(crate) fn end(
    family: &Family,
    store: &mut Store<Guest>,
    relay: ResourceAny,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let answer: Result<wit::Chunk, wit::TextFailure> = family.call(store, family.text()?.end, (relay,))?;
    read(answer)
}

fn read<T: Read<U>, U>(answer: Result<T, wit::TextFailure>) -> wasmtime::Result<Result<U, own::TextFailure>> {
    Ok(match answer {
        Ok(answer) => Ok(answer.read()?),
        Err(failure) => Err(failure.convert()),
    })
}

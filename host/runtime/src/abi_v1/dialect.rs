//! The calls of the `dialect` interface.

use gatehouse_guest::Guest;
use gatehouse_model as own;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::answers::{Read as _, known};
use super::contract::bindings::exports::gatehouse::family::dialect as wit;
use super::contract::bindings::gatehouse::family::{types, upstream};
use super::convert::Convert as _;
use super::exports::Family;
use super::lower;

/// What a dialect makes of a request; how its provider frames a stream is a word yet.
pub(crate) struct Translated {
    pub(crate) call: own::Call,
    pub(crate) framing: String,
    pub(crate) state: Vec<u8>,
}

/// `dialect.prepare`.
pub(crate) fn prepare(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    request: own::DialectRequest,
) -> wasmtime::Result<Result<Translated, own::Refusal>> {
    let cx = lower::context(cx);
    let request = lower::DialectRequest {
        body: &request.body,
        streaming: request.streaming,
        blobs: request.blobs.convert(),
        route: lower::route(request.route),
        extra: lower::EXTRA,
    };
    let answer: Result<wit::DialectPrepared, types::Refusal> =
        family.call(store, family.dialect()?.prepare, (&cx, &request))?;
    Ok(match answer {
        Ok(wit::DialectPrepared { call, framing, state, extra }) => {
            known("prepared request", &extra)?;
            Ok(Translated { call: call.read()?, framing, state })
        }
        Err(refusal) => Err(refusal.read()?),
    })
}

/// `dialect.answer`.
pub(crate) fn whole(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::Json, own::TextFailure>> {
    let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
    let answer: Result<String, upstream::TextFailure> =
        family.call(store, family.dialect()?.answer, (&cx, state, &reply))?;
    Ok(answer.convert())
}

/// The constructor of `dialect.frame-reader`.
pub(crate) fn reader(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
) -> wasmtime::Result<ResourceAny> {
    family.call(store, family.dialect()?.reader, (&lower::context(cx), state))
}

/// `dialect.frame-reader.push`.
pub(crate) fn push(
    family: &Family,
    store: &mut Store<Guest>,
    reader: ResourceAny,
    frames: Vec<own::Sse>,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let frames: Vec<upstream::Sse> = frames.convert();
    let answer: Result<Vec<upstream::Sse>, upstream::TextFailure> =
        family.call(store, family.dialect()?.push, (reader, frames.as_slice()))?;
    Ok(answer.convert().map(own::Chunk::of))
}

/// `dialect.frame-reader.end`.
pub(crate) fn end(
    family: &Family,
    store: &mut Store<Guest>,
    reader: ResourceAny,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let answer: Result<Vec<upstream::Sse>, upstream::TextFailure> =
        family.call(store, family.dialect()?.end, (reader,))?;
    Ok(answer.convert().map(own::Chunk::of))
}

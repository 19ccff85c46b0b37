//! The calls of the interfaces `text` and `dialect`: the same five functions, of which only the request and what is counted
//! differ.

use gatehouse_guest::Guest;
use gatehouse_model as own;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::answers::Translated;
use super::exports::bindings::exports::gatehouse::family::{dialect, text};
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::exports::{Family, Half};
use super::lower;
use super::types::Convert as _;

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
    let prepare = family.half(Half::Text)?.prepare;
    family.ask::<_, Result<text::Prepared, types::Refusal>, _>(store, prepare, (&cx, &request))
}

/// `dialect.prepare`.
pub(crate) fn translate(
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
    let prepare = family.half(Half::Dialect)?.prepare;
    family.ask::<_, Result<dialect::DialectPrepared, types::Refusal>, _>(store, prepare, (&cx, &request))
}

/// `text.answer`.
pub(crate) fn answer(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::Answered, own::TextFailure>> {
    let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
    let answer = family.half(Half::Text)?.answer;
    family.ask::<_, Result<text::Answered, upstream::TextFailure>, _>(store, answer, (&cx, state, &reply))
}

/// `dialect.answer`.
pub(crate) fn read_answer(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::Json, own::TextFailure>> {
    let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
    let answer = family.half(Half::Dialect)?.answer;
    family.ask::<_, Result<String, upstream::TextFailure>, _>(store, answer, (&cx, state, &reply))
}

/// The constructor of `text.relay` or `dialect.frame-reader`.
pub(crate) fn open(
    half: Half,
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
) -> wasmtime::Result<ResourceAny> {
    family.call(store, family.half(half)?.open, (&lower::context(cx), state))
}

type Frames = Result<Vec<upstream::Sse>, upstream::TextFailure>;
type Chunk = Result<text::Chunk, upstream::TextFailure>;

/// The provider's next events, or the end of its stream.
pub(crate) fn push(
    half: Half,
    family: &Family,
    store: &mut Store<Guest>,
    stream: ResourceAny,
    events: Option<Vec<own::Sse>>,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let functions = family.half(half)?;
    let Some(events) = events else {
        let (end, parameters) = (functions.end, (stream,));
        return match half {
            Half::Text => family.ask::<_, Chunk, _>(store, end, parameters),
            Half::Dialect => family.ask::<_, Frames, _>(store, end, parameters),
        };
    };
    let events: Vec<upstream::Sse> = events.convert();
    let (push, parameters) = (functions.push, (stream, events.as_slice()));
    match half {
        Half::Text => family.ask::<_, Chunk, _>(store, push, parameters),
        Half::Dialect => family.ask::<_, Frames, _>(store, push, parameters),
    }
}

//! The calls of the `text` interface, and its types lowered and lifted.

use gatehouse_model as own;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::contract::bindings::exports::gatehouse::family::text as wit;
use super::contract::bindings::gatehouse::family::{types, upstream};
use super::exports::Family;
use super::{lift, lower};
use crate::exec::guest::Guest;

/// `text.prepare`.
pub(crate) fn prepare(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    request: own::TextRequest,
) -> wasmtime::Result<Result<own::Prepared, own::Refusal>> {
    let cx = lower::context(cx);
    let own::TextRoute { model, upstream, provider, protocol, rules } = request.route;
    let protocol = protocol.as_str().to_owned();
    let header = |header: own::Header| upstream::Header { name: header.name, value: header.value };
    let request = lower::TextRequest {
        surface: &request.surface,
        body: &request.body,
        headers: request.headers.into_iter().map(header).collect(),
        blobs: request.blobs.into_iter().map(lower::facts).collect(),
        route: wit::Route { model, upstream, provider, protocol, rules: rules.to_string() },
    };
    let answer: Result<wit::Prepared, types::Refusal> =
        family.call(store, family.text()?.prepare, (&cx, &request))?;
    Ok(answer.map(prepared).map_err(lift::refusal))
}

/// `text.answer`.
pub(crate) fn whole(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::Answered, own::TextFailure>> {
    let (cx, reply) = (lower::context(cx), lower::reply(reply));
    let answer: Result<wit::Answered, wit::TextFailure> =
        family.call(store, family.text()?.answer, (&cx, state, &reply))?;
    Ok(answer.map(answered).map_err(text_failure))
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
    let events: Vec<wit::Sse> =
        events.into_iter().map(|event| wit::Sse { event: event.event, data: event.data }).collect();
    let answer: Result<wit::Chunk, wit::TextFailure> =
        family.call(store, family.text()?.push, (relay, events.as_slice()))?;
    Ok(answer.map(chunk).map_err(text_failure))
}

/// `text.relay.end`.
pub(crate) fn end(
    family: &Family,
    store: &mut Store<Guest>,
    relay: ResourceAny,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let answer: Result<wit::Chunk, wit::TextFailure> = family.call(store, family.text()?.end, (relay,))?;
    Ok(answer.map(chunk).map_err(text_failure))
}

fn prepared(value: wit::Prepared) -> own::Prepared {
    own::Prepared {
        call: lift::call(value.call),
        streaming: value.streaming,
        input_bytes: value.input_bytes,
        pictures: value.pictures,
        max_output_tokens: value.max_output_tokens,
        state: value.state,
    }
}

fn usage(value: wit::Usage) -> own::Usage {
    own::Usage {
        input: value.input,
        output: value.output,
        cached: value.cached,
        cache_write: value.cache_write,
    }
}

fn answered(value: wit::Answered) -> own::Answered {
    own::Answered { body: value.body.into(), usage: value.usage.map(usage), output_bytes: value.output_bytes }
}

fn chunk(value: wit::Chunk) -> own::Chunk {
    own::Chunk {
        send: value.send.into_iter().map(|event| own::Sse { event: event.event, data: event.data }).collect(),
        usage: value.usage.map(usage),
        output_bytes: value.output_bytes,
        last: value.last,
    }
}

fn text_failure(value: wit::TextFailure) -> own::TextFailure {
    let obstacle = match value.obstacle {
        wit::Obstacle::Invalid => own::Obstacle::Invalid,
        wit::Obstacle::NotFound => own::Obstacle::NotFound,
        wit::Obstacle::TooLarge => own::Obstacle::TooLarge,
        wit::Obstacle::RateLimited => own::Obstacle::RateLimited,
        wit::Obstacle::Account => own::Obstacle::Account,
        wit::Obstacle::Upstream => own::Obstacle::Upstream,
    };
    own::TextFailure { obstacle, message: value.message }
}

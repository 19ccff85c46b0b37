//! The text half: its words into ours and back, and its calls.

use gatehouse_model as own;
use wasmtime::Store;
use wasmtime::component::ResourceAny;

use super::bindings::exports::gatehouse::family::text as wit;
use super::bindings::gatehouse::family::{types, upstream};
use super::{Family, answer, given};
use crate::guest::Guest;

/// `text.prepare`.
pub(crate) fn prepare(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    request: own::TextRequest,
) -> wasmtime::Result<Result<own::Prepared, own::Refusal>> {
    let cx = given::context(cx);
    let own::TextRoute { model, upstream, provider, protocol, rules } = request.route;
    let protocol = protocol.as_str().to_owned();
    let header = |header: own::Header| upstream::Header { name: header.name, value: header.value };
    let request = given::TextRequest {
        surface: &request.surface,
        body: &request.body,
        headers: request.headers.into_iter().map(header).collect(),
        blobs: request.blobs.into_iter().map(given::facts).collect(),
        route: wit::Route { model, upstream, provider, protocol, rules: rules.to_vec() },
    };
    let judged: Result<wit::Prepared, types::Refusal> =
        family.call(store, family.exports.prepare, (&cx, &request))?;
    Ok(judged.map(prepared).map_err(answer::refusal))
}

/// `text.answer`.
pub(crate) fn whole(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::Answered, own::TextFailure>> {
    let (cx, reply) = (given::context(cx), given::reply(reply));
    let judged: Result<wit::Answered, wit::TextFailure> =
        family.call(store, family.exports.answer, (&cx, state, &reply))?;
    Ok(judged.map(answered).map_err(rejection))
}

/// The constructor of `text.relay`.
pub(crate) fn relay(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
) -> wasmtime::Result<ResourceAny> {
    family.call(store, family.exports.relay, (&given::context(cx), state))
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
    let judged: Result<wit::Chunk, wit::TextFailure> =
        family.call(store, family.exports.push, (relay, events.as_slice()))?;
    Ok(judged.map(chunk).map_err(rejection))
}

/// `text.relay.end`.
pub(crate) fn end(
    family: &Family,
    store: &mut Store<Guest>,
    relay: ResourceAny,
) -> wasmtime::Result<Result<own::Chunk, own::TextFailure>> {
    let judged: Result<wit::Chunk, wit::TextFailure> = family.call(store, family.exports.end, (relay,))?;
    Ok(judged.map(chunk).map_err(rejection))
}

fn prepared(said: wit::Prepared) -> own::Prepared {
    own::Prepared {
        call: answer::call(said.call),
        streaming: said.streaming,
        input_bytes: said.input_bytes,
        pictures: said.pictures,
        max_output_tokens: said.max_output_tokens,
        state: said.state,
    }
}

fn usage(said: wit::Usage) -> own::Usage {
    own::Usage { input: said.input, output: said.output, cached: said.cached, cache_write: said.cache_write }
}

fn answered(said: wit::Answered) -> own::Answered {
    own::Answered { body: said.body, usage: said.usage.map(usage), output_bytes: said.output_bytes }
}

fn chunk(said: wit::Chunk) -> own::Chunk {
    own::Chunk {
        send: said.send.into_iter().map(|event| own::Sse { event: event.event, data: event.data }).collect(),
        usage: said.usage.map(usage),
        output_bytes: said.output_bytes,
        last: said.last,
    }
}

fn rejection(said: wit::TextFailure) -> own::TextFailure {
    let obstacle = match said.obstacle {
        wit::Obstacle::Invalid => own::Obstacle::Invalid,
        wit::Obstacle::NotFound => own::Obstacle::NotFound,
        wit::Obstacle::TooLarge => own::Obstacle::TooLarge,
        wit::Obstacle::RateLimited => own::Obstacle::RateLimited,
        wit::Obstacle::Account => own::Obstacle::Account,
        wit::Obstacle::Upstream => own::Obstacle::Upstream,
    };
    own::TextFailure { obstacle, message: said.message }
}

//! Runs a family with its state as bytes. The component's exports and the test kit both call these functions,
//! so native tests test what is exported.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::accepted::Accepted;
use crate::contract::completion::{Answered, Prepared, TextFailure, TextRequest};
use crate::contract::context::Context;
use crate::contract::direct::{DirectRequest, Plan, Response};
use crate::contract::failure::{Failure, Refusal};
use crate::contract::reply::Reply;
use crate::contract::step::Step;
use crate::contract::submission::{Event, Submission};
use crate::contract::translation::{DialectPrepared, DialectRequest};
use crate::interfaces::dialect::Dialect;
use crate::interfaces::direct::Direct;
use crate::interfaces::jobs::Jobs;
use crate::interfaces::text::Text;

/// Checks a request; the state is returned encoded.
///
/// # Errors
/// The family's own refusal.
pub fn submit<F: Jobs>(cx: &Context, request: Submission) -> Result<Accepted<Vec<u8>>, Refusal> {
    F::submit(cx, request).map(|accepted| accepted.map(|state| encode(&state)))
}

/// One step; the state is encoded before and after.
///
/// # Panics
/// When this version did not write `state`: the host mixed up versions.
pub fn advance<F: Jobs>(cx: &Context, state: &[u8], event: Event) -> Step<Vec<u8>> {
    F::advance(cx, decode(state), event).map(|state| encode(&state))
}

/// Rewrites the state of an older version.
///
/// # Errors
/// Why it cannot be read.
pub fn migrate<F: Jobs>(from_version: u32, state: &[u8]) -> Result<Vec<u8>, String> {
    F::migrate(from_version, state).map(|state| encode(&state))
}

/// Checks a text request.
///
/// # Errors
/// The family's own refusal.
pub fn prepare<F: Text>(cx: &Context, request: TextRequest) -> Result<Prepared<Vec<u8>>, Refusal> {
    let Prepared { call, streaming, input_bytes, pictures, max_output_tokens, state, extra } =
        F::prepare(cx, request)?;
    let state = encode(&state);
    Ok(Prepared { call, streaming, input_bytes, pictures, max_output_tokens, state, extra })
}

/// Translates a whole answer.
///
/// # Errors
/// The family's own failure.
///
/// # Panics
/// As [`advance`].
pub fn answer<F: Text>(cx: &Context, state: &[u8], reply: Reply) -> Result<Answered, TextFailure> {
    F::answer(cx, decode(state), reply)
}

/// Checks a request that is answered at once.
///
/// # Errors
/// The family's own refusal.
pub fn plan<F: Direct>(cx: &Context, request: DirectRequest) -> Result<Plan<Vec<u8>>, Refusal> {
    Ok(F::prepare(cx, request)?.map(|state| encode(&state)))
}

/// Translates the answer to it.
///
/// # Errors
/// The family's own failure.
///
/// # Panics
/// As [`advance`].
pub fn respond<F: Direct>(cx: &Context, state: &[u8], reply: Reply) -> Result<Response, Failure> {
    F::answer(cx, decode(state), reply)
}

/// Begins a stream.
///
/// # Panics
/// As [`advance`].
#[must_use]
pub fn relay<F: Text>(cx: &Context, state: &[u8]) -> F::Relay {
    F::relay(cx, decode(state))
}

/// Translates a request of a dialect.
///
/// # Errors
/// The family's own refusal.
pub fn translate<F: Dialect>(
    cx: &Context,
    request: DialectRequest,
) -> Result<DialectPrepared<Vec<u8>>, Refusal> {
    let DialectPrepared { call, framing, state, extra } = F::prepare(cx, request)?;
    Ok(DialectPrepared { call, framing, state: encode(&state), extra })
}

/// Reads a whole answer of a dialect.
///
/// # Errors
/// The family's own failure.
///
/// # Panics
/// As [`advance`].
pub fn read_answer<F: Dialect>(cx: &Context, state: &[u8], reply: Reply) -> Result<String, TextFailure> {
    F::answer(cx, decode(state), reply)
}

/// Begins to read a stream of a dialect.
///
/// # Panics
/// As [`advance`].
#[must_use]
pub fn reader<F: Dialect>(cx: &Context, state: &[u8]) -> F::Reader {
    F::reader(cx, decode(state))
}

/// JSON, so that an operator can read a stuck task and a new field needs only `#[serde(default)]`.
fn encode(state: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(state).expect("a family's state is JSON")
}

fn decode<S: DeserializeOwned>(state: &[u8]) -> S {
    match serde_json::from_slice(state) {
        Ok(state) => state,
        // The host looks for the first words.
        Err(error) => panic!(
            "the state does not read back in this build: {} at line {} column {}",
            unread::what(&error),
            error.line(),
            error.column()
        ),
    }
}

mod unread;

#[cfg(test)]
mod tests;

//! The calls of the `direct` interface.

use gatehouse_guest::Guest;
use gatehouse_model as own;
use wasmtime::Store;

use super::contract::bindings::exports::gatehouse::family::direct as wit;
use super::contract::bindings::gatehouse::family::{types, upstream};
use super::convert::Convert;
use super::exports::Family;
use super::lower;

/// `direct.prepare`.
pub(crate) fn prepare(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    request: own::DirectRequest,
) -> wasmtime::Result<Result<own::DirectPlan, own::Refusal>> {
    let cx = lower::context(cx);
    let request = lower::DirectRequest {
        surface: &request.surface,
        model: &request.model,
        body: &request.body,
        blobs: request.blobs.convert(),
    };
    let answer: Result<wit::Plan, types::Refusal> =
        family.call(store, family.direct()?.prepare, (&cx, &request))?;
    Ok(answer.convert())
}

/// `direct.answer`.
pub(crate) fn answer(
    family: &Family,
    store: &mut Store<Guest>,
    cx: &own::Context,
    state: &[u8],
    reply: own::Reply,
) -> wasmtime::Result<Result<own::DirectResponse, own::Failure>> {
    let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
    let answer: Result<wit::DirectResponse, types::Failure> =
        family.call(store, family.direct()?.answer, (&cx, state, &reply))?;
    Ok(answer.convert())
}

impl Convert<own::DirectPlan> for wit::Plan {
    fn convert(self) -> own::DirectPlan {
        match self {
            Self::Call(exchange) => own::DirectPlan::Call(Box::new(exchange.convert())),
            Self::Respond(response) => own::DirectPlan::Respond(response.convert()),
        }
    }
}

//! The calls of the `direct` interface.

use gatehouse_guest::Guest;
use gatehouse_model as own;
use wasmtime::Store;

use super::answers::{Read, known, limit};
use super::exports::Family;
use super::exports::bindings::exports::gatehouse::family::direct as wit;
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::lower;
use super::types::Convert as _;
use crate::fault::Fault;

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
        extra: lower::EXTRA,
    };
    let prepare = family.direct()?.prepare;
    family.ask::<_, Result<wit::Plan, types::Refusal>, _>(store, prepare, (&cx, &request))
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
    let answer = family.direct()?.answer;
    family.ask::<_, Result<wit::DirectResponse, types::Failure>, _>(store, answer, (&cx, state, &reply))
}

impl Read<own::DirectPlan> for wit::Plan {
    fn read(self) -> Result<own::DirectPlan, Fault> {
        Ok(match self {
            Self::Call(exchange) => own::DirectPlan::Call(Box::new(exchange.read()?)),
            Self::Respond(response) => own::DirectPlan::Respond(response.read()?),
        })
    }
}

impl Read<own::Exchange> for wit::Exchange {
    fn read(self) -> Result<own::Exchange, Fault> {
        known("exchange", &self.extra)?;
        let Self { call, charge, at_most, passes, state, extra: _ } = self;
        let (charge, at_most) = (charge.read()?, limit(at_most)?);
        Ok(own::Exchange { call: call.read()?, charge, at_most, passes, state })
    }
}

impl Read<own::DirectResponse> for wit::DirectResponse {
    fn read(self) -> Result<own::DirectResponse, Fault> {
        known("response", &self.extra)?;
        let Self { mime, body, settle, fresh_s, extra: _ } = self;
        Ok(own::DirectResponse { mime, body: body.into(), settle: settle.read()?, fresh_s })
    }
}

//! The calls of the `direct` interface.

use gatehouse_model as own;

use super::answers::Read;
use super::exports::bindings::exports::gatehouse::family::direct as wit;
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::exports::{Callee, Judged};
use super::lower;
use super::types::Convert as _;
use crate::fault::Fault;

impl Callee<'_> {
    /// `direct.prepare`.
    pub(crate) fn prepare_direct(
        &mut self,
        cx: &own::Context,
        request: own::DirectRequest,
    ) -> Judged<own::DirectPlan> {
        let cx = lower::context(cx);
        let request = lower::DirectRequest {
            surface: &request.surface,
            model: &request.model,
            body: &request.body,
            blobs: request.blobs.convert(),
            extra: lower::EXTRA,
        };
        self.ask::<_, Result<wit::Plan, types::Refusal>, _>(self.direct()?.prepare, (&cx, &request))
    }

    /// `direct.answer`.
    pub(crate) fn answer_direct(
        &mut self,
        cx: &own::Context,
        state: &[u8],
        reply: own::Reply,
    ) -> wasmtime::Result<Result<own::DirectResponse, own::Failure>> {
        let (cx, reply): (_, upstream::Reply) = (lower::context(cx), reply.convert());
        let answer = self.direct()?.answer;
        self.ask::<_, Result<wit::DirectResponse, types::Failure>, _>(answer, (&cx, state, &reply))
    }
}

impl Read<own::DirectPlan> for wit::Plan {
    fn read(self) -> Result<own::DirectPlan, Fault> {
        Ok(match self {
            Self::Call(exchange) => own::DirectPlan::Call(Box::new(exchange.read()?)),
            Self::Respond(response) => own::DirectPlan::Respond(response.read()?),
        })
    }
}

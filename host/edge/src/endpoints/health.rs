//! `/livez` and `/readyz`, for load balancers and service managers. Need no key.

use gatehouse_net::ShutdownPhase;
use http::Response;
use serde_json::json;

use crate::errors::{Kind, Refusal};
use crate::http::context::EdgeContext;
use crate::http::response::{self, ResponseBody};

/// The process lives.
pub(super) fn live() -> Response<ResponseBody> {
    response::json(&json!({ "status": "ok" }))
}

/// The gateway takes new work.
pub(super) fn ready(context: &EdgeContext) -> Result<Response<ResponseBody>, Refusal> {
    if *context.shutdown.borrow() == ShutdownPhase::Serving && context.backend.is_ready() {
        return Ok(response::json(&json!({ "status": "ready" })));
    }
    Err(Refusal::new(Kind::Draining, "the gateway takes no new work at the moment"))
}

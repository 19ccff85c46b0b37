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

/// The gateway takes new work, of every family.
pub(super) fn ready(context: &EdgeContext) -> Result<Response<ResponseBody>, Refusal> {
    if *context.shutdown.borrow() == ShutdownPhase::Serving && context.backend.is_ready() {
        return Ok(response::json(&json!({ "status": "ready" })));
    }
    let starting = context.backend.families_not_ready();
    if starting.is_empty() {
        return Err(Refusal::new(Kind::Draining, "the gateway takes no new work at the moment"));
    }
    let message =
        format!("the gateway is starting, and these families are not ready: {}", starting.join(", "));
    Err(Refusal::new(Kind::Draining, message))
}

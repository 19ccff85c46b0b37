//! `/livez` and `/readyz`, for whoever decides where traffic goes.

use http::Response;
use serde_json::json;

use crate::backend::Backend;
use crate::errors::{Kind, Problem};
use crate::http::context::EdgeContext as Front;
use crate::http::response::{self as answer, ResponseBody as Content};
use crate::net::shutdown::ShutdownPhase;

/// The process answers.
pub(super) fn live() -> Response<Content> {
    answer::json(&json!({ "status": "ok" }))
}

/// The house takes work.
pub(super) fn ready<B: Backend>(front: &Front<B>) -> Result<Response<Content>, Problem> {
    if *front.shutdown.borrow() == ShutdownPhase::Serving && front.backend.is_ready() {
        return Ok(answer::json(&json!({ "status": "ready" })));
    }
    Err(Problem::new(Kind::Draining, "the gateway takes no new work at the moment"))
}

//! `/livez` and `/readyz`, for whoever decides where traffic goes.

use http::Response;
use serde_json::json;

use crate::answer::{self, Content};
use crate::backend::Backend;
use crate::envelope::{Kind, Problem};
use crate::front::Front;
use crate::listen::Stage;

/// The process answers.
pub(super) fn live() -> Response<Content> {
    answer::json(&json!({ "status": "ok" }))
}

/// The house takes work.
pub(super) fn ready<B: Backend>(front: &Front<B>) -> Result<Response<Content>, Problem> {
    if *front.stage.borrow() == Stage::Open && front.backend.is_ready() {
        return Ok(answer::json(&json!({ "status": "ready" })));
    }
    Err(Problem::new(Kind::Draining, "the gateway takes no new work at the moment"))
}

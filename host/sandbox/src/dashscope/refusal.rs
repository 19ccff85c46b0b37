//! The provider's HTTP errors: `{request_id, code, message}`, flat. The texts are our own.

use http::Response;
use serde_json::{Value, json};

use crate::common::kept::fresh_id;
use crate::common::server::{self, Body};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    /// 400 for a field.
    pub(super) fn parameter(message: impl Into<String>) -> Self {
        Self::new(400, "InvalidParameter", message)
    }

    pub(super) fn response(&self) -> Response<Body> {
        let body = json!({ "request_id": request_id(), "code": self.code, "message": self.message });
        server::json(self.status, &body)
    }
}

/// A new id for each answer.
pub(super) fn request_id() -> Value {
    fresh_id().map_or(Value::Null, Value::String)
}

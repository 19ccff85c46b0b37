//! Errors as `google.rpc.Status`, in answers and inside operations. The texts are the sandbox's own.

use http::Response;
use serde_json::{Value, json};

use crate::common::server::{self, Body};

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    /// The name of the gRPC code.
    pub(super) name: &'static str,
    pub(super) message: String,
}

impl Refusal {
    pub(super) fn new(status: u16, name: &'static str, message: impl Into<String>) -> Self {
        Self { status, name, message: message.into() }
    }

    /// 400 for a field.
    pub(super) fn argument(message: impl Into<String>) -> Self {
        Self::new(400, "INVALID_ARGUMENT", message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "NOT_FOUND", message)
    }

    pub(super) fn response(&self) -> Response<Body> {
        server::json(self.status, &self.body())
    }

    /// The same inside a list, as streaming endpoints write it.
    pub(super) fn in_list(&self) -> Response<Body> {
        server::json(self.status, &json!([self.body()]))
    }

    fn body(&self) -> Value {
        json!({ "error": { "code": self.status, "message": self.message, "status": self.name } })
    }

    /// Inside an operation: the number of the gRPC code.
    pub(super) fn in_operation(&self) -> Value {
        let code = match self.name {
            "INVALID_ARGUMENT" => 3,
            "PERMISSION_DENIED" => 7,
            "RESOURCE_EXHAUSTED" => 8,
            _ => 13,
        };
        json!({ "code": code, "message": self.message })
    }
}

/// The page of a proxy in front of the provider.
pub(super) fn html() -> Response<Body> {
    server::reply(503, "text/html", "<html><body><h1>503 Service Unavailable</h1></body></html>\n")
}

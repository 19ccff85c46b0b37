//! The control plane's envelope, and its errors.

use http::Response;
use serde_json::{Value, json};

use crate::ark::faults::Marker;
use crate::common::faults::errors;
use crate::common::kept::random_word;
use crate::common::server::{self, Body};

/// Why an action is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ControlError {
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    message: String,
}

impl ControlError {
    pub(crate) fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }

    pub(crate) fn missing(field: &str) -> Self {
        Self::new(400, "MissingParameter", format!("The parameter {field} is missing."))
    }

    pub(crate) fn invalid(field: &str, why: &str) -> Self {
        Self::new(400, "InvalidParameter", format!("The parameter {field} is not valid: {why}."))
    }

    pub(crate) fn unknown(what: &str) -> Self {
        Self::new(404, "NotFound", format!("The {what} is not found."))
    }

    /// The refusal a marker asks for. Some come with HTTP 200, as the real ones may.
    pub(crate) fn of(fault: Marker) -> Self {
        let (status, code, message) = errors! { fault;
            NoPlan => (403, "SubscriptionRequired", "The account 2100000001 has no plan.");
            Authentication | Denied => (403, "AccessDenied", "The user has no policy.");
            Overdue => (200, "AccountOverdueError", "The account 2100000001 is overdue.");
            Invalid => (200, "InvalidParameter.URL", "The file at the URL is not supported.");
            TooMany => (429, "Throttling", "The rate limit is exceeded.");
            TooManyOfModel | Quota | Overloaded | Loading => (200, "FlowLimitExceeded", "The rate limit is exceeded.");
            _ => (500, "InternalError", "The service encountered an internal error.");
        };
        Self::new(status, code, message)
    }
}

/// The envelope of an answer.
pub(crate) fn envelope(action: &str, answer: Result<Value, ControlError>) -> Response<Body> {
    let mut metadata = json!({
        "RequestId": format!("20260101{}", random_word(26).to_uppercase()), "Action": action,
        "Version": "2024-01-01", "Service": "ark", "Region": "cn-beijing",
    });
    match answer {
        Ok(result) => server::json(200, &json!({"ResponseMetadata": metadata, "Result": result})),
        Err(error) => {
            metadata["Error"] = json!({"Code": error.code, "Message": error.message});
            server::json(error.status, &json!({"ResponseMetadata": metadata}))
        }
    }
}

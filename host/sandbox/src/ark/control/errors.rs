//! The control plane's envelope, and its errors.

use http::Response;
use serde_json::{Value, json};

use crate::ark::faults::Marker;
use crate::ark::ids::random_word;
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
        match fault {
            Marker::NoPlan => Self::new(403, "SubscriptionRequired", "The account 2100000001 has no plan."),
            Marker::Authentication | Marker::Denied => {
                Self::new(403, "AccessDenied", "The user has no policy.")
            }
            Marker::Overdue => Self::new(200, "AccountOverdueError", "The account 2100000001 is overdue."),
            Marker::Invalid => {
                Self::new(200, "InvalidParameter.URL", "The file at the URL is not supported.")
            }
            Marker::TooMany => Self::new(429, "Throttling", "The rate limit is exceeded."),
            Marker::TooManyOfModel | Marker::Quota | Marker::Overloaded | Marker::Loading => {
                Self::new(200, "FlowLimitExceeded", "The rate limit is exceeded.")
            }
            _ => Self::new(500, "InternalError", "The service encountered an internal error."),
        }
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

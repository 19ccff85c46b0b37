//! Why a page shows an error in place of what it was asked for.

use gatehouse_admin::{OperationError, ResponseBody, StoreError};
use http::{Response, StatusCode};
use serde_json::Value;

/// A status and a sentence for the person.
#[derive(Clone, Debug)]
pub(crate) struct PageError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The stages of a deployment that was refused.
    pub(crate) stages: Vec<Value>,
}

/// A page, or the error that is shown in its place.
pub(crate) type Outcome = Result<Response<ResponseBody>, PageError>;

impl PageError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), stages: Vec::new() }
    }

    /// A fault of the gateway's own.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }
}

impl From<OperationError> for PageError {
    fn from(error: OperationError) -> Self {
        let status = match &error {
            OperationError::Invalid(_)
            | OperationError::InvalidField { .. }
            | OperationError::Misconfigured(_) => StatusCode::UNPROCESSABLE_ENTITY,
            OperationError::NotFound(_) => StatusCode::NOT_FOUND,
            OperationError::Refused(_) | OperationError::PluginRefused { .. } => StatusCode::CONFLICT,
            OperationError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        OperationError::from(error).into()
    }
}

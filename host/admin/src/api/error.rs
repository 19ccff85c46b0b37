//! Errors of operations.

use gatehouse_store::StoreError;
use gatehouse_tasks::Rejection;

use super::plugin::StageView;

/// Why an operation was not performed; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The operation is not well-formed.
    #[error("{0}")]
    Invalid(String),
    /// A field of a request is wrong; empty where it is none in particular.
    #[error("{message}")]
    InvalidField {
        /// As the client would write it.
        field: String,
        /// What was expected and what came.
        message: String,
    },
    /// The named thing does not exist.
    #[error("{0}")]
    NotFound(String),
    /// A rule forbids it.
    #[error("{0}")]
    Refused(String),
    /// It has changed since the revision that the operation is based on.
    #[error("{0}")]
    Stale(String),
    /// A plugin version was refused.
    #[error("{reason}")]
    PluginRefused {
        /// The stage and the reason.
        reason: String,
        /// Every stage up to that one.
        stages: Vec<StageView>,
    },
    /// The configuration has errors: each with its line and remedy.
    #[error("{0}")]
    Misconfigured(String),
    /// Too much load; try again.
    #[error("{0}")]
    Busy(String),
    /// A part of the gateway failed.
    #[error("{0}")]
    Failed(String),
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> Self {
        if error.passes() { Self::Busy(error.to_string()) } else { Self::Failed(error.to_string()) }
    }
}

impl From<Rejection> for OperationError {
    fn from(rejection: Rejection) -> Self {
        let text = rejection.to_string();
        match rejection {
            Rejection::NoCustomer(_)
            | Rejection::NoKey(_)
            | Rejection::NoTask(_)
            | Rejection::NoWebhook(_)
            | Rejection::NoDelivery(_) => Self::NotFound(text),
            Rejection::Malformed { .. } | Rejection::Overflow => Self::Invalid(text),
            Rejection::CustomerChanged { .. }
            | Rejection::KeyChanged { .. }
            | Rejection::WebhookChanged { .. } => Self::Stale(text),
            _ => Self::Refused(text),
        }
    }
}

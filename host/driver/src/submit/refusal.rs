//! Why a request was refused: the refusals of plugins, of the store and of its rules, as [`SubmitError`]. Never decides
//! whether one is.

use gatehouse_model::Refusal;
use gatehouse_runtime::Fault;
use gatehouse_store::StoreError;
use gatehouse_tasks::{Applied, Rejection};

use crate::errors::SubmitError;
use crate::rates::{LimitKind, RateLimited};

/// What a plugin has against a request.
pub(crate) fn refusal_error(refusal: Refusal) -> SubmitError {
    match refusal {
        Refusal::Invalid { field, message } => SubmitError::Invalid { field, message },
        Refusal::NotFound(message) => SubmitError::NotFound(message),
        Refusal::Forbidden(message) => SubmitError::Forbidden(message),
    }
}

/// Why a plugin gave no answer about a request; `plugin` handles the faults that are its own.
pub(crate) fn fault_error(fault: Fault, plugin: impl FnOnce(Fault) -> SubmitError) -> SubmitError {
    match fault {
        Fault::Busy => SubmitError::Busy,
        Fault::InputTooLarge { .. } | Fault::InputTooComplex { .. } | Fault::RequestTooLong { .. } => {
            SubmitError::invalid(format!("besides its media, {fault}"))
        }
        fault => plugin(fault),
    }
}

/// Why the store took no command.
pub(crate) fn store_error(error: StoreError) -> SubmitError {
    match error {
        StoreError::Busy => SubmitError::Busy,
        StoreError::NoRoom => SubmitError::DiskFull("store"),
        error => error.into(),
    }
}

/// Why a submission or a hold is not in the store.
pub(crate) fn rejection_error(outcome: &Result<Applied, Rejection>) -> SubmitError {
    match *outcome {
        Err(Rejection::InsufficientBalance { needed, available }) => {
            SubmitError::InsufficientBalance { needed, available }
        }
        Err(Rejection::QuotaExceeded(ref short)) => SubmitError::QuotaExceeded(short.clone()),
        Err(Rejection::TooManyOpen { ref key, limit, ref model }) => SubmitError::RateLimited(RateLimited {
            key: key.clone(),
            kind: LimitKind::Concurrency,
            limit,
            model: model.clone(),
            retry_after: None,
        }),
        Err(Rejection::JoinsFull(_)) => SubmitError::Busy,
        Err(Rejection::IdempotencyConflict) => SubmitError::IdempotencyConflict,
        Err(Rejection::KeyExpired(_) | Rejection::KeyRevoked(_) | Rejection::NoKey(_)) => {
            SubmitError::KeyGone
        }
        ref other => SubmitError::Internal(format!("the store answered a submission with {other:?}")),
    }
}

//! The types of the driver's interface: what `edge` and `admin` hand in and what they get back. The calls
//! themselves are methods of `Driver`, in `submit`, `queries`, `cancel` and `text`.

use std::sync::Arc;

use gatehouse_model::{Credits, Key, Status, TaskId, UnixMs};

use gatehouse_store::StoreError;

use crate::body::CheckedBody;

/// An asynchronous submission as it came off the wire.
pub struct Request {
    /// The caller, already authenticated.
    pub key: Arc<Key>,
    /// "images.generate", ...
    pub surface: &'static str,
    /// The task a follow-up names in its path.
    pub parent: Option<TaskId>,
    /// What the client sent.
    pub body: CheckedBody,
    /// The `Idempotency-Key` header.
    pub idempotency: Option<String>,
}

/// What a submission is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The durable task.
    pub task: TaskId,
    /// An earlier submission with the same idempotency key made it.
    pub repeated: bool,
}

/// Why a submission was not accepted. Nothing was charged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// A bad body or field.
    #[error("{message}")]
    Invalid {
        /// JSON path, `None` for the body as a whole.
        field: Option<String>,
        /// What was expected and what came.
        message: String,
    },
    /// No model of that name on this surface.
    #[error("unknown model {0:?}")]
    UnknownModel(String),
    /// The key may not use the model.
    #[error("this key may not use model {0:?}")]
    ModelForbidden(String),
    /// Something the request names does not exist (for this caller).
    #[error("{0}")]
    NotFound(String),
    /// Something the request names may not be used.
    #[error("{0}")]
    Forbidden(String),
    /// The account cannot pay.
    #[error("insufficient balance: this request needs {needed} credits, {available} are available")]
    InsufficientBalance {
        /// The hold.
        needed: Credits,
        /// What the account has.
        available: Credits,
    },
    /// The key's quota does not allow it.
    #[error("key quota exceeded: this request needs {needed} credits, {remaining} remain")]
    QuotaExceeded {
        /// The hold.
        needed: Credits,
        /// What the key has left.
        remaining: Credits,
    },
    /// The same idempotency key came with another body.
    #[error("this Idempotency-Key was used with a different request")]
    IdempotencyConflict,
    /// The key was revoked or has expired between look-up and commit.
    #[error("this key is no longer valid")]
    KeyGone,
    /// Too much is going on; nothing was started.
    #[error("the gateway is busy, retry in a moment")]
    Busy,
    /// The process is shutting down.
    #[error("the gateway is restarting, retry in a moment")]
    Draining,
    /// The model's plugin misbehaved; how is for the log.
    #[error("the plugin of model {0:?} failed on this request")]
    Plugin(String),
    /// The operator's configuration is short. The text is for the log.
    #[error("{0}")]
    Internal(String),
    /// The store failed; the process is about to stop.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a cancel did not happen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CancelError {
    /// No such task for this caller.
    #[error("no such task")]
    NotFound,
    /// It has already ended.
    #[error("the task has already ended: {}", .0.as_str())]
    Over(Status),
    /// It was sent, and its provider cannot take it back.
    #[error("the task is already running at its provider and cannot be stopped there")]
    Running,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which of a caller's tasks to list.
#[derive(Clone, Debug, Default)]
pub struct TaskFilter {
    /// Only this status.
    pub status: Option<Status>,
    /// Only this canonical model or alias.
    pub model: Option<String>,
    /// Continue after this task (older ones follow).
    pub after: Option<TaskId>,
    /// At most this many.
    pub limit: usize,
}

/// One line of `GET /v1/models`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelListing {
    /// Id or alias.
    pub id: String,
    /// The family that serves it.
    pub family: String,
    /// Surfaces it serves.
    pub surfaces: Vec<String>,
    /// When the version serving it was activated.
    pub since: UnixMs,
}

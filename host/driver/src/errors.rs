//! Why a start, a submission or a cancel failed, for the caller to act on.
//!
//! A message here may be shown to a client, except where a variant says that it is for the log.

use std::fmt::Display;
use std::num::NonZeroU32;
use std::time::Duration;

use gatehouse_media::{ShareExceeded, StoreOutage};
use gatehouse_model::{Credits, Status, TaskId, WebhookId};
use gatehouse_store::StoreError;
use gatehouse_tasks::QuotaExceeded;

use crate::memory::MemoryShortage;
use crate::rates::RateLimited;

/// Why a driver could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The price table cannot be used.
    #[error("prices: {0}")]
    Prices(String),
    /// The table of text models cannot be used.
    #[error("models.{path}: {why}")]
    Models {
        /// Below `models`.
        path: String,
        /// What was expected and what came.
        why: String,
    },
    /// The variants of the price book cannot be used.
    #[error("price_variants.{path}: {why}")]
    PriceVariants {
        /// Below `price_variants`.
        path: String,
        /// What was expected and what came.
        why: String,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// No model of that name serves yet; one of these families may.
    #[error("the gateway is starting, and these families are not ready: {0}; retry in a moment")]
    Starting(String),
    /// This gateway has the model and does not serve it now.
    #[error("model {model:?} is not served at present: {reason}")]
    NotServed {
        /// As the request names it.
        model: String,
        /// For the client: no more than it may know.
        reason: &'static str,
    },
    /// The family of a path is switched off.
    #[error("{0} is not served at present: the operator has switched it off")]
    PathSwitchedOff(String),
    /// The key may not use the model.
    #[error("this key may not use model {0:?}")]
    ModelForbidden(String),
    /// Something the request names does not exist (for this caller).
    #[error("{0}")]
    NotFound(String),
    /// The request goes on from a response that does not exist (for this caller).
    #[error("Previous response with id '{0}' not found.")]
    UnknownResponse(String),
    /// The request names an item that does not exist (for this caller).
    #[error("Item with id '{0}' not found. Items are not persisted when `store` is set to false.")]
    UnknownItem(String),
    /// Something the request names may not be used.
    #[error("{0}")]
    Forbidden(String),
    /// The task that the request was to join has ended.
    #[error("task {task} has already ended: {}", .status.as_str())]
    ParentOver {
        /// The task.
        task: TaskId,
        /// Its status.
        status: Status,
    },
    /// The account cannot pay.
    #[error("insufficient balance: this request needs {needed} credits, {available} are available")]
    InsufficientBalance {
        /// The hold.
        needed: Credits,
        /// What the account has.
        available: Credits,
    },
    /// The quota of the key or of its customer does not allow it.
    #[error(transparent)]
    QuotaExceeded(QuotaExceeded),
    /// The key has come as often, or has as much under way, as it may.
    #[error("{0}")]
    RateLimited(RateLimited),
    /// The same idempotency key came with another body.
    #[error("this Idempotency-Key was used with a different request")]
    IdempotencyConflict,
    /// The first request with the idempotency key is still at work.
    #[error("the first request with this Idempotency-Key is still being answered, retry when it is done")]
    AnswerUnderWay,
    /// The first request with the idempotency key was answered and paid, and its answer is not there any more.
    #[error(
        "the request with this Idempotency-Key was answered, and the answer was not kept: expected at most {} MiB and a \
         client that stays; to have it made and paid again, send another key", .longest >> 20
    )]
    AnswerNotKept {
        /// The bytes of the longest answer that is kept.
        longest: usize,
    },
    /// The key was revoked or has expired between look-up and commit.
    #[error("this key is no longer valid")]
    KeyGone,
    /// Its customer's tasks that wait for the same provider take longer than the task may.
    #[error(
        "the tasks of this account that wait for the model's provider take about {} minutes at the present pace, and a \
         task may take {}; retry when some have ended", minutes(.wait), minutes(.limit)
    )]
    TooLate {
        /// How long the task would wait.
        wait: Duration,
        /// How long it may take altogether.
        limit: Duration,
    },
    /// Too much is going on; nothing was started.
    #[error("the gateway is busy, retry in a moment")]
    Busy,
    /// The disk of this has no room for new work, which is the operator's to change. Nothing was started.
    #[error("the gateway's {0} disk is full: it takes no new work until there is room; what runs goes on")]
    DiskFull(&'static str),
    /// The bucket of media does not answer now. Nothing was started.
    #[error(
        "the gateway's media store does not answer now: it takes no files until it does; what runs goes on"
    )]
    MediaUnavailable,
    /// The customer's unfinished tasks hold too many files. Nothing was started.
    #[error("{0}; retry when some of them have ended")]
    MediaShare(#[from] ShareExceeded),
    /// There is no memory for what the request brings along. Nothing was started.
    #[error(transparent)]
    Memory(#[from] MemoryShortage),
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

impl SubmitError {
    /// A request that cannot be used as a whole.
    pub(crate) fn invalid(message: String) -> Self {
        Self::Invalid { field: None, message }
    }

    /// A field that cannot be used: the message begins with its path.
    pub(crate) fn wrong_field(field: impl Into<String>, problem: impl Display) -> Self {
        let field = field.into();
        Self::Invalid { message: format!("{field}: {problem}"), field: Some(field) }
    }
}

impl From<gatehouse_media::Error> for SubmitError {
    fn from(error: gatehouse_media::Error) -> Self {
        match error.outage() {
            Some(StoreOutage::DiskFull) => Self::DiskFull("media"),
            Some(StoreOutage::Bucket) => {
                tracing::warn!(%error, "files of a request cannot be kept now");
                Self::MediaUnavailable
            }
            None => Self::Internal(error.to_string()),
        }
    }
}

fn minutes(span: &Duration) -> u64 {
    span.as_secs().div_ceil(60)
}

/// Why a customer's webhook was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebhookError {
    /// No such webhook of this caller's.
    #[error("no webhook {0}")]
    Unknown(WebhookId),
    /// The webhooks, as they are, do not allow it.
    #[error("{0}")]
    Conflict(String),
    /// Others changed the webhook each time that this was tried.
    #[error("webhook {0} is being changed by others, retry in a moment")]
    Changed(WebhookId),
    /// What an operator has stopped goes on only by an operator.
    #[error("enabled: an operator disabled webhook {0}, and only an operator enables, moves or removes it")]
    DisabledByOperator(WebhookId),
    /// An operator stopped what was sent there.
    #[error("url: an operator disabled a webhook at {0}, and only an operator has anything sent there again")]
    StoppedAddress(String),
    /// The key has come too often.
    #[error("an API key may change webhooks {limit} times a minute: retry in {} s", .wait.as_secs().max(1))]
    TooOften {
        /// How often it may.
        limit: NonZeroU32,
        /// When this request passes.
        wait: Duration,
    },
    /// A wrong field, a conflict of idempotency keys, a busy gateway, or a failed store.
    #[error(transparent)]
    Request(#[from] SubmitError),
}

impl From<StoreError> for WebhookError {
    fn from(error: StoreError) -> Self {
        SubmitError::from(error).into()
    }
}

/// Why a task was not rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// No such task for this caller, or its family renders none.
    #[error("no such task")]
    NotFound,
    /// The model's plugin misbehaved; how is for the log.
    #[error("the plugin of model {0:?} failed on this task")]
    Plugin(String),
    /// The store failed.
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

/// Why a ruling about an ambiguous call cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulingError {
    /// No such task.
    #[error("no such task")]
    NotFound,
    /// The reply that is to be adopted cannot be.
    #[error("{field}: {problem}")]
    Reply {
        /// "status", "content_type" or "body".
        field: &'static str,
        /// What was expected and what came.
        problem: String,
    },
    /// The files in the reply that is to be adopted cannot be kept now.
    #[error("the reply's files could not be kept, and nothing was changed; try again: {0}")]
    NotKept(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

//! The types of the driver's interface: what `edge` and `admin` hand in and what they get back. The calls
//! themselves are methods of `Driver`, in `submit`, `queries`, `cancel` and `text`.

use std::sync::Arc;

use gatehouse_model::{Key, Status, TaskId, UnixMs};

use crate::body::CheckedBody;
use crate::rates::RateReport;

/// An asynchronous submission of an authenticated caller.
pub struct SubmitRequest {
    /// The caller's key.
    pub key: Arc<Key>,
    /// "images.generate", ...
    pub surface: &'static str,
    /// The task a follow-up names in its path.
    pub parent: Option<TaskId>,
    /// What the client sent.
    pub body: CheckedBody,
    /// The `Idempotency-Key` header.
    pub idempotency: Option<String>,
    /// Filled with what is left of the key's rates.
    pub rates: RateReport,
}

/// What the task in the path of a surface is called, where a client reads of it (spec: "message about the video").
#[must_use]
pub fn parent_kind(surface: &str) -> &'static str {
    if surface.starts_with("videos.") { "video" } else { "task" }
}

/// What a submission is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The durable task.
    pub task: TaskId,
    /// An earlier submission with the same idempotency key made it.
    pub repeated: bool,
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

/// A caller reads a task on a path of its family.
pub struct ViewRequest<'a> {
    /// The caller's key.
    pub key: &'a Key,
    /// The task.
    pub task: TaskId,
    /// "journey.read", ...
    pub surface: &'a str,
    /// What links begin with, without a trailing slash.
    pub base: &'a str,
}

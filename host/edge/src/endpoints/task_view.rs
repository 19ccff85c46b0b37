//! A task as clients read it, by itself, in lists and in events (spec "Task"; decisions "Tasks").

use gatehouse_driver::Waiting;
use gatehouse_model::{FailureKind, Status, Task, TaskFailure, TaskId};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::backend::Backend;
use crate::endpoints::usage::Amount;
use crate::errors::{Refusal, whole_seconds};

/// `data` of the task endpoint. Times in Unix seconds, durations in seconds, cost in credits.
#[derive(Serialize)]
pub(super) struct TaskView {
    pub(super) id: TaskId,
    status: Status,
    progress: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<TaskFailureView>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    waiting: Option<Waiting>,
    created: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed: Option<u64>,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actual_time: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_wait: Option<u64>,
}

/// Spec "Task failures".
#[derive(Serialize)]
pub(super) struct TaskFailureView {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// A task of the caller; links begin with `base`.
pub(super) fn view(backend: &dyn Backend, mut task: Task, base: &str) -> Result<TaskView, Refusal> {
    let result = backend.result(&task, base).map(raw).transpose()?;
    let span = task.finished.map(|end| end.since(task.created));
    let queued = backend.queue_estimate(&task);
    Ok(TaskView {
        id: task.id,
        status: task.status,
        progress: task.progress,
        result,
        waiting: backend.waiting(&task),
        // A task that is going to fail has its reason before it has failed.
        error: task.failure.take().filter(|_| task.status == Status::Failed).map(failure),
        created: task.created.seconds(),
        completed: task.finished.map(gatehouse_model::UnixMs::seconds),
        model: task.model,
        cost: task.cost.map(Amount),
        estimated_time: task.expected_ms.map(|ms| u64::from(ms).div_ceil(1000)),
        actual_time: span.map(whole_seconds),
        queue_position: queued.map(|queued| queued.position),
        estimated_wait: queued.and_then(|queued| queued.wait).map(whole_seconds),
    })
}

/// JSON as it is.
pub(super) fn raw(json: Vec<u8>) -> Result<Box<RawValue>, Refusal> {
    let text = String::from_utf8(json).map_err(Refusal::internal)?;
    RawValue::from_string(text).map_err(Refusal::internal)
}

/// Why a task failed.
pub(super) fn failure(failure: TaskFailure) -> TaskFailureView {
    TaskFailureView { kind: failure_type(failure.kind), code: "task_failed", message: failure.message }
}

fn failure_type(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Request => "invalid_request_error",
        FailureKind::Moderation => "content_policy_violation",
        FailureKind::Upstream => "upstream_error",
        FailureKind::Timeout => "timeout_error",
        FailureKind::Cancelled => "cancelled",
        FailureKind::Limit => "rate_limit_error",
        FailureKind::Internal => "server_error",
    }
}

//! `/tasks/{task}/steps` and `/tasks/{task}/reconcile`: what a task did, with its exchanges with providers, and an operator's ruling
//! about a call whose outcome nobody knows. Steps show clients' words, so they are for operators, and each read leaves a line in
//! the audit record.

use gatehouse_model::{TaskId, view};
use gatehouse_tasks::{Applied, ExchangeRecord, StepKind, StepRecord, StepRow};
use schemars::JsonSchema;
use serde::Serialize;

use super::task::TaskLine;
use crate::api::task::TaskRuling;
use crate::api::values::{List, Moment};
use crate::http::call::{Call, Outcome};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::ruling_changes;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/tasks/{task}/steps", "listTaskSteps", list)
            .says("Lists what a task did, oldest first; a row for each of its commits.")
            .paged()
            .for_operators()
            .returns::<List<TaskSteps>>(),
        Route::post("/tasks/{task}/reconcile", "reconcileTask", reconcile)
            .says(
                "Rules on the ambiguous call of a task: it is sent again, given up with a refund, or has \
                a reply. 409 for a task that waits for no ruling, and once its time is over.",
            )
            .idempotent()
            .body::<TaskRuling>()
            .returns::<TaskLine>(),
    ]
}

view! {
    /// What led to one commit of a task.
    #[derive(Debug, Serialize, JsonSchema)]
    struct TaskSteps of (row: StepRow) {
        /// The task's revision since then.
        revision: u64 = row.revision,
        /// When it was sent to the store.
        at: Moment = row.at.into(),
        /// Oldest first.
        steps: Vec<TaskStep> = row.steps.into_iter().map(TaskStep::from).collect(),
        /// Older steps of this row that had no room.
        left_out: u64 = row.left_out,
    }
}

view! {
    /// One step.
    #[derive(Debug, Serialize, JsonSchema)]
    struct TaskStep of (record: StepRecord) {
        /// When it began.
        at: Moment = record.at.into(),
        /// How long it took.
        took_ms: u64 = record.took_ms,
        /// What was done.
        #[serde(flatten)]
        what: TaskStepKind = record.what.into(),
    }
}

/// What a step did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum TaskStepKind {
    /// The plugin was told an event.
    Plugin {
        /// The digest of the version that was asked.
        version: String,
        /// "start", "joined", "reply", "outage", "probed", "timer", "cancel" or "lost".
        event: String,
        /// What it wants next: "call", "probe", "wait", "done" or "fail"; "fault" where it gave no answer.
        verdict: String,
        /// 0 to 100, as it said.
        progress: u8,
        /// Bytes of its state.
        state_bytes: u64,
        /// Its fault.
        fault: Option<String>,
    },
    /// A provider was called. Credentials and the values of queries are left out.
    Exchange(Box<ExchangeRecord>),
    /// Media were looked at.
    Probe {
        /// How many.
        media: u64,
    },
    /// Results were copied.
    Copy {
        /// How many.
        media: u64,
        /// Their bytes.
        bytes: u64,
    },
    /// The task waits from here on.
    Wait {
        /// Until when at the latest.
        until: Moment,
        /// "plugin", "permit" of a provider's account, or "media store", where as many files wait for it as may.
        reason: String,
    },
    /// The gateway decided something.
    Decision {
        /// What and why.
        text: String,
    },
    /// Steps that changed nothing.
    Quiet {
        /// How many.
        steps: u64,
        /// When the last of them began.
        last: Moment,
    },
}

impl From<StepKind> for TaskStepKind {
    fn from(kind: StepKind) -> Self {
        match kind {
            StepKind::Plugin { digest, event, verdict, progress, state_bytes, fault } => {
                Self::Plugin { version: digest.to_string(), event, verdict, progress, state_bytes, fault }
            }
            StepKind::Exchange(exchange) => Self::Exchange(exchange),
            StepKind::Probe { media } => Self::Probe { media },
            StepKind::Copy { media, bytes } => Self::Copy { media, bytes },
            StepKind::Wait { until, reason } => Self::Wait { until: until.into(), reason },
            StepKind::Decision { text } => Self::Decision { text },
            StepKind::Quiet { steps, last } => Self::Quiet { steps, last: last.into() },
        }
    }
}

async fn list(call: Call) -> Outcome {
    let task: TaskId = call.id("task", "task")?;
    let after = call.position::<u64>()?;
    let rows = call.service.tasks.steps(task).await?;
    call.note_read(format!("tasks/{task}/steps")).await?;
    let mut rest = rows.into_iter().filter(|row| after.is_none_or(|after| row.revision > after));
    let page: Vec<TaskSteps> = rest.by_ref().take(call.query.limit()).map(TaskSteps::from).collect();
    let next = page.last().map(|row| row.revision).filter(|_| rest.next().is_some());
    call.list(page, next)
}

async fn reconcile(call: Call) -> Outcome {
    let id: TaskId = call.id("task", "task")?;
    let ruling: TaskRuling = call.json()?;
    let (object, made) = (format!("tasks/{id}"), id.to_string());
    call.describe(object.as_str(), ruling_changes(&ruling));
    let prepared = call.service.tasks.prepare_ruling(id, &ruling).await?;
    let command = prepared.command.clone();
    let committed = call.commit(command, object, &made, 200, ruling_changes(&ruling)).await;
    let is_new = committed.as_ref().is_ok_and(|committed| committed.before.is_none());
    call.service.tasks.ruled(prepared, is_new).await;
    let view = |left: Applied| match left {
        Applied::Task(row) => Some(TaskLine::from(&*row)),
        _ => None,
    };
    let read = async { Ok(TaskLine::from(&call.service.tasks.row(id).await?)) };
    Ok(Reply::json(&committed?.shown(view, read).await?))
}

//! A request that joins a living task instead of making one.
//!
//! The version that takes the task's next step judges it: what it makes of the request is delivered to that version's
//! `advance`. The brief, the blobs and the money become durable in one command, before the receipt.

use std::sync::Arc;

use gatehouse_model::{Accepted, BlobId, Purpose, Task, TaskId, UnixMs, metric};
use gatehouse_runtime::{Resolved, StepRoute};
use gatehouse_tasks::{Applied, Command, Idempotency, JoinRequest, JudgedTask, Rejection};

use crate::api::{Receipt, SubmitRequest};
use crate::errors::SubmitError;
use crate::money;
use crate::submit::references::References;
use crate::submit::refusal::{rejection_error, store_error};
use crate::submit::submission::Intake;

/// The task that a request joins, as the request was judged by it.
pub(crate) struct JoinedTask {
    id: TaskId,
    /// By which its money is counted.
    model: String,
    judged: JudgedTask,
    created: UnixMs,
}

impl JoinedTask {
    pub(crate) fn of(task: &Task) -> Self {
        Self { id: task.id, model: task.model.clone(), judged: JudgedTask::of(task), created: task.created }
    }
}

impl Intake {
    /// The same model on the version that takes the parent's next step; the version found, when there is no such step.
    pub(crate) async fn version_of_parent(
        &self,
        request: &SubmitRequest,
        found: Resolved,
        refers: &References,
    ) -> Result<Resolved, SubmitError> {
        // Without a task, and with one that has ended, the plugin says what is wrong with the request.
        let Some(task) = refers.tasks.first() else { return Ok(found) };
        if task.family != found.version.family() {
            return Err(SubmitError::NotFound(format!("no task {}", task.id)));
        }
        if task.status.is_final() {
            return Ok(found);
        }
        let route = self.shared.plugins.route(&task.family, &task.digest, task.state_version).await;
        match route {
            Ok(StepRoute::Run(version) | StepRoute::Migrate(version)) => {
                if version.surface(request.surface).is_some_and(|surface| surface.joins) {
                    return Ok(Resolved { version: Arc::clone(&version), ..found });
                }
                Err(SubmitError::NotFound(format!("task {} takes no such request", task.id)))
            }
            Err(missing) => {
                tracing::error!(task = %task.id, %missing, "a request cannot join a task without its plugin version");
                Err(SubmitError::Plugin(found.model))
            }
        }
    }

    /// Adds an accepted request to its parent. `None` when the parent is not the one any more that the plugin was shown.
    pub(crate) async fn join(
        &self,
        request: &SubmitRequest,
        parent: Option<JoinedTask>,
        accepted: Accepted,
        blobs: Vec<BlobId>,
        idempotency: Option<Idempotency>,
        now: UnixMs,
    ) -> Result<Option<Receipt>, SubmitError> {
        let JoinedTask { id: parent, model, judged, created } = parent.ok_or_else(no_parent)?;
        if let Some(failure) = accepted.doomed {
            // There is no task of its own that could fail.
            return Err(SubmitError::invalid(failure.message));
        }
        let variant = self.judge.variant_of(&request.key.customer).await?;
        let quote = self.judge.quote_of(variant.as_deref(), &accepted.model, &accepted.charge)?;
        let held = quote.total;
        let join = JoinRequest {
            key: request.key.id.clone(),
            surface: request.surface.to_owned(),
            judged,
            brief: accepted.brief,
            blobs,
            charge: accepted.charge,
            prices: quote.prices(),
            held,
            deadline: self.shared.row_deadline(created, now.plus(self.shared.time_limit(&accepted.model))),
        };
        let command = Command::Join { parent, request: Box::new(join), idempotency, at: now };
        match self.shared.store.execute(command).await.map_err(store_error)? {
            Ok(Applied::Joined(task)) => {
                request.report.hold(held);
                money::held(&model, Purpose::Task, held);
                self.live.wake(task, now);
                metrics::counter!(metric::TASKS_JOINED, "model" => accepted.model).increment(1);
                Ok(Some(Receipt { task, repeated: false }))
            }
            Ok(Applied::Repeated(task)) => Ok(Some(Receipt { task, repeated: true })),
            Err(Rejection::Stale { .. }) => Ok(None),
            Err(Rejection::Final(status)) => Err(SubmitError::ParentOver { task: parent, status }),
            Err(Rejection::NoTask(_)) => Err(SubmitError::NotFound(format!("no task {parent}"))),
            other => Err(rejection_error(&other)),
        }
    }
}

pub(super) fn no_parent() -> SubmitError {
    SubmitError::NotFound("the request names no task to join".to_owned())
}

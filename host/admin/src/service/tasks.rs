//! Tasks of all customers for operators: listed, inspected with their money, their results and their steps, cancelled with a reason;
//! and rulings about ambiguous calls.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use gatehouse_driver::{
    CallRuling, CancelError, Cancelled, MediaFile, MediaRefusal, PreparedRuling, RulingError,
};
use gatehouse_model::{Task, TaskId, UnixMs};
use gatehouse_store::{StatementOf, StatementQuery, Store};
use gatehouse_tasks::{FieldChange, HoldId, JournalEntry, StepRow, WebhookDelivery, delivery_of};

use crate::api::error::OperationError;
use crate::api::task::{AdoptedReply, RulingWord, TaskRuling};
use crate::audit::told;
use crate::service::gateway::Gateway;

/// Commands are applied in another order than their moments by this much at most, unless the writer waits for its disk.
const AROUND_MS: u64 = 1_000;
/// Ledger rows of its customer around one moment that are looked through for those of a task.
const LOOKED_THROUGH: usize = 5_000;
/// The longest reason, in bytes.
const MAX_REASON: usize = 500;
/// The type of a reply that names none.
const JSON: &str = "application/json";
/// Why a ruling needs a running gateway.
const WHY: &str = "ambiguous tasks are settled by a running gateway only; start it";

/// A task and the ledger rows that hold and resolve its money. What requests that joined it added later is in the task's
/// `held`, not among the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskDetails {
    /// The record.
    pub task: Task,
    /// Oldest first.
    pub entries: Vec<JournalEntry>,
    /// What its customer's webhooks were told of its end, by webhook. Those of a webhook that was removed are not among them.
    pub deliveries: Vec<WebhookDelivery>,
}

/// Shows tasks, ends them early, and prepares and follows rulings.
pub struct Tasks {
    pub(in crate::service) store: Store,
    pub(in crate::service) gateway: Arc<Gateway>,
}

impl Tasks {
    /// The task as it is now.
    pub(crate) async fn row(&self, id: TaskId) -> Result<Task, OperationError> {
        self.store.task(id).await?.ok_or_else(|| unknown(id))
    }

    /// One task with its money and what was told of it.
    pub async fn details(&self, id: TaskId) -> Result<TaskDetails, OperationError> {
        let task = self.row(id).await?;
        let mut entries = Vec::new();
        for at in [Some(task.created), task.finished].into_iter().flatten() {
            let of = StatementOf::Customer(task.customer.clone());
            let created = UnixMs(at.0.saturating_sub(AROUND_MS))..UnixMs(at.0.saturating_add(AROUND_MS));
            let query = StatementQuery { of, created, before: None, limit: LOOKED_THROUGH };
            let rows = self.store.statement(query).await?.rows;
            entries.extend(rows.into_iter().map(|row| row.entry));
        }
        entries.retain(|entry: &JournalEntry| entry.hold == Some(HoldId::Task(id)));
        entries.sort_by_key(|entry| entry.seq);
        entries.dedup_by_key(|entry| entry.seq);
        let deliveries = self.deliveries_of(&task).await?;
        Ok(TaskDetails { task, entries, deliveries })
    }

    /// An event's id follows from webhook and task, so each is one look-up.
    async fn deliveries_of(&self, task: &Task) -> Result<Vec<WebhookDelivery>, OperationError> {
        let mut deliveries = Vec::new();
        if task.finished.is_none() {
            return Ok(deliveries);
        }
        for webhook in self.store.webhooks_of(&task.customer).await? {
            if let Some(id) = delivery_of(webhook.id, task) {
                deliveries.extend(self.store.delivery(id).await?);
            }
        }
        Ok(deliveries)
    }

    /// The bytes of a task's copied result, the first one being 0; `range` is a `Range` header.
    ///
    /// # Errors
    /// [`OperationError::NotFound`] without such a task or result; the inner ones are the media store's.
    pub async fn media(
        &self,
        id: TaskId,
        at: usize,
        range: Option<&str>,
    ) -> Result<Result<MediaFile, MediaRefusal>, OperationError> {
        let driver = self.gateway.running("results are shown by a running gateway only")?;
        let found = self.store.task(id).await?;
        let media = found.as_ref().and_then(|task| task.media.get(at));
        let media = media.ok_or_else(|| OperationError::NotFound(format!("task {id} has no result {at}")))?;
        Ok(driver.files.result_file(media, range).await)
    }

    /// Ends a task early, where that is still possible: as its client could, with a reason for the audit record. With
    /// `give_up` whatever its provider does with it. A task that has not ended then has a provider that is asked to stop it.
    ///
    /// # Errors
    /// [`OperationError::Refused`] while its provider works on it and it is not given up, and once it has ended.
    pub(crate) async fn cancel(
        &self,
        id: TaskId,
        reason: &str,
        give_up: bool,
    ) -> Result<Task, OperationError> {
        if reason.trim().is_empty() || reason.len() > MAX_REASON {
            return Err(OperationError::Invalid(format!("reason: expected 1 to {MAX_REASON} bytes of text")));
        }
        let driver = self.gateway.running("tasks are cancelled by a running gateway only")?;
        let ended = match give_up {
            true => driver.cancels.give_up(id, reason).await,
            false => driver.cancels.cancel_for_operator(id, reason).await,
        };
        ended.map(Cancelled::into_task).map_err(|error| match error {
            CancelError::NotFound => unknown(id),
            CancelError::Store(error) => error.into(),
            CancelError::Running => OperationError::Refused(format!(
                "{}; give it up to end it all the same",
                CancelError::Running
            )),
            other => OperationError::Refused(other.to_string()),
        })
    }

    /// What a task did, oldest first: a row for each of its commits, at most
    /// [`MAX_STEP_ROWS`](gatehouse_tasks::MAX_STEP_ROWS).
    ///
    /// # Errors
    /// [`OperationError::NotFound`], or the store's.
    pub async fn steps(&self, task: TaskId) -> Result<Vec<StepRow>, OperationError> {
        self.row(task).await?;
        Ok(self.store.steps(task).await?)
    }

    /// The change that a ruling comes to, with its steps.
    pub(crate) async fn prepare_ruling(
        &self,
        id: TaskId,
        ruling: &TaskRuling,
    ) -> Result<PreparedRuling, OperationError> {
        let driver = self.gateway.running(WHY)?;
        let asked = call_ruling(ruling)?;
        let prepared = driver.rulings.prepare_ruling(id, ruling.revision, asked, ruling.reason.clone()).await;
        prepared.map_err(|error| failed(id, ruling, error))
    }

    /// Has the task go on after the commit, or forgets what was prepared, which only a running gateway does.
    pub(crate) async fn ruled(&self, prepared: PreparedRuling, is_committed: bool) {
        if let Some(driver) = self.gateway.driver() {
            driver.rulings.ruled(prepared, is_committed).await;
        }
    }
}

fn unknown(id: TaskId) -> OperationError {
    OperationError::NotFound(format!("no task {id}"))
}

/// The ruling as the driver takes it; refused where a reply is missing, or does not belong to it.
fn call_ruling(ruling: &TaskRuling) -> Result<CallRuling, OperationError> {
    match (ruling.ruling, &ruling.reply) {
        (RulingWord::Resend, None) => Ok(CallRuling::Resend),
        (RulingWord::Fail, None) => Ok(CallRuling::Fail),
        (RulingWord::Adopt, Some(reply)) => {
            let content_type = reply.content_type.clone().unwrap_or_else(|| JSON.to_owned());
            Ok(CallRuling::Adopt { status: reply.status, content_type, body: body_of(reply)? })
        }
        (RulingWord::Adopt, None) => Err(OperationError::Invalid(
            "reply: expected the status and the body of the provider's reply".to_owned(),
        )),
        (word, Some(_)) => Err(OperationError::Invalid(format!(
            "reply: expected with the ruling adopt only, not with {}",
            word.as_str()
        ))),
    }
}

fn body_of(reply: &AdoptedReply) -> Result<Bytes, OperationError> {
    match (&reply.body, &reply.text, &reply.base64) {
        (Some(json), None, None) => Ok(json.to_string().into()),
        (None, Some(text), None) => Ok(text.clone().into()),
        (None, None, Some(base64)) => STANDARD.decode(base64).map(Bytes::from).map_err(|error| {
            let field = "reply.base64".to_owned();
            OperationError::InvalidField { message: format!("{field}: expected base64: {error}"), field }
        }),
        (json, text, base64) => {
            let given = [json.is_some(), text.is_some(), base64.is_some()];
            let given = given.iter().filter(|is_given| **is_given).count();
            Err(OperationError::Invalid(format!(
                "reply: expected its body as one of body (JSON), text and base64, got {given} of them"
            )))
        }
    }
}

/// What a ruling says, for the audit record. The body of a reply is in the log of steps.
pub(crate) fn ruling_changes(ruling: &TaskRuling) -> Vec<FieldChange> {
    let mut changes = vec![told("ruling", ruling.ruling.as_str()), told("reason", ruling.reason.as_str())];
    if let Some(reply) = &ruling.reply {
        changes.push(told("reply.status", reply.status));
        changes.extend(reply.content_type.as_deref().map(|kind| told("reply.content_type", kind)));
    }
    changes
}

fn failed(id: TaskId, ruling: &TaskRuling, error: RulingError) -> OperationError {
    match error {
        RulingError::NotFound => unknown(id),
        RulingError::Reply { field, problem } => {
            let field = match (&ruling.reply, field) {
                (Some(AdoptedReply { text: Some(_), .. }), "body") => "text",
                (Some(AdoptedReply { base64: Some(_), .. }), "body") => "base64",
                _ => field,
            };
            let field = format!("reply.{field}");
            OperationError::InvalidField { message: format!("{field}: {problem}"), field }
        }
        error @ RulingError::NotKept(_) => OperationError::Busy(error.to_string()),
        RulingError::Store(error) => error.into(),
        other => OperationError::Failed(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_belongs_to_the_ruling_that_adopts_it_and_has_one_body() {
        let adopted = |status, content_type: &str, body: &[u8]| {
            let (content_type, body) = (content_type.to_owned(), Bytes::copy_from_slice(body));
            Ok(CallRuling::Adopt { status, content_type, body })
        };
        let reply = json!({"status": 200, "body": {"id": "a"}});
        for (word, reply, expected) in [
            ("resend", json!(null), Ok(CallRuling::Resend)),
            ("fail", json!(null), Ok(CallRuling::Fail)),
            ("adopt", reply.clone(), adopted(200, JSON, br#"{"id":"a"}"#)),
            ("resend", reply.clone(), Err("reply: expected")),
            ("fail", reply, Err("reply: expected")),
            ("adopt", json!(null), Err("reply: expected")),
            ("adopt", json!({"status": 502, "body": null}), adopted(502, JSON, b"null")),
            ("adopt", json!({"status": 502, "text": "[1, 2]"}), adopted(502, JSON, b"[1, 2]")),
            (
                "adopt",
                json!({"status": 502, "content_type": "text/html", "text": ""}),
                adopted(502, "text/html", b""),
            ),
            (
                "adopt",
                json!({"status": 502, "content_type": "a/b", "base64": "AP8="}),
                adopted(502, "a/b", b"\x00\xff"),
            ),
            ("adopt", json!({"status": 502}), Err("reply: expected its body as one of")),
            (
                "adopt",
                json!({"status": 502, "body": 1, "text": "1"}),
                Err("reply: expected its body as one of"),
            ),
            ("adopt", json!({"status": 502, "base64": "%"}), Err("reply.base64: expected base64")),
        ] {
            let ruling = json!({"ruling": word, "reason": "seen", "reply": reply});
            let found = call_ruling(&serde_json::from_value(ruling).expect("a ruling"));
            match (found, expected) {
                (Err(error), Err(problem)) => assert!(error.to_string().starts_with(problem), "{error}"),
                (found, expected) => assert_eq!(found.ok(), expected.ok(), "{word} {reply}"),
            }
        }
    }

    #[test]
    fn what_is_no_text_travels_as_base64() {
        let reply = |bytes: &[u8]| AdoptedReply::of_type(200, "a/b".to_owned(), bytes.to_vec());
        for bytes in [&b"text"[..], b"\xff\x00"] {
            assert_eq!(body_of(&reply(bytes)), Ok(Bytes::copy_from_slice(bytes)));
        }
        assert_eq!(reply(b"text").text.as_deref(), Some("text"));
    }
}

//! An operator's rulings about ambiguous calls: what is prepared before their commit, and what follows it.
//!
//! The commit is the caller's, with its own line in the audit record; the rule is in `tasks`. A reply that is adopted gets
//! here what a reply of the network gets: its bound, and its files cut out. After a crash right behind the commit the next
//! start goes on from the task's new phase.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{
    BlobId, Body, Boxed, Event, Header, Phase, Reply, Status, Task, TaskId, UnixMs, metric,
};
use gatehouse_tasks::{Command, ExchangeRecord, Reconciliation};
use serde::de::IgnoredAny;

use crate::errors::RulingError;
use crate::live::live_tasks::LiveTasks;
use crate::shared::Shared;
use crate::step::call::phase::Calls;
use crate::step::commit::note_end;
use crate::step::log::exchange::NotedExchange;
use crate::step::log::step_log::StepLog;

/// The longest type of a reply, bytes.
const MAX_CONTENT_TYPE: usize = 200;

/// What an operator says of an ambiguous call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallRuling {
    /// The provider answered so.
    Adopt {
        /// Its HTTP status, 200 to 599.
        status: u16,
        /// The type of its body, such as `application/json`.
        content_type: String,
        /// Its body; of a type of JSON it has to be JSON.
        body: Bytes,
    },
    /// It is given up: the task fails and is refunded.
    Fail,
    /// It is sent once more.
    Resend,
}

/// A ruling that can be committed. After the commit [`Rulings::ruled`] has the task go on.
#[derive(Debug)]
pub struct PreparedRuling {
    task: TaskId,
    word: &'static str,
    /// Kept for the task, and its own only once the ruling is committed.
    blobs: Vec<BlobId>,
    /// The change with its steps.
    pub command: Command,
}

/// Prepares and follows operators' rulings.
pub struct Rulings {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    pub(crate) calls: Arc<Calls>,
}

impl Rulings {
    /// How many tasks wait for a ruling.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.live.ambiguous()
    }

    /// Prepares a ruling about a task's ambiguous call. `revision` is the one that the operator saw, `reason` for the audit
    /// record; the client of a task that fails reads it.
    ///
    /// # Errors
    /// [`RulingError`]; nothing changed. What the rules of tasks refuse comes with the commit.
    pub fn prepare_ruling(
        &self,
        id: TaskId,
        revision: Option<u64>,
        ruling: CallRuling,
        reason: String,
    ) -> Boxed<'_, Result<PreparedRuling, RulingError>> {
        Box::pin(async move {
            let task = self.shared.store.task(id).await?.ok_or(RulingError::NotFound)?;
            let at = self.shared.now();
            let mut log = StepLog::default();
            let ruling = match ruling {
                CallRuling::Fail => Reconciliation::Fail,
                CallRuling::Resend => Reconciliation::Resend,
                CallRuling::Adopt { status, content_type, body } => {
                    self.adopted(&task, status, content_type, body, &mut log).await?
                }
            };
            let word = ruling.as_str();
            log.decision(at, &format!("ruled by an operator: {word}: {reason}"));
            let blobs = match &ruling {
                Reconciliation::Adopt { blobs, .. } => blobs.clone(),
                Reconciliation::Fail | Reconciliation::Resend => Vec::new(),
            };
            let deadline = self.shared.deadline(&task);
            let command = Command::Reconcile { id, revision, ruling, reason, deadline, at };
            Ok(PreparedRuling { task: id, word, blobs, command: log.logged(command, at) })
        })
    }

    /// Has the task go on after its ruling was committed, or forgets the ruling that was not.
    pub async fn ruled(&self, ruling: PreparedRuling, is_committed: bool) {
        let PreparedRuling { task: id, word, blobs, .. } = ruling;
        if !is_committed {
            self.shared.media.drop_blobs(&blobs).await;
            return;
        }
        metrics::counter!(metric::RULINGS, "ruling" => word).increment(1);
        match self.shared.store.task(id).await {
            Ok(Some(ended)) if ended.status == Status::Failed => {
                note_end(&ended);
                self.shared.media.drop_blobs(&ended.blobs).await;
                self.live.end(id);
            }
            // Where it cannot be read now, its next step finds what the ruling came to.
            _ => self.live.wake(id, self.shared.now()),
        }
    }

    /// The reply as its plugin gets it.
    async fn adopted(
        &self,
        task: &Task,
        status: u16,
        content_type: String,
        body: Bytes,
        log: &mut StepLog,
    ) -> Result<Reconciliation, RulingError> {
        let wrong = |field, problem| RulingError::Reply { field, problem };
        if !(200..600).contains(&status) {
            return Err(wrong("status", format!("expected 200 to 599, got {status}")));
        }
        if !is_media_type(&content_type) {
            let found: String = content_type.chars().take(MAX_CONTENT_TYPE).collect();
            return Err(wrong("content_type", format!("expected a type such as text/plain, got {found:?}")));
        }
        // A provider may break its word; what an operator pastes was most likely cut.
        if is_json(&content_type) {
            serde_json::from_slice::<IgnoredAny>(&body)
                .map_err(|error| wrong("body", format!("expected JSON, as its type says: {error}")))?;
        }
        let size = body.len() as u64;
        let headers = vec![Header { name: "content-type".to_owned(), value: content_type }];
        let body = Body::Inline(body);
        let mut reply = Reply { status, headers, body, affinity: String::new() };
        let Phase::Ambiguous { call, .. } = &task.phase else {
            // The rule refuses it, with the reason.
            return Ok(Reconciliation::Adopt { reply, blobs: Vec::new() });
        };
        let max = self.shared.upstream.max_reply(&call.provider).unwrap_or(0);
        if size > max {
            return Err(wrong("body", format!("expected at most {max} bytes, got {size}")));
        }
        let assigned = task.assignment.as_ref().filter(|assigned| assigned.provider == call.provider);
        reply.affinity = match (&call.affinity, assigned) {
            (Some(affinity), _) => affinity.clone(),
            (None, Some(assigned)) => self.shared.upstream.affinity(&call.provider, &assigned.account),
            (None, None) => String::new(),
        };
        let began = self.shared.now();
        let cut = self.calls.cut(reply, call, task.id).await;
        let (reply, files) = cut.map_err(|outage| {
            wrong("body", format!("its files could not be taken out of it: {}", outage.as_str()))
        })?;
        // One try: an operator waits for the answer, and the task has its permit whatever comes of it.
        let kept = self.shared.media.keep_for(&task.customer, &files).await;
        kept.map_err(|error| RulingError::NotKept(error.to_string()))?;
        let account = assigned.map_or("", |assigned| assigned.account.as_str());
        log.exchange(began..self.shared.now(), account, call, &Event::Reply(reply.clone()));
        Ok(Reconciliation::Adopt { reply, blobs: files.iter().map(|file| file.id).collect() })
    }
}

fn is_media_type(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let is_plain = text.len() <= MAX_CONTENT_TYPE && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    is_plain && essence(text).split_once('/').is_some_and(|(kind, of)| is_word(kind) && is_word(of))
}

fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type).to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}

/// A type without its parameters.
fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// What was sent and got no reply, for operators: an excerpt without credentials. `None` for a task that waits for no
/// ruling; the moment is that before the call left.
#[must_use]
pub fn ambiguous_exchange(task: &Task) -> Option<(UnixMs, ExchangeRecord)> {
    let Phase::Ambiguous { call, at, outage } = &task.phase else { return None };
    let account = task.assignment.as_ref().map_or("", |assigned| assigned.account.as_str());
    let event = outage.map_or(Event::Timer, Event::Outage);
    Some((*at, NotedExchange::of(account, call, &event).record()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_with_its_parameters() {
        for (text, expected) in [
            ("application/json", Some(true)),
            ("Application/Problem+JSON; charset=utf-8", Some(true)),
            ("text/html; charset=utf-8", Some(false)),
            ("application/vnd.ms-excel", Some(false)),
            ("", None),
            ("html", None),
            ("text/", None),
            ("te xt/html", None),
            ("text/html\r\nx: y", None),
            ("text/h\u{e9}", None),
        ] {
            assert_eq!(is_media_type(text).then(|| is_json(text)), expected, "{text:?}");
        }
        assert!(!is_media_type(&format!("text/{}", "x".repeat(MAX_CONTENT_TYPE))));
    }
}

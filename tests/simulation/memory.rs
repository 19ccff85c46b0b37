//! The oracle's memory, across every crash: what was promised to which client, and how each task was last seen. The
//! checks are in `oracle`.

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Credits, CustomerId, Phase, RequestId, Status, Task, TaskId, UnixMs};
use gatehouse_tasks::EntryKind;

use crate::plan::requests::TextCall;

/// A receipt that reached its client.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) task: TaskId,
    pub(crate) key: usize,
}

/// A task as it was last seen on disk.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) task: Task,
    /// The prompt it belongs to, where that is known.
    pub(crate) prompt: Option<String>,
    /// Its end was checked.
    pub(crate) end_checked: bool,
    /// What only quilts have.
    pub(crate) quilt: Option<SeenQuilt>,
}

/// The requests that joined a task, and the name it is to claim.
#[derive(Clone, Debug)]
pub(crate) struct SeenQuilt {
    pub(crate) name: Option<String>,
    /// Prompts of the requests that joined, oldest first.
    pub(crate) patches: Vec<String>,
    /// What they have added to the hold.
    pub(crate) held: Credits,
    /// Requests that joined and were released in one commit; nobody has seen them in the task.
    pub(crate) released_at_once: usize,
    /// The patches that the client was shown last.
    pub(crate) shown: Vec<String>,
}

impl SeenQuilt {
    /// A task that is new.
    pub(crate) fn of(task: &Task) -> Self {
        let state: serde_json::Value = serde_json::from_slice(&task.state).unwrap_or_default();
        let name = state["name"].as_str().map(str::to_owned);
        let (patches, shown) = (Vec::new(), Vec::new());
        Self { name, patches, held: Credits::ZERO, released_at_once: 0, shown }
    }
}

/// A text request that was sent.
#[derive(Clone, Debug)]
pub(crate) struct TextRecord {
    pub(crate) text: TextCall,
    pub(crate) sent: UnixMs,
    /// The client received the whole answer.
    pub(crate) received: bool,
    /// How its hold ended.
    pub(crate) ended: Option<EntryKind>,
}

/// Everything that was promised and seen.
#[derive(Default)]
pub(crate) struct Memory {
    /// By prompt.
    pub(crate) promises: BTreeMap<String, Promise>,
    /// By key and idempotency token: the task of the first answer.
    pub(crate) tokens: BTreeMap<(usize, String), TaskId>,
    /// Keys whose revocation was confirmed.
    pub(crate) revoked: BTreeSet<usize>,
    pub(crate) seen: BTreeMap<TaskId, Seen>,
    /// Requests that clients sent to join a task, by prompt.
    pub(crate) patches: BTreeMap<String, TaskId>,
    /// The owner of each name that was claimed.
    pub(crate) names: BTreeMap<String, CustomerId>,
    /// Text requests that were sent.
    pub(crate) texts: BTreeMap<RequestId, TextRecord>,
    /// What open texts hold, by customer.
    pub(crate) held_by_texts: Vec<Credits>,
    /// Ledger rows at the last check.
    pub(crate) rows: u64,
    /// How often everything was checked.
    pub(crate) checks: usize,
}

impl Memory {
    /// The task of that prompt, promised or only seen on disk.
    pub(crate) fn task_of(&self, prompt: &str) -> Option<&Seen> {
        self.seen.values().find(|seen| seen.prompt.as_deref() == Some(prompt))
    }

    /// A submission reaches the provider: the attempt must be on disk by now.
    ///
    /// # Errors
    /// What the disk says instead.
    pub(crate) fn arrival(&self, prompt: &str) -> Result<(), String> {
        must_be_sent(prompt, self.task_of(prompt))
    }

    /// A patch reaches the provider: its attempt must be on disk by now.
    ///
    /// # Errors
    /// What the disk says instead.
    pub(crate) fn patch_arrives(&self, prompt: &str) -> Result<(), String> {
        must_be_sent(prompt, self.quilt_with(prompt))
    }

    /// A job is stopped: the call is on disk, or its task is out of time.
    ///
    /// # Errors
    /// What the disk says instead.
    pub(crate) fn stop_arrives(&self, prompt: &str) -> Result<(), String> {
        let task = self.task_of(prompt).map(|seen| &seen.task);
        match task.map(|task| (&task.phase, task.status)) {
            Some((Phase::Sent { .. }, _) | (Phase::Over, Status::Failed)) => Ok(()),
            other => Err(format!("{prompt:?} is stopped while the disk says {other:?}")),
        }
    }

    /// The task that a patch has joined.
    pub(crate) fn quilt_with(&self, patch: &str) -> Option<&Seen> {
        let has = |quilt: &SeenQuilt| quilt.patches.iter().any(|known| known == patch);
        self.seen.values().find(|seen| seen.quilt.as_ref().is_some_and(has))
    }
}

fn must_be_sent(prompt: &str, seen: Option<&Seen>) -> Result<(), String> {
    match seen.map(|seen| &seen.task.phase) {
        Some(Phase::Sent { .. }) => Ok(()),
        other => Err(format!("{prompt:?} reached the provider while the disk says {other:?}")),
    }
}

/// The prompt of a task; its state holds it until the task is sent.
pub(crate) fn prompt_of(task: &Task) -> Option<String> {
    fn find(value: &serde_json::Value) -> Option<&str> {
        match value {
            serde_json::Value::Object(fields) => fields
                .get("prompt")
                .and_then(serde_json::Value::as_str)
                .or_else(|| fields.values().find_map(find)),
            _ => None,
        }
    }
    let state: serde_json::Value = serde_json::from_slice(&task.state).ok()?;
    find(&state).map(str::to_owned)
}

/// The sum of these credits.
pub(crate) fn sum(amounts: impl Iterator<Item = Credits>) -> Credits {
    amounts.fold(Credits::ZERO, |sum, amount| sum.checked_add(amount).expect("a small sum"))
}

/// A task in a line.
pub(crate) fn brief(task: &Task) -> String {
    let Task { id, revision, status, progress, phase, failure, cost, finished, .. } = task;
    format!(
        "{id} rev {revision} {} {progress}% {phase:?} {failure:?} cost {cost:?} finished {finished:?}",
        status.as_str()
    )
}

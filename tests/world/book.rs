//! What the invariants remember, across every crash: what was promised to whom, and how each task was last seen.
//! The checks themselves are in [`crate::invariants`].

use std::collections::{BTreeMap, BTreeSet};

use gatehouse_model::{Credits, Phase, RequestId, Task, TaskId};

use crate::talks::Talked;

/// A receipt a client holds in its hands.
#[derive(Clone, Debug)]
pub(crate) struct Promise {
    pub(crate) task: TaskId,
    pub(crate) key: usize,
}

/// A task as it was last seen on disk.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) task: Task,
    /// What it is about, as far as that can be told.
    pub(crate) prompt: Option<String>,
    /// Its links were opened.
    pub(crate) opened: bool,
}

/// Everything that was promised and seen.
#[derive(Default)]
pub(crate) struct Book {
    /// By prompt.
    pub(crate) promises: BTreeMap<String, Promise>,
    /// By key and token: what the first answer was.
    pub(crate) tokens: BTreeMap<(usize, String), TaskId>,
    /// Revoked for sure.
    pub(crate) revoked: BTreeSet<usize>,
    pub(crate) seen: BTreeMap<TaskId, Seen>,
    /// Texts that were asked for.
    pub(crate) talks: BTreeMap<RequestId, Talked>,
    /// What open texts hold, by account.
    pub(crate) held_by_texts: Vec<Credits>,
    /// Ledger rows there were.
    pub(crate) rows: u64,
    /// How often everything was looked at.
    pub(crate) looks: usize,
}

impl Book {
    /// The task of that prompt, promised or merely seen.
    pub(crate) fn task_of(&self, prompt: &str) -> Option<&Seen> {
        self.seen.values().find(|seen| seen.prompt.as_deref() == Some(prompt))
    }

    /// A submission reaches the provider: the attempt must be on disk by now.
    ///
    /// # Errors
    /// What the disk says instead.
    pub(crate) fn arrival(&self, prompt: &str) -> Result<(), String> {
        match self.task_of(prompt).map(|seen| &seen.task.phase) {
            Some(Phase::Sent { .. }) => Ok(()),
            other => Err(format!("{prompt:?} reached the provider while the disk says {other:?}")),
        }
    }
}

/// What a task is about: its state tells as long as nothing was sent.
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

/// Credits of all of them.
pub(crate) fn sum(amounts: impl Iterator<Item = Credits>) -> Credits {
    amounts.fold(Credits::ZERO, |sum, amount| sum.checked_add(amount).expect("a small world"))
}

/// A task in a line.
pub(crate) fn brief(task: &Task) -> String {
    let Task { id, revision, status, progress, phase, failure, cost, finished, .. } = task;
    format!(
        "{id} rev {revision} {} {progress}% {phase:?} {failure:?} cost {cost:?} finished {finished:?}",
        status.as_str()
    )
}

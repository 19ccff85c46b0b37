//! The table of tasks. Pure but for random ids: callers pass the time. Bounded: the oldest are dropped, and their ids are
//! unknown from then on.

use serde_json::Value;

use crate::ark::faults::{Faults, Marker};
use crate::ark::record::{ArkDeclined, ArkSubmit};
use crate::ark::refusal::Refusal;
use crate::common::clock::digits_of_time;
use crate::common::faults::Target;
use crate::common::kept::{ById, Latest, cut_texts, random_word};
use crate::common::markers::{Counts, count};
use gatehouse_sandbox_files::Film;

/// A task.
pub(crate) struct ArkTask {
    pub(crate) record: ArkSubmit,
    pub(crate) faults: Faults,
    pub(crate) resolution: String,
    pub(crate) ratio: &'static str,
    pub(crate) seconds: u64,
    pub(crate) seed: u32,
    pub(crate) film: Film,
    /// When it leaves the queue, and when it ends; `None` is never.
    pub(crate) runs_at: Option<u64>,
    pub(crate) over_at: Option<u64>,
    pub(crate) downloads: u32,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Queued,
    Running,
    Over,
    Cancelled,
}

impl ArkTask {
    pub(crate) fn stage(&self, now: u64) -> Stage {
        let is_past = |moment: Option<u64>| moment.is_some_and(|moment| moment <= now);
        match (self.record.cancelled, is_past(self.over_at), is_past(self.runs_at)) {
            (true, ..) => Stage::Cancelled,
            (_, true, _) => Stage::Over,
            (_, _, true) => Stage::Running,
            _ => Stage::Queued,
        }
    }
}

/// All tasks and refusals.
#[derive(Default)]
pub(crate) struct TaskTable {
    tasks: ById<ArkTask>,
    declined: Latest<ArkDeclined>,
    /// Creations so far of each text with a fault.
    counts: Counts,
}

impl TaskTable {
    /// The fault of a creation with this text.
    pub(crate) fn fault(&mut self, text: &str) -> Option<Marker> {
        Faults::of(text).strike(&mut self.counts, text)
    }

    /// Takes a task that passed all checks; `job_ms` is its usual time.
    pub(crate) fn accept(&mut self, mut task: ArkTask, now: u64, job_ms: u64) -> String {
        let span = task.faults.time(job_ms);
        let runs = !task.faults.has(Marker::AlwaysQueued);
        task.runs_at = runs.then(|| now.saturating_add(span.unwrap_or_default() / 4));
        task.over_at = span.map(|span| now.saturating_add(span));
        let id = format!("cgt-{}-{}", digits_of_time(now), random_word(5));
        let receipt = task.faults.at(Target::Receipt);
        (task.record.id, task.record.at, task.record.answered) = (id.clone(), now, receipt.is_none());
        self.tasks.insert(&id, task);
        id
    }

    pub(crate) fn decline(&mut self, refusal: &Refusal, prompt: String) {
        let (status, code) = (refusal.status, refusal.code.to_owned());
        self.declined.push(ArkDeclined { status, code, prompt });
    }

    /// A task of that account; another's is as unknown as one that never existed.
    pub(crate) fn task(&mut self, account: usize, id: &str) -> Option<&mut ArkTask> {
        self.tasks.get_mut(id).filter(|task| task.record.account == account)
    }

    /// The latest first.
    pub(crate) fn of_account(&self, account: usize) -> impl Iterator<Item = &ArkTask> {
        self.tasks.iter().rev().filter(move |task| task.record.account == account)
    }

    /// Forgets a task that has ended.
    pub(crate) fn delete(&mut self, id: &str) {
        self.tasks.remove(id);
    }

    /// The film of a task, and the fault of this download.
    pub(crate) fn download(&mut self, id: &str) -> Option<(Film, Option<Marker>)> {
        let task = self.tasks.get_mut(id)?;
        Some((task.film, task.faults.at_after(Target::File, count(&mut task.downloads))))
    }

    pub(crate) fn record(&self) -> (Vec<ArkSubmit>, Vec<ArkDeclined>) {
        (self.tasks.iter().map(|task| task.record.clone()).collect(), self.declined.listed())
    }
}

/// The body for the record: the content of `data:` URIs is cut.
pub(crate) fn brief(value: &Value) -> Value {
    cut_texts("", value, |_, text| {
        let (head, content) = text.split_once(',').filter(|_| text.starts_with("data:"))?;
        Some(format!("{head},({} characters)", content.len()))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_content_of_data_uris_is_cut() {
        for (text, kept) in [
            ("data:image/png;base64,AAAA", "data:image/png;base64,(4 characters)"),
            ("data:,", "data:,(0 characters)"),
            ("data: a kite", "data: a kite"),
            ("data:", "data:"),
            ("a kite, data:", "a kite, data:"),
        ] {
            assert_eq!(brief(&json!([{"text": text}])), json!([{"text": kept}]));
        }
    }
}

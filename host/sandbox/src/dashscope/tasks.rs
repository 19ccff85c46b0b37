//! The provider's table of tasks. Pure but for random ids: callers pass the time. Bounded: the oldest tasks are dropped, and
//! their ids are unknown from then on.

use crate::common::faults::Target;
use crate::common::kept::{ById, Latest, fresh_id};
use crate::common::markers::Counts;
use crate::common::settings::Settings;
use crate::common::shared::Table;
use crate::dashscope::faults::{Faults, Marker, Refusal, error};
use crate::dashscope::record::{CreatedVideo, DashscopeRecord, DeclinedVideo};
use gatehouse_sandbox_files::Film;

/// A task that never ends stops counting as under way.
const ABANDONED_MS: u64 = 1_800_000;
/// Ids and links live 24 hours.
pub(super) const DAY_MS: u64 = 86_400_000;

/// A task.
pub(super) struct Task {
    pub(super) record: CreatedVideo,
    pub(super) prompt: String,
    pub(super) film: Film,
    /// What `usage` says of a text's video.
    pub(super) ratio: Option<String>,
    pub(super) height: u32,
    /// Length of the video it continues, in milliseconds.
    pub(super) input_milliseconds: u64,
    pub(super) faults: Faults,
    /// What the media will be found to be.
    pub(super) bad_media: Option<Refusal>,
    /// When it is begun; `None` is never.
    pub(super) begins_at: Option<u64>,
    /// When it ends; `None` is never.
    pub(super) ends_at: Option<u64>,
    /// Links handed out.
    pub(super) links: u32,
    /// Downloads tried.
    pub(super) downloads: u32,
}

impl Task {
    fn is_kept(&self, now: u64) -> bool {
        now < self.record.at.saturating_add(DAY_MS)
    }

    /// Where it stands, in the provider's words.
    pub(super) fn status(&self, now: u64) -> &'static str {
        let is_past = |time: Option<u64>| time.is_some_and(|time| time <= now);
        match self.faults.at(Target::Ending) {
            _ if self.record.cancelled => "CANCELED",
            _ if !is_past(self.ends_at) && is_past(self.begins_at) => "RUNNING",
            _ if !is_past(self.ends_at) => "PENDING",
            Some((Marker::Lost, _)) => "UNKNOWN",
            Some((Marker::Canceled, _)) => "CANCELED",
            _ if failure(self).is_some() => "FAILED",
            _ => "SUCCEEDED",
        }
    }
}

/// Tasks and refusals.
#[derive(Default)]
pub(crate) struct TaskTable {
    pub(super) tasks: ById<Task>,
    accepted: u64,
    pub(super) declined: Latest<DeclinedVideo>,
    /// Origin of the sandbox's samples.
    pub(super) samples: String,
    /// Ends of the tasks under way, by account.
    under_way: Vec<Vec<u64>>,
    /// Creations so far of each prompt with a fault of creations.
    counts: Counts,
    task_ms: u64,
    max_in_flight: usize,
}

impl TaskTable {
    pub(super) fn new(settings: &Settings, samples: &str) -> Self {
        Self {
            under_way: settings.keys.iter().map(|_| Vec::new()).collect(),
            samples: samples.to_owned(),
            task_ms: settings.job_ms(),
            max_in_flight: settings.max_in_flight,
            ..Self::default()
        }
    }

    /// Accepts a task that passed all checks and gives its id, or refuses it because of a marker or the account.
    pub(super) fn accept(&mut self, mut task: Task, now: u64) -> Result<String, Marker> {
        if let Some(fault) = task.faults.strike(&mut self.counts, &task.prompt) {
            return Err(fault);
        }
        let Some(under_way) = self.under_way.get_mut(task.record.account) else { return Err(Marker::Key) };
        under_way.retain(|end| *end > now);
        if under_way.len() >= self.max_in_flight {
            return Err(Marker::Allocation);
        }
        let id = fresh_id().map_err(|_| Marker::Broken)?;
        let span = task.faults.time(self.task_ms);
        let begins = !task.faults.has(Marker::Queued);
        task.begins_at = begins.then(|| now.saturating_add(span.unwrap_or_default() / 4));
        task.ends_at = span.map(|after| now.saturating_add(after));
        under_way.push(task.ends_at.unwrap_or(now + ABANDONED_MS));
        (task.record.id, task.record.at) = (id.clone(), now);
        task.record.answered = task.faults.at(Target::Receipt).is_none();
        self.tasks.insert(&id, task);
        self.accepted += 1;
        Ok(id)
    }

    /// An account's task. Those of others and those of more than a day ago are unknown.
    pub(super) fn own(&mut self, id: &str, account: usize, now: u64) -> Option<&mut Task> {
        self.tasks.get_mut(id).filter(|task| task.record.account == account && task.is_kept(now))
    }

    /// An account's tasks of the last day, the latest first.
    pub(super) fn of_account(&self, account: usize, now: u64) -> impl Iterator<Item = &Task> {
        self.tasks.iter().rev().filter(move |task| task.record.account == account && task.is_kept(now))
    }

    /// Cancels a task that waits.
    pub(super) fn cancel(&mut self, id: &str, account: usize, now: u64) -> Result<(), Refusal> {
        match self.own(id, account, now) {
            Some(task) if task.status(now) == "PENDING" => {
                task.record.cancelled = true;
                Ok(())
            }
            Some(_) => Err(Refusal::new(
                400,
                "UnsupportedOperation",
                "Failed to cancel the task, it is not PENDING.",
            )),
            None => Err(Refusal::new(400, "UnsupportedOperation", "The task does not exist.")),
        }
    }
}

impl Table for TaskTable {
    type Record = DashscopeRecord;

    fn record(&self, _: u64) -> DashscopeRecord {
        let tasks = self.tasks.iter().map(|task| task.record.clone()).collect();
        DashscopeRecord { accepted: self.accepted, tasks, declined: self.declined.listed() }
    }
}

/// The reason a task fails for, if it does.
pub(super) fn failure(task: &Task) -> Option<Refusal> {
    let by_marker = match task.faults.at(Target::Ending) {
        None | Some((Marker::Canceled | Marker::Lost | Marker::NoVideo, _)) => None,
        Some((fault, _)) => Some(error(fault)),
    };
    by_marker.or_else(|| task.bad_media.clone())
}

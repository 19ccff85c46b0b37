//! The table of all tasks, their queue for each account, and the record.
//!
//! Pure: callers pass the time. Bounded: the oldest tasks are dropped, and their ids are unknown from then on.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::common::kept::{ById, Latest};
use crate::common::markers::Counts;
use crate::common::settings::Settings;
use crate::common::shared::Table;
use crate::midjourney::engine::buttons::Kind;
use crate::midjourney::record::{AccountRecord, Declined, ListRead, MidjourneyRecord};
use crate::midjourney::refusal::Refusal;
use crate::midjourney::tasks::task::{Plan, Task};

/// Tasks of an account that may wait for its others.
const MAX_QUEUE: usize = 10;
/// A task that never ends stops counting as under way: the proxy's own run limit.
const RUN_LIMIT_MS: u64 = 300_000;

/// A task that was accepted.
pub(crate) struct Admitted {
    pub(crate) id: String,
    /// Tasks in front of it, where it waits.
    pub(crate) queue: Option<usize>,
}

struct Account {
    record: AccountRecord,
    /// When each task under way ends.
    ends: Vec<u64>,
}

/// Tasks, accounts, refusals, lists.
#[derive(Default)]
pub(crate) struct TaskTable {
    tasks: ById<Task>,
    last_id: u64,
    accounts: Vec<Account>,
    pub(crate) declined: Latest<Declined>,
    lists: Latest<ListRead>,
    /// Submits so far of each prompt with a submit fault.
    counts: Counts,
    /// The first task of each button that was pressed.
    pressed: HashMap<(String, String), String>,
    run_ms: u64,
    max_in_flight: usize,
}

impl TaskTable {
    pub(crate) fn new(settings: &Settings) -> Self {
        let account = |_| Account { record: AccountRecord::default(), ends: Vec::new() };
        Self {
            accounts: settings.keys.iter().map(account).collect(),
            run_ms: settings.job_ms(),
            max_in_flight: settings.max_in_flight.max(1),
            ..Self::default()
        }
    }

    pub(crate) fn account(&mut self, account: usize) -> &mut AccountRecord {
        &mut self.accounts[account].record
    }

    /// A task of that account.
    pub(crate) fn task(&mut self, account: usize, id: &str) -> Option<&mut Task> {
        self.tasks.get_mut(id).filter(|task| task.record.account == account)
    }

    /// A task of any account.
    pub(crate) fn any(&mut self, id: &str) -> Option<&mut Task> {
        self.tasks.get_mut(id)
    }

    /// The task that pressing this button made the first time.
    pub(crate) fn earlier_press(&self, parent: &str, custom_id: &str) -> Option<&Task> {
        self.tasks.get(self.pressed.get(&(parent.to_owned(), custom_id.to_owned()))?)
    }

    /// Refuses a submit because of a marker. `key` tells it from others with the same prompt.
    pub(crate) fn strike(&mut self, task: &Task, key: &str) -> Result<(), Refusal> {
        let prompt = &task.record.prompt;
        match task.faults.strike(&mut self.counts, &format!("{key} {prompt}")) {
            Some(fault) => Err(Refusal::of(fault, prompt)),
            None => Ok(()),
        }
    }

    /// Accepts a task that passed all checks: gives it an id, colours and a time to run, unless it waits for a modal.
    pub(crate) fn admit(&mut self, mut task: Task, now: u64) -> Result<Admitted, Refusal> {
        let account = task.record.account;
        let queue = if task.plan == Plan::Modal { None } else { self.schedule(&mut task, now)? };
        let id = self.next_id(now);
        let digest = Sha256::digest(&id);
        task.hash = format!("{digest:x}").chars().take(32).collect();
        task.colour(&digest);
        (task.record.id, task.record.at) = (id.clone(), now);
        if let (Some(parent), Some(custom_id)) = (&task.record.parent, &task.record.custom_id) {
            let press = (parent.clone(), custom_id.clone());
            if let Some(parent) = self.tasks.get_mut(parent) {
                *parent.record.presses.entry(custom_id.clone()).or_default() += 1;
            }
            self.pressed.entry(press).or_insert_with(|| id.clone());
        }
        self.accounts[account].record.submits += 1;
        if let Some(oldest) = self.tasks.insert(&id, task) {
            self.pressed.retain(|_, made| *made != oldest);
        }
        Ok(Admitted { id, queue })
    }

    /// Puts a task that waited for its modal to work, in place of the one that waits; that one stays where it
    /// is refused.
    pub(crate) fn resume(&mut self, mut task: Task, now: u64) -> Result<Admitted, Refusal> {
        let queue = self.schedule(&mut task, now)?;
        let id = task.record.id.clone();
        self.accounts[task.record.account].record.submits += 1;
        task.record.modals = task.record.modals.saturating_add(1);
        self.tasks.replace(&id, task);
        Ok(Admitted { id, queue })
    }

    /// When the task runs: at once, or when enough of the account's others have ended.
    fn schedule(&mut self, task: &mut Task, now: u64) -> Result<Option<usize>, Refusal> {
        let account = &mut self.accounts[task.record.account];
        account.ends.retain(|end| *end > now);
        account.ends.sort_unstable();
        let waiting = (account.ends.len() + 1).saturating_sub(self.max_in_flight);
        if waiting > MAX_QUEUE {
            return Err(Refusal::queue_full());
        }
        let from = if waiting == 0 { now } else { account.ends[account.ends.len() - self.max_in_flight] };
        let usual = if matches!(task.kind, Kind::Texts) { self.run_ms / 2 } else { self.run_ms };
        let end = task.faults.time(usual).map(|ms| from.saturating_add(ms));
        account.ends.push(end.unwrap_or(from + RUN_LIMIT_MS));
        task.plan = Plan::Runs { from, end };
        Ok((waiting > 0).then_some(waiting))
    }

    /// 13 digits of milliseconds and three more, never twice.
    fn next_id(&mut self, now: u64) -> String {
        let random = u64::from(getrandom::u32().unwrap_or_default() % 1000);
        self.last_id = (now.saturating_mul(1000) + random).max(self.last_id + 1);
        self.last_id.to_string()
    }

    /// Records a read by list.
    pub(crate) fn count_list(&mut self, list: ListRead) {
        self.accounts[list.account].record.lists += 1;
        self.lists.push(list);
    }
}

impl Table for TaskTable {
    type Record = MidjourneyRecord;

    fn record(&self, _: u64) -> MidjourneyRecord {
        MidjourneyRecord {
            accounts: self.accounts.iter().map(|account| account.record.clone()).collect(),
            tasks: self.tasks.iter().map(|task| task.record.clone()).collect(),
            declined: self.declined.listed(),
            lists: self.lists.listed(),
        }
    }
}

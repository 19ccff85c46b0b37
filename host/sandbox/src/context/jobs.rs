//! The job table of the provider: jobs, accounts, refusals.
//!
//! Pure but for random ids: callers pass the time. Bounded: the oldest jobs are dropped, and their ids are unknown
//! from then on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde_json::{Number, Value, json};

use crate::common::faults::Target;
use crate::common::kept::{ById, Latest, fresh_id};
use crate::common::markers::Counts;
use crate::common::settings::Settings;
use crate::common::shared::Table;
use crate::context::faults::{Faults, Marker};
use crate::context::record::{ContextRecord, Declined, Submit};
use crate::context::refusal::Refusal;
use gatehouse_sandbox_files::Picture;

/// A job that never ends stops counting as under way.
const ABANDONED_MS: u64 = 600_000;

/// A job.
pub(crate) struct Job {
    pub(crate) record: Submit,
    /// The prompt as the model reads it.
    pub(crate) prompt_used: String,
    pub(crate) seed: Number,
    pub(crate) picture: Picture,
    pub(crate) faults: Faults,
    /// When it ends; `None` is never.
    pub(crate) over_at: Option<u64>,
    /// Links handed out.
    pub(crate) links: u32,
    /// Downloads tried.
    pub(crate) downloads: u32,
}

struct Account {
    credits: u64,
    /// When each job under way stops counting.
    under_way: BinaryHeap<Reverse<u64>>,
}

/// Jobs, accounts and refusals.
#[derive(Default)]
pub(crate) struct JobTable {
    pub(crate) jobs: ById<Job>,
    accepted: u64,
    pub(crate) declined: Latest<Declined>,
    accounts: Vec<Account>,
    /// Submits so far of each prompt with a submit fault.
    counts: Counts,
    job_ms: u64,
    max_in_flight: usize,
    /// The minute polls are counted in, and how many there were.
    polls: (u64, u32),
}

impl JobTable {
    pub(crate) fn new(settings: &Settings) -> Self {
        let account = || Account { credits: settings.credits, under_way: BinaryHeap::new() };
        Self {
            accounts: settings.keys.iter().map(|_| account()).collect(),
            job_ms: settings.job_ms(),
            max_in_flight: settings.max_in_flight,
            ..Self::default()
        }
    }

    /// Accepts a job that passed all checks and gives its id, or refuses it because of the account or a marker. Its
    /// record tells the account, the request and the price.
    pub(crate) fn accept(&mut self, mut job: Job, now: u64) -> Result<String, Refusal> {
        let (record, faults) = (&mut job.record, &job.faults);
        if let Some(fault) = faults.strike(&mut self.counts, &record.prompt) {
            return Err(refusal(fault, &record.body));
        }
        let account = self.accounts.get_mut(record.account).ok_or_else(Refusal::unauthenticated)?;
        while account.under_way.peek().is_some_and(|&Reverse(end)| end <= now) {
            account.under_way.pop();
        }
        if account.under_way.len() >= self.max_in_flight {
            return Err(Refusal::too_many());
        }
        if account.credits < record.cost {
            return Err(Refusal::insufficient_credits());
        }
        let id = fresh_id().map_err(|_| Refusal::broken())?;
        job.over_at = faults.time(self.job_ms).map(|ms| now.saturating_add(ms));
        account.under_way.push(Reverse(job.over_at.unwrap_or(now + ABANDONED_MS)));
        if job.over_at.is_none() || faults.at(Target::Ending).is_some() {
            record.cost = 0;
        }
        account.credits -= record.cost;
        (record.id, record.at) = (id.clone(), now);
        record.answered = faults.at(Target::Receipt).is_none_or(|(fault, _)| fault == Marker::ForeignPoll);
        self.jobs.insert(&id, job);
        self.accepted += 1;
        Ok(id)
    }

    /// Credits left to an account.
    pub(crate) fn credits(&self, account: usize) -> u64 {
        self.accounts.get(account).map_or(0, |account| account.credits)
    }

    /// Counts a poll; gives how many came in this minute.
    pub(crate) fn count_poll(&mut self, now: u64) -> u32 {
        let minute = now / 60_000;
        let before = if self.polls.0 == minute { self.polls.1 } else { 0 };
        self.polls = (minute, before.saturating_add(1));
        self.polls.1
    }
}

impl Table for JobTable {
    type Record = ContextRecord;

    fn record(&self, _: u64) -> ContextRecord {
        ContextRecord {
            accepted: self.accepted,
            submits: self.jobs.iter().map(|job| job.record.clone()).collect(),
            declined: self.declined.listed(),
            credits: self.accounts.iter().map(|account| account.credits).collect(),
        }
    }
}

/// The refusal a marker asks for, the same as with a real cause.
fn refusal(fault: Marker, body: &Value) -> Refusal {
    match fault {
        Marker::Credits => Refusal::insufficient_credits(),
        Marker::Key => Refusal::unauthenticated(),
        Marker::Schema => {
            let (msg, ctx) = ("Value error, Prompt is not acceptable", json!({ "error": {} }));
            Refusal::field("value_error", json!(["body", "prompt"]), msg, &body["prompt"], Some(ctx))
        }
        Marker::TooMany => Refusal::too_many(),
        Marker::Unavailable => Refusal::unavailable(),
        _ => Refusal::broken(),
    }
}

//! The job table of the provider: jobs, accounts, refusals.
//!
//! Pure but for random ids: callers pass the time. Bounded: the oldest jobs are dropped, and their ids are unknown
//! from then on.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use serde_json::{Number, Value, json};

use crate::common::faults::Target;
use crate::common::markers::Counts;
use crate::common::settings::Settings;
use crate::context::faults::{Faults, Marker};
use crate::context::record::{ContextRecord, Declined, Submit};
use crate::context::refusal::Refusal;
use gatehouse_sandbox_files::Picture;

/// Jobs kept.
const MAX_JOBS: usize = 100_000;
/// Refusals kept.
const MAX_DECLINED: usize = 10_000;
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
    jobs: HashMap<String, Job>,
    /// Ids, oldest first.
    order: VecDeque<String>,
    accepted: u64,
    declined: VecDeque<Declined>,
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
            job_ms: u64::try_from(settings.job_time.as_millis()).unwrap_or(u64::MAX),
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
        if self.order.len() == MAX_JOBS
            && let Some(oldest) = self.order.pop_front()
        {
            self.jobs.remove(&oldest);
        }
        self.jobs.insert(id.clone(), job);
        self.order.push_back(id.clone());
        self.accepted += 1;
        Ok(id)
    }

    /// Records a refused submit.
    pub(crate) fn decline(&mut self, status: u16, prompt: Option<String>, at: u64) {
        if self.declined.len() == MAX_DECLINED {
            self.declined.pop_front();
        }
        self.declined.push_back(Declined { status, prompt, at });
    }

    pub(crate) fn job(&mut self, id: &str) -> Option<&mut Job> {
        self.jobs.get_mut(id)
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

    pub(crate) fn record(&self) -> ContextRecord {
        ContextRecord {
            accepted: self.accepted,
            submits: self.order.iter().filter_map(|id| Some(self.jobs.get(id)?.record.clone())).collect(),
            declined: self.declined.iter().cloned().collect(),
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

fn fresh_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid().to_string())
}

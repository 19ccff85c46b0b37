//! The job table of the provider: jobs, accounts, refusals.
//!
//! Pure but for random ids: callers pass the time. Bounded: the oldest jobs are dropped, and their ids are unknown
//! from then on.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use serde_json::{Number, Value};

use crate::common::picture::Picture;
use crate::common::settings::Settings;
use crate::context::faults::{Ending, Faults, JobTime, ReceiptFault, SubmitFault};
use crate::context::record::{ContextRecord, Declined, Submit};
use crate::context::refusal::{Refusal, field_error};

/// Jobs kept.
const MAX_JOBS: usize = 100_000;
/// Refusals kept.
const MAX_DECLINED: usize = 10_000;
/// Prompts whose submits are counted; beyond that all counts are dropped.
const MAX_COUNTED: usize = 100_000;
/// A job that never ends stops counting as under way.
const ABANDONED_MS: u64 = 600_000;

/// A submitted job that passed all checks.
pub(crate) struct NewJob {
    pub(crate) account: usize,
    pub(crate) model: &'static str,
    /// In the provider's credits.
    pub(crate) price: u64,
    pub(crate) prompt: String,
    /// The prompt as the model reads it.
    pub(crate) prompt_used: String,
    pub(crate) seed: Number,
    pub(crate) picture: Picture,
    pub(crate) faults: Faults,
    /// The body for the record.
    pub(crate) body: Value,
}

/// An accepted job.
pub(crate) struct Job {
    pub(crate) record: Submit,
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
pub(crate) struct JobTable {
    jobs: HashMap<String, Job>,
    /// Ids, oldest first.
    order: VecDeque<String>,
    accepted: u64,
    declined: VecDeque<Declined>,
    accounts: Vec<Account>,
    /// Submits so far of each prompt with a submit fault.
    counted: HashMap<String, u32>,
    job_ms: u64,
    max_in_flight: usize,
    /// The minute polls are counted in, and how many there were.
    polls: (u64, u32),
}

impl JobTable {
    pub(crate) fn new(settings: &Settings) -> Self {
        let account = || Account { credits: settings.credits, under_way: BinaryHeap::new() };
        Self {
            jobs: HashMap::new(),
            order: VecDeque::new(),
            accepted: 0,
            declined: VecDeque::new(),
            accounts: settings.keys.iter().map(|_| account()).collect(),
            counted: HashMap::new(),
            job_ms: u64::try_from(settings.job_time.as_millis()).unwrap_or(u64::MAX),
            max_in_flight: settings.max_in_flight,
            polls: (0, 0),
        }
    }

    /// Accepts a job and gives its id, or refuses it because of the account or a marker.
    pub(crate) fn accept(&mut self, new_job: NewJob, now: u64) -> Result<String, Refusal> {
        if let Some(fault) = self.submit_fault(&new_job) {
            return Err(refusal(fault, &new_job.body));
        }
        let account = self.accounts.get_mut(new_job.account).ok_or_else(Refusal::unauthenticated)?;
        while account.under_way.peek().is_some_and(|&Reverse(end)| end <= now) {
            account.under_way.pop();
        }
        if account.under_way.len() >= self.max_in_flight {
            return Err(Refusal::too_many());
        }
        if account.credits < new_job.price {
            return Err(Refusal::insufficient_credits());
        }
        let id = fresh_id().map_err(|_| Refusal::broken())?;
        let over_at = match new_job.faults.job_time {
            JobTime::Usual => Some(now.saturating_add(self.job_ms)),
            JobTime::Milliseconds(ms) => Some(now.saturating_add(ms)),
            JobTime::Never => None,
        };
        account.under_way.push(Reverse(over_at.unwrap_or(now + ABANDONED_MS)));
        let charged = over_at.is_some() && new_job.faults.ending == Ending::Ready;
        let cost = if charged { new_job.price } else { 0 };
        account.credits -= cost;
        self.remember(id.clone(), new_job, over_at, cost, now);
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

    fn submit_fault(&mut self, new_job: &NewJob) -> Option<SubmitFault> {
        if !new_job.faults.refuses() {
            return None;
        }
        if self.counted.len() >= MAX_COUNTED {
            self.counted.clear();
        }
        let earlier = self.counted.entry(new_job.prompt.clone()).or_default();
        let fault = new_job.faults.submit_fault(*earlier);
        *earlier = earlier.saturating_add(1);
        fault
    }

    fn remember(&mut self, id: String, new_job: NewJob, over_at: Option<u64>, cost: u64, now: u64) {
        let untold = [ReceiptFault::Cut, ReceiptFault::Garbage, ReceiptFault::Hang];
        let record = Submit {
            id: id.clone(),
            account: new_job.account,
            model: new_job.model.to_owned(),
            prompt: new_job.prompt,
            body: new_job.body,
            at: now,
            answered: !new_job.faults.receipt.is_some_and(|fault| untold.contains(&fault)),
            cost,
            polls: 0,
            deliveries: 0,
        };
        let (prompt_used, seed, picture, faults) =
            (new_job.prompt_used, new_job.seed, new_job.picture, new_job.faults);
        let job = Job { record, prompt_used, seed, picture, faults, over_at, links: 0, downloads: 0 };
        if self.order.len() == MAX_JOBS
            && let Some(oldest) = self.order.pop_front()
        {
            self.jobs.remove(&oldest);
        }
        self.jobs.insert(id.clone(), job);
        self.order.push_back(id);
        self.accepted += 1;
    }
}

/// The refusal a marker asks for, the same as with a real cause.
fn refusal(fault: SubmitFault, body: &Value) -> Refusal {
    match fault {
        SubmitFault::Broken => Refusal::broken(),
        SubmitFault::Credits => Refusal::insufficient_credits(),
        SubmitFault::Key => Refusal::unauthenticated(),
        SubmitFault::Schema => {
            let msg = "Value error, Prompt is not acceptable";
            let (loc, ctx) = (serde_json::json!(["body", "prompt"]), serde_json::json!({ "error": {} }));
            Refusal::schema(vec![field_error("value_error", loc, msg, &body["prompt"], Some(ctx))])
        }
        SubmitFault::TooMany => Refusal::too_many(),
        SubmitFault::Unavailable => Refusal::unavailable(),
    }
}

/// A random UUID, version 4.
fn fresh_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

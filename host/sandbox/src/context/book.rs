//! The provider's memory: jobs, accounts, and what was refused.
//!
//! Pure but for the random ids: time comes in, replies are written elsewhere. Bounded: the oldest jobs are
//! forgotten, and then are as unknown as if they had never been.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use serde_json::{Number, Value};

use super::faults::{Ending, Faults, Pace, ReceiptFault, SubmitFault};
use super::refusal::Refusal;
use super::schema::mistake;
use super::truth::{Declined, Submit, Truth};
use crate::pixels::Picture;
use crate::settings::Settings;

/// Jobs remembered.
const MAX_JOBS: usize = 100_000;
/// Refusals remembered.
const MAX_DECLINED: usize = 10_000;
/// Prompts whose submits are counted; past that the counts start afresh.
const MAX_COUNTED: usize = 100_000;
/// A job that never ends stops counting as under way.
const ABANDONED_MS: u64 = 600_000;

/// A job somebody wants done, found good.
pub(super) struct Wanted {
    pub(super) account: usize,
    pub(super) model: &'static str,
    /// In the provider's credits.
    pub(super) price: u64,
    pub(super) prompt: String,
    /// The prompt as the model reads it.
    pub(super) prompt_used: String,
    pub(super) seed: Number,
    pub(super) picture: Picture,
    pub(super) faults: Faults,
    /// The body for the record.
    pub(super) body: Value,
}

/// An accepted job.
pub(super) struct Job {
    pub(super) record: Submit,
    pub(super) prompt_used: String,
    pub(super) seed: Number,
    pub(super) picture: Picture,
    pub(super) faults: Faults,
    /// When it ends; `None` is never.
    pub(super) over_at: Option<u64>,
    /// Links handed out.
    pub(super) links: u32,
    /// Downloads tried.
    pub(super) downloads: u32,
}

struct Account {
    credits: u64,
    /// When each job under way stops counting.
    under_way: BinaryHeap<Reverse<u64>>,
}

/// Jobs, accounts and refusals.
pub(super) struct Book {
    jobs: HashMap<String, Job>,
    /// Ids, oldest first.
    order: VecDeque<String>,
    accepted: u64,
    declined: VecDeque<Declined>,
    accounts: Vec<Account>,
    /// Submits so far of each prompt that asks for trouble with submits.
    counted: HashMap<String, u32>,
    job_ms: u64,
    max_in_flight: usize,
    /// The minute polls are counted in, and how many there were.
    polls: (u64, u32),
}

impl Book {
    pub(super) fn new(settings: &Settings) -> Self {
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

    /// Accepts a job, or refuses it for the account's or a marker's reasons. Gives the new id.
    pub(super) fn accept(&mut self, wanted: Wanted, now: u64) -> Result<String, Refusal> {
        if let Some(fault) = self.submit_fault(&wanted) {
            return Err(refusal(fault, &wanted.body));
        }
        let account = self.accounts.get_mut(wanted.account).ok_or_else(Refusal::unauthenticated)?;
        while account.under_way.peek().is_some_and(|&Reverse(end)| end <= now) {
            account.under_way.pop();
        }
        if account.under_way.len() >= self.max_in_flight {
            return Err(Refusal::too_many());
        }
        if account.credits < wanted.price {
            return Err(Refusal::insufficient_credits());
        }
        let id = fresh_id().map_err(|_| Refusal::broken())?;
        let over_at = match wanted.faults.pace {
            Pace::Usual => Some(now.saturating_add(self.job_ms)),
            Pace::Milliseconds(ms) => Some(now.saturating_add(ms)),
            Pace::Never => None,
        };
        account.under_way.push(Reverse(over_at.unwrap_or(now + ABANDONED_MS)));
        let charged = over_at.is_some() && wanted.faults.ending == Ending::Ready;
        let cost = if charged { wanted.price } else { 0 };
        account.credits -= cost;
        self.remember(id.clone(), wanted, over_at, cost, now);
        Ok(id)
    }

    /// Notes a refused submit.
    pub(super) fn decline(&mut self, status: u16, prompt: Option<String>, at: u64) {
        if self.declined.len() == MAX_DECLINED {
            self.declined.pop_front();
        }
        self.declined.push_back(Declined { status, prompt, at });
    }

    pub(super) fn job(&mut self, id: &str) -> Option<&mut Job> {
        self.jobs.get_mut(id)
    }

    /// What an account has left.
    pub(super) fn credits(&self, account: usize) -> u64 {
        self.accounts.get(account).map_or(0, |account| account.credits)
    }

    /// Counts a poll; gives how many came in this minute.
    pub(super) fn count_poll(&mut self, now: u64) -> u32 {
        let minute = now / 60_000;
        let before = if self.polls.0 == minute { self.polls.1 } else { 0 };
        self.polls = (minute, before.saturating_add(1));
        self.polls.1
    }

    pub(super) fn truth(&self) -> Truth {
        Truth {
            accepted: self.accepted,
            submits: self.order.iter().filter_map(|id| Some(self.jobs.get(id)?.record.clone())).collect(),
            declined: self.declined.iter().cloned().collect(),
            credits: self.accounts.iter().map(|account| account.credits).collect(),
        }
    }

    fn submit_fault(&mut self, wanted: &Wanted) -> Option<SubmitFault> {
        if !wanted.faults.refuses() {
            return None;
        }
        if self.counted.len() >= MAX_COUNTED {
            self.counted.clear();
        }
        let earlier = self.counted.entry(wanted.prompt.clone()).or_default();
        let fault = wanted.faults.submit_fault(*earlier);
        *earlier = earlier.saturating_add(1);
        fault
    }

    fn remember(&mut self, id: String, wanted: Wanted, over_at: Option<u64>, cost: u64, now: u64) {
        let untold = [ReceiptFault::Cut, ReceiptFault::Garbage, ReceiptFault::Hang];
        let record = Submit {
            id: id.clone(),
            account: wanted.account,
            model: wanted.model.to_owned(),
            prompt: wanted.prompt,
            body: wanted.body,
            at: now,
            answered: !wanted.faults.receipt.is_some_and(|fault| untold.contains(&fault)),
            cost,
            polls: 0,
            deliveries: 0,
        };
        let (prompt_used, seed, picture, faults) =
            (wanted.prompt_used, wanted.seed, wanted.picture, wanted.faults);
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

/// A marker's refusal, as the real cause would look.
fn refusal(fault: SubmitFault, body: &Value) -> Refusal {
    match fault {
        SubmitFault::Broken => Refusal::broken(),
        SubmitFault::Credits => Refusal::insufficient_credits(),
        SubmitFault::Key => Refusal::unauthenticated(),
        SubmitFault::Schema => {
            let msg = "Value error, Prompt is not acceptable";
            let (loc, ctx) = (serde_json::json!(["body", "prompt"]), serde_json::json!({ "error": {} }));
            Refusal::schema(vec![mistake("value_error", loc, msg, &body["prompt"], Some(ctx))])
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

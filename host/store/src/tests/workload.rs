//! The commands of a busy gateway, generated from a seed: tasks that are submitted, repeated, advanced and
//! ended, money, keys, holds of requests, and what is forgotten in time.
//!
//! Unlike the sequences that look for contradictions, these use each id once, as the gateway does, so that the
//! doctor must find nothing.

use fastrand::Rng;
use gatehouse_model::{Status, UnixMs};
use gatehouse_sample::{ANY_LIVE, CommandTemplate, START, STEP};
use gatehouse_tasks::{Command, Ending, MemoryLedgerStorage};

/// The commands of one gateway, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    random: Rng,
    at: UnixMs,
    /// The longest value in a row, in bytes.
    longest: usize,
    tasks: u8,
    requests: u8,
    keys: u8,
    commands: u32,
}

/// Every so many commands an operator edits a quota that resets.
const EDITS_EVERY: u32 = 16;

impl Workload {
    pub(super) fn new(seed: u64, longest: usize) -> Self {
        Self { random: Rng::with_seed(seed), at: START, longest, tasks: 0, requests: 0, keys: 3, commands: 0 }
    }

    /// The day before which history may go now.
    pub(super) fn old_days(&self) -> u32 {
        START.day() + u32::from(self.tasks) / 3
    }

    /// The next command, in view of those storage.
    pub(super) fn command(&mut self, storage: &MemoryLedgerStorage) -> Command {
        self.at = self.at.plus(STEP);
        self.commands += 1;
        let template = self.template();
        let template = if self.commands.is_multiple_of(EDITS_EVERY) { self.quota_edit() } else { template };
        let mut command = template.command(storage, self.at);
        match &mut command {
            Command::Submit { task, .. } => {
                task.state = self.bytes();
                if self.random.usize(..4) == 0 {
                    task.brief = self.bytes().into();
                }
            }
            Command::Advance { change, .. } if self.random.usize(..2) == 0 => {
                change.state = Some((2, self.bytes()));
                change.audit = Some("it went on".into());
            }
            Command::Finish { ending: Ending::Completed { result, .. }, .. } => {
                result.public = self.bytes();
                result.private = self.bytes();
            }
            Command::Join { request, .. } => request.brief = self.bytes().into(),
            _ => {}
        }
        command
    }

    /// Mostly short, now and then longer than a checkpoint.
    fn bytes(&mut self) -> Vec<u8> {
        let most = if self.random.usize(..8) == 0 { self.longest } else { 300 };
        vec![self.random.u8(..); self.random.usize(..most + 1)]
    }

    fn template(&mut self) -> CommandTemplate {
        match self.random.usize(..38) {
            0..=8 => self.submit(),
            9..=13 => CommandTemplate::Advance {
                task: self.live(),
                late: u64::from(self.random.usize(..8) == 0),
                status: [Status::Pending, Status::Processing][self.random.usize(..2)],
                progress: self.random.u8(..101),
                deliver: self.random.usize(..2) == 0,
                view: (self.random.usize(..3) == 0).then(|| self.random.u8(..)),
            },
            14..=17 => CommandTemplate::Join {
                task: self.live(),
                late: 0,
                key: self.random.u8(..3),
                price: self.random.i64(0..12),
                token: (self.random.usize(..3) == 0).then(|| (self.random.u8(..6), self.random.u8(..2))),
            },
            18..=21 => CommandTemplate::Finish {
                task: self.live(),
                late: u64::from(self.random.usize(..8) == 0),
                cost: (self.random.usize(..3) > 0).then(|| self.random.i64(0..12)),
                view: (self.random.usize(..3) == 0).then(|| self.random.u8(..)),
                names: (0..self.random.usize(..3)).map(|_| self.random.u8(..9)).collect(),
            },
            22 => CommandTemplate::Deposit {
                customer: self.random.u8(..2),
                amount: 40 + self.random.i64(0..200),
            },
            23 => CommandTemplate::Deposit {
                customer: self.random.u8(..2),
                amount: -1 - self.random.i64(0..50),
            },
            24 => CommandTemplate::Hold {
                request: next(&mut self.requests),
                key: self.random.u8(..3),
                amount: self.random.i64(0..30),
                steps: 1 + u32::from(self.random.u8(..6)),
            },
            25 => CommandTemplate::Settle { request: self.random.u8(..8), amount: self.random.i64(0..10) },
            26 => CommandTemplate::Release { request: self.random.u8(..8) },
            27..=29 => CommandTemplate::Forget {
                customer: self.random.u8(..2),
                limit: 1 + self.random.usize(..3),
                early: false,
            },
            30 => CommandTemplate::AddKey {
                key: next(&mut self.keys),
                customer: 0,
                quota: Some(50),
                period: Some(self.keys % 3),
                hours: None,
            },
            31 | 32 => CommandTemplate::Send { task: self.live(), late: 0 },
            33 | 34 => CommandTemplate::Lose { task: self.live(), late: 0 },
            35 | 36 => {
                CommandTemplate::Reconcile { task: self.live(), late: None, ruling: self.random.u8(..3) }
            }
            // The first three keys stay good, or nothing more would happen.
            _ if self.keys > 3 => CommandTemplate::RevokeKey { key: self.keys - 1 },
            _ => CommandTemplate::Audit { task: None },
        }
    }

    /// A quota that resets, of a key and of a customer in turn. Takes nothing from the random numbers.
    fn quota_edit(&self) -> CommandTemplate {
        let number = self.commands / EDITS_EVERY;
        let (period, late) = (Some(u8::try_from(number % 3).unwrap()), 0);
        if number.is_multiple_of(2) {
            return CommandTemplate::EditCustomer { customer: 0, late, quota: Some(600), period };
        }
        let (key, concurrency, of_model) = (1, None, None);
        CommandTemplate::EditKey { key, late, quota: Some(300), period, concurrency, of_model }
    }

    /// A new task; now and then a client repeats an earlier request, which comes with a new id.
    fn submit(&mut self) -> CommandTemplate {
        let key = self.random.u8(..3);
        let task = next(&mut self.tasks);
        let token = (self.random.usize(..3) == 0).then(|| (self.random.u8(..6), self.random.u8(..2)));
        CommandTemplate::Submit { task, key, customer: key / 2, price: self.random.i64(0..12), token }
    }

    /// A live task, mostly the oldest.
    fn live(&mut self) -> u8 {
        if self.random.usize(..3) > 0 { 0 } else { self.random.u8(..ANY_LIVE) }
    }
}

fn next(number: &mut u8) -> u8 {
    let taken = *number;
    *number = taken.checked_add(1).expect("a run is shorter than the pools");
    taken
}

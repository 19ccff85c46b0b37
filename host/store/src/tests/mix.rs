//! The commands of a busy gateway, generated from a seed: tasks that are submitted, repeated, advanced and
//! ended, money, keys, holds of requests, sweeps, and history that is dropped.
//!
//! Unlike the sequences that look for contradictions, these use each id once, as the gateway does, so that the
//! doctor must find nothing.

use gatehouse_model::{Status, UnixMs};
use gatehouse_tasks::sample::{ANY_LIVE, CommandTemplate, START, STEP};
use gatehouse_tasks::{Command, Ending, MemoryLedgerStorage};

use crate::fault_injection::Xorshift;

impl Xorshift {
    fn byte(&mut self, end: usize) -> u8 {
        u8::try_from(self.below(end)).unwrap()
    }

    fn money(&mut self, end: usize) -> i64 {
        i64::try_from(self.below(end)).unwrap()
    }
}

/// The commands of one gateway, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Mix {
    words: Xorshift,
    at: UnixMs,
    /// The longest value in a row, in bytes.
    fat: usize,
    tasks: u8,
    requests: u8,
    keys: u8,
}

impl Mix {
    pub(super) fn new(seed: u64, fat: usize) -> Self {
        Self { words: Xorshift::new(seed), at: START, fat, tasks: 0, requests: 0, keys: 3 }
    }

    /// The next command, in view of those storage.
    pub(super) fn command(&mut self, storage: &MemoryLedgerStorage) -> Command {
        self.at = self.at.plus(STEP);
        let mut command = self.template().command(storage, self.at);
        match &mut command {
            Command::Submit { task, .. } => {
                task.state = self.bytes();
                if self.words.below(4) == 0 {
                    task.brief = self.bytes().into();
                }
            }
            Command::Advance { change, .. } if self.words.below(2) == 0 => {
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

    /// Mostly short, now and then longer than a page.
    fn bytes(&mut self) -> Vec<u8> {
        let most = if self.words.below(8) == 0 { self.fat } else { 300 };
        vec![self.words.byte(256); self.words.below(most + 1)]
    }

    fn template(&mut self) -> CommandTemplate {
        match self.words.below(32) {
            0..=8 => self.submit(),
            9..=13 => CommandTemplate::Advance {
                task: self.live(),
                late: u64::from(self.words.below(8) == 0),
                status: [Status::Pending, Status::Processing][self.words.below(2)],
                progress: self.words.byte(101),
                deliver: self.words.below(2) == 0,
                view: (self.words.below(3) == 0).then(|| self.words.byte(256)),
            },
            14..=17 => CommandTemplate::Join {
                task: self.live(),
                key: self.words.byte(3),
                price: self.words.money(12),
                token: (self.words.below(3) == 0).then(|| (self.words.byte(6), self.words.byte(2))),
            },
            18..=21 => CommandTemplate::Finish {
                task: self.live(),
                late: u64::from(self.words.below(8) == 0),
                cost: (self.words.below(3) > 0).then(|| self.words.money(12)),
                view: (self.words.below(3) == 0).then(|| self.words.byte(256)),
                names: (0..self.words.below(3)).map(|_| self.words.byte(9)).collect(),
            },
            22 => {
                CommandTemplate::Deposit { customer: self.words.byte(2), amount: 40 + self.words.money(200) }
            }
            23 => {
                CommandTemplate::Deposit { customer: self.words.byte(2), amount: -1 - self.words.money(50) }
            }
            24 => CommandTemplate::Hold {
                request: next(&mut self.requests),
                key: self.words.byte(3),
                amount: self.words.money(30),
                steps: 1 + u32::from(self.words.byte(6)),
            },
            25 => CommandTemplate::Settle { request: self.words.byte(8), amount: self.words.money(10) },
            26 => CommandTemplate::Release { request: self.words.byte(8) },
            27 => CommandTemplate::Sweep { limit: 1 + self.words.below(3) },
            28 => CommandTemplate::SweepHolds { limit: 1 + self.words.below(3) },
            29 => CommandTemplate::DropHistory { days: u32::from(self.tasks) / 3 },
            30 => CommandTemplate::AddKey {
                key: next(&mut self.keys),
                customer: 0,
                quota: Some(50),
                hours: None,
            },
            // The first three keys stay good, or nothing more would happen.
            _ if self.keys > 3 => CommandTemplate::RevokeKey { key: self.keys - 1 },
            _ => CommandTemplate::Audit { task: None },
        }
    }

    /// A new task; now and then a client repeats an earlier request, which comes with a new id.
    fn submit(&mut self) -> CommandTemplate {
        let key = self.words.byte(3);
        let task = next(&mut self.tasks);
        let token = (self.words.below(3) == 0).then(|| (self.words.byte(6), self.words.byte(2)));
        CommandTemplate::Submit { task, key, customer: key / 2, price: self.words.money(12), token }
    }

    /// A live task, mostly the oldest.
    fn live(&mut self) -> u8 {
        if self.words.below(3) > 0 { 0 } else { self.words.byte(ANY_LIVE.into()) }
    }
}

fn next(number: &mut u8) -> u8 {
    let taken = *number;
    *number = taken.checked_add(1).expect("a life is shorter than the pools");
    taken
}

//! The examination behind `gatehouse doctor`: re-sums the ledger and compares it with every balance, hold and task.
//!
//! Fed row by row, so that a store of any size can be examined from one snapshot. It trusts no row: sums run in
//! 128 bits, and what contradicts something else becomes a finding instead of a stop.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Customer, CustomerId, Key, KeyId, Status, Task, UnixMs};

use crate::ledger::head_examination::{HeadExamination, named};
use crate::ledger::key_examination::KeyExamination;
use crate::ledger::quota_examination::CustomerQuotas;
use crate::ledger::usage_check::UsageCheck;
use crate::records::check::RecordCheck;
use crate::records::hold::{Hold, HoldId};
use crate::records::journal_entry::{EntryKind, JournalEntry};
use crate::records::mark::LedgerMark;
use crate::records::operator::{DeploymentRecord, PriceVersion};
use crate::records::usage::UsageSums;
use crate::storage::ledger_storage::NameRecord;

/// Findings kept as text; beyond them only the count goes on.
const KEPT: usize = 1000;

/// An examination under way. Feed the marks first, then the ledger in order, the rest in any order.
#[derive(Debug, Default)]
pub struct Examination {
    chains: HeadExamination,
    external: i128,
    folds: BTreeMap<CustomerId, Balances>,
    keys: KeyExamination,
    quotas: CustomerQuotas,
    /// Holds the ledger has opened and not resolved, by the keys they count against.
    open: BTreeMap<(HoldId, KeyId), Credits>,
    /// What the ledger settled for tasks, zero for a release.
    settled: BTreeMap<HoldId, Credits>,
    total: i128,
    report: Report,
    /// Task holds among the rows, until their task is seen.
    task_holds: BTreeMap<HoldId, Credits>,
    /// Live tasks, until their hold is seen.
    live_tasks: BTreeMap<HoldId, Credits>,
    /// Rows of the look-up by name.
    name_owners: u64,
    usage: UsageCheck,
    records: RecordCheck,
}

/// What an examination found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Accounts seen.
    pub customers: u64,
    /// Keys seen.
    pub keys: u64,
    /// Ledger rows seen.
    pub entries: u64,
    /// Open holds seen.
    pub holds: u64,
    /// Live tasks seen.
    pub live: u64,
    /// Ended tasks seen.
    pub finished: u64,
    /// Names seen that customers own.
    pub names: u64,
    /// Versions of the price book seen.
    pub price_books: u64,
    /// Reports of deployments seen.
    pub deployments: u64,
    /// All balances less everything paid in; anything but zero means that money was made or lost.
    pub imbalance: Credits,
    /// How many contradictions there are.
    pub found: u64,
    /// The first thousand of them, for the operator.
    pub findings: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Balances {
    available: i128,
    reserved: i128,
    spent: i128,
    deposited: i128,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.found == 0 && self.imbalance == Credits::ZERO
    }

    fn add(&mut self, finding: String) {
        self.found += 1;
        if self.findings.len() < KEPT {
            self.findings.push(finding);
        }
    }
}

impl Examination {
    /// What the audit record says of the ledger at a moment.
    pub fn mark(&mut self, at: UnixMs, mark: LedgerMark) {
        self.chains.mark(at, mark);
    }

    /// The next row of the ledger.
    pub fn entry(&mut self, entry: &JournalEntry) {
        self.report.entries += 1;
        self.chains.entry(entry).into_iter().for_each(|finding| self.report.add(finding));

        let [available, reserved, spent, external] = [
            entry.movement.available,
            entry.movement.reserved,
            entry.movement.spent,
            entry.movement.external,
        ]
        .map(|credits| i128::from(credits.0));
        if available + reserved + spent + external != 0 {
            self.report.add(format!("{}: the movement does not sum to zero", named(entry)));
        }
        self.external += external;
        let fold = self.folds.entry(entry.customer.clone()).or_default();
        fold.available += available;
        fold.reserved += reserved;
        fold.spent += spent;
        fold.deposited -= external;
        if let Some(key) = &entry.key {
            self.keys.entry(key, reserved + spent);
        }
        self.usage.entry(entry);
        self.follow_hold(entry);
    }

    /// A customer's row.
    pub fn customer(&mut self, customer: &Customer) {
        self.report.customers += 1;
        self.chains.customer(customer).into_iter().for_each(|finding| self.report.add(finding));
        self.quotas.customer(customer);
        let balances = Balances {
            available: customer.available.0.into(),
            reserved: customer.reserved.0.into(),
            spent: customer.spent.0.into(),
            deposited: customer.deposited.0.into(),
        };
        self.total += balances.available + balances.reserved + balances.spent;
        if balances.available < 0 || balances.reserved < 0 || balances.spent < 0 {
            self.report.add(format!("customer {}: a balance is negative", customer.id));
        }
        if self.folds.remove(&customer.id).unwrap_or_default() != balances {
            self.report
                .add(format!("customer {}: its balances are not the sum of its ledger rows", customer.id));
        }
    }

    /// A key's row.
    pub fn key(&mut self, key: &Key) {
        self.report.keys += 1;
        self.keys.key(key);
    }

    /// An open hold's row.
    pub fn hold(&mut self, hold: &Hold) {
        self.report.holds += 1;
        self.keys.hold(hold);
        self.quotas.hold(hold);
        match hold.own() {
            Some(own) => self.share(hold.id, &hold.key, own),
            None => self.report.add(format!("hold {}: its shares do not fit into the ledger", hold.id)),
        }
        for share in &hold.shares {
            self.share(hold.id, &share.key, share.amount);
        }
        if matches!(hold.id, HoldId::Task(_)) {
            self.pair(hold.id, hold.amount, Side::Hold);
        }
    }

    /// A live task's row.
    pub fn live(&mut self, task: &Task) {
        self.report.live += 1;
        if task.status.is_final() {
            self.report.add(format!("task {}: it has ended, but is kept with the live ones", task.id));
        }
        if task.deadline <= task.created {
            self.report.add(format!("task {}: it has no deadline", task.id));
        }
        self.joined(task);
        self.pair(HoldId::Task(task.id), task.held, Side::Task);
    }

    /// An ended task's row.
    pub fn finished(&mut self, task: &Task) {
        self.report.finished += 1;
        let (id, cost) = (task.id, task.cost.unwrap_or(Credits::ZERO));
        match task.status {
            Status::Completed if cost < task.joined_held => {
                let joined = task.joined_held;
                self.report
                    .add(format!("task {id}: it cost {cost} credits, but what joined it cost {joined}"));
            }
            Status::Completed => {}
            Status::Failed if cost == Credits::ZERO => {}
            Status::Failed => self.report.add(format!("task {id}: it failed, but cost {cost} credits")),
            _ => self.report.add(format!("task {id}: it has not ended, but is kept with those that have")),
        }
        if !task.joined.is_empty() {
            self.report.add(format!("task {id}: it has ended, but requests that joined it wait for it"));
        }
        match self.settled.get(&HoldId::Task(id)) {
            Some(settled) if *settled == cost => {}
            Some(settled) => {
                self.report.add(format!("task {id}: it cost {cost} credits, but {settled} were settled"));
            }
            None => self.report.add(format!("task {id}: it has ended, but its hold was never resolved")),
        }
    }

    /// A name's row, and the customer that the look-up by name gives for it.
    pub fn name(&mut self, record: &NameRecord, owner: Option<&CustomerId>) {
        self.report.names += 1;
        let (name, customer) = (&record.claim.name, &record.customer);
        match owner {
            Some(owner) if owner == customer => {}
            Some(owner) => {
                self.report
                    .add(format!("name {name:?} of customer {customer}: the look-up gives it to {owner}"));
            }
            None => self.report.add(format!("name {name:?} of customer {customer}: the look-up misses it")),
        }
    }

    /// Sums of usage of a key on a day.
    pub fn usage(&mut self, customer: &CustomerId, key: &KeyId, day: u32, sums: &UsageSums) {
        self.usage.day(customer, key, day, sums);
    }

    /// The next version of the price book, which stands under that number.
    pub fn price_book(&mut self, number: u64, book: PriceVersion) {
        self.report.price_books += 1;
        let wrong = self.records.price_book(number, self.report.price_books, book);
        wrong.into_iter().for_each(|finding| self.report.add(finding));
    }

    /// The next report of a deployment, which stands under that number.
    pub fn deployment(&mut self, number: u64, row: &DeploymentRecord) {
        self.report.deployments += 1;
        let wrong = self.records.deployment(number, self.report.deployments, row);
        wrong.into_iter().for_each(|finding| self.report.add(finding));
    }

    /// How many rows the look-up by name has.
    pub fn name_owners(&mut self, count: u64) {
        self.name_owners = count;
    }

    /// What a storage found wrong with its own look-up tables.
    pub fn look_up(&mut self, finding: String) {
        self.report.add(finding);
    }

    /// The verdict, once every row was seen.
    #[must_use]
    pub fn report(self) -> Report {
        let mut report = self.report;
        self.chains.rest().into_iter().for_each(|finding| report.add(finding));
        for (customer, _) in self.folds.iter().filter(|(_, fold)| **fold != Balances::default()) {
            report.add(format!("customer {customer}: it is in the ledger, but has no row"));
        }
        self.keys.findings().into_iter().for_each(|finding| report.add(finding));
        self.quotas.findings().into_iter().for_each(|finding| report.add(finding));
        for (hold, _) in self.open.keys() {
            report.add(format!("hold {hold}: open by the ledger, but has no row"));
        }
        if self.name_owners != report.names {
            report.add(format!("names: {}, but {} in the look-up by name", report.names, self.name_owners));
        }
        for hold in self.task_holds.keys() {
            report.add(format!("hold {hold}: its task is not live"));
        }
        for task in self.live_tasks.keys() {
            report.add(format!("task {task}: it is live, but has no hold"));
        }
        self.usage.findings().for_each(|finding| report.add(finding));
        let imbalance = self.total + self.external;
        let clamped = imbalance.clamp(i64::MIN.into(), i64::MAX.into());
        report.imbalance = Credits(i64::try_from(clamped).expect("clamped to this range"));
        report
    }

    /// What a hold's row says of one key.
    fn share(&mut self, id: HoldId, key: &KeyId, amount: Credits) {
        match self.open.remove(&(id, key.clone())) {
            None => self.report.add(format!("hold {id}: the ledger has not opened it")),
            Some(opened) if opened != amount => {
                self.report.add(format!("hold {id}: {amount} credits, but {opened} by the ledger"));
            }
            Some(_) => {}
        }
    }

    /// What a live task holds is its own price and what joined it; undelivered requests are a part of that.
    fn joined(&mut self, task: &Task) {
        let id = task.id;
        let price = task.terms().hold();
        if price.and_then(|price| price.checked_add(task.joined_held)) != Some(task.held) {
            self.report.add(format!("task {id}: it holds other than its price and what joined it"));
        }
        let undelivered: i128 = task.joined.iter().map(|request| i128::from(request.held.0)).sum();
        if task.joined_held < Credits::ZERO || undelivered > i128::from(task.joined_held.0) {
            self.report.add(format!("task {id}: requests that wait for it hold more than what joined it"));
        }
    }

    /// Each hold is opened once for a key and resolved at most once, by exactly what was held (I3).
    fn follow_hold(&mut self, entry: &JournalEntry) {
        let (row, moved) = (named(entry), entry.movement);
        let (hold, key) = match (entry.kind, entry.hold, &entry.key) {
            (EntryKind::Deposit, None, None) => return,
            (EntryKind::Deposit, _, _) | (_, None, _) | (_, _, None) => {
                return self.report.add(format!("{row}: its kind and its hold contradict each other"));
            }
            (_, Some(hold), Some(key)) => (hold, key.clone()),
        };
        match entry.kind {
            EntryKind::Deposit => {}
            EntryKind::Hold => {
                if self.is_open(hold) || self.settled.contains_key(&hold) {
                    self.report.add(format!("{row}: hold {hold} was opened before"));
                }
                self.open.insert((hold, key), moved.reserved);
            }
            EntryKind::Join => {
                if !matches!(hold, HoldId::Task(_)) || !self.is_open(hold) {
                    self.report.add(format!("{row}: it adds to hold {hold}, which is not open"));
                }
                let open = self.open.entry((hold, key)).or_default();
                *open = Credits(open.0.saturating_add(moved.reserved.0));
            }
            EntryKind::Release | EntryKind::Settle => self.follow_end(entry, hold, key),
        }
    }

    fn is_open(&self, hold: HoldId) -> bool {
        let mut from = self.open.range((hold, KeyId(String::new()))..);
        from.next().is_some_and(|((open, _), _)| *open == hold)
    }

    fn follow_end(&mut self, entry: &JournalEntry, hold: HoldId, key: KeyId) {
        let (row, moved) = (named(entry), entry.movement);
        match self.open.remove(&(hold, key)) {
            Some(amount) if amount.checked_neg() == Some(moved.reserved) => {}
            Some(amount) => {
                self.report.add(format!("{row}: it resolves other than the {amount} credits held"));
            }
            None => self.report.add(format!("{row}: hold {hold} is not open")),
        }
        if entry.kind == EntryKind::Release && moved.spent != Credits::ZERO {
            self.report.add(format!("{row}: a release spends"));
        }
        if matches!(hold, HoldId::Task(_)) {
            let settled = self.settled.entry(hold).or_default();
            *settled = Credits(settled.0.saturating_add(moved.spent.0));
        }
    }

    /// Matches each live task with its one hold (I4, I8), whichever is seen first.
    fn pair(&mut self, id: HoldId, amount: Credits, side: Side) {
        let (mine, other) = match side {
            Side::Hold => (&mut self.task_holds, &mut self.live_tasks),
            Side::Task => (&mut self.live_tasks, &mut self.task_holds),
        };
        match other.remove(&id) {
            Some(held) if held == amount => {}
            Some(_) => self.report.add(format!("task {id}: it and its hold name different amounts")),
            None => {
                mine.insert(id, amount);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Hold,
    Task,
}

//! Ledger storage in memory: for tests and simulations, and the reference for engines. Rows above an engine that has none, and
//! that nothing is ever committed to.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use gatehouse_model::{Claim, Customer, CustomerId, Key, Task, TaskId};

use crate::ledger::examination::{Examination, Report};
use crate::records::administration::AdminIdempotencyRecord;
use crate::records::hold::Hold;
use crate::records::journal_entry::JournalEntry;
use crate::records::operator::{DeploymentRecord, PriceVersion};
use crate::records::response::ResponseRecord;
use crate::records::step::StepRow;
use crate::records::usage::{UsageKey, UsageSums};
use crate::records::webhook::{WebhookDelivery, WebhookEndpoint};
use crate::storage::ledger_storage::{
    AuditRecord, BalancesAfter, IdempotencyRecord, LedgerStorage as _, NameRecord,
};
use crate::storage::row::{Kind, List, Row, RowKey};
use crate::storage::rows::{Backend, RowChange, Rows};

/// An engine without rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nothing;

/// Rows in memory. Cannot fail.
pub type MemoryLedgerStorage = Rows<Nothing>;

impl Backend for Nothing {
    type Error = Infallible;

    fn fetch(&self, _: &RowKey) -> Result<Option<Row>, Infallible> {
        Ok(None)
    }

    fn first(
        &self,
        _: &List,
        _: Option<&(u64, RowKey)>,
        _: &dyn Fn(&RowKey) -> bool,
    ) -> Result<Option<(u64, RowKey)>, Infallible> {
        Ok(None)
    }

    fn commit(&mut self, _: &[RowChange]) -> Result<(), Infallible> {
        Ok(())
    }
}

impl PartialEq for MemoryLedgerStorage {
    fn eq(&self, other: &Self) -> bool {
        self.changed().eq(other.changed())
    }
}

impl Eq for MemoryLedgerStorage {}

impl MemoryLedgerStorage {
    fn all<'a, T: Kind + 'a>(&'a self) -> impl Iterator<Item = &'a T> {
        self.changed().filter_map(|(_, row)| T::of(row))
    }

    /// All customers.
    pub fn customers(&self) -> impl Iterator<Item = &Customer> {
        self.all()
    }

    /// All keys.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.all()
    }

    /// All live tasks, by creation.
    pub fn live_tasks(&self) -> impl Iterator<Item = &Task> {
        self.all().filter(|task: &&Task| !task.status.is_final())
    }

    /// All ended tasks still in history, by creation.
    pub fn finished_tasks(&self) -> impl Iterator<Item = &Task> {
        self.all().filter(|task: &&Task| task.status.is_final())
    }

    /// Counts so many more rows in the logs of a day: for tests of their bound.
    pub fn count_step_rows(&mut self, day: u32, rows: u64) {
        let Ok(before) = self.step_rows(day);
        self.changed.insert(RowKey::StepCount(day), Some(Row::Number(before + rows)));
    }

    /// The rows of a task's log, oldest first.
    #[must_use]
    pub fn steps(&self, task: TaskId) -> Vec<&StepRow> {
        let mut rows: Vec<&StepRow> = self.all().filter(|row: &&StepRow| row.task == task).collect();
        rows.sort_by_key(|row| row.revision);
        rows
    }

    /// All open holds.
    pub fn holds(&self) -> impl Iterator<Item = &Hold> {
        self.all()
    }

    /// Everything remembered of submissions.
    pub fn idempotency_records(&self) -> impl Iterator<Item = &IdempotencyRecord> {
        self.all()
    }

    /// Everything remembered of operators' requests.
    pub fn admin_idempotency_records(&self) -> impl Iterator<Item = &AdminIdempotencyRecord> {
        self.all()
    }

    /// All versions of the price book, by number.
    pub fn price_books(&self) -> impl Iterator<Item = &PriceVersion> {
        self.all()
    }

    /// All reports of deployments, by number.
    pub fn deployments(&self) -> impl Iterator<Item = &DeploymentRecord> {
        self.all()
    }

    /// All names, by customer.
    pub fn names(&self) -> impl Iterator<Item = &NameRecord> {
        let rows = self.all().map(|row: &NameRecord| ((&row.customer, &row.claim.name), row));
        rows.collect::<BTreeMap<_, _>>().into_values()
    }

    /// Those of the names that the customer owns, in the order asked.
    #[must_use]
    pub fn owned_names(&self, customer: &CustomerId, names: &[impl AsRef<str>]) -> Vec<Claim> {
        let record =
            |name: &str| self.names().find(|row| row.customer == *customer && row.claim.name == name);
        names.iter().filter_map(|name| Some(record(name.as_ref())?.claim.clone())).collect()
    }

    /// All kept responses, by customer and id.
    pub fn responses(&self) -> impl Iterator<Item = &ResponseRecord> {
        self.all()
    }

    /// The ledger, in order.
    #[must_use]
    pub fn ledger(&self) -> Vec<&JournalEntry> {
        self.all().map(|(entry, _): &(JournalEntry, BalancesAfter)| entry).collect()
    }

    /// The balances that each row of the ledger led to, in order.
    pub fn balances_after(&self) -> impl Iterator<Item = &BalancesAfter> {
        self.all().map(|(_, after): &(JournalEntry, BalancesAfter)| after)
    }

    /// The sums of usage of every hour, by customer, key, hour and model.
    pub fn usage(&self) -> impl Iterator<Item = (&UsageKey, &UsageSums)> {
        self.changed().filter_map(|row| match row {
            (RowKey::Usage(key), Row::Usage(sums)) => Some((key, &**sums)),
            _ => None,
        })
    }

    /// The audit record, in order.
    #[must_use]
    pub fn audit_records(&self) -> Vec<&AuditRecord> {
        self.all().collect()
    }

    /// All webhooks, by id.
    pub fn webhooks(&self) -> impl Iterator<Item = &WebhookEndpoint> {
        self.all()
    }

    /// All deliveries, by id.
    pub fn deliveries(&self) -> impl Iterator<Item = &WebhookDelivery> {
        self.all()
    }

    /// Drops the history of all days before `day`, with the logs of their tasks; how many days that were. A live task will end
    /// in the day of its creation, so that day stays.
    pub fn drop_history(&mut self, day: u32) -> usize {
        let needed = self.live_tasks().next().map_or(u32::MAX, |task| task.id.timestamp().day());
        let day = day.min(needed);
        let days: BTreeSet<u32> = self.finished_tasks().map(|task| task.id.timestamp().day()).collect();
        self.changed.retain(|key, _| match key {
            RowKey::Task(task) | RowKey::Steps(task, _) => task.timestamp().day() >= day,
            RowKey::StepCount(of) => *of >= day,
            _ => true,
        });
        days.range(..day).count()
    }

    /// Re-sums everything.
    #[must_use]
    pub fn examine(&self) -> Report {
        let mut examination = Examination::default();
        for record in self.audit_records() {
            if let Some(mark) = record.mark {
                examination.mark(record.at, mark);
            }
        }
        self.ledger().into_iter().for_each(|entry| examination.entry(entry));
        self.customers().for_each(|customer| examination.customer(customer));
        self.keys().for_each(|key| examination.key(key));
        self.holds().for_each(|hold| examination.hold(hold));
        self.live_tasks().for_each(|task| examination.live(task));
        self.finished_tasks().for_each(|task| examination.finished(task));
        for record in self.names() {
            examination.name(record, Some(&record.customer));
        }
        for (key, sums) in self.usage() {
            examination.usage(&key.customer, &key.key, key.day(), sums);
        }
        examination.name_owners(self.names().count() as u64);
        examination.report()
    }
}

//! A customer's whole statement as lines that anybody can check without the store: a first line, an entry a line, and a last
//! line with the head of the chain and the balances. Owns their form, and what is right about them.

use std::fmt;

use gatehouse_model::{
    Credits, Customer, CustomerId, CustomerPolicy, Digest, KeyId, RequestId, Tags, TaskId, UnixMs,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ledger::balanced_entry::move_balances;
use crate::records::hold::HoldId;
use crate::records::journal_entry::{EntryKind, JournalEntry, Movement};

/// The form of the lines.
const FORMAT: u32 = 1;

/// A line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase", deny_unknown_fields)]
pub enum StatementLine {
    /// The first one.
    Begin {
        /// The form of the lines: 1.
        format: u32,
        /// Whose statement.
        customer: CustomerId,
    },
    /// The next entry of the ledger.
    Entry(Box<EntryLine>),
    /// The last one.
    End {
        /// How many entries there are.
        entries: u64,
        /// The chain of the last of them.
        chain: Digest,
        /// What the customer has free.
        available_micro: Credits,
        /// What is held of it.
        held_micro: Credits,
        /// What it has spent.
        spent_micro: Credits,
        /// What was paid in, less what was taken back.
        deposited_micro: Credits,
    },
}

/// An entry with the chain up to it. Amounts are millionths of a credit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryLine {
    entry: u64,
    at_ms: UnixMs,
    kind: EntryKind,
    key: Option<KeyId>,
    task: Option<TaskId>,
    request: Option<RequestId>,
    available_micro: Credits,
    held_micro: Credits,
    spent_micro: Credits,
    /// What came from outside, as a negative amount.
    outside_micro: Credits,
    /// What the customer had free after it.
    balance_micro: Credits,
    memo: String,
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    tags: Tags,
    chain: Digest,
}

impl StatementLine {
    /// The first line.
    #[must_use]
    pub fn begin(customer: CustomerId) -> Self {
        Self::Begin { format: FORMAT, customer }
    }

    /// An entry, and what its customer had free after it.
    #[must_use]
    pub fn entry(entry: JournalEntry, balance: Credits) -> Self {
        let Movement { available, reserved, spent, external } = entry.movement;
        let (task, request) = match entry.hold {
            Some(HoldId::Task(id)) => (Some(id), None),
            Some(HoldId::Request(id)) => (None, Some(id)),
            None => (None, None),
        };
        Self::Entry(Box::new(EntryLine {
            entry: entry.seq,
            at_ms: entry.at,
            kind: entry.kind,
            key: entry.key,
            task,
            request,
            available_micro: available,
            held_micro: reserved,
            spent_micro: spent,
            outside_micro: external,
            balance_micro: balance,
            memo: entry.memo,
            tags: entry.tags,
            chain: entry.chain,
        }))
    }

    /// The last line, by the customer's row.
    #[must_use]
    pub fn end(customer: &Customer) -> Self {
        Self::End {
            entries: customer.head.next,
            chain: customer.head.chain,
            available_micro: customer.available,
            held_micro: customer.reserved,
            spent_micro: customer.spent,
            deposited_micro: customer.deposited,
        }
    }
}

impl EntryLine {
    /// What the chain says of it. Of a key without a name, and of a request beside a task, it says nothing.
    fn into_entry(self, customer: CustomerId) -> JournalEntry {
        JournalEntry {
            seq: self.entry,
            at: self.at_ms,
            customer,
            key: self.key.filter(|key| !key.0.is_empty()),
            hold: self.task.map(HoldId::Task).or_else(|| self.request.map(HoldId::Request)),
            kind: self.kind,
            movement: Movement {
                available: self.available_micro,
                reserved: self.held_micro,
                spent: self.spent_micro,
                external: self.outside_micro,
            },
            memo: self.memo,
            tags: self.tags,
            chain: self.chain,
        }
    }
}

/// The first line that is wrong, counted from one, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct WrongLine {
    /// Its number.
    pub line: u64,
    /// What was expected and what came.
    pub problem: String,
}

/// A statement that is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedStatement {
    /// The customer with the balances and the head that its entries lead to.
    pub customer: Customer,
    /// The moments of the first and the last entry.
    pub span: Option<(UnixMs, UnixMs)>,
}

impl fmt::Display for VerifiedStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Customer { id, available, reserved, spent, deposited, head, .. } = &self.customer;
        write!(f, "customer {id}: {} entries", head.next)?;
        if let Some((first, last)) = self.span {
            write!(f, " from {first} to {last}")?;
        }
        write!(f, " are right\n{deposited} paid in, {spent} spent, {reserved} held, {available} free\n")?;
        write!(f, "head {}", head.chain)
    }
}

/// A check under way: line by line, in little memory.
#[derive(Debug, Default)]
pub struct StatementCheck {
    line: u64,
    /// After the first line.
    customer: Option<Customer>,
    span: Option<(UnixMs, UnixMs)>,
    has_ended: bool,
}

impl StatementCheck {
    /// The next line.
    ///
    /// # Errors
    /// Why it is wrong.
    pub fn line(&mut self, text: &str) -> Result<(), WrongLine> {
        self.line += 1;
        self.check(text).map_err(|problem| WrongLine { line: self.line, problem })
    }

    /// What a line has beside what the lines prove was not written by an export: it is refused, not overlooked.
    fn check(&mut self, text: &str) -> Result<(), String> {
        let unreadable = |error| format!("expected a line of a statement: {error}");
        let found: Value = serde_json::from_str(text).map_err(unreadable)?;
        let expected = self.take(serde_json::from_str(text).map_err(unreadable)?)?;
        let expected = serde_json::to_value(expected).map_err(unreadable)?;
        let is_right = found == expected;
        is_right
            .then_some(())
            .ok_or_else(|| format!("by the lines up to it, expected {expected}, not {found}"))
    }

    /// What the lines say together.
    ///
    /// # Errors
    /// The end is missing.
    pub fn end(self) -> Result<VerifiedStatement, WrongLine> {
        match self.customer.filter(|_| self.has_ended) {
            Some(customer) => Ok(VerifiedStatement { customer, span: self.span }),
            None => {
                let problem = "expected another line, up to one with \"line\": \"end\": the file was cut off"
                    .to_owned();
                Err(WrongLine { line: self.line + 1, problem })
            }
        }
    }

    /// The line as it had to be written.
    fn take(&mut self, line: StatementLine) -> Result<StatementLine, String> {
        if self.has_ended {
            return Err("expected nothing behind the last line".to_owned());
        }
        match (&mut self.customer, line) {
            (None, StatementLine::Begin { format: FORMAT, customer }) if customer.is_allowed() => {
                let opened = Customer::new(customer.clone(), UnixMs(0), CustomerPolicy::default());
                self.customer = Some(opened);
                Ok(StatementLine::begin(customer))
            }
            (None, StatementLine::Begin { format: FORMAT, customer }) => {
                Err(format!("customer: expected 1 to 64 letters, digits and - _ . @, not {:?}", customer.0))
            }
            (None, StatementLine::Begin { format, .. }) => {
                Err(format!("format: expected {FORMAT}, not {format}; a newer release can check it"))
            }
            (Some(customer), StatementLine::Entry(line)) => {
                let (balance, entry) = (line.balance_micro, line.into_entry(customer.id.clone()));
                self.span = Some((self.span.map_or(entry.at, |(first, _)| first), entry.at));
                check_entry(customer, &entry, balance)?;
                Ok(StatementLine::entry(entry, balance))
            }
            (Some(customer), StatementLine::End { .. }) => {
                self.has_ended = true;
                Ok(StatementLine::end(customer))
            }
            (Some(_), StatementLine::Begin { .. }) => {
                Err("expected an entry or the end, not a beginning".to_owned())
            }
            (None, _) => Err("expected the beginning of a statement".to_owned()),
        }
    }
}

/// Whether the entry follows what led to `customer`, which it then changes.
fn check_entry(customer: &mut Customer, entry: &JournalEntry, balance: Credits) -> Result<(), String> {
    if entry.seq != customer.head.next {
        return Err(format!("entry: expected {}, not {}", customer.head.next, entry.seq));
    }
    let moved = entry.movement;
    let sum: i128 = [moved.available, moved.reserved, moved.spent, moved.external]
        .map(|part| i128::from(part.0))
        .iter()
        .sum();
    if sum != 0 {
        return Err(format!("entry {}: its amounts do not sum to zero, but to {sum}", entry.seq));
    }
    if entry.link(customer.head.chain) != entry.chain {
        return Err(format!(
            "entry {}: its chain does not follow from the line before and what it says",
            entry.seq
        ));
    }
    move_balances(customer, &moved).ok_or_else(|| format!("entry {}: a balance does not fit", entry.seq))?;
    if [customer.available, customer.reserved, customer.spent].iter().any(|part| *part < Credits::ZERO) {
        return Err(format!("entry {}: a balance is negative", entry.seq));
    }
    if balance != customer.available {
        let (found, expected) = (balance.0, customer.available.0);
        return Err(format!("entry {}: balance_micro: expected {expected}, not {found}", entry.seq));
    }
    customer.head = entry.head();
    Ok(())
}

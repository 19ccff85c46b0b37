//! A ledger row together with the balances it leads to, worked out in full before anything is written.
//!
//! The only file that makes [`JournalEntry`] values and changes balances.

use gatehouse_model::{Credits, Customer, Key, UnixMs};

use crate::commands::rejection::Rejection;
use crate::ledger::hold::Hold;
use crate::ledger::journal_entry::{EntryKind, JournalEntry, LedgerHead, Movement};
use crate::storage::ledger_storage::LedgerStorage;

/// Checked, not yet written.
pub(crate) struct BalancedEntry {
    customer: Customer,
    key: Option<Key>,
    entry: JournalEntry,
}

impl BalancedEntry {
    /// Pays in, or takes back when negative.
    pub(crate) fn deposit(
        customer: Customer,
        amount: Credits,
        memo: String,
        head: LedgerHead,
        at: UnixMs,
    ) -> Result<Self, Rejection> {
        if amount == Credits::ZERO {
            return Err(Rejection::malformed("amount", "expected more or less than zero"));
        }
        let needed = amount.checked_neg().ok_or(Rejection::Overflow)?;
        if needed > customer.available {
            return Err(Rejection::InsufficientBalance { needed, available: customer.available });
        }
        let movement = Movement::deposit(amount).ok_or(Rejection::Overflow)?;
        let entry = JournalEntry {
            seq: head.next,
            at,
            customer: customer.id.clone(),
            key: None,
            hold: None,
            kind: EntryKind::Deposit,
            movement,
            memo,
            chain: head.chain,
        };
        Self::balanced(customer, None, entry, head)
    }

    /// Reserves a new hold. The key is the one the hold names, the customer that key's.
    pub(crate) fn hold(
        customer: Customer,
        key: Key,
        hold: &Hold,
        head: LedgerHead,
    ) -> Result<Self, Rejection> {
        let needed = hold.amount;
        if needed < Credits::ZERO {
            return Err(Rejection::malformed("amount", format!("expected zero or more, not {needed}")));
        }
        if needed > customer.available {
            return Err(Rejection::InsufficientBalance { needed, available: customer.available });
        }
        if let Some(remaining) = key.remaining()
            && needed > remaining
        {
            return Err(Rejection::QuotaExceeded { needed, remaining });
        }
        let movement = Movement::hold(needed).ok_or(Rejection::Overflow)?;
        Self::balanced(
            customer,
            Some(key),
            entry_of(hold, EntryKind::Hold, movement, head, hold.created),
            head,
        )
    }

    /// Resolves an open hold: settles `cost` of it, or releases it when there is none; `memo` is for people.
    pub(crate) fn resolve(
        customer: Customer,
        key: Key,
        hold: &Hold,
        (cost, memo): (Option<Credits>, String),
        head: LedgerHead,
        at: UnixMs,
    ) -> Result<Self, Rejection> {
        let kind = if cost.is_some() { EntryKind::Settle } else { EntryKind::Release };
        let cost = cost.unwrap_or(Credits::ZERO);
        if cost < Credits::ZERO {
            return Err(Rejection::malformed("cost", format!("expected zero or more, not {cost}")));
        }
        if cost > hold.amount {
            return Err(Rejection::OverHold { cost, held: hold.amount });
        }
        let movement = Movement::resolve(hold.amount, cost).ok_or(Rejection::Overflow)?;
        let entry = JournalEntry { memo, ..entry_of(hold, kind, movement, head, at) };
        Self::balanced(customer, Some(key), entry, head)
    }

    /// Writes row and balances.
    pub(crate) fn write<B: LedgerStorage>(self, storage: &mut B) -> Result<(), B::Error> {
        storage.append(&self.entry)?;
        storage.put_customer(&self.customer)?;
        self.key.map_or(Ok(()), |key| storage.put_key(&key))
    }

    fn balanced(
        mut customer: Customer,
        mut key: Option<Key>,
        mut entry: JournalEntry,
        head: LedgerHead,
    ) -> Result<Self, Rejection> {
        // Until here the entry holds the chain of the entry before it.
        entry.chain = entry.link(head.chain);
        move_balances(&mut customer, &entry.movement).ok_or(Rejection::Overflow)?;
        if let Some(key) = &mut key {
            let used = entry.movement.used().and_then(|change| key.used.checked_add(change));
            key.used = used.ok_or(Rejection::Overflow)?;
        }
        Ok(Self { customer, key, entry })
    }
}

fn entry_of(hold: &Hold, kind: EntryKind, movement: Movement, head: LedgerHead, at: UnixMs) -> JournalEntry {
    JournalEntry {
        seq: head.next,
        at,
        customer: hold.customer.clone(),
        key: Some(hold.key.clone()),
        hold: Some(hold.id),
        kind,
        movement,
        memo: String::new(),
        chain: head.chain,
    }
}

/// `None` where a balance would not fit; balances may then be half changed, so the caller drops them.
fn move_balances(customer: &mut Customer, movement: &Movement) -> Option<()> {
    customer.available = customer.available.checked_add(movement.available)?;
    customer.reserved = customer.reserved.checked_add(movement.reserved)?;
    customer.spent = customer.spent.checked_add(movement.spent)?;
    customer.deposited = customer.deposited.checked_sub(movement.external)?;
    Some(())
}

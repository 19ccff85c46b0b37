//! A ledger row together with the balances it leads to, worked out in full before anything is written.
//!
//! The only place that makes [`Entry`] values and changes balances.

use gatehouse_model::{Credits, Customer, Key, UnixMs};

use crate::{Entry, Head, Hold, Kind, LedgerStorage, Movement, Rejection};

/// Checked, not yet written.
pub(crate) struct Posting {
    account: Customer,
    key: Option<Key>,
    entry: Entry,
}

impl Posting {
    /// Pays in, or takes back when negative.
    pub(crate) fn deposit(
        account: Customer,
        amount: Credits,
        memo: String,
        head: Head,
        at: UnixMs,
    ) -> Result<Self, Rejection> {
        if amount == Credits::ZERO {
            return Err(Rejection::malformed("amount", "expected more or less than zero"));
        }
        let needed = amount.checked_neg().ok_or(Rejection::Overflow)?;
        if needed > account.available {
            return Err(Rejection::InsufficientBalance { needed, available: account.available });
        }
        let movement = Movement::deposit(amount).ok_or(Rejection::Overflow)?;
        let entry = Entry {
            seq: head.next,
            at,
            account: account.id.clone(),
            key: None,
            hold: None,
            kind: Kind::Deposit,
            movement,
            memo,
            chain: head.chain,
        };
        Self::posted(account, None, entry, head)
    }

    /// Reserves a new hold. The key is the one the hold names, the account that key's.
    pub(crate) fn hold(account: Customer, key: Key, hold: &Hold, head: Head) -> Result<Self, Rejection> {
        let needed = hold.amount;
        if needed < Credits::ZERO {
            return Err(Rejection::malformed("amount", format!("expected zero or more, not {needed}")));
        }
        if needed > account.available {
            return Err(Rejection::InsufficientBalance { needed, available: account.available });
        }
        if let Some(remaining) = key.remaining()
            && needed > remaining
        {
            return Err(Rejection::QuotaExceeded { needed, remaining });
        }
        let movement = Movement::hold(needed).ok_or(Rejection::Overflow)?;
        Self::posted(account, Some(key), entry_of(hold, Kind::Hold, movement, head, hold.created), head)
    }

    /// Resolves an open hold: settles `cost` of it, or releases it when there is none; `memo` is for people.
    pub(crate) fn resolve(
        account: Customer,
        key: Key,
        hold: &Hold,
        (cost, memo): (Option<Credits>, String),
        head: Head,
        at: UnixMs,
    ) -> Result<Self, Rejection> {
        let kind = if cost.is_some() { Kind::Settle } else { Kind::Release };
        let cost = cost.unwrap_or(Credits::ZERO);
        if cost < Credits::ZERO {
            return Err(Rejection::malformed("cost", format!("expected zero or more, not {cost}")));
        }
        if cost > hold.amount {
            return Err(Rejection::OverHold { cost, held: hold.amount });
        }
        let movement = Movement::resolve(hold.amount, cost).ok_or(Rejection::Overflow)?;
        let entry = Entry { memo, ..entry_of(hold, kind, movement, head, at) };
        Self::posted(account, Some(key), entry, head)
    }

    /// Writes row and balances.
    pub(crate) fn write<B: LedgerStorage>(self, books: &mut B) -> Result<(), B::Error> {
        books.append(&self.entry)?;
        books.put_account(&self.account)?;
        self.key.map_or(Ok(()), |key| books.put_key(&key))
    }

    fn posted(
        mut account: Customer,
        mut key: Option<Key>,
        mut entry: Entry,
        head: Head,
    ) -> Result<Self, Rejection> {
        // Until here the row carries the chain before it, for want of its own.
        entry.chain = entry.link(head.chain);
        move_balances(&mut account, &entry.movement).ok_or(Rejection::Overflow)?;
        if let Some(key) = &mut key {
            let used = entry.movement.used().and_then(|change| key.used.checked_add(change));
            key.used = used.ok_or(Rejection::Overflow)?;
        }
        Ok(Self { account, key, entry })
    }
}

fn entry_of(hold: &Hold, kind: Kind, movement: Movement, head: Head, at: UnixMs) -> Entry {
    Entry {
        seq: head.next,
        at,
        account: hold.account.clone(),
        key: Some(hold.key.clone()),
        hold: Some(hold.id),
        kind,
        movement,
        memo: String::new(),
        chain: head.chain,
    }
}

/// `None` where a balance would not fit; balances may then be half changed, so the caller drops them.
fn move_balances(account: &mut Customer, movement: &Movement) -> Option<()> {
    account.available = account.available.checked_add(movement.available)?;
    account.reserved = account.reserved.checked_add(movement.reserved)?;
    account.spent = account.spent.checked_add(movement.spent)?;
    account.deposited = account.deposited.checked_sub(movement.external)?;
    Some(())
}

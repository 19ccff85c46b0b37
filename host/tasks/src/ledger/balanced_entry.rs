//! A ledger row together with the balances it leads to, worked out in full before anything is written.
//!
//! The only file that makes [`JournalEntry`] values and changes balances.

use gatehouse_model::{Credits, Customer, KeyId, LedgerHead, Tags, UnixMs, Usage};

use crate::commands::rejection::Rejection;
use crate::ledger::key_lineage::KeyLineage;
use crate::ledger::quota::{PeriodCounter, check_quota};
use crate::records::hold::{Hold, HoldId, PeriodShares};
use crate::records::journal_entry::{EntryKind, JournalEntry, Movement, Note};
use crate::records::quota::QuotaOwner;
use crate::records::usage::{UsageKey, UsageSums, hour_of};
use crate::storage::ledger_storage::{BalancesAfter, LedgerStorage};
use crate::webhooks::alerts;

/// Checked, not yet written.
pub(crate) struct BalancedEntry {
    customer: Customer,
    key: Option<KeyLineage>,
    entry: JournalEntry,
    /// What a reservation counts in periods of quotas.
    counted: PeriodShares,
}

/// A ledger row as it was written.
pub(crate) struct Written {
    /// Its position in the storage.
    pub(crate) position: u64,
    pub(crate) entry: JournalEntry,
    /// Its customer since then.
    pub(crate) customer: Customer,
}

/// Whether customer and key have that much left at that moment.
pub(crate) fn check_affordable(
    customer: &Customer,
    key: &KeyLineage,
    needed: Credits,
    at: UnixMs,
) -> Result<(), Rejection> {
    if needed > customer.available {
        return Err(Rejection::InsufficientBalance { needed, available: customer.available });
    }
    check_quota(QuotaOwner::Key, key.quota_use(at), needed)?;
    check_quota(QuotaOwner::Customer, customer.quota_use(at), needed)
}

impl BalancedEntry {
    /// Pays in, or takes back when negative.
    pub(crate) fn deposit(
        customer: Customer,
        amount: Credits,
        memo: String,
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
            seq: customer.head.next,
            at,
            customer: customer.id.clone(),
            key: None,
            hold: None,
            kind: EntryKind::Deposit,
            movement,
            memo,
            tags: Tags::default(),
            chain: customer.head.chain,
        };
        Self::balanced(customer, None, entry)
    }

    /// Reserves a new hold. The key is the one the hold names, the customer that key's. Concurrency comes before money: a
    /// client that has to wait is not told to pay.
    pub(crate) fn hold(customer: Customer, mut key: KeyLineage, hold: &Hold) -> Result<Self, Rejection> {
        key.check_concurrency(&hold.model)?;
        key.open(&hold.model);
        Self::reserve(customer, key, hold, EntryKind::Hold, hold.amount, hold.created)
    }

    /// Reserves more for an open hold, counted against any key of its customer.
    pub(crate) fn join(
        customer: Customer,
        key: KeyLineage,
        hold: &Hold,
        amount: Credits,
        at: UnixMs,
    ) -> Result<Self, Rejection> {
        Self::reserve(customer, key, hold, EntryKind::Join, amount, at)
    }

    fn reserve(
        mut customer: Customer,
        mut key: KeyLineage,
        hold: &Hold,
        kind: EntryKind,
        needed: Credits,
        at: UnixMs,
    ) -> Result<Self, Rejection> {
        if needed < Credits::ZERO {
            return Err(Rejection::malformed("amount", format!("expected zero or more, not {needed}")));
        }
        check_affordable(&customer, &key, needed, at)?;
        let movement = Movement::hold(needed).ok_or(Rejection::Overflow)?;
        let entry = entry_of(hold, key.id(), kind, movement, customer.head, at);
        let overflow = || Rejection::Overflow;
        let counted = PeriodShares {
            key: key.period_counter().reserve(needed, at).ok_or_else(overflow)?,
            customer: PeriodCounter::of_customer(&mut customer).reserve(needed, at).ok_or_else(overflow)?,
        };
        Ok(Self { counted, ..Self::balanced(customer, Some(key), entry)? })
    }

    /// Resolves an open hold: settles `cost`, or without a cost releases it. An
    /// entry for each of `keys`: the hold's own, then those of its shares in their order. A share is settled whole. A
    /// request may cost more than its hold, if customer and key have that much left.
    pub(crate) fn resolve(
        mut customer: Customer,
        keys: Vec<KeyLineage>,
        hold: &Hold,
        cost: Option<Credits>,
        note: &Note,
        at: UnixMs,
    ) -> Result<Vec<Self>, Rejection> {
        let kind = if cost.is_some() { EntryKind::Settle } else { EntryKind::Release };
        let own = (hold.own().ok_or(Rejection::Overflow)?, own_cost(hold, cost)?);
        if let (Some(key), Some(above)) =
            (keys.first(), own.1.checked_sub(own.0).filter(|it| *it > Credits::ZERO))
        {
            check_affordable(&customer, key, above, at)?;
        }
        let cost_of_all = cost.unwrap_or(Credits::ZERO);
        let mut counter = PeriodCounter::of_customer(&mut customer);
        let counted = counter.resolve(hold.amount, cost_of_all, hold.counted_of_customer, at);
        counted.ok_or(Rejection::Overflow)?;
        let own = (own, hold.counted);
        let shares = hold
            .shares
            .iter()
            .map(|share| ((share.amount, cost.map_or(Credits::ZERO, |_| share.amount)), share.counted));
        let mut entries: Vec<Self> = Vec::with_capacity(keys.len());
        for (mut key, ((held, cost), counted)) in keys.into_iter().zip(std::iter::once(own).chain(shares)) {
            let movement = Movement::resolve(held, cost).ok_or(Rejection::Overflow)?;
            // Two of the keys may be of one lineage.
            entries.iter().filter_map(|entry| entry.key.as_ref()).for_each(|changed| key.refresh(changed));
            if entries.is_empty() {
                key.close(&hold.model);
            }
            key.period_counter().resolve(held, cost, counted, at).ok_or(Rejection::Overflow)?;
            let row = entry_of(hold, key.id(), kind, movement, customer.head, at);
            let Note { memo, mut tags } = note.clone();
            if !entries.is_empty() {
                // They are of the client that made the task, and this share is another's.
                tags = Tags::default();
            }
            let entry = JournalEntry { memo, tags, ..row };
            let balanced = Self::balanced(customer, Some(key), entry)?;
            customer = balanced.customer.clone();
            entries.push(balanced);
        }
        Ok(entries)
    }

    /// What a reservation counts in periods of quotas, for the row of its hold.
    pub(crate) fn counted(&self) -> PeriodShares {
        self.counted
    }

    /// What it adds to the sums of usage, where it ends a hold.
    pub(crate) fn usage(&self, model: &str, tokens: Usage) -> Option<(UsageKey, UsageSums)> {
        let (entry, sums) = (&self.entry, UsageSums::of(&self.entry, tokens)?);
        let (customer, key) = (entry.customer.clone(), entry.key.clone()?);
        Some((UsageKey { customer, key, hour: hour_of(entry.at), model: model.to_owned() }, sums))
    }

    /// Writes entry and balances.
    pub(crate) fn write<B: LedgerStorage>(mut self, storage: &mut B) -> Result<Written, B::Error> {
        let due = alerts::of_movement(storage, &mut self.customer, self.entry.at)?;
        let key_is_due = match &mut self.key {
            Some(key) => alerts::of_key(storage, key.newest_mut(), self.entry.at)?,
            None => false,
        };
        let used = self.key.as_ref().map(|key| key.used_alone(storage)).transpose()?;
        let position =
            storage.append(&self.entry, BalancesAfter { available: self.customer.available, used })?;
        storage.put_customer(&self.customer)?;
        alerts::tell(storage, &self.customer, &due, self.entry.at)?;
        if let Some(key) = self.key {
            key.write(storage)?;
            if key_is_due {
                alerts::tell_of_key(storage, &self.customer, key.newest(), self.entry.at)?;
            }
        }
        Ok(Written { position, entry: self.entry, customer: self.customer })
    }

    fn balanced(
        mut customer: Customer,
        mut key: Option<KeyLineage>,
        mut entry: JournalEntry,
    ) -> Result<Self, Rejection> {
        // Until here the entry holds the chain of the entry before it.
        entry.chain = entry.link(customer.head.chain);
        customer.head = entry.head();
        move_balances(&mut customer, &entry.movement).ok_or(Rejection::Overflow)?;
        if let Some(key) = &mut key {
            let used = entry.movement.used().and_then(|change| key.add_used(change));
            used.ok_or(Rejection::Overflow)?;
        }
        Ok(Self { customer, key, entry, counted: PeriodShares::default() })
    }
}

/// What of `cost` the hold's own key pays: all but the shares of others.
fn own_cost(hold: &Hold, cost: Option<Credits>) -> Result<Credits, Rejection> {
    let Some(cost) = cost else { return Ok(Credits::ZERO) };
    if cost < Credits::ZERO {
        return Err(Rejection::malformed("cost", format!("expected zero or more, not {cost}")));
    }
    if cost > hold.amount && matches!(hold.id, HoldId::Task(_)) {
        return Err(Rejection::OverHold { cost, held: hold.amount });
    }
    let joined = hold.own().and_then(|own| hold.amount.checked_sub(own)).ok_or(Rejection::Overflow)?;
    let own = cost.checked_sub(joined).ok_or(Rejection::Overflow)?;
    if own < Credits::ZERO { Err(Rejection::UnderJoined { cost, joined }) } else { Ok(own) }
}

fn entry_of(
    hold: &Hold,
    key: &KeyId,
    kind: EntryKind,
    movement: Movement,
    head: LedgerHead,
    at: UnixMs,
) -> JournalEntry {
    JournalEntry {
        seq: head.next,
        at,
        customer: hold.customer.clone(),
        key: Some(key.clone()),
        hold: Some(hold.id),
        kind,
        movement,
        memo: String::new(),
        tags: Tags::default(),
        chain: head.chain,
    }
}

/// `None` where a balance would not fit; balances may then be half changed, so the caller drops them.
pub(crate) fn move_balances(customer: &mut Customer, movement: &Movement) -> Option<()> {
    customer.available = customer.available.checked_add(movement.available)?;
    customer.reserved = customer.reserved.checked_add(movement.reserved)?;
    customer.spent = customer.spent.checked_add(movement.spent)?;
    customer.deposited = customer.deposited.checked_sub(movement.external)?;
    Some(())
}

//! The ledger's entries: append-only, each summing to zero. Those of one customer are gap-free and hash-chained; the head of
//! the chain is in the customer's row.
//!
//! Four accounts hold money: a customer's `available`, `reserved` and `spent`, and `external`, all that is outside. A
//! [`Movement`] names how each changes and can only be made so that the changes cancel out. Balances and a
//! key's `used` are folds of these rows; `doctor` folds them again.

use gatehouse_model::{Credits, CustomerId, Digest, KeyId, LedgerHead, UnixMs};
use serde::{Deserialize, Serialize};

use crate::records::hold::HoldId;

/// Why money moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// Paid in, or taken back when negative.
    Deposit,
    /// Reserved.
    Hold,
    /// Reserved by a request that joined a task, in addition to what is held for the task.
    Join,
    /// Given back whole.
    Release,
    /// Spent; what the hold had more was given back, and what it had less was taken.
    Settle,
}

/// How much each of them gained or lost. The four always sum to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// Change of what is free.
    pub available: Credits,
    /// Change of what is held.
    pub reserved: Credits,
    /// Change of what is settled.
    pub spent: Credits,
    /// Change of what is outside: minus what was paid in.
    pub external: Credits,
}

impl Movement {
    /// Paid in, or taken back when negative. `None` where it does not fit.
    #[must_use]
    pub fn deposit(amount: Credits) -> Option<Self> {
        Self::closed(amount, Credits::ZERO, Credits::ZERO)
    }

    /// Reserved. `None` where it does not fit.
    #[must_use]
    pub fn hold(amount: Credits) -> Option<Self> {
        Self::closed(amount.checked_neg()?, amount, Credits::ZERO)
    }

    /// A hold resolved: `cost` spent, the rest given back or the missing part taken. `None` where it does not fit.
    #[must_use]
    pub fn resolve(held: Credits, cost: Credits) -> Option<Self> {
        Self::closed(held.checked_sub(cost)?, held.checked_neg()?, cost)
    }

    /// What the key's share of spending changes by: held plus settled. `None` where it does not fit.
    #[must_use]
    pub fn used(&self) -> Option<Credits> {
        self.reserved.checked_add(self.spent)
    }

    fn closed(available: Credits, reserved: Credits, spent: Credits) -> Option<Self> {
        let external = available.checked_add(reserved)?.checked_add(spent)?.checked_neg()?;
        Some(Self { available, reserved, spent, external })
    }
}

/// One row of the ledger. Written once, never changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its place among the entries of its customer: counts up by one from zero.
    pub seq: u64,
    /// When.
    pub at: UnixMs,
    /// Whose balances.
    #[serde(rename = "account")]
    pub customer: CustomerId,
    /// Whose quota; none for a deposit.
    pub key: Option<KeyId>,
    /// The hold made, added to or resolved; none for a deposit.
    pub hold: Option<HoldId>,
    /// Why.
    pub kind: EntryKind,
    /// How much.
    pub movement: Movement,
    /// For people; may be empty.
    pub memo: String,
    /// [`JournalEntry::link`] of the customer's entry before and this one.
    pub chain: Digest,
}

impl JournalEntry {
    /// SHA-256 over the chain so far and every field of this row. Independent of how rows are encoded for
    /// keeping, so a change of that encoding does not break the chain.
    #[must_use]
    pub fn link(&self, before: Digest) -> Digest {
        let hold = self.hold.map(|hold| hold.to_string());
        let moved = self.movement;
        Digest::of_fields(&[
            &before.0,
            &self.seq.to_be_bytes(),
            &self.at.0.to_be_bytes(),
            self.customer.0.as_bytes(),
            // An absent key or hold is an empty field; a present one never is.
            self.key.as_ref().map_or(b"", |key| key.0.as_bytes()),
            hold.as_ref().map_or(b"", |hold| hold.as_bytes()),
            self.kind.as_str().as_bytes(),
            &moved.available.0.to_be_bytes(),
            &moved.reserved.0.to_be_bytes(),
            &moved.spent.0.to_be_bytes(),
            &moved.external.0.to_be_bytes(),
            self.memo.as_bytes(),
        ])
    }

    /// The head of its customer's chain once it is the last entry.
    #[must_use]
    pub fn head(&self) -> LedgerHead {
        LedgerHead { next: self.seq.saturating_add(1), chain: self.chain }
    }
}

impl EntryKind {
    /// The word that goes into the chain and into statements; never change one.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deposit => "deposit",
            Self::Hold => "hold",
            Self::Join => "join",
            Self::Release => "release",
            Self::Settle => "settle",
        }
    }
}

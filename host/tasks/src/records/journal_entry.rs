//! The ledger's entries: append-only, each summing to zero. Those of one customer are gap-free and hash-chained; the head of
//! the chain is in the customer's row.
//!
//! Four accounts hold money: a customer's `available`, `reserved` and `spent`, and `external`, all that is outside. A
//! [`Movement`] names how each changes and can only be made so that the changes cancel out. Balances and a
//! key's `used` are folds of these rows; `doctor` folds them again.

use gatehouse_model::{Credits, CustomerId, Digest, KeyId, LedgerHead, Tags, UnixMs, words};
use serde::{Deserialize, Serialize};

use crate::records::hold::HoldId;

/// Bytes of tags that a row keeps: a row is kept for good.
pub(crate) const MAX_TAG_BYTES: usize = 1024;

words! {
    /// Why money moved. Its words go into the chain and into statements: never change one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum EntryKind {
        /// Paid in, or taken back when negative.
        Deposit = "deposit",
        /// Reserved.
        Hold = "hold",
        /// Reserved by a request that joined a task, in addition to what is held for the task.
        Join = "join",
        /// Given back whole.
        Release = "release",
        /// Spent; what the hold had more was given back, and what it had less was taken.
        Settle = "settle",
    }
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
    /// Of a settlement: what the client noted down about the request, at most 1,024 bytes of it.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// [`JournalEntry::link`] of the customer's entry before and this one.
    pub chain: Digest,
}

/// What a settlement says beside its amount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) memo: String,
    pub(crate) tags: Tags,
}

impl Note {
    /// With as many of these tags as a row keeps: the user, then pairs by their names.
    pub(crate) fn new(memo: String, tags: &Tags) -> Self {
        let mut left = MAX_TAG_BYTES;
        let mut fits = |bytes: usize| left.checked_sub(bytes).map(|rest| left = rest).is_some();
        let user = tags.user.clone().filter(|user| fits(user.len()));
        let pairs = tags.metadata.iter().filter(|(name, value)| fits(name.len() + value.len()));
        let metadata = pairs.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { memo, tags: Tags { user, metadata } }
    }
}

impl JournalEntry {
    /// SHA-256 over the chain so far and every field of this row. Independent of how rows are encoded for
    /// keeping, so a change of that encoding does not break the chain.
    #[must_use]
    pub fn link(&self, before: Digest) -> Digest {
        let hold = self.hold.map(|hold| hold.to_string());
        let (seq, at) = (self.seq.to_be_bytes(), self.at.0.to_be_bytes());
        let Movement { available, reserved, spent, external } = self.movement;
        let amounts = [available, reserved, spent, external].map(|amount| amount.0.to_be_bytes());
        let [available, reserved, spent, external] = &amounts;
        let mut fields: Vec<&[u8]> = vec![
            &before.0,
            &seq,
            &at,
            self.customer.0.as_bytes(),
            // An absent key or hold is an empty field; a present one never is.
            self.key.as_ref().map_or(b"", |key| key.0.as_bytes()),
            hold.as_ref().map_or(b"", |hold| hold.as_bytes()),
            self.kind.as_str().as_bytes(),
            available,
            reserved,
            spent,
            external,
            self.memo.as_bytes(),
        ];
        // A row without tags has no such field, as every row had none before there were tags.
        let tags = self.tags_field();
        fields.extend(tags.as_deref());
        Digest::of_fields(&fields)
    }

    /// The tags as the chain has them: the user, then names and values in the order of names, each with its length before it.
    fn tags_field(&self) -> Option<Vec<u8>> {
        if self.tags.is_empty() {
            return None;
        }
        let pairs = self.tags.metadata.iter().flat_map(|(name, value)| [name.as_str(), value]);
        let mut field = vec![u8::from(self.tags.user.is_some())];
        for text in std::iter::once(self.tags.user.as_deref().unwrap_or_default()).chain(pairs) {
            field.extend((text.len() as u64).to_be_bytes());
            field.extend(text.as_bytes());
        }
        Some(field)
    }

    /// The head of its customer's chain once it is the last entry.
    #[must_use]
    pub fn head(&self) -> LedgerHead {
        LedgerHead { next: self.seq.saturating_add(1), chain: self.chain }
    }
}

//! What an ended request adds to the sums of usage. The sums are a fold of the ledger's settlements and releases, each
//! counted once, with what the ledger does not hold: model and tokens.

use gatehouse_model::{Credits, CustomerId, KeyId, UnixMs, Usage};
use serde::{Deserialize, Serialize};

use crate::records::journal_entry::{EntryKind, JournalEntry};

const HOUR_MS: u64 = 3_600_000;
const HOURS_PER_DAY: u32 = 24;

/// What sums are kept by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsageKey {
    /// Who paid.
    pub customer: CustomerId,
    /// The key it counts against.
    pub key: KeyId,
    /// The hour of the end, UTC: hours since the epoch.
    pub hour: u32,
    /// Canonical model; empty where it is unknown.
    pub model: String,
}

impl UsageKey {
    /// The day of the hour: days since the epoch.
    #[must_use]
    pub fn day(&self) -> u32 {
        self.hour / HOURS_PER_DAY
    }
}

/// The hour of a moment: hours since the epoch, UTC.
#[must_use]
pub fn hour_of(at: UnixMs) -> u32 {
    u32::try_from(at.0 / HOUR_MS).unwrap_or(u32::MAX)
}

/// Sums of ended requests. None is ever negative; at the end of its range a sum stays there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageSums {
    /// Ended requests: settlements and releases. What several keys share counts once for each.
    pub requests: u64,
    /// Those of them that cost nothing because they were given back whole: failed, cancelled, or never settled.
    pub failures: u64,
    /// Tokens read, neither from a cache nor into one.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens read from a cache.
    pub cached: u64,
    /// Tokens read and put into a cache.
    pub cache_write: u64,
    /// What was spent.
    pub settled: Credits,
    /// What failures gave back.
    pub refunded: Credits,
}

impl UsageSums {
    /// What a row of the ledger adds; nothing where it ends no hold.
    #[must_use]
    pub fn of(entry: &JournalEntry, tokens: Usage) -> Option<Self> {
        let (failures, refunded) = match entry.kind {
            EntryKind::Settle => (0, Credits::ZERO),
            EntryKind::Release => (1, entry.movement.available),
            EntryKind::Deposit | EntryKind::Hold | EntryKind::Join => return None,
        };
        let Usage { input, output, cached, cache_write, .. } = tokens;
        let settled = entry.movement.spent;
        Some(Self { requests: 1, failures, input, output, cached, cache_write, settled, refunded })
    }

    /// Adds more of the same.
    pub fn add(&mut self, more: &Self) {
        let sums = [
            (&mut self.requests, more.requests),
            (&mut self.failures, more.failures),
            (&mut self.input, more.input),
            (&mut self.output, more.output),
            (&mut self.cached, more.cached),
            (&mut self.cache_write, more.cache_write),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.settled = Credits(self.settled.0.saturating_add(more.settled.0));
        self.refunded = Credits(self.refunded.0.saturating_add(more.refunded.0));
    }
}

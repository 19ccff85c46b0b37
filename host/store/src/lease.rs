//! How long this process may begin what has effects, where others wait to take its place.
//!
//! The one at work renews its lease, which ends by the clock of the database. This process cannot read that clock without asking, so it
//! counts from the moment it *sent* the last renewal that succeeded, and stops earlier than the lease ends: nothing it begins then meets
//! a successor. What it had begun may still be written, or is refused by the fence of the commit, which needs no clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// By the clock of the database.
pub(crate) const LENGTH: Duration = Duration::from_secs(10);
/// Between two renewals.
pub(crate) const RENEWAL: Duration = Duration::from_secs(3);
/// Nothing begins this long after the last renewal.
const EFFECTS: Duration = Duration::from_secs(8);

/// The lease of the one at work.
#[derive(Debug)]
pub(crate) struct Lease {
    /// When its first renewal was sent.
    first: Instant,
    /// When the last one that succeeded was sent, in milliseconds after the first.
    last: AtomicU64,
}

impl Lease {
    /// Begins with a renewal that was sent at this moment.
    pub(crate) fn sent(first: Instant) -> Self {
        Self { first, last: AtomicU64::new(0) }
    }

    /// A renewal that was sent at this moment has succeeded.
    pub(crate) fn renew(&self, sent: Instant) {
        let after = u64::try_from(sent.saturating_duration_since(self.first).as_millis());
        self.last.fetch_max(after.unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    /// Whether something with effects may begin.
    pub(crate) fn stands(&self, now: Instant) -> bool {
        self.age(now) < EFFECTS
    }

    /// What is left of it by the latest, before others may take it.
    pub(crate) fn left(&self, now: Instant) -> Duration {
        LENGTH.saturating_sub(self.age(now))
    }

    fn age(&self, now: Instant) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Acquire));
        now.saturating_duration_since(self.first).saturating_sub(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gateway that was stopped for a while would send to providers what another one sends as well; or one that waits for its database
    /// would refuse work for longer than it must.
    #[test]
    fn nothing_begins_eight_seconds_after_the_last_renewal_was_sent() {
        // Renewals that succeeded, and a moment, in milliseconds after the first one; whether something may begin, and what is left.
        let cases: [(&[u64], u64, bool, u64); 10] = [
            (&[], 0, true, 10_000),
            (&[], 7_999, true, 2_001),
            (&[], 8_000, false, 2_000),
            (&[], 10_000, false, 0),
            (&[], 60_000, false, 0),
            (&[3_000], 10_999, true, 2_001),
            (&[3_000], 11_000, false, 2_000),
            // The answer of an earlier one comes late.
            (&[6_000, 3_000], 13_999, true, 2_001),
            // It lapsed, and nobody had taken it.
            (&[3_000, 20_000], 20_001, true, 9_999),
            // A clock that seems to stand still.
            (&[3_000], 1_000, true, 10_000),
        ];
        let first = Instant::now();
        let at = |after| first + Duration::from_millis(after);
        for (renewals, now, stands, left) in cases {
            let lease = Lease::sent(first);
            renewals.iter().for_each(|sent| lease.renew(at(*sent)));
            assert_eq!(lease.stands(at(now)), stands, "{renewals:?} {now}");
            assert_eq!(lease.left(at(now)), Duration::from_millis(left), "{renewals:?} {now}");
        }
    }
}

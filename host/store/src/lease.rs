//! How long this process may begin what has effects, where others wait to take its place.
//!
//! The one at work renews its lease, which ends by the clock of the database. This process cannot read that clock without asking, so it
//! counts from the moment it *sent* the last renewal that succeeded, and stops earlier than the lease ends: nothing it begins then meets
//! a successor. It counts by a clock that goes on while the machine sleeps: the database's does. What it had begun may still be written, or
//! is refused by the fence of the commit, which needs no clock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// By the clock of the database.
pub(crate) const LENGTH: Duration = Duration::from_secs(10);
/// Between two renewals. Where the database alone knows that the one at work has no session any more, this is how long it may go on.
pub(crate) const RENEWAL: Duration = Duration::from_secs(1);
/// Nothing begins this long after the last renewal.
const EFFECTS: Duration = Duration::from_secs(8);

/// The standard library's steady clock stands still while a machine is suspended.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Since the machine was started, its sleep included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(Duration);

impl Moment {
    /// When the machine was started: long ago.
    #[cfg(test)]
    pub(crate) const START: Self = Self(Duration::ZERO);

    /// That long after the machine was started.
    pub(crate) fn at(since_start: Duration) -> Self {
        Self(since_start)
    }

    pub(crate) fn now() -> Self {
        // It is not below zero.
        Self(Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default())
    }

    /// Nothing where that one is later.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The lease of the one at work.
#[derive(Debug)]
pub(crate) struct Lease {
    /// When its first renewal was sent.
    first: Moment,
    /// When the last one that succeeded was sent, in milliseconds after the first.
    last: AtomicU64,
}

impl Lease {
    /// Begins with a renewal that was sent at this moment.
    pub(crate) fn sent(first: Moment) -> Self {
        Self { first, last: AtomicU64::new(0) }
    }

    /// A renewal that was sent at this moment has succeeded.
    pub(crate) fn renew(&self, sent: Moment) {
        let after = u64::try_from(sent.since(self.first).as_millis());
        self.last.fetch_max(after.unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    /// Whether something with effects may begin.
    pub(crate) fn stands(&self, now: Moment) -> bool {
        self.age(now) < EFFECTS
    }

    /// What is left of it by the latest, before others may take it.
    pub(crate) fn left(&self, now: Moment) -> Duration {
        LENGTH.saturating_sub(self.age(now))
    }

    fn age(&self, now: Moment) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Acquire));
        now.since(self.first).saturating_sub(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A gateway whose machine was suspended would take the time before its sleep for now.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_counts_the_sleep_of_the_machine() {
        let since_start = || Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap();
        let (before, now, after) = (since_start(), Moment::now(), since_start());
        assert!(before <= now.0 && now.0 <= after);
    }

    /// A gateway that was stopped for a while would send to providers what another one sends as well; or one that waits for its database
    /// would refuse work for longer than it must.
    #[test]
    fn nothing_begins_eight_seconds_after_the_last_renewal_was_sent() {
        // Renewals that succeeded, and a moment, in milliseconds after the first one; whether something may begin, and what is left.
        let cases: [(&[u64], u64, bool, u64); 12] = [
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
            // The machine slept for an hour, and a renewal that was sent before is answered now.
            (&[3_000, 6_000], 3_606_000, false, 0),
            (&[3_000, 3_606_001], 3_606_002, true, 9_999),
        ];
        let first = Moment(Duration::from_secs(1_000));
        let at = |after| Moment(first.0 + Duration::from_millis(after));
        for (renewals, now, stands, left) in cases {
            let lease = Lease::sent(first);
            renewals.iter().for_each(|sent| lease.renew(at(*sent)));
            assert_eq!(lease.stands(at(now)), stands, "{renewals:?} {now}");
            assert_eq!(lease.left(at(now)), Duration::from_millis(left), "{renewals:?} {now}");
        }
    }
}

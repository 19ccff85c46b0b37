//! When a delivery is tried again. Pure: chance comes in as an argument.
//!
//! ```text
//! attempt 1 --5 s--> 2 --5 min--> 3 --30 min--> 4 --2 h--> 5 --5 h--> 6 --10 h--> 7 --> failed
//! ```
//! 17 h 35 min in all, since results live for 24 h; each wait up to a fifth shorter or longer, so that many deliveries that
//! failed together do not come together again.

use std::time::Duration;

use gatehouse_model::{DeliveryId, UnixMs};

/// The waits after the first attempt, the second, ...
const WAITS: [Duration; 6] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3_600),
    Duration::from_secs(5 * 3_600),
    Duration::from_secs(10 * 3_600),
];
/// How far a wait is from its length at most: a fifth.
const JITTER: f64 = 0.2;
/// The longest wait that a receiver may ask for.
const LONGEST_ASKED: Duration = Duration::from_secs(12 * 3_600);
/// A webhook without a success for so long is disabled.
pub(crate) const FAILING_DAYS: Duration = Duration::from_secs(5 * 86_400);
/// A replaced secret signs for so long.
pub const SECRET_OVERLAP: Duration = Duration::from_secs(24 * 3_600);
/// Deliveries are kept for so long.
pub const KEPT: Duration = Duration::from_secs(7 * 86_400);

/// Whether the time of a delivery is over. Its id begins with the moment it was made.
#[must_use]
pub fn is_old(delivery: DeliveryId, now: UnixMs) -> bool {
    delivery.timestamp().plus(KEPT) < now
}

/// The wait after so many attempts; `None` after the last. `chance` in `0.0..1.0`; `asked` is what the receiver asked for
/// (`Retry-After`): never sooner than that, but for half a day at most.
pub(crate) fn wait_after(tries: u32, chance: f64, asked: Option<Duration>) -> Option<Duration> {
    let index = usize::try_from(tries.checked_sub(1)?).ok()?;
    let wait = WAITS.get(index)?;
    let wait = wait.mul_f64(1.0 + JITTER * (2.0 * chance.clamp(0.0, 1.0) - 1.0));
    Some(asked.map_or(wait, |asked| wait.max(asked.min(LONGEST_ASKED))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_end_within_a_day() {
        let middle: Vec<u64> =
            (1..=7).filter_map(|n| wait_after(n, 0.5, None)).map(|w| w.as_secs()).collect();
        assert_eq!(middle, [5, 300, 1_800, 7_200, 18_000, 36_000]);
        let longest: Duration = (1..=7).filter_map(|n| wait_after(n, 1.0, None)).sum();
        assert!(longest < Duration::from_secs(24 * 3_600), "{longest:?}");
        assert_eq!((wait_after(0, 0.5, None), wait_after(7, 0.5, None)), (None, None));
    }

    #[test]
    fn chance_moves_a_wait_by_a_fifth_at_most() {
        for (chance, ms) in [(0.0, 240_000), (0.25, 270_000), (0.5, 300_000), (1.0, 360_000), (9.0, 360_000)]
        {
            assert_eq!(wait_after(2, chance, None), Some(Duration::from_millis(ms)), "{chance}");
        }
    }

    #[test]
    fn a_receiver_may_ask_for_a_longer_wait_never_for_a_shorter() {
        for (asked, seconds) in [(1, 300), (299, 300), (301, 301), (40_000, 40_000), (1_000_000, 43_200)] {
            let wait = wait_after(2, 0.5, Some(Duration::from_secs(asked)));
            assert_eq!(wait, Some(Duration::from_secs(seconds)), "{asked}");
        }
        assert_eq!(wait_after(7, 0.5, Some(Duration::from_secs(1))), None, "no attempt is added by asking");
    }
}

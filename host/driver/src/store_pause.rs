//! How long work rests that the store could not do. Pure: time and chance come in as arguments.
//!
//! The longer the store has failed, the longer the rest, so that a short fault delays little and a long one costs little.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::UnixMs;

/// The shortest and the longest rest, before chance spreads them.
const BOUNDS: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Since when the store fails one kind of work.
#[derive(Debug, Default)]
pub(crate) struct StorePause {
    /// 0: it does not.
    since: AtomicU64,
}

impl StorePause {
    /// The store failed with an error that passes; how long to rest. `chance` is 0 to 1.
    pub(crate) fn failed(&self, now: UnixMs, chance: f64) -> Duration {
        let first = self.since.compare_exchange(0, now.0, Ordering::Relaxed, Ordering::Relaxed);
        let lasted = now.since(UnixMs(first.err().unwrap_or(now.0)));
        lasted.clamp(BOUNDS.0, BOUNDS.1).mul_f64(0.5 + chance)
    }

    /// The store answered.
    pub(crate) fn passed(&self) {
        if self.since.load(Ordering::Relaxed) != 0 {
            self.since.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without bounds a second's fault would delay tasks for minutes, or a long one keep all of them reading.
    #[test]
    fn a_rest_grows_with_the_fault_and_is_bounded() {
        let pause = StorePause::default();
        for (now, chance, expected) in [
            (1_000, 0.5, 200),
            (1_100, 0.5, 200),
            (2_000, 0.5, 1_000),
            (2_000, 0.0, 500),
            (90_000, 1.0, 7_500),
        ] {
            assert_eq!(pause.failed(UnixMs(now), chance).as_millis(), expected, "{now} {chance}");
        }
        pause.passed();
        assert_eq!(pause.failed(UnixMs(90_000), 0.5).as_millis(), 200);
    }
}

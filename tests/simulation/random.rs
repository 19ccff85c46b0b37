//! Numbers that are the same for the same seed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use gatehouse_model::Seed;

/// Randomness of the system under test (its seed), and of the faults.
pub(crate) struct Random(Mutex<Rng>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(Rng::with_seed(seed)))
    }

    /// Below `end`.
    pub(crate) fn below(&self, end: usize) -> usize {
        self.with(|numbers| numbers.usize(..end))
    }

    /// True once in so many times.
    pub(crate) fn once_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn millis(&self, range: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.with(|numbers| numbers.u64(range)))
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Rng) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seed for Random {
    fn fill(&self, into: &mut [u8]) {
        self.with(|numbers| numbers.fill(into));
    }
}

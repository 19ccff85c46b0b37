//! Numbers that are the same for the same seed.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::Seed;
use gatehouse_store::fault_injection::Xorshift;

/// Randomness of the system under test (its seed), and of the faults (the dice).
pub(crate) struct Random(Mutex<Xorshift>);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Mutex::new(Xorshift::new(seed)))
    }

    /// Below `end`.
    pub(crate) fn below(&self, end: usize) -> usize {
        self.with(|numbers| numbers.below(end))
    }

    /// True once in so many times.
    pub(crate) fn once_in(&self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn millis(&self, range: std::ops::Range<u64>) -> Duration {
        let width = usize::try_from(range.end - range.start).expect("a range of milliseconds");
        Duration::from_millis(range.start + self.below(width) as u64)
    }

    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Xorshift) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seed for Random {
    fn fill(&self, into: &mut [u8]) {
        self.with(|numbers| {
            for chunk in into.chunks_mut(8) {
                chunk.copy_from_slice(&numbers.next_u64().to_le_bytes()[..chunk.len()]);
            }
        });
    }
}

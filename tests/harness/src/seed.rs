//! The randomness of tests: bytes that are the same in every run.

use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::Seed;

/// A seed whose next bytes a test can foretell.
#[derive(Debug)]
pub struct TestSeed(Bytes);

#[derive(Debug)]
enum Bytes {
    Counting(AtomicU64),
    Constant(u8),
}

impl TestSeed {
    /// Counts up from `first`, eight bytes a number: every id is another one.
    #[must_use]
    pub const fn counting_from(first: u64) -> Self {
        Self(Bytes::Counting(AtomicU64::new(first)))
    }

    /// Gives the same byte for ever.
    #[must_use]
    pub const fn constant(byte: u8) -> Self {
        Self(Bytes::Constant(byte))
    }
}

impl Default for TestSeed {
    /// Counts up from zero.
    fn default() -> Self {
        Self::counting_from(0)
    }
}

impl Seed for TestSeed {
    fn fill(&self, into: &mut [u8]) {
        match &self.0 {
            Bytes::Constant(byte) => into.fill(*byte),
            Bytes::Counting(next) => {
                for chunk in into.chunks_mut(8) {
                    let number = next.fetch_add(1, Ordering::Relaxed).to_le_bytes();
                    chunk.copy_from_slice(&number[..chunk.len()]);
                }
            }
        }
    }
}

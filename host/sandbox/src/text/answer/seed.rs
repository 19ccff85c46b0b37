//! Repeatable random numbers, drawn from a digest of the request.

use sha2::{Digest, Sha256};

/// The form of an id: a prefix and random characters.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdForm {
    pub(crate) prefix: &'static str,
    pub(crate) chars: usize,
}

impl IdForm {
    /// An id of this form.
    pub(crate) fn draw(self, seed: &mut Seed) -> String {
        format!("{}{}", self.prefix, seed.id(self.chars))
    }
}

/// A source of numbers; the same request gives the same ones.
#[derive(Clone, Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    /// From the bytes of a request.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::from_digest(&Sha256::digest(bytes))
    }

    /// An independent source: what is drawn from one does not shift the other.
    pub(crate) fn fork(&self, label: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(self.0.to_le_bytes());
        digest.update(label);
        Self::from_digest(&digest.finalize())
    }

    fn from_digest(digest: &[u8]) -> Self {
        Self(digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// The next number (splitmix64).
    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// Below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.draw() % bound).unwrap_or(0)
    }

    /// One of several.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Letters and digits, for ids.
    pub(crate) fn id(&mut self, chars: usize) -> String {
        const ALPHABET: &[u8] = b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
        (0..chars).map(|_| char::from(*self.pick(ALPHABET))).collect()
    }
}

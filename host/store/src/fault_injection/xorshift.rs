//! Pseudorandom numbers from a seed, for tests that must be repeatable.

/// Numbers that are the same for the same seed.
#[derive(Clone, Debug)]
pub struct Xorshift(u64);

impl Xorshift {
    /// Seeds next to each other give numbers that have nothing in common.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self((seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd1b5_4a32_d192_ed03) | 1)
    }

    /// 64 bits, by xorshift64*.
    pub fn next_u64(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from((self.next_u64() >> 8) % end as u64).unwrap_or(0)
    }
}

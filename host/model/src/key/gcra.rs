//! The generic cell rate algorithm: one moment of state, and the limit as an argument.
//!
//! Of a limit of `rate` in a minute, `rate` may come at once, and what was taken grows back evenly over the minute. The
//! state is the moment at which all of it is back. It holds no limit of its own, so an edit of a limit forgets nothing
//! of what was taken. Several limits are decided together: check all, then take from all. Pure; keeps no lock.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::time::UnixMs;

/// A minute in nanoseconds: in that time all of a limit grows back.
const WINDOW: u64 = 60_000_000_000;

/// What has been taken of a limit. The default has nothing taken of any limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gcra {
    /// Nanoseconds since the epoch: the theoretical arrival time, at which the whole limit is there again.
    tat: u64,
}

/// Whether an amount is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateVerdict {
    /// It is.
    Now,
    /// It is after this time, unless others take from the limit meanwhile. Whole milliseconds, rounded up.
    After(Duration),
    /// It is more than the whole limit.
    Never,
}

impl Gcra {
    /// Whether `amount` is there. Changes nothing.
    #[must_use]
    pub fn check(self, rate: NonZeroU32, amount: u32, now: UnixMs) -> RateVerdict {
        if amount > rate.get() {
            return RateVerdict::Never;
        }
        let filled = self.missing(now).saturating_add(span(rate, amount));
        match filled.saturating_sub(WINDOW) {
            0 => RateVerdict::Now,
            over => RateVerdict::After(whole_millis(over)),
        }
    }

    /// Takes `amount`, whether it is there or not. The answer is what [`Gcra::give_back`] wants to know.
    pub fn take(&mut self, rate: NonZeroU32, amount: u32, now: UnixMs) -> u64 {
        let start = self.tat.max(now.nanoseconds());
        self.tat = start.saturating_add(span(rate, amount));
        self.tat
    }

    /// Takes more, for what turned out to be more than was taken before. What is not there becomes a debt of at most
    /// one minute.
    pub fn take_more(&mut self, rate: NonZeroU32, amount: u64, now: UnixMs) {
        let amount = u32::try_from(amount).unwrap_or(u32::MAX);
        let most = now.nanoseconds().saturating_add(2 * WINDOW);
        let debt = self.tat.max(now.nanoseconds()).saturating_add(span(rate, amount)).min(most);
        self.tat = self.tat.max(debt);
    }

    /// Gives back `amount` of what was taken when [`Gcra::take`] answered `taken`, without what has grown back since.
    pub fn give_back(&mut self, rate: NonZeroU32, amount: u32, taken: u64, now: UnixMs) {
        let left = taken.saturating_sub(now.nanoseconds());
        self.tat = self.tat.saturating_sub(span(rate, amount).min(left));
    }

    /// How much is there, which is the largest amount that [`Gcra::check`] passes; zero in debt.
    #[must_use]
    pub fn remaining(self, rate: NonZeroU32, now: UnixMs) -> u32 {
        let there = u128::from(WINDOW.saturating_sub(self.missing(now)));
        // The largest amount whose span, rounded down, is at most `there`.
        let whole = ((there + 1) * u128::from(rate.get()) - 1) / u128::from(WINDOW);
        u32::try_from(whole).unwrap_or(u32::MAX)
    }

    /// How long until all of it is there, in whole milliseconds, rounded up.
    #[must_use]
    pub fn until_full(self, now: UnixMs) -> Duration {
        whole_millis(self.missing(now))
    }

    /// Nanoseconds until all of it is there.
    fn missing(self, now: UnixMs) -> u64 {
        self.tat.saturating_sub(now.nanoseconds())
    }
}

/// How long `amount` takes to grow back. Rounded down, so that all of a limit fits into its minute.
fn span(rate: NonZeroU32, amount: u32) -> u64 {
    let nanos = u128::from(amount) * u128::from(WINDOW) / u128::from(rate.get());
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

fn whole_millis(nanos: u64) -> Duration {
    Duration::from_millis(nanos.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests;

//! What keys have taken of their rates. One lock, held for a few comparisons; keys without rates never come here.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Gcra, KeyId, UnixMs};

/// Fewer states than this are never searched for those that are full again.
const SWEEP_FROM: usize = 1024;

/// Which rate of which key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RateId {
    /// Shared by a key and those of its rotations.
    pub(crate) lineage: KeyId,
    /// None for all models together.
    pub(crate) model: Option<String>,
    /// Tokens, or else requests.
    pub(crate) tokens: bool,
}

/// The states of all keys.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter(Mutex<RateStates>);

/// The states, locked.
#[derive(Debug, Default)]
pub(crate) struct RateStates {
    states: HashMap<RateId, Gcra>,
    /// How many states there may be before the full ones among them are dropped.
    sweep_at: usize,
}

impl RateLimiter {
    /// Nothing else is decided meanwhile.
    pub(crate) fn lock(&self) -> MutexGuard<'_, RateStates> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RateStates {
    /// What was taken of it.
    pub(crate) fn of(&self, id: &RateId) -> Gcra {
        self.states.get(id).copied().unwrap_or_default()
    }

    /// The same, to take from.
    pub(crate) fn of_mut(&mut self, id: &RateId, now: UnixMs) -> &mut Gcra {
        if self.states.len() >= self.sweep_at.max(SWEEP_FROM) && !self.states.contains_key(id) {
            // One that is whole again is as good as none.
            self.states.retain(|_, state| state.until_full(now) > Duration::ZERO);
            self.sweep_at = self.states.len() * 2;
        }
        self.states.entry(id.clone()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn states_that_are_whole_again_are_dropped() {
        let limiter = RateLimiter::default();
        let mut states = limiter.lock();
        let one = NonZeroU32::MIN;
        let id = |number: usize| RateId { lineage: KeyId(number.to_string()), model: None, tokens: false };
        let later = UnixMs(1_000_000 + 60_000);
        for number in 0..SWEEP_FROM {
            states.of_mut(&id(number), UnixMs(1_000_000)).take(one, 1, UnixMs(1_000_000));
        }
        states.of_mut(&id(SWEEP_FROM), UnixMs(1_000_001)).take(one, 1, UnixMs(1_000_001));
        assert_eq!(states.states.len(), SWEEP_FROM + 1, "none of them was whole again");
        for number in SWEEP_FROM + 1..=SWEEP_FROM * 2 {
            states.of_mut(&id(number), later).take(one, 1, later);
        }
        // The one of a millisecond later still lacks something.
        assert_eq!(states.states.len(), SWEEP_FROM + 1);
        assert!(states.of(&id(SWEEP_FROM)).until_full(later) > Duration::ZERO);
    }
}

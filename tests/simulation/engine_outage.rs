//! An engine under the store that cannot be reached: from one access on, for a while. The oracle reads all the same.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The outage of one simulation.
#[derive(Default)]
pub(crate) struct EngineOutage(Mutex<State>);

#[derive(Default)]
struct State {
    /// Of all processes until now.
    accesses: usize,
    /// The access that is the first to fail, and for how many ms others do.
    first: Option<(usize, u64)>,
    /// The last elapsed millisecond of it, once it has begun.
    until: Option<u64>,
    is_observed: bool,
}

impl EngineOutage {
    /// It will begin with that access and last so many milliseconds; 0: for what comes in the same one.
    pub(crate) fn begin_at(&self, first: usize, lasts: u64) {
        self.lock().first = Some((first, lasts));
    }

    /// How many accesses there were.
    pub(crate) fn accesses(&self) -> usize {
        self.lock().accesses
    }

    /// Whether the engine can be reached at that elapsed millisecond.
    pub(crate) fn allows(&self, elapsed: u64) -> bool {
        let mut state = self.lock();
        if state.is_observed {
            return true;
        }
        let begins = state.first.filter(|(first, _)| *first == state.accesses);
        state.until = begins.map(|(_, lasts)| elapsed + lasts).or(state.until);
        state.accesses += 1;
        state.until.is_none_or(|until| elapsed > until)
    }

    /// Reads as if there were none.
    pub(crate) fn observe<T>(&self, read: impl FnOnce() -> T) -> T {
        let before = std::mem::replace(&mut self.lock().is_observed, true);
        let found = read();
        self.lock().is_observed = before;
        found
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

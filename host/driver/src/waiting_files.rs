//! Files that wait for a media store that is away: those of replies, which are in memory meanwhile, and results that their providers
//! still have. As many as fit into the bounds wait without their account's permit, so an outage of the store holds up no call that
//! needs no files. One beyond the bounds keeps its permit, and until there is room again no call begins whose reply brings files: it
//! would be paid although they cannot be kept. A reply that is itself a file does not count here: it waits within its call, with its
//! permit, and what it has in memory meanwhile is bounded by the calls in flight.

use std::sync::{Arc, Mutex, PoisonError};

/// What may wait without a permit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) count: usize,
    /// Of files in memory.
    pub(crate) bytes: u64,
}

#[derive(Debug, Default)]
struct Held {
    count: usize,
    bytes: u64,
    /// Those that did not fit.
    beyond: usize,
}

/// All that waits now.
#[derive(Debug)]
pub(crate) struct WaitingFiles {
    bounds: Bounds,
    held: Mutex<Held>,
}

/// One reply or result that waits, until it is dropped.
#[derive(Debug)]
pub(crate) struct Waits {
    of: Arc<WaitingFiles>,
    bytes: u64,
    /// Whether it is within the bounds: it waits without a permit.
    pub(crate) fits: bool,
}

impl WaitingFiles {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { bounds, held: Mutex::default() }
    }

    /// Begins a wait with so many bytes in memory.
    pub(crate) fn enter(self: &Arc<Self>, bytes: u64) -> Waits {
        let had_room = self.has_room();
        let fits = self.with(|held| {
            let after = held.bytes.saturating_add(bytes);
            let fits = held.count < self.bounds.count && after <= self.bounds.bytes;
            if fits {
                (held.count, held.bytes) = (held.count + 1, after);
            } else {
                held.beyond += 1;
            }
            fits
        });
        if had_room && !self.has_room() {
            tracing::warn!(
                "as many files wait for the media store as may: calls whose replies bring more are not begun"
            );
        }
        Waits { of: Arc::clone(self), bytes, fits }
    }

    /// Whether a call may begin whose reply brings files.
    pub(crate) fn has_room(&self) -> bool {
        let Bounds { count, bytes } = self.bounds;
        self.with(|held| held.beyond == 0 && held.count < count && held.bytes < bytes)
    }

    fn with<T>(&self, act: impl FnOnce(&mut Held) -> T) -> T {
        act(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.of.with(|held| {
            if self.fits {
                held.count = held.count.saturating_sub(1);
                held.bytes = held.bytes.saturating_sub(self.bytes);
            } else {
                held.beyond = held.beyond.saturating_sub(1);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a long outage fills the memory, or ends with calls that are paid in vain.
    #[test]
    fn what_does_not_fit_keeps_its_permit_and_lets_nothing_begin() {
        let waiting = Arc::new(WaitingFiles::new(Bounds { count: 3, bytes: 100 }));
        let first = waiting.enter(60);
        assert!(first.fits && waiting.has_room());
        let large = waiting.enter(50);
        assert!(!large.fits && !waiting.has_room(), "its bytes do not fit");
        let linked = waiting.enter(0);
        assert!(linked.fits && !waiting.has_room(), "one waits beyond the bounds");
        drop(large);
        assert!(waiting.has_room());
        let last = waiting.enter(1);
        assert!(last.fits && !waiting.has_room(), "as many as may wait");
        assert!(!waiting.enter(0).fits);
        drop(first);
        assert!(waiting.has_room());
        drop((linked, last));
        let whole = waiting.enter(100);
        assert!(whole.fits && !waiting.has_room(), "as many bytes as may wait");
    }
}

//! The real clock and the real source of randomness: no other code asks the operating system for either.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gatehouse_model::{Clock, Pause, Seed, UnixMs};

/// The machine's wall clock and timers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one real clock")]
    fn now(&self) -> UnixMs {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "the one real timer")]
    fn pause(&self, span: Duration) -> Pause {
        Box::pin(tokio::time::sleep(span))
    }
}

/// The operating system's random source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemSeed;

impl Seed for SystemSeed {
    fn fill(&self, into: &mut [u8]) {
        getrandom::fill(into).expect("an operating system without randomness cannot make keys");
    }
}

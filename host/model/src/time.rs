//! Time as data: a moment, and the trait of clocks.
//!
//! Never reads a clock itself; the gateway provides the real one, tests a virtual one.

use std::fmt;
use std::future::Future;
use std::ops::Sub;
use std::pin::Pin;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub u64);

impl UnixMs {
    /// This moment and `span` more, stopping at the end of time rather than wrapping.
    #[must_use]
    pub fn plus(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` this moment is; zero when it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Whole seconds since the epoch, the form clients read.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Days since the epoch, the unit history is kept and dropped in.
    #[must_use]
    pub fn day(self) -> u32 {
        u32::try_from(self.0 / 86_400_000).unwrap_or(u32::MAX)
    }
}

impl Sub for UnixMs {
    type Output = Duration;

    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// RFC 3339 in UTC, for log lines, messages and audit lines.
impl fmt::Display for UnixMs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = UNIX_EPOCH.checked_add(Duration::from_millis(self.0));
        // The formatter fails after the year 9999.
        match time.filter(|_| self.0 < 253_402_300_800_000) {
            Some(time) => humantime::format_rfc3339_millis(time).fmt(f),
            None => write!(f, "{} ms after 1970", self.0),
        }
    }
}

/// A wait in progress.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The only source of time of the gateway.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock.
    fn now(&self) -> UnixMs;

    /// A future that ends once `span` has gone by.
    fn pause(&self, span: Duration) -> Pause;

    /// A future that ends once the wall clock shows `moment`.
    fn pause_until(&self, moment: UnixMs) -> Pause {
        self.pause(moment.since(self.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_print_in_rfc_3339() {
        assert_eq!(UnixMs(86_400_007).to_string(), "1970-01-02T00:00:00.007Z");
        assert_eq!(UnixMs(u64::MAX).to_string(), "18446744073709551615 ms after 1970");
    }
}

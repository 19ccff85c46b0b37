//! Time as data: a moment, the trait of clocks, the type of waits and of other futures, and the steps of a clock that is set.
//!
//! Never reads a clock itself; the gateway provides the real one, tests a virtual one.

use std::fmt;
use std::future::Future;
use std::ops::Sub;
use std::pin::Pin;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

const DAY_MS: u64 = 86_400_000;

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

    /// Nanoseconds since the epoch, stopping at the largest number.
    pub(crate) fn nanoseconds(self) -> u64 {
        self.0.saturating_mul(1_000_000)
    }

    /// Whole seconds since the epoch, the form clients read.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// The beginning of that day, counted from the epoch.
    #[must_use]
    pub fn of_day(day: u32) -> Self {
        Self(u64::from(day) * DAY_MS)
    }

    /// The date in UTC, such as 2026-11-22.
    #[must_use]
    pub fn date(self) -> String {
        self.to_string().split('T').next().unwrap_or_default().to_owned()
    }

    /// The moment that is written so, as RFC 3339 has it. `None` for any other text, and for moments before the epoch.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let since = humantime::parse_rfc3339(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok().map(Self)
    }

    /// The day of such a date, counted from the epoch. `None` for any other text, and for dates before the epoch.
    #[must_use]
    pub fn parse_date(text: &str) -> Option<u32> {
        Self::parse(&format!("{text}T00:00:00Z")).map(Self::day)
    }

    /// Days since the epoch, the unit history is kept and dropped in.
    #[must_use]
    pub fn day(self) -> u32 {
        u32::try_from(self.0 / DAY_MS).unwrap_or(u32::MAX)
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

/// A future whose code is compiled in the crate that makes it. That of a plain `async fn` is compiled once more, with all
/// that it awaits, in every crate that awaits it: for the entry points of a service that is most of the service.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A wait in progress.
pub type Pause = Boxed<'static, ()>;

/// The only source of time of the gateway.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock.
    fn now(&self) -> UnixMs;

    /// A future that ends once `span` has gone by.
    fn pause(&self, span: Duration) -> Pause;

    /// By how much the wall clock was set forward after it had shown `since`, as far as this process saw it. So much of the
    /// time from then until now has not gone by.
    fn skipped(&self, since: UnixMs) -> Duration;

    /// A future that ends once the wall clock shows `moment`.
    fn pause_until(&self, moment: UnixMs) -> Pause {
        self.pause(moment.since(self.now()))
    }
}

/// Steps that a clock remembers; of more, the earliest two count as one.
const MAX_STEPS: usize = 64;

/// When a wall clock was set forward, and by how much: each step with what the clock showed right after it.
#[derive(Debug, Default)]
pub struct ForwardSteps(Vec<(UnixMs, Duration)>);

impl ForwardSteps {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The clock was set forward by `by`, and shows `now`.
    pub fn record(&mut self, now: UnixMs, by: Duration) {
        self.0.push((now, by));
        if self.0.len() > MAX_STEPS {
            let (_, earliest) = self.0.remove(0);
            self.0[0].1 += earliest;
        }
    }

    /// The sum of all steps after the clock had shown `since`.
    #[must_use]
    pub fn since(&self, since: UnixMs) -> Duration {
        self.0.iter().filter(|(at, _)| *at > since).map(|(_, by)| *by).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_for_what_began_before_them() {
        let mut steps = ForwardSteps::default();
        steps.record(UnixMs(10_000), Duration::from_millis(9_000));
        steps.record(UnixMs(50_000), Duration::from_millis(30_000));
        for (since, expected) in
            [(0, 39_000), (1_000, 39_000), (10_000, 30_000), (19_999, 30_000), (50_000, 0)]
        {
            assert_eq!(steps.since(UnixMs(since)), Duration::from_millis(expected), "{since}");
        }
        for number in 0..2 * MAX_STEPS as u64 {
            steps.record(UnixMs(60_000 + number), Duration::from_millis(1));
        }
        assert_eq!(steps.0.len(), MAX_STEPS);
        assert_eq!(steps.since(UnixMs(0)), Duration::from_millis(39_000 + 2 * MAX_STEPS as u64));
    }

    #[test]
    fn days_and_dates_agree() {
        for (day, date) in [(0, "1970-01-01"), (19_782, "2024-02-29"), (20_779, "2026-11-22")] {
            assert_eq!(UnixMs::of_day(day).date(), date);
            assert_eq!(UnixMs::parse_date(date), Some(day));
            assert_eq!(UnixMs::of_day(day).day(), day);
            assert_eq!(UnixMs::parse(&UnixMs::of_day(day).to_string()), Some(UnixMs::of_day(day)));
        }
        for text in
            ["", "2026-11", "2026-11-31", "1969-12-31", "2026-11-22T00:00:00Z", "22.11.2026", "2026-11-22 "]
        {
            assert_eq!(UnixMs::parse_date(text), None, "{text}");
        }
    }

    #[test]
    fn moments_print_in_rfc_3339() {
        assert_eq!(UnixMs(86_400_007).to_string(), "1970-01-02T00:00:00.007Z");
        assert_eq!(UnixMs(u64::MAX).to_string(), "18446744073709551615 ms after 1970");
    }
}

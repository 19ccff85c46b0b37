//! How long the next bytes of a body may take. Pure: times are arguments.
//!
//! A client's patience is a bucket that empties with time and fills with bytes, and holds `body_idle_seconds` at
//! most. So every span in which a body arrives brings at least `body_bytes_per_second` for each second beyond
//! `body_idle_seconds`: a fast start earns nothing for later.

use std::time::Duration;

use gatehouse_model::UnixMs;

use crate::config::{Limits, seconds};

/// The pace of one body.
#[derive(Debug)]
pub(super) struct Pace {
    started: UnixMs,
    /// The most that bytes can earn.
    idle: Duration,
    /// The time for the whole body.
    total: Duration,
    bytes_per_second: u64,
    /// When patience ends, counted from the start.
    patience: Duration,
}

impl Pace {
    pub(super) fn new(limits: &Limits, now: UnixMs) -> Self {
        let idle = seconds(limits.body_idle_seconds);
        Self {
            started: now,
            idle,
            total: seconds(limits.body_seconds),
            bytes_per_second: u64::from(limits.body_bytes_per_second.get()),
            patience: idle,
        }
    }

    /// Bytes that have arrived.
    pub(super) fn record(&mut self, now: UnixMs, bytes: usize) {
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / self.bytes_per_second;
        let most = now.since(self.started) + self.idle;
        self.patience = (self.patience + Duration::from_nanos(nanos)).min(most);
    }

    /// The gateway took nothing for so long: that is no delay of the client.
    pub(super) fn wait(&mut self, span: Duration) {
        self.started = self.started.plus(span);
    }

    /// The time left for the next bytes.
    pub(super) fn time_left(&self, now: UnixMs) -> Duration {
        self.patience.min(self.total).saturating_sub(now.since(self.started))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes at these seconds; the seconds left at the last of them.
    fn check(arrivals: &[(u64, usize)], now: u64, expected: u64) {
        let at = |second: u64| UnixMs(1_000 + second * 1000);
        let mut pace = Pace::new(&Limits::default(), at(0));
        for (second, bytes) in arrivals {
            pace.record(at(*second), *bytes);
        }
        assert_eq!(pace.time_left(at(now)).as_secs(), expected, "{arrivals:?} at {now}");
    }

    #[test]
    fn patience_is_what_the_latest_bytes_earned() {
        check(&[], 0, 15);
        check(&[], 5, 10);
        check(&[], 15, 0);
        // Slower than the minimum: less and less.
        check(&[(5, 0), (10, 10 * 1024)], 10, 15);
        check(&[(10, 5 * 1024)], 10, 10);
        // At the minimum: never less than at the start.
        let steady: Vec<_> = (1..=100).map(|second| (second, 1024)).collect();
        check(&steady, 100, 15);
        // The whole body has its own end.
        check(&[(115, 1 << 20)], 115, 5);
        check(&[(119, 1 << 20)], 200, 0);
    }

    #[test]
    fn a_fast_start_earns_no_more_than_a_pause() {
        check(&[(0, 30 << 20)], 0, 15);
        let trickle: Vec<_> = std::iter::once((0, 30 << 20)).chain((1..4).map(|n| (n * 4, 1))).collect();
        check(&trickle, 14, 1);
        check(&trickle, 16, 0);
    }

    #[test]
    fn a_wait_of_the_gateway_costs_the_client_nothing() {
        let at = |second: u64| UnixMs(1_000 + second * 1000);
        let mut pace = Pace::new(&Limits::default(), at(0));
        pace.wait(Duration::from_secs(40));
        assert_eq!(pace.time_left(at(45)).as_secs(), 10);
    }

    #[test]
    fn single_bytes_earn_their_part() {
        let at = |ms: u64| UnixMs(1_000 + ms);
        let mut pace = Pace::new(&Limits::default(), at(0));
        // Two bytes a millisecond, one by one: twice the minimum.
        for ms in 0..10_000 {
            pace.record(at(ms), 1);
            pace.record(at(ms), 1);
        }
        assert!(pace.time_left(at(10_000)) > Duration::from_secs(14));
    }
}

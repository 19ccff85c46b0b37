//! A circuit breaker for one provider account, or for one receiver of webhooks. Pure: time and chance come in as arguments.
//!
//! ```text
//! Closed --5 failures in a row--> Open(until) --until--> one Trial --success--> Closed
//!                                      ^                     |failure: longer
//!                                      `---------------------'
//! ```

use std::time::Duration;

use gatehouse_model::UnixMs;

/// Failures in a row that open it.
const THRESHOLD: u32 = 5;
/// The first time it stays open; doubles with every failed trial.
const FIRST: Duration = Duration::from_secs(2);
/// The longest.
const LONGEST: Duration = Duration::from_secs(60);

/// Consecutive failures and what follows from them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Breaker {
    failures: u32,
    openings: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    Open(UnixMs),
    Trial,
}

/// Whether a call may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It may.
    Yes,
    /// It may, as the only one, to find out whether the provider is back.
    Trial,
    /// Not before this moment.
    NotBefore(UnixMs),
    /// Not while the trial is out.
    WhileTrial,
}

impl Breaker {
    /// Whether a call may begin at `now`.
    #[must_use]
    pub fn admission(&self, now: UnixMs) -> Admission {
        match self.state {
            State::Closed => Admission::Yes,
            State::Open(until) if now < until => Admission::NotBefore(until),
            State::Open(_) => Admission::Trial,
            State::Trial => Admission::WhileTrial,
        }
    }

    /// The trial leaves.
    pub fn begin_trial(&mut self) {
        self.state = State::Trial;
    }

    /// The trial ended without telling anything: another may go at once.
    pub fn abandon_trial(&mut self, now: UnixMs) {
        if self.state == State::Trial {
            self.state = State::Open(now);
        }
    }

    /// A call succeeded.
    pub fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// A call failed. `chance` in `0.0..1.0` spreads the return of many gateways.
    pub fn failed(&mut self, now: UnixMs, chance: f64) {
        self.failures = self.failures.saturating_add(1);
        if self.state == State::Trial || (self.state == State::Closed && self.failures >= THRESHOLD) {
            self.state = State::Open(now.plus(backoff(FIRST, LONGEST, self.openings, chance)));
            self.openings = self.openings.saturating_add(1);
        }
    }

    /// Open or on trial: not to be relied upon.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state != State::Closed
    }
}

/// `first` doubled `times` times, at most `longest`, shortened by up to half.
pub(crate) fn backoff(first: Duration, longest: Duration, times: u32, chance: f64) -> Duration {
    let whole = first.saturating_mul(2_u32.saturating_pow(times.min(16))).min(longest);
    whole.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        for _ in 0..THRESHOLD {
            assert_eq!(breaker.admission(UnixMs(0)), Admission::Yes);
            breaker.failed(UnixMs(0), 0.0);
        }
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it() {
        assert_eq!(opened().admission(UnixMs(1)), Admission::NotBefore(UnixMs(2000)));
    }

    #[test]
    fn a_success_between_starts_the_count_again() {
        let mut breaker = Breaker::default();
        for _ in 0..10 {
            for _ in 1..THRESHOLD {
                breaker.failed(UnixMs(0), 0.0);
            }
            breaker.succeeded();
        }
        assert!(!breaker.is_open());
    }

    #[test]
    fn one_trial_decides() {
        let mut breaker = opened();
        assert_eq!(breaker.admission(UnixMs(2000)), Admission::Trial);
        breaker.begin_trial();
        assert_eq!(breaker.admission(UnixMs(2000)), Admission::WhileTrial);
        breaker.failed(UnixMs(2000), 0.0);
        assert_eq!(breaker.admission(UnixMs(2000)), Admission::NotBefore(UnixMs(6000)));
        breaker.begin_trial();
        breaker.succeeded();
        assert_eq!(breaker.admission(UnixMs(6000)), Admission::Yes);
    }

    #[test]
    fn an_abandoned_trial_lets_the_next_one_go() {
        let mut breaker = opened();
        breaker.begin_trial();
        breaker.abandon_trial(UnixMs(3000));
        assert_eq!(breaker.admission(UnixMs(3000)), Admission::Trial);
    }

    #[test]
    fn the_wait_is_bounded() {
        let mut breaker = opened();
        for _ in 0..100 {
            breaker.begin_trial();
            breaker.failed(UnixMs(0), 0.5);
        }
        assert_eq!(breaker.admission(UnixMs(0)), Admission::NotBefore(UnixMs(45_000)));
    }
}

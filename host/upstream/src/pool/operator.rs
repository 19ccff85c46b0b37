//! What operators see of providers: numbers that are read under the pool's lock, the last errors of each account, and nothing
//! that grows with the requests. And the switch that keeps new work away from an account.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{CustomerId, UnixMs};

use crate::breaker::Admission;
use crate::pool::accounts::Pool;

/// Customers that are named among those that wait.
const MAX_WAITING: usize = 20;

/// One provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderOverview {
    /// Its name.
    pub name: String,
    /// Its accounts, as the configuration orders them.
    pub accounts: Vec<AccountOverview>,
    /// Requests and tasks that wait for a permit of any of them.
    pub waiting: usize,
    /// The customers that wait with most of them, at most twenty.
    pub waiting_by_customer: Vec<(CustomerId, usize)>,
    /// The time from one permit to the next while others wait; `None` while that is not known.
    pub pace: Option<Duration>,
}

/// One account of a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountOverview {
    /// Its name.
    pub name: String,
    /// Lower numbers are used first.
    pub priority: u32,
    /// Its share among accounts of the same priority.
    pub weight: u64,
    /// Permits in use.
    pub in_flight: u64,
    /// All permits.
    pub limit: u64,
    /// Permits, at the end of them, for customers who use less.
    pub reserve: u64,
    /// Calls a second, if they are limited.
    pub rate: Option<f64>,
    /// Its circuit breaker.
    pub breaker: BreakerState,
    /// Until when it is not used, because the provider asked for a pause.
    pub paused_until: Option<UnixMs>,
    /// Since when every answer was "too many requests".
    pub rate_limited_since: Option<UnixMs>,
    /// Until when it is passed over, because its credentials or its credit were refused.
    pub refused_until: Option<UnixMs>,
    /// Whether it gets no new work.
    pub drained: bool,
    /// How often it has answered since the process began.
    pub answers: u64,
    /// Newest first.
    pub last_errors: Vec<AccountError>,
}

/// Errors that are kept of one account.
const MAX_ERRORS: usize = 5;
/// Bytes of one.
const MAX_BYTES: usize = 300;

/// An error of an account, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountError {
    /// When.
    pub at: UnixMs,
    /// The status or the outage, and what is known of its cause. Never text of a reply's body.
    pub text: String,
}

/// The newest errors, the newest first.
#[derive(Debug, Default)]
pub(crate) struct LastErrors(VecDeque<AccountError>);

impl LastErrors {
    /// Adds one; the oldest beyond the limit is forgotten.
    pub(crate) fn add(&mut self, at: UnixMs, mut text: String) {
        if text.len() > MAX_BYTES {
            text.truncate(text.floor_char_boundary(MAX_BYTES));
        }
        self.0.truncate(MAX_ERRORS - 1);
        self.0.push_front(AccountError { at, text });
    }

    /// Newest first.
    pub(crate) fn all(&self) -> Vec<AccountError> {
        self.0.iter().cloned().collect()
    }
}

/// Whether calls reach an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// They do.
    Closed,
    /// They do not before that moment.
    Open(UnixMs),
    /// One call finds out whether the provider is back.
    HalfOpen,
}

impl Pool {
    pub(crate) fn overview(&self) -> ProviderOverview {
        let now = self.clock.now();
        let still = |until: UnixMs| Some(until).filter(|until| *until > now);
        let mut state = self.lock();
        let waiting = state.queue.len();
        let waiting_by_customer = state.queue.longest(MAX_WAITING);
        let pace = state.pace.interval(now);
        let mut accounts = Vec::with_capacity(self.accounts().len());
        for (index, account) in self.accounts().iter().enumerate() {
            let known = self.state(&mut state, index);
            accounts.push(AccountOverview {
                name: account.name.clone(),
                priority: account.priority,
                weight: account.weight,
                in_flight: known.in_flight,
                limit: account.concurrency,
                reserve: account.reserve,
                rate: account.rate,
                breaker: match known.breaker.admission(now) {
                    Admission::Yes => BreakerState::Closed,
                    Admission::NotBefore(until) => BreakerState::Open(until),
                    Admission::Trial | Admission::WhileTrial => BreakerState::HalfOpen,
                },
                paused_until: still(known.paused_until),
                rate_limited_since: known.limited.map(|limited| limited.since),
                refused_until: still(known.refused_until),
                drained: known.drained,
                answers: known.answers,
                last_errors: known.last_errors.all(),
            });
        }
        drop(state);
        let name = self.provider().name.clone();
        ProviderOverview { name, accounts, waiting, waiting_by_customer, pace }
    }

    /// Keeps an error of an account for operators; without secrets.
    pub(crate) fn note_error(&self, index: usize, text: String) {
        let now = self.clock.now();
        self.state(&mut self.lock(), index).last_errors.add(now, text);
    }

    /// Keeps new work away from an account, or lets it come again; what it was before, `None` where there is no such account.
    ///
    /// A drained account gets no new task and no new text request, except those that are bound to it: follow-ups of what it
    /// made exist there alone. What is in flight goes on and is polled. An account that is let in again is also taken as
    /// whole, whatever its provider refused before. The switch outlives a change of the configuration, and ends with the
    /// process.
    pub(crate) fn drain(self: &Arc<Self>, account: &str, drained: bool) -> Option<bool> {
        let index = self.index_of(account)?;
        let mut state = self.lock();
        let account = self.state(&mut state, index);
        let before = std::mem::replace(&mut account.drained, drained);
        if !drained {
            // The operator has seen to what the provider refused: another credential, or credit.
            account.refused_until = UnixMs(0);
        }
        drop(state);
        if !drained {
            self.serve_waiting();
        }
        Some(before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_cut() {
        let mut errors = LastErrors::default();
        for number in 0..7 {
            errors.add(UnixMs(number), format!("error {number}"));
        }
        // 299 bytes and a letter of two.
        errors.add(UnixMs(7), format!("{}é and more", "x".repeat(299)));
        let all = errors.all();
        let moments: Vec<u64> = all.iter().map(|error| error.at.0).collect();
        assert_eq!(moments, [7, 6, 5, 4, 3]);
        assert_eq!(all[0].text, "x".repeat(299));
        assert_eq!(all[1].text, "error 6");
    }
}

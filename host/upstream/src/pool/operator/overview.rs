//! What operators see of providers: numbers that are read under the pool's lock, and nothing that grows with the requests.

use std::time::Duration;

use gatehouse_model::{CustomerId, UnixMs};

use crate::pool::accounts::Pool;
use crate::pool::breaker::Admission;
use crate::pool::operator::last_errors::AccountError;
use crate::upstream::Upstream;

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
    /// Newest first.
    pub last_errors: Vec<AccountError>,
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
    fn overview(&self) -> ProviderOverview {
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
                in_flight: known.in_flight(),
                limit: account.limit(),
                reserve: account.reserve(),
                rate: account.rate(),
                breaker: match known.breaker.admission(now) {
                    Admission::Yes => BreakerState::Closed,
                    Admission::NotBefore(until) => BreakerState::Open(until),
                    Admission::Trial | Admission::WhileTrial => BreakerState::HalfOpen,
                },
                paused_until: still(known.paused_until),
                rate_limited_since: known.limited.map(|limited| limited.since),
                refused_until: still(known.refused_until),
                drained: known.drained,
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
}

impl Upstream {
    /// One provider; `None` where no such provider is configured.
    #[must_use]
    pub fn overview(&self, provider: &str) -> Option<ProviderOverview> {
        Some(self.pool(provider)?.overview())
    }

    /// Every provider, by name.
    #[must_use]
    pub fn overviews(&self) -> Vec<ProviderOverview> {
        let mut names = self.providers();
        names.sort_unstable();
        names.iter().filter_map(|name| self.overview(name)).collect()
    }
}

//! Providers and their accounts as operators see them.

use gatehouse_driver::{AccountError, AccountOverview, BreakerState, ProviderOverview};
use gatehouse_model::{CustomerId, view};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::values::Moment;

view! {
    /// One provider.
    #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
    #[schemars(rename = "Provider")]
    pub struct ProviderView of (overview: ProviderOverview) where {
        let of = |account| ProviderAccountView::from((overview.name.as_str(), account));
        let accounts = overview.accounts.into_iter().map(of).collect();
        let waiting = overview.waiting_by_customer.into_iter();
        let pace = overview.pace.map(|pace| u64::try_from(pace.as_millis()).unwrap_or(u64::MAX));
    } {
        /// Its name.
        pub name: String = overview.name,
        /// Its accounts.
        pub accounts: Vec<ProviderAccountView> = accounts,
        /// Requests and tasks that wait for a permit of any of them.
        pub waiting: usize = overview.waiting,
        /// The customers that wait with most of them; at most twenty.
        pub waiting_by_customer: Vec<WaitingView> = waiting.map(WaitingView::from).collect(),
        /// Milliseconds from one permit to the next while others wait; null while that is not known.
        pub pace_ms: Option<u64> = pace,
    }
}

view! {
    /// What one customer waits with.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[schemars(rename = "WaitingCustomer")]
    pub struct WaitingView of ((customer, waiting): (CustomerId, usize)) {
        /// The customer.
        pub customer: String = customer.0,
        /// Its requests and tasks.
        pub waiting: usize = waiting,
    }
}

view! {
    /// One account of a provider.
    #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
    #[schemars(rename = "ProviderAccount")]
    pub struct ProviderAccountView of ((provider, account): (&str, AccountOverview)) where {
        let health = AccountHealth::of(&account);
        let (breaker, open_until) = match account.breaker {
            BreakerState::Closed => (BreakerView::Closed, None),
            BreakerState::Open(until) => (BreakerView::Open, Some(Moment(until))),
            BreakerState::HalfOpen => (BreakerView::HalfOpen, None),
        };
        let errors = account.last_errors.into_iter();
    } {
        /// The provider's name.
        pub provider: String = provider.to_owned(),
        /// The account's.
        pub account: String = account.name,
        /// Whether new work goes there, and if not why.
        pub health: AccountHealth = health,
        /// Whether an operator keeps new work away.
        pub drained: bool = account.drained,
        /// Lower numbers are used first.
        pub priority: u32 = account.priority,
        /// Its share among accounts of the same priority.
        pub weight: u64 = account.weight,
        /// Permits in use.
        pub in_flight: u64 = account.in_flight,
        /// All permits.
        pub limit: u64 = account.limit,
        /// Permits that are not in use. A task of an earlier process has its own even above the limit.
        pub free: u64 = account.limit.saturating_sub(account.in_flight),
        /// Permits, at the end of them, for customers who use less.
        pub reserve: u64 = account.reserve,
        /// Calls a second, if they are limited.
        pub rate_per_second: Option<f64> = account.rate,
        /// Its circuit breaker.
        pub breaker: BreakerView = breaker,
        /// Until when an open breaker stays so.
        pub open_until: Option<Moment> = open_until,
        /// Until when it is not used, because the provider asked for a pause.
        pub paused_until: Option<Moment> = account.paused_until.map(Moment),
        /// Since when every answer was "too many requests".
        pub rate_limited_since: Option<Moment> = account.rate_limited_since.map(Moment),
        /// Until when it is passed over, because its credentials or its credit were refused.
        pub refused_until: Option<Moment> = account.refused_until.map(Moment),
        /// Newest first; without secrets, and without text of bodies.
        pub last_errors: Vec<AccountErrorView> = errors.map(AccountErrorView::from).collect(),
    }
}

/// Whether new work goes to an account; the first reason against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccountHealth {
    /// It does.
    Healthy,
    /// An operator keeps it away.
    Drained,
    /// Its breaker is open, or one call finds out whether the provider is back.
    Failing,
    /// Its credentials or its credit were refused; another account is used first.
    Refused,
    /// The provider asked for a pause.
    Paused,
    /// Every permit is in use.
    Full,
}

impl AccountHealth {
    fn of(account: &AccountOverview) -> Self {
        if account.drained {
            Self::Drained
        } else if account.breaker != BreakerState::Closed {
            Self::Failing
        } else if account.refused_until.is_some() {
            Self::Refused
        } else if account.paused_until.is_some() {
            Self::Paused
        } else if account.in_flight >= account.limit {
            Self::Full
        } else {
            Self::Healthy
        }
    }
}

/// A circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Breaker")]
pub enum BreakerView {
    /// Calls go.
    Closed,
    /// No call goes.
    Open,
    /// One call finds out whether the provider is back.
    HalfOpen,
}

view! {
    /// An error of an account.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    #[schemars(rename = "LastError")]
    pub struct AccountErrorView of (error: AccountError) {
        /// When.
        pub at: Moment = error.at.into(),
        /// The status or the outage, and what is known of its cause.
        pub text: String = error.text,
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::UnixMs;

    use super::*;

    #[test]
    fn health_is_the_first_reason_against_new_work() {
        let healthy = AccountOverview {
            name: "a".to_owned(),
            priority: 0,
            weight: 1,
            in_flight: 1,
            limit: 2,
            reserve: 0,
            rate: None,
            breaker: BreakerState::Closed,
            paused_until: None,
            rate_limited_since: None,
            refused_until: None,
            drained: false,
            answers: 0,
            last_errors: vec![],
        };
        assert_eq!(AccountHealth::of(&healthy), AccountHealth::Healthy);
        let full = AccountOverview { in_flight: 3, ..healthy };
        assert_eq!(AccountHealth::of(&full), AccountHealth::Full);
        assert_eq!(ProviderAccountView::from(("p", full.clone())).free, 0);
        let paused = AccountOverview { paused_until: Some(UnixMs(1)), ..full };
        assert_eq!(AccountHealth::of(&paused), AccountHealth::Paused);
        let refused = AccountOverview { refused_until: Some(UnixMs(1)), ..paused };
        assert_eq!(AccountHealth::of(&refused), AccountHealth::Refused);
        for breaker in [BreakerState::Open(UnixMs(1)), BreakerState::HalfOpen] {
            assert_eq!(
                AccountHealth::of(&AccountOverview { breaker, ..refused.clone() }),
                AccountHealth::Failing
            );
        }
        let drained = AccountOverview { drained: true, breaker: BreakerState::HalfOpen, ..refused };
        assert_eq!(AccountHealth::of(&drained), AccountHealth::Drained);
    }
}

//! Providers and their accounts as operators see them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::api::values::Moment;

/// One provider.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Provider")]
pub struct ProviderView {
    /// Its name.
    pub name: String,
    /// Its accounts.
    pub accounts: Vec<ProviderAccountView>,
    /// Requests and tasks that wait for a permit of any of them.
    pub waiting: usize,
    /// The customers that wait with most of them; at most twenty.
    pub waiting_by_customer: Vec<WaitingView>,
    /// Milliseconds from one permit to the next while others wait; null while that is not known.
    pub pace_ms: Option<u64>,
}

/// What one customer waits with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WaitingCustomer")]
pub struct WaitingView {
    /// The customer.
    pub customer: String,
    /// Its requests and tasks.
    pub waiting: usize,
}

/// One account of a provider.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "ProviderAccount")]
pub struct ProviderAccountView {
    /// The provider's name.
    pub provider: String,
    /// The account's.
    pub account: String,
    /// Whether new work goes there, and if not why.
    pub health: AccountHealth,
    /// Whether an operator keeps new work away.
    pub drained: bool,
    /// Lower numbers are used first.
    pub priority: u32,
    /// Its share among accounts of the same priority.
    pub weight: u64,
    /// Permits in use.
    pub in_flight: u64,
    /// All permits.
    pub limit: u64,
    /// Permits that are not in use. A task of an earlier process has its own even above the limit.
    pub free: u64,
    /// Permits, at the end of them, for customers who use less.
    pub reserve: u64,
    /// Calls a second, if they are limited.
    pub rate_per_second: Option<f64>,
    /// Its circuit breaker.
    pub breaker: BreakerView,
    /// Until when an open breaker stays so.
    pub open_until: Option<Moment>,
    /// Until when it is not used, because the provider asked for a pause.
    pub paused_until: Option<Moment>,
    /// Since when every answer was "too many requests".
    pub rate_limited_since: Option<Moment>,
    /// Until when it is passed over, because its credentials or its credit were refused.
    pub refused_until: Option<Moment>,
    /// Newest first; without secrets, and without text of bodies.
    pub last_errors: Vec<AccountErrorView>,
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
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Drained => "drained",
            Self::Failing => "failing",
            Self::Refused => "refused",
            Self::Paused => "paused",
            Self::Full => "full",
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

impl BreakerView {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// An error of an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LastError")]
pub struct AccountErrorView {
    /// When.
    pub at: Moment,
    /// The status or the outage, and what is known of its cause.
    pub text: String,
}

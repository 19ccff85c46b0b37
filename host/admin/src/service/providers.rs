//! Providers and their accounts for operators: their health, and the switch that keeps new work away from
//! an account. Owns nothing; asks the running gateway.

use std::sync::Arc;

use gatehouse_driver::{AccountError, AccountOverview, BreakerState, ProviderOverview};
use gatehouse_tasks::FieldChange;

use super::gateway::Gateway;
use crate::api::error::OperationError;
use crate::api::provider::{
    AccountErrorView, AccountHealth, BreakerView, ProviderAccountView, ProviderView, WaitingView,
};
use crate::api::values::Moment;

/// Why providers need a running gateway.
const WHY: &str = "only a running gateway knows the state of its providers; start it";

/// Shows providers, and switches their accounts.
pub struct Providers {
    pub(super) gateway: Arc<Gateway>,
}

impl Providers {
    /// Every provider, by name.
    ///
    /// # Errors
    /// [`OperationError::Refused`] without a running gateway.
    pub fn list(&self) -> Result<Vec<ProviderView>, OperationError> {
        let overviews = self.gateway.running(WHY)?.upstream().overviews();
        Ok(overviews.into_iter().map(ProviderView::from).collect())
    }

    /// One provider.
    ///
    /// # Errors
    /// [`OperationError::NotFound`]; [`OperationError::Refused`] without a running gateway.
    pub fn get(&self, name: &str) -> Result<ProviderView, OperationError> {
        let found = self.gateway.running(WHY)?.upstream().overview(name).map(ProviderView::from);
        found.ok_or_else(|| OperationError::NotFound(format!("no provider {name}")))
    }

    /// One account of a provider.
    pub fn account(&self, provider: &str, account: &str) -> Result<ProviderAccountView, OperationError> {
        let mut accounts = self.get(provider)?.accounts.into_iter();
        accounts.find(|known| known.account == account).ok_or_else(|| unknown(provider, account))
    }

    /// Keeps new work away from an account, or lets it come again; what is in flight there goes on. The account as it is
    /// now, and whether it was drained before.
    pub fn drain(
        &self,
        provider: &str,
        account: &str,
        drained: bool,
    ) -> Result<(ProviderAccountView, bool), OperationError> {
        let switched = self.gateway.running(WHY)?.upstream().drain(provider, account, drained);
        let before = switched.ok_or_else(|| unknown(provider, account))?;
        tracing::info!(provider, account, drained, "an operator switched an account");
        Ok((self.account(provider, account)?, before))
    }
}

/// What the switch changed.
pub(crate) fn changes(before: bool, after: bool) -> Vec<FieldChange> {
    let change = FieldChange {
        field: "drained".to_owned(),
        before: Some(before.to_string()),
        after: Some(after.to_string()),
    };
    if before == after { Vec::new() } else { vec![change] }
}

fn unknown(provider: &str, account: &str) -> OperationError {
    OperationError::NotFound(format!("no account {account} of a provider {provider}"))
}

impl From<ProviderOverview> for ProviderView {
    fn from(overview: ProviderOverview) -> Self {
        let ProviderOverview { name, accounts, waiting, waiting_by_customer, pace } = overview;
        Self {
            accounts: accounts.into_iter().map(|account| account_view(&name, account)).collect(),
            name,
            waiting,
            waiting_by_customer: waiting_by_customer
                .into_iter()
                .map(|(customer, waiting)| WaitingView { customer: customer.0, waiting })
                .collect(),
            pace_ms: pace.map(|pace| u64::try_from(pace.as_millis()).unwrap_or(u64::MAX)),
        }
    }
}

fn account_view(provider: &str, account: AccountOverview) -> ProviderAccountView {
    let health = health(&account);
    let (breaker, open_until) = match account.breaker {
        BreakerState::Closed => (BreakerView::Closed, None),
        BreakerState::Open(until) => (BreakerView::Open, Some(Moment(until))),
        BreakerState::HalfOpen => (BreakerView::HalfOpen, None),
    };
    let last_errors = account.last_errors.into_iter();
    ProviderAccountView {
        provider: provider.to_owned(),
        account: account.name,
        health,
        drained: account.drained,
        priority: account.priority,
        weight: account.weight,
        in_flight: account.in_flight,
        limit: account.limit,
        free: account.limit.saturating_sub(account.in_flight),
        reserve: account.reserve,
        rate_per_second: account.rate,
        breaker,
        open_until,
        paused_until: account.paused_until.map(Moment),
        rate_limited_since: account.rate_limited_since.map(Moment),
        refused_until: account.refused_until.map(Moment),
        last_errors: last_errors
            .map(|AccountError { at, text }| AccountErrorView { at: Moment(at), text })
            .collect(),
    }
}

fn health(account: &AccountOverview) -> AccountHealth {
    if account.drained {
        AccountHealth::Drained
    } else if account.breaker != BreakerState::Closed {
        AccountHealth::Failing
    } else if account.refused_until.is_some() {
        AccountHealth::Refused
    } else if account.paused_until.is_some() {
        AccountHealth::Paused
    } else if account.in_flight >= account.limit {
        AccountHealth::Full
    } else {
        AccountHealth::Healthy
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
        assert_eq!(health(&healthy), AccountHealth::Healthy);
        let full = AccountOverview { in_flight: 3, ..healthy };
        assert_eq!(health(&full), AccountHealth::Full);
        assert_eq!(account_view("p", full.clone()).free, 0);
        let paused = AccountOverview { paused_until: Some(UnixMs(1)), ..full };
        assert_eq!(health(&paused), AccountHealth::Paused);
        let refused = AccountOverview { refused_until: Some(UnixMs(1)), ..paused };
        assert_eq!(health(&refused), AccountHealth::Refused);
        for breaker in [BreakerState::Open(UnixMs(1)), BreakerState::HalfOpen] {
            assert_eq!(health(&AccountOverview { breaker, ..refused.clone() }), AccountHealth::Failing);
        }
        let drained = AccountOverview { drained: true, breaker: BreakerState::HalfOpen, ..refused };
        assert_eq!(health(&drained), AccountHealth::Drained);
    }
}

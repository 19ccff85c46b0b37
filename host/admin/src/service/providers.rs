//! Providers and their accounts for operators: their health, and the switch that keeps new work away from
//! an account. Owns nothing; asks the running gateway.

use std::sync::Arc;

use gatehouse_tasks::FieldChange;

use super::gateway::Gateway;
use crate::api::error::OperationError;
use crate::api::provider::{ProviderAccountView, ProviderView};
use crate::audit::told;

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
pub(crate) fn account_changes(before: bool, after: bool) -> Vec<FieldChange> {
    let change = FieldChange { before: Some(before.to_string()), ..told("drained", after) };
    if before == after { Vec::new() } else { vec![change] }
}

fn unknown(provider: &str, account: &str) -> OperationError {
    OperationError::NotFound(format!("no account {account} of a provider {provider}"))
}

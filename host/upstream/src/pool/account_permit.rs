//! The permit of one job at an account.

use std::sync::Arc;

use crate::pool::account::{HealthSignal, NoPermit};
use crate::pool::accounts::{CallPermit, Pool, Wanted};

impl Pool {
    /// An account permit and a first call permit at the best account, or at the one `pinned`.
    pub(crate) fn acquire_account(
        self: &Arc<Self>,
        pinned: Option<&str>,
    ) -> Result<(AccountPermit, CallPermit), NoPermit> {
        let wanted = pinned.map_or(Wanted::Any(&[]), Wanted::One);
        self.acquire_matching(wanted)
    }

    /// The same at an account that was not `tried` yet.
    pub(crate) fn acquire_other_account(
        self: &Arc<Self>,
        tried: &[String],
    ) -> Result<(AccountPermit, CallPermit), NoPermit> {
        self.acquire_matching(Wanted::Any(tried))
    }

    fn acquire_matching(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
    ) -> Result<(AccountPermit, CallPermit), NoPermit> {
        let call = self.call_permit(wanted, false)?;
        let permit = self.resume(call.account()).ok_or(NoPermit::Unknown)?;
        Ok((permit, call))
    }

    /// An account permit at `account`, even above its limit: the job is in flight there already.
    pub(crate) fn resume(self: &Arc<Self>, account: &str) -> Option<AccountPermit> {
        let index = self.enter(account)?;
        Some(AccountPermit { pool: Arc::clone(self), index, account: account.to_owned() })
    }
}

/// One job's permit at an account, from its first call to its end; returned when dropped. Providers
/// count jobs in flight, not connections.
pub struct AccountPermit {
    pool: Arc<Pool>,
    index: usize,
    account: String,
}

impl AccountPermit {
    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.pool.provider().name
    }

    /// The account's name; follow-ups of the same job go there.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    pub(crate) fn report_failure(&self) {
        self.pool.report(self.index, HealthSignal::AccountRefused);
    }
}

impl Drop for AccountPermit {
    fn drop(&mut self) {
        self.pool.leave(self.index);
    }
}

impl std::fmt::Debug for AccountPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccountPermit({}/{})", self.provider(), self.account)
    }
}

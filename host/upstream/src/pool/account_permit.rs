//! The permit of one job at an account.

use std::sync::Arc;

use crate::pool::account::HealthSignal;
use crate::pool::accounts::Pool;

/// One job's permit at an account, from its first call to its end; returned when dropped. Providers
/// count jobs in flight, not connections.
pub struct AccountPermit {
    pub(super) pool: Arc<Pool>,
    pub(super) index: usize,
    pub(super) account: String,
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

//! Permits of providers' accounts, for the driver: now, or in fair order once one is free.

use std::time::Duration;

use gatehouse_model::{Conversation, CustomerId};
use tokio::sync::oneshot;

use crate::pool::account::NoPermit;
use crate::pool::account_permit::AccountPermit;
use crate::pool::accounts::Wanted;
use crate::pool::call_permit::CallPermit;
use crate::pool::waiting::{Claimant, Permits, Waiting};
use crate::upstream::Upstream;

impl Upstream {
    /// Permits for a new job and for its first call, if nobody waits for them. With `pinned` only at that account.
    ///
    /// # Errors
    /// See [`NoPermit`].
    pub fn acquire_account(
        &self,
        provider: &str,
        customer: &CustomerId,
        pinned: Option<&str>,
    ) -> Result<Permits, NoPermit> {
        self.pool(provider).ok_or(NoPermit::Unknown)?.acquire_account(customer, pinned)
    }

    /// The same, or a position in the queue: `grant` gets the permits once it is this claimant's, outside of every lock.
    ///
    /// # Errors
    /// See [`NoPermit`]; with a position, except for [`NoPermit::Unknown`].
    pub fn acquire_or_wait(
        &self,
        provider: &str,
        claimant: &Claimant,
        wanted: Wanted,
        grant: impl FnOnce(Permits) + Send + 'static,
    ) -> Result<Permits, (NoPermit, Option<Waiting>)> {
        let pool = self.pool(provider).ok_or((NoPermit::Unknown, None))?;
        let outcome = pool.acquire_or_wait(claimant, (wanted, None), grant);
        outcome.map_err(|(denials, waiting)| (denials.reason(), waiting))
    }

    /// The same at an account that was not `tried` yet; waits for it no longer than `max_wait`, and not at all where no
    /// account can be free by then. Of equal accounts that are free a `conversation` gets its own.
    ///
    /// # Errors
    /// See [`NoPermit`]; [`NoPermit::Unknown`] also when every account was tried.
    pub async fn wait_for_account(
        &self,
        provider: &str,
        claimant: &Claimant,
        (tried, conversation): (&[String], Option<Conversation>),
        max_wait: Duration,
    ) -> Result<Permits, NoPermit> {
        let pool = self.pool(provider).ok_or(NoPermit::Unknown)?;
        let (sender, mut granted) = oneshot::channel();
        let end = self.clock().now().plus(max_wait);
        // Permits that nobody receives are returned.
        let grant = move |permits| drop(sender.send(permits));
        let wanted = (Wanted::Any(tried.to_vec()), conversation);
        let (denials, waiting) = match pool.acquire_or_wait(claimant, wanted, grant) {
            Ok(permits) => return Ok(permits),
            Err(denied) => denied,
        };
        if waiting.is_none() || max_wait.is_zero() || !denials.may_end_by(end) {
            return Err(denials.reason());
        }
        tokio::select! {
            biased;
            permits = &mut granted => permits.map_err(|_| denials.reason()),
            () = self.clock().pause(max_wait) => {
                drop(waiting);
                granted.try_recv().map_err(|_| denials.reason())
            }
        }
    }

    /// How long a further job of that customer would wait for a permit at the present pace; `None` while none of its jobs
    /// waits, or too few permits came to tell.
    #[must_use]
    pub fn estimated_wait(&self, provider: &str, customer: &CustomerId) -> Option<Duration> {
        self.pool(provider)?.estimated_wait(customer)
    }

    /// A permit for a further call of a job in flight at `account`.
    ///
    /// # Errors
    /// See [`NoPermit`]; never [`NoPermit::Busy`].
    pub fn acquire_call(&self, provider: &str, account: &str) -> Result<CallPermit, NoPermit> {
        self.pool(provider).ok_or(NoPermit::Unknown)?.acquire_call(account)
    }

    /// Reports an account failure that only the reader of the answer can recognise (a 400 about credit).
    pub fn report_failure(&self, permit: &AccountPermit) {
        permit.report_failure();
    }

    /// The same of an account by its name; nothing where it is not configured any more.
    pub fn report_refused(&self, provider: &str, account: &str) {
        if let Some(pool) = self.pool(provider) {
            pool.report_refused(account);
        }
    }

    /// Whether work may be given to an account of the provider that was not `tried` yet: one that is not drained.
    #[must_use]
    pub fn has_account_besides(&self, provider: &str, tried: &[String]) -> bool {
        self.pool(provider).is_some_and(|pool| pool.has_account_besides(tried))
    }

    /// The same of an account that the provider does not refuse.
    #[must_use]
    pub fn has_whole_account_besides(&self, provider: &str, tried: &[String]) -> bool {
        self.pool(provider).is_some_and(|pool| pool.has_whole_account_besides(tried))
    }

    /// The same of an account that no pause and no open breaker keeps from answering now.
    #[must_use]
    pub fn has_working_account_besides(&self, provider: &str, tried: &[String]) -> bool {
        self.pool(provider).is_some_and(|pool| pool.has_working_account_besides(tried))
    }

    /// Reports a rate limit that only the reader of the answer can recognise (an error in an answer of 200).
    pub fn report_rate_limit(&self, permit: &AccountPermit, pause: Option<Duration>) {
        permit.report_rate_limit(pause);
    }

    /// Reports an account that took a call and fell silent for longer than its caller waits; the call itself has no time
    /// limit that is over.
    pub fn report_silence(&self, permit: &AccountPermit) {
        permit.report_silence();
    }

    /// The same of a whole answer, which may be long in the writing: it counts where the account has answered nothing else
    /// either while it was waited for.
    pub fn report_no_answer(&self, permit: &AccountPermit) {
        permit.report_no_answer();
    }

    /// Whether accounts of the provider have the same priority, so that a conversation has one of its own.
    #[must_use]
    pub fn has_equal_accounts(&self, provider: &str) -> bool {
        let Some(pool) = self.pool(provider) else { return false };
        let mut before = pool.accounts();
        while let [one, others @ ..] = before {
            if others.iter().any(|other| other.priority == one.priority) {
                return true;
            }
            before = others;
        }
        false
    }

    /// The permit of a job that an earlier process began, even above the limit. `None` when the account is no
    /// longer configured.
    #[must_use]
    pub fn resume(&self, provider: &str, account: &str, customer: &CustomerId) -> Option<AccountPermit> {
        self.pool(provider)?.resume(account, customer)
    }

    /// Whether [`Upstream::expect_several_customers`] was called.
    #[must_use]
    pub fn has_several_customers(&self) -> bool {
        self.rules_of_pools().has_several_customers()
    }

    /// There are several customers: from now on one alone does not get the reserve of an account.
    pub fn expect_several_customers(&self) {
        self.rules_of_pools().expect_several_customers();
    }
}

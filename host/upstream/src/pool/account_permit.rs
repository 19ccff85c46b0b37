//! The permit of one job at an account.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{CustomerId, UnixMs};
use tokio::sync::Notify;

use crate::pool::account::{HealthSignal, NoPermit};
use crate::pool::accounts::{Pool, Taken, Wanted};
use crate::pool::call_permit::CallPermit;

impl Pool {
    /// An account permit and a first call permit at the best account, or at the one `pinned`, if that is possible now and
    /// nobody waits for it.
    pub(crate) fn acquire_account(
        self: &Arc<Self>,
        customer: &CustomerId,
        pinned: Option<&str>,
    ) -> Result<(AccountPermit, CallPermit), NoPermit> {
        self.serve_waiting();
        let now = self.clock.now();
        let taken = self.take(&mut self.lock(), Some(customer), &Wanted::of(pinned), None, now);
        taken.map(|taken| self.permits(taken, customer)).map_err(|denials| denials.reason())
    }

    /// The permits of what was taken in the name of that customer.
    pub(super) fn permits(
        self: &Arc<Self>,
        taken: Taken,
        customer: &CustomerId,
    ) -> (AccountPermit, CallPermit) {
        (self.account_permit(taken.index, taken.answers, customer), self.call_permit(taken))
    }

    /// An account permit at `account`, even above its limit: the job is in flight there already.
    pub(crate) fn resume(self: &Arc<Self>, account: &str, customer: &CustomerId) -> Option<AccountPermit> {
        let index = self.enter(account, customer)?;
        Some(self.account_permit(index, self.answers(index), customer))
    }

    fn account_permit(
        self: &Arc<Self>,
        index: usize,
        answers_before: u64,
        customer: &CustomerId,
    ) -> AccountPermit {
        AccountPermit {
            pool: Arc::clone(self),
            index,
            account: self.accounts()[index].name.clone(),
            customer: customer.clone(),
            since: self.clock.now(),
            answers_before,
            abandoned: None,
        }
    }
}

/// One job's permit at an account, from its first call to its end; returned when dropped. Providers
/// count jobs in flight, not connections.
pub struct AccountPermit {
    pool: Arc<Pool>,
    index: usize,
    account: String,
    /// In whose name.
    customer: CustomerId,
    since: UnixMs,
    /// How often its account had answered when it was taken.
    answers_before: u64,
    /// Its number among the abandoned, and what tells that the job has to end.
    abandoned: Option<(u64, Arc<Notify>)>,
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

    /// Whether its provider is read on when nobody waits for the job's result any more, to learn what it counts.
    #[must_use]
    pub fn drains_cancelled(&self) -> bool {
        self.pool.provider().checked.drains_cancelled
    }

    /// Nobody waits for the job's result any more: the permit goes to the next that waits for one, and the job may go on
    /// without it. Notified when the job has to end all the same, because too many do. A permit that is abandoned already
    /// gives the same again.
    pub fn abandon(&mut self) -> Arc<Notify> {
        if let Some((_, end)) = &self.abandoned {
            return Arc::clone(end);
        }
        let end = Arc::new(Notify::new());
        let position = self.pool.position(self.index);
        let number = self.pool.lock().abandoned.add(position, self.customer.clone(), Arc::clone(&end));
        self.abandoned = Some((number, Arc::clone(&end)));
        self.pool.serve_waiting();
        end
    }

    pub(crate) fn report_rate_limit(&self, pause: Option<Duration>) {
        self.pool.note_error(self.index, "an answer says that there are too many requests".to_owned());
        self.pool.report(self.index, HealthSignal::RateLimited(pause));
    }

    pub(crate) fn report_failure(&self) {
        self.pool.refused(self.index);
    }

    pub(crate) fn report_silence(&self) {
        self.pool.fell_silent(self.index);
        self.pool.serve_waiting();
    }

    pub(crate) fn report_no_answer(&self) {
        if self.pool.answers(self.index) == self.answers_before {
            self.pool.gave_no_answer(self.index);
            self.pool.serve_waiting();
        }
    }
}

impl Drop for AccountPermit {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        let position = self.pool.position(self.index);
        if self.abandoned.as_ref().is_none_or(|(number, _)| state.abandoned.end(*number, position)) {
            self.pool.state(&mut state, self.index).leave(&self.customer);
        }
        self.pool.charge(&mut state, &self.customer, self.since);
        drop(state);
        self.pool.serve_waiting();
    }
}

impl std::fmt::Debug for AccountPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccountPermit({}/{})", self.provider(), self.account)
    }
}

//! The permit of one job at an account, and that of each of its calls: through which account it goes, and with which
//! credential.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use gatehouse_model::{Affinity, Clock, CustomerId, Seed, TraceParent, UnixMs};
use tokio::sync::Notify;

use crate::auth::credential::Credential;
use crate::auth::redact::Redactor;
use crate::client::exchange::CallProgress;
use crate::pool::account::{HealthSignal, NoPermit};
use crate::pool::accounts::{Pool, Taken, Wanted};
use crate::provider::Provider;

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
        (self.account_permit(taken, customer), self.call_permit(taken))
    }

    /// An account permit at `account`, even above its limit: the job is in flight there already.
    pub(crate) fn resume(self: &Arc<Self>, account: &str, customer: &CustomerId) -> Option<AccountPermit> {
        Some(self.account_permit(self.enter(account, customer)?, customer))
    }

    fn account_permit(self: &Arc<Self>, taken: Taken, customer: &CustomerId) -> AccountPermit {
        AccountPermit {
            pool: Arc::clone(self),
            index: taken.index,
            customer: customer.clone(),
            since: self.clock.now(),
            answers_before: taken.answers,
            abandoned: None,
        }
    }

    /// A permit for a further call of a job that has a permit at `account`.
    pub(crate) fn acquire_call(self: &Arc<Self>, account: &str) -> Result<CallPermit, NoPermit> {
        let now = self.clock.now();
        let taken = self.take(&mut self.lock(), None, &Wanted::of(Some(account)), None, now);
        taken.map(|taken| self.call_permit(taken)).map_err(|denials| denials.reason())
    }

    pub(super) fn call_permit(self: &Arc<Self>, Taken { index, trial, .. }: Taken) -> CallPermit {
        let redactor = self.provider().checked.extra.with(&self.accounts()[index].credential.redactor);
        CallPermit {
            pool: Arc::clone(self),
            index,
            redactor: Mutex::new(redactor),
            is_anonymous: false,
            trial,
            reported: AtomicBool::new(false),
            progress: Arc::default(),
            trace: OnceLock::new(),
        }
    }
}

/// One job's permit at an account, from its first call to its end; returned when dropped. Providers
/// count jobs in flight, not connections.
pub struct AccountPermit {
    pool: Arc<Pool>,
    index: usize,
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
        &self.pool.accounts()[self.index].name
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

    /// Reports a rate limit that only the reader of the answer can recognise (an error in an answer of 200).
    pub fn report_rate_limit(&self, pause: Option<Duration>) {
        let error = "an answer says that there are too many requests";
        self.pool.report_error(self.index, error, HealthSignal::RateLimited(pause));
    }

    /// Reports an account failure that only the reader of the answer can recognise (a 400 about credit).
    pub fn report_failure(&self) {
        self.pool.refused(self.index);
    }

    /// Reports an account that took a call and fell silent for longer than its caller waits; the call itself has no time
    /// limit that is over.
    pub fn report_silence(&self) {
        self.gave_nothing("no content within `first_byte_s`");
    }

    /// The same of a whole answer, which may be long in the writing: it counts where the account has answered nothing else
    /// either while it was waited for.
    pub fn report_no_answer(&self) {
        if self.pool.answers(self.index) == self.answers_before {
            self.gave_nothing("no answer within `answer_s`");
        }
    }

    fn gave_nothing(&self, what: &str) {
        self.pool.report_error(self.index, what, HealthSignal::Failing);
        self.pool.serve_waiting();
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
        write!(f, "AccountPermit({}/{})", self.provider(), self.account())
    }
}

/// The right to make one call through one account.
pub struct CallPermit {
    pool: Arc<Pool>,
    index: usize,
    /// Of what the call carried, once it was made; before of what the account holds.
    redactor: Mutex<Arc<Redactor>>,
    /// It carries no credential.
    pub(crate) is_anonymous: bool,
    trial: bool,
    reported: AtomicBool,
    progress: Arc<CallProgress>,
    trace: OnceLock<TraceParent>,
}

impl CallPermit {
    /// The call is part of that trace. Its provider is told where the configuration says so.
    pub fn trace_with(&self, place: &TraceParent) {
        let _ = self.trace.set(place.clone());
    }

    pub(crate) fn trace(&self) -> Option<&TraceParent> {
        self.trace.get()
    }

    /// How far the call came.
    #[must_use]
    pub fn progress(&self) -> Arc<CallProgress> {
        Arc::clone(&self.progress)
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.pool.provider().name
    }

    /// The account's name.
    #[must_use]
    pub fn account(&self) -> &str {
        &self.pool.accounts()[self.index].name
    }

    /// The account, as plugins name it.
    #[must_use]
    pub fn affinity(&self) -> Affinity {
        self.pool.accounts()[self.index].affinity.clone()
    }

    /// The provider it was taken for.
    pub(crate) fn origin(&self) -> &Provider {
        self.pool.provider()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.pool.clock
    }

    pub(crate) fn seed(&self) -> &dyn Seed {
        &*self.pool.seed
    }

    /// The same permit for a call that carries no credential: a presigned address within the provider's origins. What
    /// it is answered says nothing of the account's credential.
    #[must_use]
    pub fn without_credentials(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    pub(crate) fn credential(&self) -> &Credential {
        &self.pool.accounts()[self.index].credential
    }

    /// Takes the credential out of what came back.
    pub(crate) fn redactor(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the call carries is known.
    pub(crate) fn redact_with(&self, redactor: Arc<Redactor>) {
        let redactor = self.origin().checked.extra.with(&redactor);
        *self.redactor.lock().unwrap_or_else(PoisonError::into_inner) = redactor;
    }

    /// A signal with the error that operators are shown; without secrets.
    pub(crate) fn report_error(&self, error: String, signal: HealthSignal) {
        self.pool.note_error(self.index, error);
        self.report(signal);
    }

    pub(crate) fn report(&self, signal: HealthSignal) {
        self.reported.store(true, Ordering::Relaxed);
        self.pool.report(self.index, signal);
        // An account that works again may be used by those that wait.
        self.pool.serve_waiting();
    }
}

/// A call that was not made does not count against the account's rate, however its permit came to be dropped.
impl Drop for CallPermit {
    fn drop(&mut self) {
        if self.reported.load(Ordering::Relaxed) {
            return;
        }
        let (account, was_sent) = (&self.pool.accounts()[self.index], self.progress.is_sent());
        if was_sent && !self.trial {
            return;
        }
        let now = self.pool.clock.now();
        let mut state = self.pool.lock();
        let of_account = self.pool.state(&mut state, self.index);
        let mut may_serve = self.trial;
        if self.trial {
            of_account.breaker.abandon_trial(now);
        }
        if !was_sent && let Some(token_bucket) = of_account.token_bucket(account, now) {
            token_bucket.give_back(now);
            may_serve = true;
        }
        drop(state);
        if may_serve {
            self.pool.serve_waiting();
        }
    }
}

impl std::fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CallPermit({}/{})", self.provider(), self.account())
    }
}

//! The permit of one call: through which account it goes, and with which credential.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use gatehouse_model::{Affinity, TraceParent};

use crate::auth::credential::Credential;
use crate::client::exchange::CallProgress;
use crate::pool::account::{HealthSignal, NoPermit};
use crate::pool::accounts::{Pool, Taken, Wanted};
use crate::provider::Provider;
use crate::response::redact::Redactor;

impl Pool {
    /// A permit for a further call of a job that has a permit at `account`.
    pub(crate) fn acquire_call(self: &Arc<Self>, account: &str) -> Result<CallPermit, NoPermit> {
        let now = self.clock.now();
        let taken = self.take(&mut self.lock(), None, &Wanted::of(Some(account)), None, now);
        taken.map(|taken| self.call_permit(taken)).map_err(|denials| denials.reason())
    }

    pub(super) fn call_permit(self: &Arc<Self>, Taken { index, trial, .. }: Taken) -> CallPermit {
        let account = &self.accounts()[index];
        CallPermit {
            pool: Arc::clone(self),
            index,
            account: account.name.clone(),
            affinity: account.affinity.clone(),
            redactor: Mutex::new(self.provider().checked.extra.with(account.credential.redactor())),
            credential: Arc::clone(&account.credential),
            is_anonymous: false,
            trial,
            reported: AtomicBool::new(false),
            progress: Arc::default(),
            trace: OnceLock::new(),
        }
    }
}

/// The right to make one call through one account.
pub struct CallPermit {
    pool: Arc<Pool>,
    index: usize,
    account: String,
    affinity: Affinity,
    credential: Arc<Credential>,
    /// Of what the call carried, once it was made; before of what the account holds.
    redactor: Mutex<Arc<Redactor>>,
    is_anonymous: bool,
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
        &self.account
    }

    /// The account, as plugins name it.
    #[must_use]
    pub fn affinity(&self) -> Affinity {
        self.affinity.clone()
    }

    /// The provider it was taken for.
    pub(crate) fn origin(&self) -> &Provider {
        self.pool.provider()
    }

    /// The same permit for a call that carries no credential: a presigned address within the provider's origins. What
    /// it is answered says nothing of the account's credential.
    #[must_use]
    pub fn without_credentials(mut self) -> Self {
        self.is_anonymous = true;
        self
    }

    pub(crate) const fn is_anonymous(&self) -> bool {
        self.is_anonymous
    }

    pub(crate) fn credential(&self) -> &Credential {
        &self.credential
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

    /// Keeps an error for operators; without secrets.
    pub(crate) fn note_error(&self, text: String) {
        self.pool.note_error(self.index, text);
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
        if !was_sent && let Some(token_bucket) = account.token_bucket(of_account, now) {
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
        write!(f, "CallPermit({}/{})", self.provider(), self.account)
    }
}

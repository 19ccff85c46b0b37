//! One account: what the operator configured, and what is known of it.
//!
//! The two are apart, because a configuration replaces the one and keeps the other.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Affinity, UnixMs};

use crate::auth::credential::Credential;
use crate::pool::breaker::{Admission, Breaker};
use crate::pool::token_bucket::TokenBucket;

/// How soon to look again while the trial call of another task is under way.
const TRIAL: Duration = Duration::from_secs(1);

/// One set of credentials and its limits, as configured.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: String,
    /// Its name for plugins; set when it joins its provider's pool.
    pub(crate) affinity: Affinity,
    pub(crate) credential: Arc<Credential>,
    pub(crate) priority: u32,
    pub(crate) weight: u64,
    concurrency: u64,
    rate: Option<f64>,
}

/// What is known of an account.
#[derive(Debug, Default)]
pub(crate) struct AccountState {
    pub(crate) in_flight: u64,
    pub(crate) breaker: Breaker,
    pub(crate) paused_until: UnixMs,
    pub(crate) pauses: u32,
    pub(crate) refused_until: UnixMs,
    token_bucket: Option<TokenBucket>,
}

/// What an answer, or its lack, says about the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthSignal {
    /// It works.
    Healthy,
    /// Too many calls: a pause of so many seconds, when the provider named them.
    RateLimited(Option<Duration>),
    /// Its credentials or credit were refused.
    AccountRefused,
    /// No answer, or a server error.
    Failing,
}

/// Why there is no permit now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPermit {
    /// Every permit is in use; ask again when a job has ended.
    #[error("every permit is in use")]
    Busy,
    /// Nothing is possible before this moment.
    #[error("no account may be used before {0}")]
    Until(UnixMs),
    /// No such provider, or no such account of it, is configured: waiting does not help.
    #[error("no such provider or account is configured")]
    Unknown,
}

impl NoPermit {
    /// The refusal that ends first. A permit may be returned at any time, so `Busy` gives way to nothing but the need
    /// to wake at a known moment.
    pub(crate) fn or_sooner(self, other: Self) -> Self {
        match (self, other) {
            (Self::Until(a), Self::Until(b)) => Self::Until(a.min(b)),
            (Self::Until(moment), _) | (_, Self::Until(moment)) => Self::Until(moment),
            (Self::Busy, _) | (_, Self::Busy) => Self::Busy,
            (Self::Unknown, Self::Unknown) => Self::Unknown,
        }
    }
}

impl Account {
    pub(crate) fn new(
        name: &str,
        credential: Credential,
        priority: u32,
        weight: u64,
        concurrency: u64,
        rate: Option<f64>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            affinity: Affinity::new(),
            credential: Arc::new(credential),
            priority,
            weight,
            concurrency,
            rate,
        }
    }

    /// Takes over the credential of the same account in an earlier configuration, and its token with it, if it is the
    /// same credential.
    pub(crate) fn keep_credential(&mut self, before: &[Self]) {
        let known = before.iter().find(|known| known.name == self.name);
        if let Some(known) = known.filter(|known| known.credential.is_same(&self.credential)) {
            self.credential = Arc::clone(&known.credential);
        }
    }

    /// Whether a call may begin now, and if so whether it is the breaker's trial. A job that is in flight
    /// already needs no further permit.
    pub(crate) fn ready(
        &self,
        state: &mut AccountState,
        now: UnixMs,
        in_flight: bool,
    ) -> Result<bool, NoPermit> {
        if now < state.paused_until {
            return Err(NoPermit::Until(state.paused_until));
        }
        let trial = match state.breaker.admission(now) {
            Admission::Yes => false,
            Admission::Trial => true,
            Admission::NotBefore(moment) => return Err(NoPermit::Until(moment)),
            Admission::WhileTrial => return Err(NoPermit::Until(now.plus(TRIAL))),
        };
        if !in_flight && state.in_flight >= self.concurrency {
            return Err(NoPermit::Busy);
        }
        match self.token_bucket(state, now).and_then(|token_bucket| token_bucket.next_token(now)) {
            Some(moment) => Err(NoPermit::Until(moment)),
            None => Ok(trial),
        }
    }

    /// The bucket of an account with a rate, at that rate; full at its first use.
    pub(crate) fn token_bucket<'a>(
        &self,
        state: &'a mut AccountState,
        now: UnixMs,
    ) -> Option<&'a mut TokenBucket> {
        let rate = self.rate?;
        let token_bucket = state.token_bucket.get_or_insert_with(|| TokenBucket::new(rate, now));
        token_bucket.set_rate(rate);
        Some(token_bucket)
    }
}

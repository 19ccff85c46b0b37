//! One account and what is known of it: its credential, its limits, its health. Whether it may be used now.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Affinity, UnixMs};

use crate::auth::credential::Credential;
use crate::pool::breaker::{Admission, Breaker};
use crate::pool::token_bucket::TokenBucket;

/// How soon to look again while the trial call of another task is under way.
const TRIAL: Duration = Duration::from_secs(1);

/// One set of credentials and what is known of it.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: String,
    /// Its name for plugins; set when it joins its provider's pool.
    pub(crate) affinity: Affinity,
    pub(crate) credential: Arc<Credential>,
    pub(crate) priority: u32,
    pub(crate) weight: u64,
    pub(crate) concurrency: u64,
    pub(crate) in_flight: u64,
    pub(crate) token_bucket: Option<TokenBucket>,
    pub(crate) breaker: Breaker,
    pub(crate) paused_until: UnixMs,
    pub(crate) pauses: u32,
    pub(crate) refused_until: UnixMs,
}

impl Account {
    pub(crate) fn new(
        name: &str,
        credential: Credential,
        priority: u32,
        weight: u64,
        concurrency: u64,
        rate: Option<f64>,
        now: UnixMs,
    ) -> Self {
        Self {
            name: name.to_owned(),
            affinity: Affinity::new(),
            credential: Arc::new(credential),
            priority,
            weight,
            concurrency,
            in_flight: 0,
            token_bucket: rate.map(|rate| TokenBucket::new(rate, now)),
            breaker: Breaker::default(),
            paused_until: UnixMs(0),
            pauses: 0,
            refused_until: UnixMs(0),
        }
    }

    /// Whether a call may begin now, and if so whether it is the breaker's trial. A job that is in flight
    /// already needs no further permit.
    pub(crate) fn ready(&mut self, now: UnixMs, in_flight: bool) -> Result<bool, NoPermit> {
        if now < self.paused_until {
            return Err(NoPermit::Until(self.paused_until));
        }
        let trial = match self.breaker.admission(now) {
            Admission::Yes => false,
            Admission::Trial => true,
            Admission::NotBefore(moment) => return Err(NoPermit::Until(moment)),
            Admission::WhileTrial => return Err(NoPermit::Until(now.plus(TRIAL))),
        };
        if !in_flight && self.in_flight >= self.concurrency {
            return Err(NoPermit::Busy);
        }
        match self.token_bucket.as_mut().and_then(|token_bucket| token_bucket.next_token(now)) {
            Some(moment) => Err(NoPermit::Until(moment)),
            None => Ok(trial),
        }
    }
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

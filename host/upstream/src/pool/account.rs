//! What is known of one account, and what follows from it.
//!
//! It is apart from what the operator configured, because another configuration replaces that and keeps this.

use std::collections::HashMap;
use std::time::Duration;

use gatehouse_model::{CustomerId, UnixMs};

use crate::breaker::{Admission, Breaker};
use crate::config::check::Account;
use crate::pool::operator::LastErrors;
use crate::pool::token_bucket::TokenBucket;

/// How soon to look again while the trial call of another task is under way.
const TRIAL: Duration = Duration::from_secs(1);
/// A rate limit is over by then; what goes on is a plan that is used up, in words that nobody knows.
const LIMITED_TOO_LONG: Duration = Duration::from_secs(300);

/// What is known of an account.
#[derive(Debug, Default)]
pub(crate) struct AccountState {
    /// Permits in use.
    pub(crate) in_flight: u64,
    /// The same by customer; those who use none are not in it.
    used: HashMap<CustomerId, u64>,
    pub(crate) breaker: Breaker,
    /// How often it has answered: what tells that it works while an answer is long in coming.
    pub(crate) answers: u64,
    pub(crate) paused_until: UnixMs,
    pub(crate) pauses: u32,
    /// Since when it answers with "too many requests" alone.
    pub(crate) limited: Option<Limited>,
    pub(crate) refused_until: UnixMs,
    /// Whether an operator keeps new work away.
    pub(crate) drained: bool,
    pub(crate) last_errors: LastErrors,
    token_bucket: Option<TokenBucket>,
}

/// "Too many requests" without another answer between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limited {
    pub(crate) since: UnixMs,
    /// Whether the operator has been told.
    pub(crate) told: bool,
}

impl Limited {
    /// What a further such answer makes of it; the second value says that the operator is to be told now.
    pub(crate) fn again(known: Option<Self>, now: UnixMs) -> (Self, bool) {
        let known = known.unwrap_or(Self { since: now, told: false });
        let tell = !known.told && now.since(known.since) >= LIMITED_TOO_LONG;
        (Self { told: known.told || tell, ..known }, tell)
    }
}

/// Every outcome of a call, as metrics name it.
pub(crate) const OUTCOMES: [&str; 10] = [
    "ok",
    "redirect",
    "client_error",
    "rate_limited",
    "server_error",
    "unreachable",
    "timeout",
    "broken",
    "too_large",
    "refused",
];

/// What an answer, or its lack, says about the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HealthSignal {
    /// It works.
    Healthy,
    /// Too many calls: a pause of so many seconds, when the provider named them.
    RateLimited(Option<Duration>),
    /// Its credentials or credit were refused.
    AccountRefused,
    /// Its token was refused. The token's owner has counted that.
    TokenRefused,
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

/// Why one account may not be used now.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Denied {
    /// Every permit is in use.
    Full,
    /// What is left is for customers who use less.
    Reserved,
    /// An operator keeps new work away from it.
    Drained,
    /// Nothing is possible before this moment.
    Until(UnixMs),
}

/// Why no account may be used now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Denials {
    pub(crate) is_full: bool,
    is_reserved: bool,
    is_drained: bool,
    /// The first moment at which an account may be used again.
    pub(crate) until: Option<UnixMs>,
}

impl Denials {
    pub(crate) fn add(&mut self, denied: Denied) {
        match denied {
            Denied::Full => self.is_full = true,
            Denied::Reserved => self.is_reserved = true,
            Denied::Drained => self.is_drained = true,
            Denied::Until(moment) => self.until = Some(self.until.map_or(moment, |until| until.min(moment))),
        }
    }

    /// Whether a further permit is what is lacking.
    pub(crate) fn lacks_permit(self) -> bool {
        self.is_full || self.is_reserved
    }

    /// Whether another customer would be denied as well: nothing is kept back from this one.
    pub(crate) fn are_for_everybody(self) -> bool {
        !self.is_reserved
    }

    /// Whether a wait until that moment may bring a permit. One may be returned at any time.
    pub(crate) fn may_end_by(self, moment: UnixMs) -> bool {
        self.lacks_permit() || self.until.is_some_and(|until| until <= moment)
    }

    /// The reason that ends first, as far as it is known when.
    pub(crate) fn reason(self) -> NoPermit {
        match self.until {
            Some(moment) => NoPermit::Until(moment),
            None if self.lacks_permit() || self.is_drained => NoPermit::Busy,
            None => NoPermit::Unknown,
        }
    }
}

impl AccountState {
    /// A job of that customer more.
    pub(crate) fn enter(&mut self, customer: &CustomerId) {
        self.in_flight += 1;
        *self.used.entry(customer.clone()).or_default() += 1;
    }

    /// A job of that customer less.
    pub(crate) fn leave(&mut self, customer: &CustomerId) {
        self.in_flight = self.in_flight.saturating_sub(1);
        if let Some(used) = self.used.get_mut(customer) {
            *used -= 1;
            if *used == 0 {
                self.used.remove(customer);
            }
        }
    }

    /// The permits that customer uses.
    pub(crate) fn used_by(&self, customer: &CustomerId) -> u64 {
        self.used.get(customer).copied().unwrap_or(0)
    }

    /// Whether its provider does not refuse it.
    pub(crate) fn is_whole(&self, now: UnixMs) -> bool {
        self.refused_until <= now
    }

    /// The same of one that no pause and no open breaker keeps from answering.
    pub(crate) fn is_working(&self, now: UnixMs) -> bool {
        let is_admitted = matches!(self.breaker.admission(now), Admission::Yes | Admission::Trial);
        self.is_whole(now) && self.paused_until <= now && is_admitted
    }

    /// Whether a call may begin now, and if so whether it is the breaker's trial. A new job needs a permit in the name of
    /// its `customer`; one that is in flight already needs none. The reserve counts where there are `several` customers.
    pub(crate) fn ready(
        &mut self,
        account: &Account,
        now: UnixMs,
        customer: Option<&CustomerId>,
        several: bool,
    ) -> Result<bool, Denied> {
        if now < self.paused_until {
            return Err(Denied::Until(self.paused_until));
        }
        let trial = match self.breaker.admission(now) {
            Admission::Yes => false,
            Admission::Trial => true,
            Admission::NotBefore(moment) => return Err(Denied::Until(moment)),
            Admission::WhileTrial => return Err(Denied::Until(now.plus(TRIAL))),
        };
        if let Some(customer) = customer {
            let free = account.concurrency.saturating_sub(self.in_flight);
            if free == 0 {
                return Err(Denied::Full);
            }
            if several && free <= account.reserve && self.used_by(customer) >= free {
                return Err(Denied::Reserved);
            }
        }
        match self.token_bucket(account, now).and_then(|token_bucket| token_bucket.next_token(now)) {
            Some(moment) => Err(Denied::Until(moment)),
            None => Ok(trial),
        }
    }

    /// The bucket of an account with a rate, at that rate; full at its first use.
    pub(crate) fn token_bucket(&mut self, account: &Account, now: UnixMs) -> Option<&mut TokenBucket> {
        let rate = account.rate?;
        let token_bucket = self.token_bucket.get_or_insert_with(|| TokenBucket::new(rate, now));
        token_bucket.set_rate(rate);
        Some(token_bucket)
    }
}

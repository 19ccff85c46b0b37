//! The accounts of one provider: which may be used now, and what each answer does to it.
//!
//! A 429 pauses the account; five outages or 5xx in a row open its breaker; 401, 402 and 403 mark it as refused, after
//! which the account is passed over for a while as long as another one is whole. A lone account, or one a
//! task is bound to, is still used then, so that the plugin sees the refusal rather than a time limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Affinity, Clock, Digest, Seed, UnixMs, metric};

use crate::auth::credential::Credential;
use crate::pool::account::{Account, NoPermit};
use crate::pool::breaker::backoff;
use crate::response::redact::Redactor;

/// How long an account is passed over after a 401, 402 or 403.
const REFUSED_PAUSE: Duration = Duration::from_secs(300);
/// 96 bits: two accounts of one gateway never share an affinity by chance.
const AFFINITY_CHARACTERS: usize = 24;
/// The bounds of a pause a provider may ask for.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);

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

/// The accounts of one provider.
pub(crate) struct Pool {
    provider: String,
    accounts: Mutex<Vec<Account>>,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
}

impl Pool {
    pub(crate) fn new(
        provider: &str,
        mut accounts: Vec<Account>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Arc<Self> {
        for account in &mut accounts {
            account.affinity = affinity(provider, &account.name);
        }
        Arc::new(Self { provider: provider.to_owned(), accounts: Mutex::new(accounts), clock, seed })
    }

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
        let permit = self.call_permit(wanted, false)?;
        self.lock()[permit.index].in_flight += 1;
        Ok((self.account_permit(permit.index, &permit.account), permit))
    }

    /// An account permit at `account`, even above its limit: the job is in flight there already.
    pub(crate) fn resume(self: &Arc<Self>, account: &str) -> Option<AccountPermit> {
        let mut accounts = self.lock();
        let index = accounts.iter().position(|known| known.name == account)?;
        accounts[index].in_flight += 1;
        Some(self.account_permit(index, account))
    }

    /// A permit for a further call of a job that has a permit at `account`.
    pub(crate) fn acquire_call(self: &Arc<Self>, account: &str) -> Result<CallPermit, NoPermit> {
        self.call_permit(Wanted::One(account), true)
    }

    fn account_permit(self: &Arc<Self>, index: usize, account: &str) -> AccountPermit {
        AccountPermit { pool: Arc::clone(self), index, account: account.to_owned() }
    }

    fn call_permit(self: &Arc<Self>, wanted: Wanted<'_>, in_flight: bool) -> Result<CallPermit, NoPermit> {
        let now = self.clock.now();
        let mut accounts = self.lock();
        let candidates = candidates(&accounts, wanted, now);
        let mut ready = vec![];
        let mut refusal = NoPermit::Unknown;
        for index in candidates {
            let priority = accounts[index].priority;
            // A worse priority counts only while no better one is ready.
            if ready.first().is_some_and(|&(first, _): &(usize, bool)| accounts[first].priority < priority) {
                break;
            }
            match accounts[index].ready(now, in_flight) {
                Ok(trial) => ready.push((index, trial)),
                Err(why) => refusal = sooner(refusal, why),
            }
        }
        let Some((index, trial)) = self.pick(&accounts, &ready) else { return Err(refusal) };
        let account = &mut accounts[index];
        if let Some(token_bucket) = &mut account.token_bucket {
            token_bucket.take(now);
        }
        if trial {
            account.breaker.begin_trial();
        }
        let (name, credential) = (account.name.clone(), Arc::clone(&account.credential));
        Ok(CallPermit {
            pool: Arc::clone(self),
            index,
            account: name,
            affinity: account.affinity.clone(),
            redactor: Mutex::new(Arc::clone(credential.redactor())),
            credential,
            is_anonymous: false,
            trial,
            reported: AtomicBool::new(false),
        })
    }

    /// One of those ready, by weight.
    fn pick(&self, accounts: &[Account], ready: &[(usize, bool)]) -> Option<(usize, bool)> {
        if let [only] = ready {
            return Some(*only);
        }
        let whole: u64 = ready.iter().map(|&(index, _)| accounts[index].weight).sum();
        let mut at = self.seed.next_u64().checked_rem(whole)?;
        ready.iter().copied().find(|&(index, _)| match at.checked_sub(accounts[index].weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        })
    }

    fn report(&self, index: usize, signal: HealthSignal) {
        let now = self.clock.now();
        let mut accounts = self.lock();
        let account = &mut accounts[index];
        match signal {
            HealthSignal::Healthy => {
                account.breaker.succeeded();
                account.pauses = 0;
            }
            HealthSignal::RateLimited(asked) => {
                account.breaker.succeeded();
                let own = backoff(
                    Duration::from_secs(1),
                    Duration::from_secs(60),
                    account.pauses,
                    self.seed.unit(),
                );
                let pause = asked.map_or(own, |asked| asked.clamp(*PAUSE.start(), *PAUSE.end()));
                account.pauses = account.pauses.saturating_add(1);
                account.paused_until = account.paused_until.max(now.plus(pause));
            }
            HealthSignal::AccountRefused => {
                account.breaker.succeeded();
                account.refused_until = now.plus(REFUSED_PAUSE);
                metrics::counter!(metric::ACCOUNT_ERRORS, "provider" => self.provider.clone(), "account" => account.name.clone())
                    .increment(1);
            }
            HealthSignal::Failing => account.breaker.failed(now, self.seed.unit()),
        }
        let open = f64::from(u8::from(account.breaker.is_open()));
        metrics::gauge!(metric::BREAKER_OPEN, "provider" => self.provider.clone(), "account" => account.name.clone())
            .set(open);
    }

    /// The name of the account with that affinity.
    pub(crate) fn account_of(&self, wanted: &str) -> Option<String> {
        let accounts = self.lock();
        let found = accounts.iter().find(|account| account.affinity == wanted);
        found.map(|account| account.name.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Account>> {
        // Every change under this lock is complete in itself, so a panic elsewhere leaves it usable.
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An account as plugins name it: a digest, so that an operator's name for an account reaches no client.
#[must_use]
pub fn affinity(provider: &str, account: &str) -> Affinity {
    let mut digest = Digest::of_fields(&[b"affinity", provider.as_bytes(), account.as_bytes()]).to_string();
    digest.truncate(AFFINITY_CHARACTERS);
    digest
}

/// Which accounts will do.
#[derive(Clone, Copy, Debug)]
enum Wanted<'a> {
    /// This one.
    One(&'a str),
    /// Any but these.
    Any(&'a [String]),
}

/// Accounts to be asked, best priority first: the one wanted, else those not refused, else all.
fn candidates(accounts: &[Account], wanted: Wanted<'_>, now: UnixMs) -> Vec<usize> {
    let meant = |account: &Account| match wanted {
        Wanted::One(name) => account.name == name,
        Wanted::Any(tried) => !tried.contains(&account.name),
    };
    let whole = |account: &Account| account.refused_until <= now || matches!(wanted, Wanted::One(_));
    let any_whole = accounts.iter().any(|account| meant(account) && whole(account));
    let mut candidates: Vec<usize> = (0..accounts.len())
        .filter(|&index| meant(&accounts[index]) && (!any_whole || whole(&accounts[index])))
        .collect();
    candidates.sort_by_key(|&index| accounts[index].priority);
    candidates
}

/// The refusal that ends first. A permit may be returned at any time, so `Busy` gives way to nothing but
/// the need to wake at a known moment.
fn sooner(one: NoPermit, other: NoPermit) -> NoPermit {
    match (one, other) {
        (NoPermit::Until(a), NoPermit::Until(b)) => NoPermit::Until(a.min(b)),
        (NoPermit::Until(moment), _) | (_, NoPermit::Until(moment)) => NoPermit::Until(moment),
        (NoPermit::Busy, _) | (_, NoPermit::Busy) => NoPermit::Busy,
        (NoPermit::Unknown, NoPermit::Unknown) => NoPermit::Unknown,
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
        &self.pool.provider
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
        let account = &mut self.pool.lock()[self.index];
        account.in_flight = account.in_flight.saturating_sub(1);
    }
}

impl std::fmt::Debug for AccountPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AccountPermit({}/{})", self.provider(), self.account)
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
}

impl CallPermit {
    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.pool.provider
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
        *self.redactor.lock().unwrap_or_else(PoisonError::into_inner) = redactor;
    }

    pub(crate) fn report(&self, signal: HealthSignal) {
        self.reported.store(true, Ordering::Relaxed);
        self.pool.report(self.index, signal);
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if self.trial && !self.reported.load(Ordering::Relaxed) {
            self.pool.lock()[self.index].breaker.abandon_trial(self.pool.clock.now());
        }
    }
}

impl std::fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CallPermit({}/{})", self.provider(), self.account)
    }
}

//! The accounts of one provider: which may be used now, and what each answer does to it.
//!
//! A 429 pauses the account; five outages or 5xx in a row open its breaker; 401, 402 and 403 mark it as refused, after
//! which the account is passed over for a while as long as another one is whole. A lone account, or one a
//! task is bound to, is still used then, so that the plugin sees the refusal rather than a time limit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Affinity, Clock, Seed, UnixMs, metric};

use crate::auth::credential::Credential;
use crate::pool::account::{Account, AccountState, HealthSignal, NoPermit};
use crate::pool::breaker::{Breaker, backoff};
use crate::provider::Provider;
use crate::response::redact::Redactor;

/// How long an account is passed over after a 401, 402 or 403.
const REFUSED_PAUSE: Duration = Duration::from_secs(300);
/// The bounds of a pause a provider may ask for.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);

/// What is known of the accounts of one API, by name. A name that is not configured any more stays, because permits
/// and earlier configurations still count there.
type States = Mutex<Vec<(String, AccountState)>>;

/// The accounts of one provider, as one configuration has them.
pub(crate) struct Pool {
    provider: Provider,
    accounts: Vec<Account>,
    /// Where the state of each account is.
    positions: Vec<usize>,
    states: Arc<States>,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
}

impl Pool {
    /// Accounts that the configuration `before` has at the same API keep their state: permits, rate, pauses, breaker. One
    /// with the same credential keeps its token too.
    pub(crate) fn new(
        provider: Provider,
        mut accounts: Vec<Account>,
        before: Option<&Self>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Arc<Self> {
        let before = before.filter(|before| before.provider.is_same_api(&provider));
        let known = before.map(|before| &before.accounts[..]).unwrap_or_default();
        for account in &mut accounts {
            account.keep_credential(known);
            account.affinity = provider.affinity(&account.name);
        }
        let states = before.map_or_else(Arc::default, |before| Arc::clone(&before.states));
        let mut all = lock(&states);
        let mut position = |account: &Account| {
            all.iter().position(|(name, _)| *name == account.name).unwrap_or_else(|| {
                all.push((account.name.clone(), AccountState::default()));
                all.len() - 1
            })
        };
        let positions = accounts.iter().map(&mut position).collect();
        drop(all);
        Arc::new(Self { provider, accounts, positions, states, clock, seed })
    }

    /// Takes over from the configuration `before`: an account with other credentials gets another try.
    pub(crate) fn take_over(&self, before: &Self) {
        for gone in before.accounts.iter().filter(|old| before.is_dropped_by(self, old)) {
            before.publish(gone, &Breaker::default());
        }
        if !Arc::ptr_eq(&self.states, &before.states) {
            return;
        }
        let mut states = self.lock();
        for (index, account) in self.accounts.iter().enumerate() {
            let old = before.accounts.iter().find(|old| old.name == account.name);
            if old.is_some_and(|old| !old.credential.is_same(&account.credential)) {
                self.state(&mut states, index).refused_until = UnixMs(0);
            }
        }
    }

    /// Nothing is known of that account any more.
    fn is_dropped_by(&self, next: &Self, account: &Account) -> bool {
        !Arc::ptr_eq(&self.states, &next.states)
            || !next.accounts.iter().any(|kept| kept.name == account.name)
    }

    /// The accounts are gone with their provider.
    pub(crate) fn retire(&self) {
        self.accounts.iter().for_each(|account| self.publish(account, &Breaker::default()));
    }

    pub(crate) fn provider(&self) -> &Provider {
        &self.provider
    }

    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// A permit for a further call of a job that has a permit at `account`.
    pub(crate) fn acquire_call(self: &Arc<Self>, account: &str) -> Result<CallPermit, NoPermit> {
        self.call_permit(Wanted::One(account), true)
    }

    pub(super) fn call_permit(
        self: &Arc<Self>,
        wanted: Wanted<'_>,
        in_flight: bool,
    ) -> Result<CallPermit, NoPermit> {
        let now = self.clock.now();
        let (accounts, mut states) = (&self.accounts, self.lock());
        let candidates = self.candidates(&mut states, wanted, now);
        let mut ready = vec![];
        let mut refusal = NoPermit::Unknown;
        for index in candidates {
            let priority = accounts[index].priority;
            // A worse priority counts only while no better one is ready.
            if ready.first().is_some_and(|&(first, _): &(usize, bool)| accounts[first].priority < priority) {
                break;
            }
            match accounts[index].ready(self.state(&mut states, index), now, in_flight) {
                Ok(trial) => ready.push((index, trial)),
                Err(why) => refusal = refusal.or_sooner(why),
            }
        }
        let Some((index, trial)) = self.pick(&ready) else { return Err(refusal) };
        let (account, state) = (&accounts[index], self.state(&mut states, index));
        if let Some(token_bucket) = account.token_bucket(state, now) {
            token_bucket.take(now);
        }
        if trial {
            state.breaker.begin_trial();
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
    fn pick(&self, ready: &[(usize, bool)]) -> Option<(usize, bool)> {
        if let [only] = ready {
            return Some(*only);
        }
        let whole: u64 = ready.iter().map(|&(index, _)| self.accounts[index].weight).sum();
        let mut at = self.seed.next_u64().checked_rem(whole)?;
        ready.iter().copied().find(|&(index, _)| match at.checked_sub(self.accounts[index].weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        })
    }

    /// A job at that account has ended.
    /// A job more at the account of that name, however many there are.
    pub(super) fn enter(&self, account: &str) -> Option<usize> {
        let index = self.accounts.iter().position(|known| known.name == account)?;
        self.state(&mut self.lock(), index).in_flight += 1;
        Some(index)
    }

    pub(super) fn leave(&self, index: usize) {
        let mut states = self.lock();
        let state = self.state(&mut states, index);
        state.in_flight = state.in_flight.saturating_sub(1);
    }

    pub(super) fn report(&self, index: usize, signal: HealthSignal) {
        let now = self.clock.now();
        let (account, mut states) = (&self.accounts[index], self.lock());
        let state = self.state(&mut states, index);
        match signal {
            HealthSignal::Healthy => {
                state.breaker.succeeded();
                state.pauses = 0;
            }
            HealthSignal::RateLimited(asked) => {
                state.breaker.succeeded();
                let own =
                    backoff(Duration::from_secs(1), Duration::from_secs(60), state.pauses, self.seed.unit());
                let pause = asked.map_or(own, |asked| asked.clamp(*PAUSE.start(), *PAUSE.end()));
                state.pauses = state.pauses.saturating_add(1);
                state.paused_until = state.paused_until.max(now.plus(pause));
            }
            HealthSignal::AccountRefused => {
                state.breaker.succeeded();
                state.refused_until = now.plus(REFUSED_PAUSE);
                metrics::counter!(metric::ACCOUNT_ERRORS, "provider" => self.provider.name.clone(), "account" => account.name.clone())
                    .increment(1);
            }
            HealthSignal::Failing => state.breaker.failed(now, self.seed.unit()),
        }
        self.publish(account, &state.breaker);
    }

    fn publish(&self, account: &Account, breaker: &Breaker) {
        let open = f64::from(u8::from(breaker.is_open()));
        metrics::gauge!(metric::BREAKER_OPEN, "provider" => self.provider.name.clone(), "account" => account.name.clone())
            .set(open);
    }

    /// The name of the account with that affinity.
    pub(crate) fn account_of(&self, wanted: &str) -> Option<String> {
        let found = self.accounts.iter().find(|account| account.affinity == wanted);
        found.map(|account| account.name.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, AccountState)>> {
        lock(&self.states)
    }

    fn state<'a>(&self, states: &'a mut [(String, AccountState)], index: usize) -> &'a mut AccountState {
        &mut states[self.positions[index]].1
    }

    /// Accounts to be asked, best priority first: the one wanted, else those not refused, else all.
    fn candidates(
        &self,
        states: &mut [(String, AccountState)],
        wanted: Wanted<'_>,
        now: UnixMs,
    ) -> Vec<usize> {
        let meant = |account: &Account| match wanted {
            Wanted::One(name) => account.name == name,
            Wanted::Any(tried) => !tried.contains(&account.name),
        };
        let meant: Vec<usize> =
            (0..self.accounts.len()).filter(|&index| meant(&self.accounts[index])).collect();
        let mut whole =
            |index: usize| self.state(states, index).refused_until <= now || matches!(wanted, Wanted::One(_));
        let mut candidates: Vec<usize> = meant.iter().copied().filter(|&index| whole(index)).collect();
        if candidates.is_empty() {
            candidates = meant;
        }
        candidates.sort_by_key(|&index| self.accounts[index].priority);
        candidates
    }
}

fn lock(states: &States) -> MutexGuard<'_, Vec<(String, AccountState)>> {
    // Every change under this lock is complete in itself, so a panic elsewhere leaves it usable.
    states.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which accounts will do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// This one.
    One(&'a str),
    /// Any but these.
    Any(&'a [String]),
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
        &self.pool.provider.name
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
        &self.pool.provider
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
            let mut states = self.pool.lock();
            self.pool.state(&mut states, self.index).breaker.abandon_trial(self.pool.clock.now());
        }
    }
}

impl std::fmt::Debug for CallPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CallPermit({}/{})", self.provider(), self.account)
    }
}

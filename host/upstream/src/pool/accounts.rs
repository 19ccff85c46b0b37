//! The accounts of one provider: which may be used now, and what each answer does to it.
//!
//! A 429 pauses the account; five outages or 5xx in a row open its breaker; 401 and 402, or what the reader of an answer
//! reports, mark it as refused, after which the account is passed over for a while as long as another one is whole. A lone
//! account, or one a task is bound to, is still used then, so that the plugin sees the refusal rather than a time limit.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Clock, Conversation, CustomerId, KeyId, Seed, UnixMs, metric};

use crate::breaker::{Breaker, backoff};
use crate::config::check::Account;
use crate::pool::abandoned::Abandoned;
use crate::pool::account::{AccountState, Denials, Denied, HealthSignal, Limited, OUTCOMES};
use crate::pool::customer_queue::{self, CustomerQueue, PoolRules};
use crate::pool::waiting::Pace;
use crate::provider::Provider;

/// How long an account is passed over after a 401, a 402, or a refusal that the reader of an answer reports.
const REFUSED_PAUSE: Duration = Duration::from_secs(300);
/// The bounds of a pause a provider may ask for.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);

/// What is known of one API: shared by the configurations that have it.
#[derive(Default)]
pub(super) struct PoolState {
    /// The accounts, by name. A name that is not configured any more stays, because permits and earlier configurations
    /// still count there.
    pub(super) accounts: Vec<(String, AccountState)>,
    /// Requests and tasks that wait for a permit.
    pub(super) queue: CustomerQueue<Lane, Waiter>,
    pub(super) pace: Pace,
    /// Since when somebody waits.
    pub(super) contended_since: Option<UnixMs>,
    /// When the queue is looked at again, if nothing happens before.
    pub(super) next_look: Option<UnixMs>,
    /// Permits of streams that nobody reads any more.
    pub(super) abandoned: Abandoned,
    /// Those that were served and are not told yet.
    pub(super) served: VecDeque<Served>,
    /// A thread tells them.
    pub(super) is_delivering: bool,
}

/// What may be served by the same permits, in the name of one key.
#[derive(Clone)]
pub(super) struct Lane {
    /// The configuration that the waiter belongs to.
    pub(super) pool: Arc<Pool>,
    pub(super) key: KeyId,
    pub(super) wanted: Wanted,
}

impl PartialEq for Lane {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.pool, &other.pool) && self.key == other.key && self.wanted == other.wanted
    }
}

/// Gets what was taken for it, outside of every lock.
pub(super) struct Waiter {
    pub(super) since: UnixMs,
    pub(super) grant: Box<dyn FnOnce(Arc<Pool>, Taken) + Send>,
}

/// A permit that is counted at the account of that number; the caller makes permits of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) index: usize,
    pub(super) trial: bool,
    /// How often the account had answered before.
    pub(super) answers: u64,
}

/// What a waiter got, until it is told.
pub(super) struct Served {
    pub(super) waiter: Waiter,
    pub(super) pool: Arc<Pool>,
    pub(super) taken: Taken,
    pub(super) waited: Duration,
}

impl Served {
    pub(super) fn deliver(self) {
        let Self { waiter, pool, taken, waited } = self;
        metrics::histogram!(metric::WAIT_SECONDS, "provider" => pool.provider().name.clone())
            .record(waited.as_secs_f64());
        (waiter.grant)(pool, taken);
    }
}

/// The accounts of one provider, as one configuration has them.
pub(crate) struct Pool {
    provider: Provider,
    accounts: Vec<Account>,
    /// Where the state of each account is.
    positions: Vec<usize>,
    state: Arc<Mutex<PoolState>>,
    pub(super) rules: Arc<PoolRules>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) seed: Arc<dyn Seed>,
}

impl Pool {
    /// Accounts that the configuration `before` has at the same API keep their state: permits, rate, pauses, breaker. One
    /// with the same credential keeps its token too.
    pub(crate) fn new(
        provider: Provider,
        mut accounts: Vec<Account>,
        before: Option<&Self>,
        rules: Arc<PoolRules>,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
    ) -> Arc<Self> {
        let before = before.filter(|before| before.provider.is_same_api(&provider));
        let known = before.map(|before| &before.accounts[..]).unwrap_or_default();
        for account in &mut accounts {
            let same = known.iter().find(|known| known.name == account.name);
            if let Some(known) = same.filter(|known| known.credential.is_same(&account.credential)) {
                account.credential = Arc::clone(&known.credential);
            }
        }
        let state = before.map_or_else(Arc::default, |before| Arc::clone(&before.state));
        let mut locked = lock(&state);
        let all = &mut locked.accounts;
        let mut position = |account: &Account| {
            all.iter().position(|(name, _)| *name == account.name).unwrap_or_else(|| {
                all.push((account.name.clone(), AccountState::default()));
                all.len() - 1
            })
        };
        let positions = accounts.iter().map(&mut position).collect();
        drop(locked);
        let pool = Self { provider, accounts, positions, state, rules, clock, seed };
        pool.begin_counting();
        Arc::new(pool)
    }

    /// Counts what has not happened yet: an alert on a counter's growth does not see the value it is born with.
    fn begin_counting(&self) {
        let provider = || self.provider.name.clone();
        for account in &self.accounts {
            metrics::counter!(metric::ACCOUNT_ERRORS, "provider" => provider(), "account" => account.name.clone())
                .increment(0);
            metrics::gauge!(metric::BREAKER_OPEN, "provider" => provider(), "account" => account.name.clone()).increment(0.0);
            for outcome in OUTCOMES {
                metrics::counter!(metric::CALLS, "provider" => provider(), "account" => account.name.clone(), "outcome" => outcome)
                    .increment(0);
            }
        }
        metrics::counter!(metric::RECLAIMED, "provider" => provider()).increment(0);
    }

    /// Takes over from the configuration `before`: an account with other credentials gets another try.
    pub(crate) fn take_over(&self, before: &Self) {
        for gone in before.accounts.iter().filter(|old| before.is_dropped_by(self, old)) {
            before.publish(gone, &Breaker::default());
        }
        if !Arc::ptr_eq(&self.state, &before.state) {
            self.take_over_drained(before);
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

    /// The same accounts at another API: nothing else of what was known counts there, but the operator's word does.
    fn take_over_drained(&self, before: &Self) {
        let drained: Vec<String> = {
            let mut states = before.lock();
            let all = before.accounts.iter().enumerate();
            all.filter(|(index, _)| before.state(&mut states, *index).drained)
                .map(|(_, account)| account.name.clone())
                .collect()
        };
        let mut states = self.lock();
        for (index, _) in self.accounts.iter().enumerate().filter(|(_, own)| drained.contains(&own.name)) {
            self.state(&mut states, index).drained = true;
        }
    }

    /// Nothing is known of that account any more.
    fn is_dropped_by(&self, next: &Self, account: &Account) -> bool {
        !Arc::ptr_eq(&self.state, &next.state) || !next.accounts.iter().any(|kept| kept.name == account.name)
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

    /// Takes the best account that may be used now. For a new job in the name of a customer it takes a permit there too; a
    /// call of a job in flight needs none.
    pub(super) fn take(
        &self,
        state: &mut PoolState,
        customer: Option<&CustomerId>,
        wanted: &Wanted,
        conversation: Option<Conversation>,
        now: UnixMs,
    ) -> Result<Taken, Denials> {
        let mut denials = Denials::default();
        let candidates = self.candidates(state, wanted, now, &mut denials);
        let shared = self.rules.has_several_customers();
        let mut ready = vec![];
        for index in candidates {
            let priority = self.accounts[index].priority;
            // A worse priority counts only while no better one is ready.
            let better = |&(first, _): &(usize, bool)| self.accounts[first].priority < priority;
            if ready.first().is_some_and(better) {
                break;
            }
            match self.state(state, index).ready(&self.accounts[index], now, customer, shared) {
                Ok(trial) => ready.push((index, trial)),
                Err(why) => denials.add(why),
            }
        }
        let Some((index, trial)) = self.pick(&ready, conversation) else { return Err(denials) };
        let (account, of_account) = (&self.accounts[index], self.state(state, index));
        if let Some(token_bucket) = of_account.token_bucket(account, now) {
            token_bucket.take(now);
        }
        if trial {
            of_account.breaker.begin_trial();
        }
        if let Some(customer) = customer {
            of_account.enter(customer);
        }
        Ok(Taken { index, trial, answers: of_account.answers })
    }

    /// What a customer uses at this API, by its weight.
    pub(super) fn load(&self, state: &PoolState, customer: &CustomerId) -> u64 {
        let used = state.accounts.iter().map(|(_, account)| account.used_by(customer)).sum();
        customer_queue::load(used, self.rules.weight_of(customer))
    }

    /// One of those ready, by weight: the same for every request of a conversation.
    fn pick(&self, ready: &[(usize, bool)], conversation: Option<Conversation>) -> Option<(usize, bool)> {
        if let [only] = ready {
            return Some(*only);
        }
        if let Some(conversation) = conversation {
            let pull = |&(index, _): &(usize, bool)| {
                let Account { name, weight, .. } = &self.accounts[index];
                conversation.pull(name, u32::try_from(*weight).unwrap_or(u32::MAX))
            };
            return ready.iter().copied().max_by(|one, other| pull(one).total_cmp(&pull(other)));
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

    /// Where the state of an account is.
    pub(super) fn position(&self, index: usize) -> usize {
        self.positions[index]
    }

    /// Counts the time for which a permit was used while somebody waited.
    pub(super) fn charge(&self, state: &mut PoolState, customer: &CustomerId, since: UnixMs) {
        if let Some(contended) = state.contended_since {
            let ms = self.clock.now().since(since.max(contended)).as_millis();
            let ms = u64::try_from(ms).unwrap_or(u64::MAX);
            state.queue.charge(customer, self.rules.weight_of(customer), ms);
        }
    }

    /// How many streams may go on above the limit of that account.
    pub(super) fn max_beyond(&self, position: usize) -> u64 {
        let index = self.positions.iter().position(|&own| own == position);
        index.map_or(0, |index| self.accounts[index].reserve.max(1))
    }

    /// A job more at the account of that name, however many there are.
    pub(super) fn enter(&self, account: &str, customer: &CustomerId) -> Option<Taken> {
        let index = self.index_of(account)?;
        let mut states = self.lock();
        let state = self.state(&mut states, index);
        state.enter(customer);
        Some(Taken { index, trial: false, answers: state.answers })
    }

    pub(super) fn index_of(&self, account: &str) -> Option<usize> {
        self.accounts.iter().position(|known| known.name == account)
    }

    pub(super) fn report(&self, index: usize, signal: HealthSignal) {
        let now = self.clock.now();
        let (account, mut states) = (&self.accounts[index], self.lock());
        let state = self.state(&mut states, index);
        match signal {
            HealthSignal::Healthy => {
                state.breaker.succeeded();
                state.answers = state.answers.wrapping_add(1);
                state.pauses = 0;
                if state.limited.take().is_some_and(|limited| limited.told) {
                    self.publish_limited(account, false);
                }
            }
            HealthSignal::RateLimited(asked) => {
                state.breaker.succeeded();
                let own =
                    backoff(Duration::from_secs(1), Duration::from_secs(60), state.pauses, self.seed.unit());
                let pause = asked.map_or(own, |asked| asked.clamp(*PAUSE.start(), *PAUSE.end()));
                state.pauses = state.pauses.saturating_add(1);
                state.paused_until = state.paused_until.max(now.plus(pause));
                let (limited, tell) = Limited::again(state.limited, now);
                state.limited = Some(limited);
                if tell {
                    self.publish_limited(account, true);
                }
            }
            HealthSignal::TokenRefused | HealthSignal::AccountRefused => {
                state.breaker.succeeded();
                state.refused_until = now.plus(REFUSED_PAUSE);
                if signal == HealthSignal::AccountRefused {
                    metrics::counter!(metric::ACCOUNT_ERRORS, "provider" => self.provider.name.clone(), "account" => account.name.clone())
                        .increment(1);
                }
            }
            HealthSignal::Failing => state.breaker.failed(now, self.seed.unit()),
        }
        self.publish(account, &state.breaker);
    }

    /// A signal with the error that operators are shown; without secrets.
    pub(super) fn report_error(&self, index: usize, error: &str, signal: HealthSignal) {
        self.note_error(index, error.to_owned());
        self.report(index, signal);
    }

    /// The reader of that account's answers has found it refused.
    pub(super) fn refused(&self, index: usize) {
        let error = "an answer says that the account or its credit is refused";
        self.report_error(index, error, HealthSignal::AccountRefused);
    }

    /// The same by its name.
    pub(crate) fn report_refused(&self, account: &str) {
        if let Some(index) = self.index_of(account) {
            self.refused(index);
        }
    }

    /// How often that account has answered.
    pub(super) fn answers(&self, index: usize) -> u64 {
        self.state(&mut self.lock(), index).answers
    }

    /// Whether there is an account that was not `tried`, takes new work and `will_do` now.
    pub(crate) fn has_account(
        &self,
        tried: &[String],
        will_do: impl Fn(&AccountState, UnixMs) -> bool,
    ) -> bool {
        let now = self.clock.now();
        let mut state = self.lock();
        (0..self.accounts.len()).any(|index| {
            let is_tried = tried.contains(&self.accounts[index].name);
            let state = self.state(&mut state, index);
            !is_tried && !state.drained && will_do(state, now)
        })
    }

    fn publish(&self, account: &Account, breaker: &Breaker) {
        let open = f64::from(u8::from(breaker.is_open()));
        metrics::gauge!(metric::BREAKER_OPEN, "provider" => self.provider.name.clone(), "account" => account.name.clone())
            .set(open);
    }

    /// Work waits for it meanwhile, so the operator is told by name, once.
    fn publish_limited(&self, account: &Account, is_limited: bool) {
        let (provider, account) = (&self.provider.name, &account.name);
        if is_limited {
            tracing::error!(
                provider,
                account,
                "the provider has answered this account with \"too many requests\" alone for 5 minutes: its plan or credit may be used up"
            );
        }
        metrics::gauge!(metric::RATE_LIMITED, "provider" => provider.clone(), "account" => account.clone())
            .set(f64::from(u8::from(is_limited)));
    }

    /// The name of the account with that affinity.
    pub(crate) fn account_of(&self, wanted: &str) -> Option<String> {
        let found = self.accounts.iter().find(|account| account.affinity == wanted);
        found.map(|account| account.name.clone())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, PoolState> {
        lock(&self.state)
    }

    pub(super) fn state<'a>(&self, state: &'a mut PoolState, index: usize) -> &'a mut AccountState {
        &mut state.accounts[self.positions[index]].1
    }

    /// Accounts to be asked, best priority first: the one wanted, else those not refused, else all. None that is drained,
    /// unless it is the one wanted.
    fn candidates(
        &self,
        state: &mut PoolState,
        wanted: &Wanted,
        now: UnixMs,
        denials: &mut Denials,
    ) -> Vec<usize> {
        let is_bound = matches!(wanted, Wanted::One(_));
        let mut meant: Vec<usize> =
            (0..self.accounts.len()).filter(|&index| wanted.includes(&self.accounts[index].name)).collect();
        meant.retain(|&index| {
            let takes_new_work = is_bound || !self.state(state, index).drained;
            if !takes_new_work {
                denials.add(Denied::Drained);
            }
            takes_new_work
        });
        let mut whole = |index: usize| is_bound || self.state(state, index).is_whole(now);
        let mut candidates: Vec<usize> = meant.iter().copied().filter(|&index| whole(index)).collect();
        if candidates.is_empty() {
            candidates = meant;
        }
        candidates.sort_by_key(|&index| self.accounts[index].priority);
        candidates
    }
}

fn lock(state: &Mutex<PoolState>) -> MutexGuard<'_, PoolState> {
    // Every change under this lock is complete in itself, so a panic elsewhere leaves it usable.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which accounts will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// This one.
    One(String),
    /// Any but these.
    Any(Vec<String>),
}

impl Wanted {
    /// The account of that name, or any.
    #[must_use]
    pub fn of(pinned: Option<&str>) -> Self {
        pinned.map_or_else(|| Self::Any(Vec::new()), |account| Self::One(account.to_owned()))
    }

    pub(super) fn includes(&self, account: &str) -> bool {
        match self {
            Self::One(name) => name == account,
            Self::Any(tried) => !tried.iter().any(|name| name == account),
        }
    }
}

//! Waiting for a permit: requests and tasks in fair order by customer, each served as soon as an account may be used.
//!
//! A permit that is returned goes to the customer with the fewest in use for its weight. Nobody is served while another,
//! who may use the same account, waits. What is served is told outside of every lock: the caller's own locks come first.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Conversation, CustomerId, KeyId, UnixMs, metric};
use tokio::runtime::Handle;

use crate::pool::abandoned::Entry;
use crate::pool::account::{Denials, NoPermit};
use crate::pool::accounts::{Lane, Pool, PoolState, Served, Taken, Waiter, Wanted};
use crate::pool::customer_queue::FairOrder;
use crate::pool::permits::{AccountPermit, CallPermit};

/// A look at the queue is never farther away: the wall clock may be set meanwhile.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// A permit of an account for a new job, and that of its first call.
pub type Permits = (AccountPermit, CallPermit);

/// In whose name a permit is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimant {
    /// Who pays; permits are shared between customers.
    pub customer: CustomerId,
    /// The key; a customer's keys share what it gets.
    pub key: KeyId,
}

/// Positions are counted up to this many of a lane: a longer look would keep others from the queue.
const MAX_COUNTED: usize = 1000;

/// Measured over this long at least once it has gone by, and twice as long at most.
const WINDOW: Duration = Duration::from_secs(300);
/// Fewer permits than this are no measure.
const MIN_SERVED: u64 = 4;

/// How fast permits come to those that wait: what an honest estimate of a wait is made of.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    /// The window under way; none while nobody waits.
    since: Option<UnixMs>,
    served: u64,
    /// The window before.
    before: (Duration, u64),
}

impl Pace {
    /// Somebody waits.
    pub(crate) fn begin(&mut self, now: UnixMs) {
        self.since.get_or_insert(now);
    }

    /// A waiter got its permit.
    pub(crate) fn serve(&mut self, now: UnixMs) {
        self.served += 1;
        let Some(since) = self.since else { return };
        let span = now.since(since);
        if span >= WINDOW {
            *self = Self { since: Some(now), served: 0, before: (span, self.served) };
        }
    }

    /// Nobody waits any more: what was measured says nothing of the next time.
    pub(crate) fn end(&mut self) {
        *self = Self::default();
    }

    /// The time from one permit to the next; `None` while too few have come.
    pub(crate) fn interval(&self, now: UnixMs) -> Option<Duration> {
        let (span, served) = self.before;
        let (span, served) = (span + now.since(self.since?), served + self.served);
        (served >= MIN_SERVED).then(|| span / u32::try_from(served).unwrap_or(u32::MAX))
    }
}

/// When one that waits can expect its permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueEstimate {
    /// Its position among its customer's that wait there; 1 is the next.
    pub position: usize,
    /// How long that takes at the present pace; `None` while too few permits came to tell.
    pub wait: Option<Duration>,
}

/// A position in the queue for a permit, given up when dropped.
pub struct Waiting {
    pool: Arc<Pool>,
    customer: CustomerId,
    number: u64,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Waiting({} {})", self.pool.provider().name, self.number)
    }
}

impl Waiting {
    /// When this one can expect its permit; `None` where that is not known: it was served already, or far too many of its
    /// customer's are before it.
    #[must_use]
    pub fn estimate(&self) -> Option<QueueEstimate> {
        let (now, state) = (self.pool.clock.now(), self.pool.lock());
        let position = state.queue.ahead_of(&self.customer, self.number, MAX_COUNTED)?.checked_add(1)?;
        Some(QueueEstimate { position, wait: self.pool.wait_of(&state, &self.customer, position, now) })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        // A waiter that holds anything is dropped outside of the lock.
        let waiter = state.queue.remove(&self.customer, self.number);
        self.pool.publish_queue(&mut state);
        drop((state, waiter));
    }
}

/// Telling what was served: one thread at a time does.
struct Delivery<'p> {
    pool: &'p Pool,
    has_ended: bool,
}

impl Delivery<'_> {
    fn next(&mut self) -> Option<Served> {
        let mut state = self.pool.lock();
        let served = state.served.pop_front();
        if served.is_none() {
            (state.is_delivering, self.has_ended) = (false, true);
        }
        served
    }
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        // A waiter panicked; the next that serves tells the others.
        if !self.has_ended {
            self.pool.lock().is_delivering = false;
        }
    }
}

impl Pool {
    /// Permits now, or a position in the queue for them: then `grant` gets them, unless the position is given up before.
    /// It refuses at once where waiting does not help. Of equal accounts that are free now a conversation gets its own; a
    /// waiter takes what comes.
    pub(crate) fn acquire_or_wait(
        self: &Arc<Self>,
        claimant: &Claimant,
        wanted: Wanted,
        conversation: Option<Conversation>,
        grant: impl FnOnce(Permits) + Send + 'static,
    ) -> Result<Permits, (Denials, Option<Waiting>)> {
        let Claimant { customer, key } = claimant.clone();
        let now = self.clock.now();
        let mut state = self.lock();
        self.serve(&mut state, now);
        let outcome = match self.take_or_reclaim(&mut state, &customer, &wanted, conversation, now) {
            Ok(taken) => Ok(taken),
            Err(denials) if denials.reason() == NoPermit::Unknown => Err((denials, None)),
            Err(denials) => {
                let name = customer.clone();
                let grant = move |pool: Arc<Self>, taken| grant(pool.permits(taken, &name));
                let waiter = Waiter { since: now, grant: Box::new(grant) };
                let lane = Lane { pool: Arc::clone(self), key, wanted };
                state.contended_since.get_or_insert(now);
                let number = state.queue.push(&customer, lane, waiter);
                state.pace.begin(now);
                self.publish_queue(&mut state);
                self.look_again(&mut state, denials.until, now);
                let customer = customer.clone();
                Err((denials, Some(Waiting { pool: Arc::clone(self), customer, number })))
            }
        };
        drop(state);
        self.deliver();
        outcome.map(|taken| self.permits(taken, &customer))
    }

    /// Serves those that wait, as far as permits go.
    pub(crate) fn serve_waiting(self: &Arc<Self>) {
        let now = self.clock.now();
        self.serve(&mut self.lock(), now);
        self.deliver();
    }

    /// Tells what was served, in order. A waiter that is gone returns its permits at once, which serves the next one: that
    /// one is told by the loop which runs already. Telling it from within the return would take a piece of the stack for
    /// each of thousands of waiters whose owner ends.
    fn deliver(&self) {
        {
            let mut state = self.lock();
            if state.is_delivering || state.served.is_empty() {
                return;
            }
            state.is_delivering = true;
        }
        let mut delivery = Delivery { pool: self, has_ended: false };
        while let Some(served) = delivery.next() {
            served.deliver();
        }
    }

    /// How long a further job of that customer would wait at the present pace; `None` while that is not known, or none of
    /// its jobs waits.
    pub(crate) fn estimated_wait(&self, customer: &CustomerId) -> Option<Duration> {
        let (now, state) = (self.clock.now(), self.lock());
        let ahead = Some(state.queue.len_of(customer)).filter(|&ahead| ahead > 0)?;
        self.wait_of(&state, customer, ahead.saturating_add(1), now)
    }

    /// How long that many permits for a customer take, shared with all that wait.
    fn wait_of(
        &self,
        state: &PoolState,
        customer: &CustomerId,
        jobs: usize,
        now: UnixMs,
    ) -> Option<Duration> {
        let jobs = f64::from(u32::try_from(jobs).unwrap_or(u32::MAX));
        let weight = |customer: &CustomerId| {
            f64::from(u32::try_from(self.rules.weight_of(customer)).unwrap_or(u32::MAX))
        };
        let all: f64 = state.queue.customers().map(weight).sum();
        let by_pace =
            state.pace.interval(now).map(|interval| interval.mul_f64(jobs * all / weight(customer)));
        let rates: Option<f64> = self.accounts().iter().map(|account| account.rate).sum();
        let by_rate = rates.map(|rate| Duration::from_secs_f64((jobs / rate).min(1e9)));
        by_pace.max(by_rate)
    }

    /// Takes permits for those that can be served, in fair order; [`Pool::deliver`] tells them.
    fn serve(self: &Arc<Self>, state: &mut PoolState, now: UnixMs) {
        if state.queue.len() == 0 {
            return;
        }
        let until = loop {
            match Self::serve_one(state, now) {
                Ok(one) => {
                    state.served.push_back(one);
                    state.pace.serve(now);
                }
                Err(until) => break until,
            }
        };
        self.publish_queue(state);
        self.look_again(state, until, now);
    }

    /// Serves the first in fair order that can be; else, when one may be, as far as that is known.
    fn serve_one(state: &mut PoolState, now: UnixMs) -> Result<Served, Option<UnixMs>> {
        let mut until: Option<UnixMs> = None;
        // What no customer gets now: so a thousand customers that wait for the same cost one look at the accounts.
        let mut denied: Vec<(Arc<Self>, Wanted)> = Vec::new();
        let mut order = state.fair_order();
        while let Some(Reverse((_, customer))) = order.pop() {
            for lane in state.queue.lanes(&customer) {
                if denied.iter().any(|(pool, wanted)| Arc::ptr_eq(pool, &lane.pool) && *wanted == lane.wanted)
                {
                    continue;
                }
                match lane.pool.take_or_reclaim(state, &customer, &lane.wanted, None, now) {
                    Ok(taken) => {
                        // The lane stands in the queue as long as it has a waiter.
                        let Some(waiter) = state.queue.take(&customer, &lane) else { continue };
                        let waited = now.since(waiter.since);
                        return Ok(Served { waiter, pool: lane.pool, taken, waited });
                    }
                    Err(denials) => {
                        until = [until, denials.until].into_iter().flatten().min();
                        if denials.are_for_everybody() {
                            denied.push((lane.pool, lane.wanted));
                        }
                    }
                }
            }
        }
        Err(until)
    }

    /// The best account; where all permits are in use, with the permit of a stream that nobody reads.
    fn take_or_reclaim(
        &self,
        state: &mut PoolState,
        customer: &CustomerId,
        wanted: &Wanted,
        conversation: Option<Conversation>,
        now: UnixMs,
    ) -> Result<Taken, Denials> {
        loop {
            let denials = match self.take(state, Some(customer), wanted, conversation, now) {
                Ok(taken) => return Ok(taken),
                Err(denials) => denials,
            };
            if !denials.lacks_permit() || !self.reclaim(state, customer, wanted, denials.is_full) {
                return Err(denials);
            }
        }
    }

    /// Takes back a permit. A customer who is denied those in reserve gets only its own.
    fn reclaim(&self, state: &mut PoolState, customer: &CustomerId, wanted: &Wanted, is_full: bool) -> bool {
        let PoolState { accounts, abandoned, .. } = state;
        let will_do = |entry: &Entry| {
            let (name, account) = &accounts[entry.position];
            let takes_it = matches!(wanted, Wanted::One(_)) || !account.drained;
            takes_it && wanted.includes(name) && (is_full || entry.customer == *customer)
        };
        let Some(entry) = abandoned.reclaim(will_do, |entry| self.max_beyond(entry.position)) else {
            return false;
        };
        accounts[entry.position].1.leave(&entry.customer);
        metrics::counter!(metric::RECLAIMED, "provider" => self.provider().name.clone()).increment(1);
        true
    }

    /// Looks at the queue again at that moment: a pause of an account ends, or its rate allows another call.
    fn look_again(self: &Arc<Self>, state: &mut PoolState, until: Option<UnixMs>, now: UnixMs) {
        let Some(until) = until else { return };
        let at = until.min(now.plus(MAX_PAUSE));
        if state.next_look.is_some_and(|look| look > now && look <= at) {
            return;
        }
        // Outside of a runtime nobody waits.
        let Ok(runtime) = Handle::try_current() else { return };
        state.next_look = Some(at);
        let pool = Arc::clone(self);
        runtime.spawn(async move {
            pool.clock.pause_until(at).await;
            let mut state = pool.lock();
            if state.next_look == Some(at) {
                state.next_look = None;
            }
            drop(state);
            pool.serve_waiting();
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "a gauge")]
    fn publish_queue(&self, state: &mut PoolState) {
        let waiting = state.queue.len();
        if waiting == 0 {
            state.pace.end();
            state.contended_since = None;
        }
        metrics::gauge!(metric::WAITING, "provider" => self.provider().name.clone()).set(waiting as f64);
    }
}

impl PoolState {
    fn fair_order(&self) -> FairOrder {
        let pool = self.queue.any_lane().map(|lane| &lane.pool);
        self.queue.order(|customer| pool.map_or(0, |pool| pool.load(self, customer)))
    }
}

//! Requests that wait for a permit, in fair order: the customer with the fewest permits in use for its weight is first,
//! among equals the one that has used permits for the least time. Within a customer its lanes take turns, and a lane keeps
//! its order. Pure.
//!
//! Time counts while others wait only. One that returns after a pause starts where the others are: a pause earns it no
//! credit. So neither a customer that comes again and again nor a row of new ones keeps another from its turn.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::CustomerId;

/// A millisecond of a customer of weight 1; a multiple of all usual weights.
const UNIT: u64 = 1 << 20;
/// Customers that do not wait are forgotten, as far as they have no debt, once there are more than this.
const MAX_IDLE: usize = 64;

/// The rules under which customers share permits, for all providers: what the operator says of customers.
#[derive(Debug, Default)]
pub(crate) struct PoolRules {
    weights: BTreeMap<String, u32>,
    several_customers: AtomicBool,
}

impl PoolRules {
    pub(crate) fn new(weights: BTreeMap<String, u32>) -> Self {
        Self { weights, several_customers: AtomicBool::new(false) }
    }

    /// The customer's share in relation to others, at least 1.
    pub(crate) fn weight_of(&self, customer: &CustomerId) -> u64 {
        self.weights.get(&customer.0).map_or(1, |weight| u64::from(*weight).max(1))
    }

    /// Whether there are others whom a customer may keep waiting.
    pub(crate) fn has_several_customers(&self) -> bool {
        self.several_customers.load(Ordering::Relaxed)
    }

    pub(crate) fn expect_several_customers(&self) {
        self.several_customers.store(true, Ordering::Relaxed);
    }
}

/// Waiters `W` by customer and lane. A lane holds what may be served by the same permits.
#[derive(Debug)]
pub(crate) struct CustomerQueue<L, W> {
    customers: BTreeMap<CustomerId, Vec<Lane<L, W>>>,
    /// The time each has used.
    used: HashMap<CustomerId, u64>,
    /// The time used by the customer served last; never falls.
    virtual_now: u64,
    /// Numbers given out, to waiters and to lanes for their order.
    numbers: u64,
    waiting: usize,
}

#[derive(Debug)]
struct Lane<L, W> {
    lane: L,
    waiting: BTreeMap<u64, W>,
    position: u64,
}

/// What is compared first; the first waiter's number decides at the latest, it is nobody else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    load: u64,
    used: Option<u64>,
    first: Option<u64>,
}

/// Customers, the one to be served first on top.
pub(crate) type FairOrder = BinaryHeap<Reverse<(Rank, CustomerId)>>;

/// How much of its share a customer uses: its permits by its weight. The least goes first.
pub(crate) fn load(used: u64, weight: u64) -> u64 {
    used.saturating_mul(UNIT) / weight.max(1)
}

impl<L, W> Default for CustomerQueue<L, W> {
    fn default() -> Self {
        Self { customers: BTreeMap::new(), used: HashMap::new(), virtual_now: 0, numbers: 0, waiting: 0 }
    }
}

impl<L: Clone + PartialEq, W> CustomerQueue<L, W> {
    /// Adds a waiter; gives the number under which it can be removed.
    pub(crate) fn push(&mut self, customer: &CustomerId, lane: L, waiter: W) -> u64 {
        self.numbers += 1;
        let number = self.numbers;
        if !self.customers.contains_key(customer) {
            self.join(customer);
        }
        let lanes = self.customers.entry(customer.clone()).or_default();
        match lanes.iter_mut().find(|known| known.lane == lane) {
            Some(known) => drop(known.waiting.insert(number, waiter)),
            None => lanes.push(Lane { lane, waiting: [(number, waiter)].into(), position: number }),
        }
        self.waiting += 1;
        number
    }

    fn join(&mut self, customer: &CustomerId) {
        let now = self.virtual_now;
        if self.used.len() >= self.customers.len() + MAX_IDLE {
            let waiting = &self.customers;
            self.used.retain(|customer, used| *used > now || waiting.contains_key(customer));
        }
        let used = self.used.entry(customer.clone()).or_insert(now);
        *used = now.max(*used);
    }

    /// A customer has used a permit for so many milliseconds, while others waited.
    pub(crate) fn charge(&mut self, customer: &CustomerId, weight: u64, ms: u64) {
        let used = self.used.entry(customer.clone()).or_insert(self.virtual_now);
        *used = used.saturating_add((ms + 1).saturating_mul(UNIT) / weight.max(1));
    }

    /// Takes out a waiter, if it still waits.
    pub(crate) fn remove(&mut self, customer: &CustomerId, number: u64) -> Option<W> {
        let lanes = self.customers.get_mut(customer)?;
        let removed = lanes.iter_mut().find_map(|lane| lane.waiting.remove(&number))?;
        self.waiting -= 1;
        self.forget_empty(customer);
        Some(removed)
    }

    /// The customers that wait, in fair order. Only those that are asked for are sorted.
    pub(crate) fn order(&self, load: impl Fn(&CustomerId) -> u64) -> FairOrder {
        let rank = |customer: &CustomerId, lanes: &[Lane<L, W>]| Rank {
            load: load(customer),
            used: self.used.get(customer).copied(),
            first: lanes.iter().filter_map(|lane| lane.waiting.keys().next().copied()).min(),
        };
        let waiting = self.customers.iter();
        waiting.map(|(customer, lanes)| Reverse((rank(customer, lanes), customer.clone()))).collect()
    }

    /// A customer's lanes, in order.
    pub(crate) fn lanes(&self, customer: &CustomerId) -> Vec<L> {
        let mut lanes: Vec<&Lane<L, W>> = self.customers.get(customer).into_iter().flatten().collect();
        lanes.sort_unstable_by_key(|lane| lane.position);
        lanes.into_iter().map(|lane| lane.lane.clone()).collect()
    }

    /// Serves the first waiter of a lane; the lane goes to the end of its customer's round.
    pub(crate) fn take(&mut self, customer: &CustomerId, lane: &L) -> Option<W> {
        self.numbers += 1;
        let lanes = self.customers.get_mut(customer)?;
        let served = lanes.iter_mut().find(|known| known.lane == *lane)?;
        let (_, waiter) = served.waiting.pop_first()?;
        served.position = self.numbers;
        self.virtual_now = self.virtual_now.max(self.used.get(customer).copied().unwrap_or(0));
        self.waiting -= 1;
        self.forget_empty(customer);
        Some(waiter)
    }

    /// All that wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting
    }

    /// Those of one customer.
    pub(crate) fn len_of(&self, customer: &CustomerId) -> usize {
        self.customers.get(customer).into_iter().flatten().map(|lane| lane.waiting.len()).sum()
    }

    /// How many of a customer's waiters are served before that one, as its lanes take turns; `None` where it does not wait
    /// any more, or `limit` or more of its lane are before it.
    pub(crate) fn ahead_of(&self, customer: &CustomerId, number: u64, limit: usize) -> Option<usize> {
        let lanes = self.customers.get(customer)?;
        let own = lanes.iter().find(|lane| lane.waiting.contains_key(&number))?;
        let before = own.waiting.range(..number).take(limit).count();
        if before == limit {
            return None;
        }
        let others = lanes.iter().filter(|lane| lane.position != own.position);
        // A lane whose turn is earlier has one more.
        Some(others.fold(before, |sum, lane| {
            sum + lane.waiting.len().min(before + usize::from(lane.position < own.position))
        }))
    }

    /// The customers with most waiters, and how many each has; those with equally many by their ids.
    pub(crate) fn longest(&self, max: usize) -> Vec<(CustomerId, usize)> {
        let mut all: Vec<_> = self
            .customers
            .iter()
            .map(|(customer, lanes)| {
                (Reverse(lanes.iter().map(|lane| lane.waiting.len()).sum::<usize>()), customer)
            })
            .collect();
        if all.len() > max {
            all.select_nth_unstable(max);
            all.truncate(max);
        }
        all.sort_unstable();
        all.into_iter().map(|(Reverse(waiting), customer)| (customer.clone(), waiting)).collect()
    }

    /// One of the lanes, if any waits.
    pub(crate) fn any_lane(&self) -> Option<&L> {
        self.customers.values().flatten().next().map(|known| &known.lane)
    }

    /// Every customer that waits, in no order.
    pub(crate) fn customers(&self) -> impl Iterator<Item = &CustomerId> {
        self.customers.keys()
    }

    fn forget_empty(&mut self, customer: &CustomerId) {
        if let Some(lanes) = self.customers.get_mut(customer) {
            lanes.retain(|lane| !lane.waiting.is_empty());
            if lanes.is_empty() {
                self.customers.remove(customer);
            }
        }
    }
}

//! The memory that all request bodies may take, what of it each customer and each key may have, and whose turn it is to
//! have a long one worked on. Pure but for its locks; never reads a body.
//!
//! A body takes more memory than it has bytes: as it came, as it is joined, in the memory of its plugin, and as the call to a
//! provider. The driver and the plugins do not say how much at each moment, so every byte counts as [`WORKED_ON`] from its
//! arrival until the request is over, and as [`STREAMED`] while the answer is streamed. So the budget is a bound of memory. What
//! a request goes on from counts as its bytes would in a body. What a client reads of a kept response counts as what is in memory
//! for it.
//!
//! A customer may hold as much as it leaves free (dynamic thresholds): half of the budget when it is alone, less
//! while others hold bytes. A key may hold as much as it leaves free of its customer's part: a third of the budget
//! when it is alone. One body of the largest size is within both. So something is left for a customer that comes
//! last, and as bodies come and go customers that want all they can get come to equal parts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_driver::{MemoryShortage, RequestMemory};
use gatehouse_fair::{FairPermit, FairPermits};
use gatehouse_model::{CustomerId, Key, KeyId};

use crate::config::{Limits, mib};

/// Bytes of memory for each byte of a body that arrives or is worked on. Measured with the largest bodies of texts and of
/// pictures, at many sizes: 3.3.
pub(crate) const WORKED_ON: usize = 4;
/// The same while its answer is streamed: the plugin's instance lives as long, with the body and what it read in it.
pub(crate) const STREAMED: usize = 2;
/// Bytes of memory for all bodies where nobody said how many.
const MOST_BODIES: usize = 2048 << 20;
/// Bytes of a body that are worked on without a turn.
const SHORT: usize = 16 * 1024;
/// Long bodies that are worked on at once.
const AT_ONCE: usize = 4;

/// The budget of one edge.
#[derive(Debug)]
pub(crate) struct BodyBudget {
    /// What the largest body takes.
    largest: usize,
    /// What one key may hold while nobody else holds anything.
    alone: usize,
    state: Mutex<State>,
    turns: FairPermits<CustomerId>,
}

#[derive(Debug)]
struct State {
    free: usize,
    customers: HashMap<CustomerId, Holdings>,
}

/// What one customer holds.
#[derive(Debug, Default)]
struct Holdings {
    held: usize,
    keys: HashMap<KeyId, usize>,
}

/// What one request takes; given back when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: Arc<BodyBudget>,
    key: Arc<Key>,
    held: AtomicUsize,
}

/// What is left of a body whose answer is streamed; given back when dropped.
#[derive(Debug)]
pub(crate) struct StreamedBody {
    _held: Arc<Reservation>,
}

impl BodyBudget {
    pub(crate) fn new(limits: &Limits) -> Self {
        let free = limits.bodies_mib.map_or(MOST_BODIES, mib);
        let largest = mib(limits.body_mib).saturating_mul(WORKED_ON).min(free);
        Self::of(free, largest)
    }

    fn of(free: usize, largest: usize) -> Self {
        let state = Mutex::new(State { free, customers: HashMap::new() });
        Self { largest, alone: largest.max(free / 3), state, turns: FairPermits::new(AT_ONCE) }
    }

    /// Bytes of the largest body: a longer one is not allowed, or would not fit into an empty budget.
    pub(super) fn longest(&self) -> usize {
        self.largest / WORKED_ON
    }

    /// The turn to work on `bytes` of that customer's body; a short body needs none.
    pub(crate) async fn turn(&self, customer: &CustomerId, bytes: usize) -> Option<FairPermit<CustomerId>> {
        if bytes <= SHORT { None } else { Some(self.turns.take(customer.clone()).await) }
    }

    /// A reservation of nothing so far.
    pub(crate) fn reserve(self: &Arc<Self>, key: Arc<Key>) -> Reservation {
        Reservation { budget: Arc::clone(self), key, held: AtomicUsize::new(0) }
    }

    /// Bytes of memory that are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.state().customers.values().map(|customer| customer.held).sum()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self, key: &Key, more: usize, largest: usize) -> Result<(), MemoryShortage> {
        let free = self.free.checked_sub(more).ok_or(MemoryShortage::All)?;
        let customer = self.customers.get(&key.customer);
        let of_customer = customer.map_or(0, |customer| customer.held) + more;
        let of_key = customer.and_then(|customer| customer.keys.get(&key.id)).copied().unwrap_or(0) + more;
        if of_customer > free.max(largest) {
            return Err(MemoryShortage::Customer);
        }
        if of_key > free.saturating_sub(of_customer).max(largest) {
            return Err(MemoryShortage::Key);
        }
        self.free = free;
        match self.customers.get_mut(&key.customer) {
            Some(customer) => customer.add(key, more),
            None => self.customers.entry(key.customer.clone()).or_default().add(key, more),
        }
        Ok(())
    }

    fn give_back(&mut self, key: &Key, held: usize) {
        self.free += held;
        let Some(customer) = self.customers.get_mut(&key.customer) else { return };
        customer.held -= held;
        if customer.held == 0 {
            self.customers.remove(&key.customer);
        } else if let Some(of_key) = customer.keys.get_mut(&key.id) {
            *of_key -= held;
            if *of_key == 0 {
                customer.keys.remove(&key.id);
            }
        }
    }
}

impl Holdings {
    fn add(&mut self, key: &Key, more: usize) {
        self.held += more;
        match self.keys.get_mut(&key.id) {
            Some(of_key) => *of_key += more,
            None => drop(self.keys.insert(key.id.clone(), more)),
        }
    }
}

impl Reservation {
    /// Holds `bytes` in all from now on, or as many as before.
    pub(crate) fn grow_to(&self, bytes: usize) -> Result<(), MemoryShortage> {
        if bytes > self.budget.alone {
            // It would be refused as too many for ever.
            return Err(MemoryShortage::TooLarge { most: self.budget.alone });
        }
        let more = bytes.saturating_sub(self.held.load(Ordering::Acquire));
        if more > 0 {
            self.budget.state().take(&self.key, more, self.budget.largest)?;
            self.held.fetch_add(more, Ordering::AcqRel);
        }
        Ok(())
    }

    fn shrink_to(&self, bytes: usize) {
        let before = self.held.fetch_min(bytes, Ordering::AcqRel);
        if before > bytes {
            self.budget.state().give_back(&self.key, before - bytes);
        }
    }
}

impl RequestMemory for Reservation {
    fn bring(&self, bytes: usize) -> Result<(), MemoryShortage> {
        let held = self.held.load(Ordering::Acquire);
        self.grow_to(held.saturating_add(bytes.saturating_mul(WORKED_ON)))
    }
}

impl StreamedBody {
    pub(super) fn new(reservation: Arc<Reservation>) -> Self {
        reservation.shrink_to(reservation.held.load(Ordering::Acquire) / WORKED_ON * STREAMED);
        Self { _held: reservation }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use gatehouse_model::{Digest, KeyDigest, KeyPolicy, UnixMs};
    use proptest::prelude::*;

    use super::*;

    fn budget(bytes: usize, largest: usize) -> Arc<BodyBudget> {
        Arc::new(BodyBudget::of(bytes, largest))
    }

    fn key(customer: &str, id: &str) -> Arc<Key> {
        let (id, customer, digest) =
            (KeyId::from(id), CustomerId::from(customer), KeyDigest(Digest::default()));
        Arc::new(Key::new(id, customer, digest, UnixMs(0), KeyPolicy::default()))
    }

    /// Bodies of the largest size for this key, until one does not fit; and why not.
    fn fill(budget: &Arc<BodyBudget>, key: &Arc<Key>) -> (Vec<Reservation>, MemoryShortage) {
        let mut bodies = Vec::new();
        loop {
            let body = budget.reserve(Arc::clone(key));
            match body.grow_to(budget.largest) {
                Ok(()) => bodies.push(body),
                Err(shortage) => return (bodies, shortage),
            }
        }
    }

    #[test]
    fn one_key_holds_a_third_and_one_customer_half() {
        let budget = budget(1200, 10);
        let (first, shortage) = fill(&budget, &key("a", "a1"));
        assert_eq!((first.len() * 10, shortage), (400, MemoryShortage::Key));
        let mut of_customer = Vec::new();
        for number in 0..100 {
            of_customer.extend(fill(&budget, &key("a", &format!("k{number}"))).0);
        }
        assert_eq!(fill(&budget, &key("a", "last")).1, MemoryShortage::Customer);
        let held = (first.len() + of_customer.len()) * 10;
        assert!((590..=600).contains(&held), "{held}");
        drop((first, of_customer));
        let state = budget.state();
        assert_eq!((state.free, state.customers.len()), (1200, 0));
    }

    #[test]
    fn one_largest_body_always_fits_where_there_is_room() {
        let budget = budget(100, 90);
        let first = budget.reserve(key("a", "a1"));
        first.grow_to(90).unwrap();
        assert_eq!(budget.reserve(key("a", "a1")).grow_to(5), Err(MemoryShortage::Customer));
        assert_eq!(budget.reserve(key("b", "b1")).grow_to(11), Err(MemoryShortage::All));
        budget.reserve(key("b", "b1")).grow_to(10).unwrap();
    }

    #[test]
    fn a_refused_growth_changes_nothing() {
        let budget = budget(100, 10);
        let (body, other) = (budget.reserve(key("a", "a1")), budget.reserve(key("a", "a1")));
        body.grow_to(20).unwrap();
        other.grow_to(10).unwrap();
        assert_eq!(body.grow_to(33), Err(MemoryShortage::Key));
        assert_eq!(body.grow_to(34), Err(MemoryShortage::TooLarge { most: 33 }));
        assert_eq!((body.held.load(Ordering::Acquire), budget.state().free), (20, 70));
        body.grow_to(10).unwrap();
        assert_eq!(body.held.load(Ordering::Acquire), 20, "a body that arrives never shrinks");
    }

    #[test]
    fn a_body_takes_less_while_its_answer_is_streamed_and_nothing_after_it() {
        let budget = budget(100, 90);
        let body = budget.reserve(key("a", "a1"));
        body.grow_to(10 * WORKED_ON).unwrap();
        let whole = Arc::new(body);
        let answer = StreamedBody::new(Arc::clone(&whole));
        assert_eq!(budget.held(), 10 * STREAMED);
        drop(whole);
        assert_eq!(budget.held(), 10 * STREAMED);
        drop(answer);
        assert_eq!((budget.held(), budget.state().customers.len()), (0, 0));
    }

    /// Without it a body of some bytes has any number of kept ones in memory.
    #[test]
    fn what_a_request_brings_along_counts_as_its_body_does() {
        // A body may have 10 bytes, and 75 with what it brings along: a third of all.
        let budget = budget(900, 10 * WORKED_ON);
        let first = budget.reserve(key("a", "a1"));
        first.grow_to(5 * WORKED_ON).unwrap();
        assert_eq!(first.bring(71), Err(MemoryShortage::TooLarge { most: 300 }));
        assert_eq!(first.grow_to(75 * WORKED_ON + 1), Err(MemoryShortage::TooLarge { most: 300 }));
        assert_eq!(budget.held(), 5 * WORKED_ON, "what was refused does not count");
        first.bring(30).unwrap();
        first.bring(40).unwrap();
        assert_eq!(budget.held(), 75 * WORKED_ON);
        let other = budget.reserve(key("b", "b1"));
        assert_eq!(budget.reserve(key("a", "a1")).bring(1), Err(MemoryShortage::Key));
        assert_eq!(other.bring(75), Err(MemoryShortage::Key));
        drop(first);
        other.bring(75).unwrap();
        let answer = StreamedBody::new(Arc::new(other));
        assert_eq!(budget.held(), 75 * STREAMED);
        drop(answer);
        assert_eq!(budget.held(), 0);
    }

    /// In a small budget the largest body is the largest that fits: a longer one would be refused as too many for ever.
    #[test]
    fn no_body_is_longer_than_the_budget() {
        for (body_mib, bodies_mib, longest_mib) in [(32, 512, 32), (32, 64, 16), (1, 4, 1)] {
            let limits = format!("body_mib = {body_mib}\nbodies_mib = {bodies_mib}");
            let budget = Arc::new(BodyBudget::new(&toml::from_str(&limits).unwrap()));
            assert_eq!(budget.longest(), longest_mib << 20, "{limits}");
            budget.reserve(key("a", "a1")).grow_to(budget.longest() * WORKED_ON).unwrap();
        }
    }

    /// Customers that take all they can, the first long before the others.
    fn compete(customers: usize, rounds: usize) -> Vec<usize> {
        let budget = budget(12_000, 10);
        let keys: Vec<_> = (0..customers).map(|number| key(&format!("c{number}"), "k")).collect();
        let mut bodies: Vec<VecDeque<Reservation>> = keys.iter().map(|_| VecDeque::new()).collect();
        for (key, bodies) in keys.iter().zip(&mut bodies) {
            bodies.extend(fill(&budget, key).0);
        }
        for _ in 0..rounds {
            for (key, bodies) in keys.iter().zip(&mut bodies) {
                drop(bodies.pop_front());
                bodies.extend(fill(&budget, key).0);
            }
        }
        bodies.iter().map(|bodies| bodies.len() * 10).collect()
    }

    #[test]
    fn greedy_customers_come_to_equal_parts() {
        for customers in 1..9 {
            // Each has one key, which leaves as much of its customer's part as it holds.
            let part = 12_000 / (customers + 2);
            let held = compete(customers, 2_000);
            let fair = |held: &usize| held.abs_diff(part) <= part / 5;
            assert!(held.iter().all(fair), "{customers} customers, {part} each: {held:?}");
        }
    }

    proptest! {
        /// Whatever others hold, a customer that holds nothing may take half of what is free.
        #[test]
        fn something_is_left_for_the_last(
            takes in prop::collection::vec((0_usize..8, 0_usize..4, 1_usize..3_000), 1..200),
        ) {
            let budget = budget(10_000, 10);
            let mut bodies = Vec::new();
            for (customer, number, size) in takes {
                let body = budget.reserve(key(&format!("c{customer}"), &format!("k{number}")));
                if body.grow_to(size).is_ok() {
                    bodies.push(body);
                }
                let free = budget.state().free;
                prop_assert!(free >= 10_000 / 512, "{free} free after eight customers took what they could");
                let last = budget.reserve(key("another", "k"));
                prop_assert_eq!(last.grow_to(free / 3), Ok(()));
            }
            drop(bodies);
            prop_assert_eq!(budget.state().free, 10_000);
        }
    }
}

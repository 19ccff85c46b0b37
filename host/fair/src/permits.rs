//! A number of permits that owners share. A free permit goes to the owner that holds the fewest. Requests of one owner are
//! served in order. So an owner that asks for thousands of permits makes no other owner wait for more than one of them.
//!
//! Permits may give way. Then an owner that asks while all are taken gets the oldest permit of the owner that holds the most.
//! This is for holders that may take as long as they like, such as strangers who begin a handshake.
//!
//! No code of a holder runs under the lock. A permit that is given back only wakes the next holder, which takes it when it
//! runs: the stack does not grow with the number that wait.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// A number of permits; clones share them.
#[derive(Debug)]
pub struct FairPermits<K> {
    give_way: bool,
    state: Arc<Mutex<State<K>>>,
}

#[derive(Debug)]
struct State<K> {
    most: usize,
    most_of_owner: usize,
    numbers: u64,
    grants: u64,
    held: BTreeMap<u64, (K, Holder)>,
    owners: HashMap<K, Owner>,
}

#[derive(Debug, Default)]
struct Owner {
    held: usize,
    /// The number of its last grant. Of owners that hold equally many, the one whose last grant is oldest is next.
    last_granted: u64,
    waiting: BTreeMap<u64, Holder>,
}

/// The other end of a permit: dropped, it tells the holder that the permit has to end. The second sender tells a holder that
/// waits that it has the permit now.
#[derive(Debug)]
struct Holder(oneshot::Sender<()>, Option<oneshot::Sender<()>>);

/// One permit, or the wait for one; given back when dropped.
#[derive(Debug)]
pub struct FairPermit<K: Hash + Eq + Clone> {
    owner: K,
    number: u64,
    end: oneshot::Receiver<()>,
    state: Arc<Mutex<State<K>>>,
}

impl<K> Clone for FairPermits<K> {
    fn clone(&self) -> Self {
        Self { give_way: self.give_way, state: Arc::clone(&self.state) }
    }
}

impl<K: Hash + Eq + Clone> FairPermits<K> {
    /// `most` permits, at least one.
    #[must_use]
    pub fn new(most: usize) -> Self {
        let most = most.max(1);
        let state = State {
            most,
            most_of_owner: most,
            numbers: 0,
            grants: 0,
            held: BTreeMap::new(),
            owners: HashMap::new(),
        };
        Self { give_way: false, state: Arc::new(Mutex::new(state)) }
    }

    /// The same permits, but they give way.
    #[must_use]
    pub fn giving_way(self) -> Self {
        Self { give_way: true, ..self }
    }

    /// The same permits, of which one owner holds at most `most`, even where more are free.
    #[must_use]
    pub fn for_each(self, most: usize) -> Self {
        lock(&self.state).most_of_owner = most.max(1);
        self
    }

    /// Waits for a permit. A future that is dropped leaves the queue.
    pub async fn take(&self, owner: K) -> FairPermit<K> {
        let (permit, granted) = self.ask(owner);
        if let Some(granted) = granted {
            // The other end is dropped only with the permit itself.
            let _ = granted.await;
        }
        permit
    }

    /// A permit, and a receiver that ends the wait for it, where there is one.
    fn ask(&self, owner: K) -> (FairPermit<K>, Option<oneshot::Receiver<()>>) {
        let (end, ended) = oneshot::channel();
        let mut state = lock(&self.state);
        state.numbers += 1;
        let number = state.numbers;
        let permit = FairPermit { owner: owner.clone(), number, end: ended, state: Arc::clone(&self.state) };
        let own = state.owners.entry(owner.clone()).or_default().held;
        let is_free = state.held.len() < state.most && own < state.most_of_owner;
        if is_free || (self.give_way && state.end_oldest_of_another(own)) {
            state.hold(owner, number, Holder(end, None));
            return (permit, None);
        }
        let (granted, grant) = oneshot::channel();
        let waiting = &mut state.owners.entry(owner).or_default().waiting;
        waiting.insert(number, Holder(end, Some(granted)));
        (permit, Some(grant))
    }
}

impl<K: Hash + Eq + Clone> State<K> {
    fn hold(&mut self, owner: K, number: u64, holder: Holder) {
        self.grants += 1;
        let of_owner = self.owners.entry(owner.clone()).or_default();
        (of_owner.held, of_owner.last_granted) = (of_owner.held + 1, self.grants);
        self.held.insert(number, (owner, holder));
    }

    /// Ends the oldest permit of the owner that holds the most. That owner must be left with at least as many as an owner of
    /// `own` permits has with one more. Returns false where none is.
    fn end_oldest_of_another(&mut self, own: usize) -> bool {
        let Some(most) = self.owners.values().map(|owner| owner.held).max().filter(|most| *most > own + 1)
        else {
            return false;
        };
        let has_most = |(_, (owner, _)): &(&u64, &(K, Holder))| self.owners[owner].held == most;
        let Some(number) = self.held.iter().find(has_most).map(|(number, _)| *number) else { return false };
        self.give_back(number)
    }

    /// Takes a permit back. Returns false where nobody holds it.
    fn give_back(&mut self, number: u64) -> bool {
        let Some((owner, _)) = self.held.remove(&number) else { return false };
        if let Some(of_owner) = self.owners.get_mut(&owner) {
            of_owner.held -= 1;
        }
        self.forget_empty(&owner);
        true
    }

    fn forget_empty(&mut self, owner: &K) {
        if self.owners.get(owner).is_some_and(|owner| owner.held == 0 && owner.waiting.is_empty()) {
            self.owners.remove(owner);
        }
    }

    /// Gives free permits to those that wait.
    fn grant(&mut self) {
        while self.held.len() < self.most {
            let first =
                |owner: &Owner| Some((owner.held, owner.last_granted, *owner.waiting.first_key_value()?.0));
            let may_have = |(_, owner): &(&K, &Owner)| owner.held < self.most_of_owner;
            let next =
                self.owners.iter().filter(may_have).filter_map(|(name, owner)| Some((first(owner)?, name)));
            let Some(name) = next.min_by_key(|(rank, _)| *rank).map(|(_, name)| name.clone()) else { return };
            let waiting = self.owners.get_mut(&name).and_then(|owner| owner.waiting.pop_first());
            let Some((number, Holder(end, granted))) = waiting else { return };
            self.hold(name, number, Holder(end, None));
            // A permit that nobody receives is about to be dropped, which gives it back.
            granted.map(|granted| granted.send(()));
        }
    }
}

impl<K: Hash + Eq + Clone> FairPermit<K> {
    /// Returns once the permit has ended, because another owner got it.
    pub async fn ended(&mut self) {
        let _ = (&mut self.end).await;
    }
}

impl<K: Hash + Eq + Clone> Drop for FairPermit<K> {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        if state.give_back(self.number) {
            state.grant();
        } else if let Some(owner) = state.owners.get_mut(&self.owner) {
            owner.waiting.remove(&self.number);
            state.forget_empty(&self.owner);
        }
    }
}

fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic cannot leave the counts half changed.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    use proptest::prelude::*;

    use super::*;

    type Asked = (FairPermit<&'static str>, Option<oneshot::Receiver<()>>);

    fn is_granted((_, granted): &mut Asked) -> bool {
        granted.as_mut().is_none_or(|granted| granted.try_recv().is_ok())
    }

    fn has_ended((permit, _): &mut Asked) -> bool {
        pin!(permit.ended()).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }

    #[test]
    fn a_free_permit_goes_to_the_owner_with_the_fewest_and_each_has_its_order() {
        let permits = FairPermits::new(2);
        let first = permits.ask("a");
        let mut all: Vec<Asked> = ["a", "a", "a", "b", "b"].map(|owner| permits.ask(owner)).into();
        assert!(is_granted(&mut all[0]));
        drop(first);
        let granted: Vec<bool> = all.iter_mut().map(is_granted).collect();
        assert_eq!(granted, [true, false, false, true, false], "b has none");
        drop(all.remove(0));
        let granted: Vec<bool> = all.iter_mut().map(is_granted).collect();
        assert_eq!(granted[..2], [true, false], "a has none now, and its first comes first");
        assert!(!granted[3]);
    }

    #[test]
    fn one_that_stops_waiting_leaves_nothing_behind() {
        let permits = FairPermits::new(1);
        let (held, left, mut stays) = (permits.ask("a"), permits.ask("b"), permits.ask("b"));
        drop(left);
        drop(held);
        assert!(is_granted(&mut stays));
        let waits = permits.ask("c");
        drop((stays, waits));
        let state = lock(&permits.state);
        assert!(state.held.is_empty() && state.owners.is_empty());
    }

    #[test]
    fn the_oldest_of_the_owner_with_most_gives_way_and_one_of_equals_does_not() {
        let permits = FairPermits::new(3).giving_way();
        let mut held: Vec<Asked> = ["a", "a", "a"].map(|owner| permits.ask(owner)).into();
        let mut more = permits.ask("a");
        assert!(!is_granted(&mut more), "nobody takes from itself");
        let mut other = permits.ask("b");
        assert!(is_granted(&mut other));
        assert_eq!(held.iter_mut().map(has_ended).collect::<Vec<_>>(), [true, false, false]);
        let mut third = permits.ask("b");
        assert!(!is_granted(&mut third), "two and two would be no fairer than two and one");
        drop(held.remove(0));
        assert!(!is_granted(&mut third), "what gave way is not given back twice");
        drop(held.remove(0));
        assert!(is_granted(&mut more) || is_granted(&mut third));
    }

    #[test]
    fn one_owner_has_no_more_than_its_part_of_what_is_free() {
        let permits = FairPermits::new(4).for_each(2);
        let mut all: Vec<Asked> = ["a", "a", "a", "b", "b", "c"].map(|owner| permits.ask(owner)).into();
        let granted: Vec<bool> = all.iter_mut().map(is_granted).collect();
        assert_eq!(granted, [true, true, false, true, true, false], "of four, two each");
        drop(all.remove(0));
        assert!(is_granted(&mut all[4]) && !is_granted(&mut all[1]), "c has none, a has one");
        drop(all.remove(0));
        assert!(is_granted(&mut all[0]));
    }

    #[test]
    fn any_number_that_wait_and_leave_take_the_same_stack() {
        let permits = FairPermits::new(1);
        let held = permits.ask("a");
        let waiting: Vec<Asked> = (0..20_000).map(|_| permits.ask("a")).collect();
        let small = std::thread::Builder::new().stack_size(64 << 10);
        small.spawn(move || drop((held, waiting))).unwrap().join().unwrap();
        assert!(is_granted(&mut permits.ask("b")));
    }

    #[test]
    fn a_wait_ends_with_the_permit() {
        let permits = FairPermits::new(1);
        let held = permits.ask("a");
        let mut context = Context::from_waker(Waker::noop());
        let mut waits: Pin<Box<dyn Future<Output = FairPermit<_>>>> = {
            let permits = permits.clone();
            Box::pin(async move { permits.take("b").await })
        };
        assert!(waits.as_mut().poll(&mut context).is_pending());
        drop(held);
        assert!(matches!(waits.as_mut().poll(&mut context), Poll::Ready(_)));
    }

    proptest! {
        /// However many an owner asks for, another waits for no more than its even part of the permits to be given back.
        #[test]
        fn nobody_waits_for_more_than_its_part(greedy in 1_usize..200, most in 1_usize..16) {
            let permits = FairPermits::new(most);
            let mut held: std::collections::VecDeque<Asked> = (0..greedy).map(|_| permits.ask("greedy")).collect();
            let mut other = permits.ask("other");
            let mut returned = 0;
            while !is_granted(&mut other) {
                held.pop_front();
                returned += 1;
            }
            prop_assert!(returned <= 1, "{returned}");
            prop_assert!(lock(&permits.state).held.len() <= most);
        }
    }
}

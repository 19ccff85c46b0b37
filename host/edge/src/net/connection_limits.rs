//! How many of something each one holds at this moment, with a limit: connections by address, requests by
//! key. Entries exist only while they count something.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// A limit for each `K`.
#[derive(Clone, Debug)]
pub(crate) struct Tally<K> {
    counts: Arc<Mutex<HashMap<K, usize>>>,
    limit: usize,
}

/// One of the things counted; gives its place back when dropped.
#[derive(Debug)]
pub(crate) struct Place<K: Hash + Eq> {
    counts: Arc<Mutex<HashMap<K, usize>>>,
    who: K,
}

impl<K: Hash + Eq + Clone> Tally<K> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { counts: Arc::default(), limit }
    }

    /// A place for `who`, or `None` when they have as many as they may.
    pub(crate) fn enter(&self, who: &K) -> Option<Place<K>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(who) {
            Some(count) if *count >= self.limit => return None,
            Some(count) => *count += 1,
            None => {
                counts.insert(who.clone(), 1);
            }
        }
        Some(Place { counts: Arc::clone(&self.counts), who: who.clone() })
    }
}

impl<K: Hash + Eq> Drop for Place<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.who) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_limited_each_and_given_back() {
        let tally = Tally::new(2);
        let first = tally.enter(&"a").unwrap();
        let second = tally.enter(&"a").unwrap();
        assert!(tally.enter(&"a").is_none());
        assert!(tally.enter(&"b").is_some());
        drop(first);
        assert!(tally.enter(&"a").is_some());
        drop(second);
        assert!(tally.counts.lock().unwrap().is_empty());
    }
}

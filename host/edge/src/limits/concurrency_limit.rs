//! A limit on how many of something each key holds at once: connections by client subnet, requests by API
//! key. A key has an entry only while it holds a permit.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// The same limit for each `K`.
#[derive(Clone, Debug)]
pub(crate) struct ConcurrencyLimit<K> {
    counts: Arc<Mutex<HashMap<K, usize>>>,
    limit: usize,
}

/// The right to hold one of the things counted; released when dropped.
#[derive(Debug)]
pub(crate) struct Permit<K: Hash + Eq> {
    counts: Arc<Mutex<HashMap<K, usize>>>,
    key: K,
}

impl<K: Hash + Eq + Clone> ConcurrencyLimit<K> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { counts: Arc::default(), limit }
    }

    /// A permit for `key`, or `None` at its limit.
    pub(crate) fn try_acquire(&self, key: &K) -> Option<Permit<K>> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(key) {
            Some(count) if *count >= self.limit => return None,
            Some(count) => *count += 1,
            None => {
                counts.insert(key.clone(), 1);
            }
        }
        Some(Permit { counts: Arc::clone(&self.counts), key: key.clone() })
    }
}

impl<K: Hash + Eq> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_limit_and_permits_are_released() {
        let limit = ConcurrencyLimit::new(2);
        let first = limit.try_acquire(&"a").unwrap();
        let second = limit.try_acquire(&"a").unwrap();
        assert!(limit.try_acquire(&"a").is_none());
        assert!(limit.try_acquire(&"b").is_some());
        drop(first);
        assert!(limit.try_acquire(&"a").is_some());
        drop(second);
        assert!(limit.counts.lock().unwrap().is_empty());
    }
}

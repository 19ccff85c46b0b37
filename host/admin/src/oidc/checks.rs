//! How many answers are checked at the provider at once: of all people, and of one address.
//!
//! Anybody who reaches the listener can bring a made-up code, and each costs a call. Without a bound of its own one address
//! takes every place, and people find none.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::access::attempts::Network;

/// Answers that are checked at once.
const MOST: usize = 8;
/// Of them, those of one address.
const MOST_OF_ADDRESS: usize = 2;

/// The answers that are checked now.
#[derive(Debug, Default)]
pub(super) struct Checks(Mutex<BTreeMap<Network, usize>>);

/// A place among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Check<'c> {
    checks: &'c Checks,
    network: Network,
}

impl Checks {
    /// A place for an answer that this address brought; `None` while all of its places are taken.
    pub(super) fn enter(&self, address: IpAddr) -> Option<Check<'_>> {
        let (network, mut running) = (Network::of(address), self.running());
        let own = running.get(&network).copied().unwrap_or_default();
        if own >= MOST_OF_ADDRESS || running.values().sum::<usize>() >= MOST {
            return None;
        }
        running.insert(network, own + 1);
        Some(Check { checks: self, network })
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Network, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Check<'_> {
    fn drop(&mut self) {
        let mut running = self.checks.running();
        match running.get_mut(&self.network) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(running.remove(&self.network)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it one stranger with made-up codes keeps everybody from logging in.
    #[test]
    fn an_address_has_two_of_eight_places() {
        let checks = Checks::default();
        let enter = |last: u8| checks.enter([10, 0, 0, last].into());
        let (one, two) = (enter(1).unwrap(), enter(1).unwrap());
        assert!(enter(1).is_none());
        let others: Vec<_> = (2..5).flat_map(|last| [enter(last), enter(last)]).map(Option::unwrap).collect();
        assert!(enter(9).is_none());
        drop(one);
        let again = enter(1).unwrap();
        assert!(enter(1).is_none());
        drop((two, again, others));
        assert!(checks.0.lock().unwrap().is_empty());
    }
}

//! Logins whose person is at the identity provider, and how many of their answers are checked there at once.
//!
//! The gateway keeps nothing of them: a stranger may begin as many as it likes. The browser keeps a random value in a cookie,
//! and state, nonce and PKCE verifier are made of that value with a key of this process. So an answer counts only in the
//! browser that asked, for some minutes, until a restart.
//!
//! Anybody who reaches the listener can bring a made-up code, and each costs a call. Without a bound of its own one address
//! takes every place, and people find none.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{Pepper, Seed, UnixMs};

use crate::access::Network;

/// A person may be away for this long.
pub(crate) const LIFE: Duration = Duration::from_secs(600);

/// Makes attempts, and knows them again.
pub(super) struct Attempts(Pepper);

/// One attempt: what the browser keeps, and what belongs to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// For the cookie.
    pub(super) cookie: String,
    /// Comes back in the address.
    pub(super) state: String,
    /// Comes back inside the ID token.
    pub(super) nonce: String,
    /// Its digest leaves with the question, it leaves with the code.
    pub(super) verifier: String,
}

impl Attempts {
    pub(super) fn new(seed: &dyn Seed) -> Self {
        let mut key = [0; 32];
        seed.fill(&mut key);
        Self(Pepper::new(key))
    }

    /// A new one.
    pub(super) fn begin(&self, seed: &dyn Seed, now: UnixMs) -> Attempt {
        let mut random = [0; 32];
        seed.fill(&mut random);
        self.of(format!("{}.{}", now.plus(LIFE).0, URL_SAFE_NO_PAD.encode(random)))
    }

    /// The one that a browser's cookie and the provider's answer both belong to; `None` where they do not, or it is too old.
    pub(super) fn resume(&self, cookie: &str, state: &str, now: UnixMs) -> Option<Attempt> {
        let expires = UnixMs(cookie.split_once('.')?.0.parse().ok()?);
        let attempt = self.of(cookie.to_owned());
        // State is made with our key, so a cookie with another time has another state.
        let is_same: bool = subtle::ConstantTimeEq::ct_eq(attempt.state.as_bytes(), state.as_bytes()).into();
        (is_same && now < expires).then_some(attempt)
    }

    fn of(&self, cookie: String) -> Attempt {
        let part = |purpose: &[u8]| URL_SAFE_NO_PAD.encode(self.0.sign(&[purpose, cookie.as_bytes()]));
        Attempt {
            state: part(b"oidc state"),
            nonce: part(b"oidc nonce"),
            verifier: part(b"oidc verifier"),
            cookie,
        }
    }
}

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
    use gatehouse_harness::TestSeed;

    use super::*;

    /// Without the binding a link of a stranger would log a person in as somebody else.
    #[test]
    fn an_answer_counts_in_the_browser_that_asked_and_in_time() {
        let (seed, now) = (TestSeed::default(), UnixMs(1_000));
        let attempts = Attempts::new(&seed);
        let (one, two) = (attempts.begin(&seed, now), attempts.begin(&seed, now));
        assert_ne!(one.state, two.state);
        let parts = [&one.state, &one.nonce, &one.verifier];
        assert!(parts.iter().all(|part| part.len() == 43), "{parts:?}");
        assert!(one.state != one.nonce && one.nonce != one.verifier && one.state != one.verifier);
        let last = UnixMs(1_000 + 599_999);
        assert_eq!(attempts.resume(&one.cookie, &one.state, last), Some(attempts.of(one.cookie.clone())));
        assert_eq!(attempts.resume(&one.cookie, &one.state, UnixMs(601_000)), None);
        for (cookie, state) in
            [(&one.cookie, &two.state), (&two.cookie, &one.state), (&one.state, &one.state)]
        {
            assert_eq!(attempts.resume(cookie, state, now), None);
        }
        let later = one.cookie.replacen("601000", "901000", 1);
        assert_eq!(attempts.resume(&later, &one.state, now), None);
        let restarted = Attempts::new(&seed);
        assert_eq!(restarted.resume(&one.cookie, &one.state, now), None);
    }

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

//! How often an address may fail to log in. Pure: time is an argument.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use gatehouse_model::UnixMs;

/// Failures of one address within [`WINDOW`] before it has to wait.
const MOST: usize = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered; one more forgets all of them.
const ADDRESSES: usize = 1024;

/// Failed logins by address.
#[derive(Debug, Default)]
pub(super) struct Attempts(BTreeMap<IpAddr, VecDeque<UnixMs>>);

impl Attempts {
    /// How long the address has to wait before it may try again, if it has to.
    pub(super) fn wait(&mut self, address: IpAddr, now: UnixMs) -> Option<Duration> {
        let failures = self.0.get_mut(&address)?;
        while failures.front().is_some_and(|at| now.since(*at) >= WINDOW) {
            failures.pop_front();
        }
        if failures.is_empty() {
            self.0.remove(&address);
            return None;
        }
        let oldest = failures.front().filter(|_| failures.len() >= MOST)?;
        Some(oldest.plus(WINDOW).since(now))
    }

    /// Counts a failure.
    pub(super) fn failed(&mut self, address: IpAddr, now: UnixMs) {
        if self.0.len() >= ADDRESSES && !self.0.contains_key(&address) {
            self.0.clear();
        }
        let failures = self.0.entry(address).or_default();
        failures.push_back(now);
        if failures.len() > MOST {
            failures.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_eleventh_failure_within_a_minute_waits() {
        let mut attempts = Attempts::default();
        let (one, other) = (IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv4Addr::new(10, 0, 0, 1)));
        for second in 0..10 {
            assert_eq!(attempts.wait(one, UnixMs(second * 1000)), None, "{second}");
            attempts.failed(one, UnixMs(second * 1000));
        }
        assert_eq!(attempts.wait(one, UnixMs(9_000)), Some(Duration::from_secs(51)));
        assert_eq!(attempts.wait(other, UnixMs(9_000)), None);
        assert_eq!(attempts.wait(one, UnixMs(59_999)), Some(Duration::from_millis(1)));
        assert_eq!(attempts.wait(one, UnixMs(60_000)), None);
        attempts.failed(one, UnixMs(60_000));
        assert_eq!(attempts.wait(one, UnixMs(60_000)), Some(Duration::from_secs(1)));
        assert_eq!(attempts.wait(one, UnixMs(200_000)), None);
        assert!(attempts.0.is_empty());
    }

    #[test]
    fn memory_is_bounded() {
        let mut attempts = Attempts::default();
        for number in 0..5000_u32 {
            for _ in 0..20 {
                attempts.failed(Ipv4Addr::from(number).into(), UnixMs(0));
            }
        }
        assert!(attempts.0.len() <= ADDRESSES);
        assert!(attempts.0.values().all(|failures| failures.len() <= MOST));
    }
}

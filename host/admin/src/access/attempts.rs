//! Failed logins by address: ten a minute, then refusals cost nothing and leave no trace.
//!
//! Only failures count, and only failures are refused: a valid credential always works, so that a local program without
//! one cannot keep the operator out. A token has 256 random bits; what is limited is the work and the audit lines that
//! guesses cause. What only a call can tell, an answer of an identity provider, is not asked of an address with too many.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use gatehouse_model::UnixMs;

/// Failures of an address within [`WINDOW`].
const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered at once; what is over it shares one count.
const MAX_ADDRESSES: usize = 4096;

/// The failures of the present windows.
#[derive(Debug, Default)]
pub(crate) struct FailedAttempts(Mutex<BTreeMap<Network, (UnixMs, u32)>>);

/// Addresses that one program can choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Network {
    Loopback,
    V4([u8; 4]),
    V6([u8; 8]),
    Overflow,
}

impl Network {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            address if address.is_loopback() => Self::Loopback,
            IpAddr::V4(address) => Self::V4(address.octets()),
            IpAddr::V6(address) => {
                let mut network = [0; 8];
                network.copy_from_slice(&address.octets()[..8]);
                Self::V6(network)
            }
        }
    }
}

impl FailedAttempts {
    /// Whether a failure would still count. Counts nothing.
    ///
    /// # Errors
    /// There were too many: how long until the next one counts again.
    pub(crate) fn check(&self, address: IpAddr, now: UnixMs) -> Result<(), Duration> {
        let windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let window = windows.get(&Network::of(address)).or_else(|| {
            let is_full = windows.len() >= MAX_ADDRESSES;
            windows.get(&Network::Overflow).filter(|_| is_full)
        });
        let left = window.filter(|(_, failures)| *failures >= MAX_FAILURES);
        match left.map(|(begun, _)| WINDOW.saturating_sub(now.since(*begun))) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(()),
        }
    }

    /// Counts a failure.
    ///
    /// # Errors
    /// There were too many: how long until the next one counts again.
    pub(crate) fn fail(&self, address: IpAddr, now: UnixMs) -> Result<(), Duration> {
        let mut windows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut network = Network::of(address);
        if !windows.contains_key(&network) && windows.len() >= MAX_ADDRESSES {
            windows.retain(|_, (begun, _)| now.since(*begun) < WINDOW);
            if windows.len() >= MAX_ADDRESSES {
                network = Network::Overflow;
            }
        }
        let (begun, failures) = windows.entry(network).or_insert((now, 0));
        if now.since(*begun) >= WINDOW {
            (*begun, *failures) = (now, 0);
        }
        if *failures >= MAX_FAILURES {
            return Err(WINDOW.saturating_sub(now.since(*begun)));
        }
        *failures += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failures(attempts: &FailedAttempts, address: &str, seconds: u64, times: usize) -> usize {
        let now = UnixMs(seconds * 1000);
        (0..times).filter(|_| attempts.fail(address.parse().unwrap(), now).is_ok()).count()
    }

    #[test]
    fn ten_failures_a_minute_and_address() {
        let attempts = FailedAttempts::default();
        assert_eq!(failures(&attempts, "10.0.0.1", 100, 14), 10);
        assert_eq!(failures(&attempts, "10.0.0.2", 100, 14), 10);
        assert_eq!(failures(&attempts, "10.0.0.1", 159, 1), 0);
        let check = |address: &str, at| attempts.check(address.parse().unwrap(), UnixMs(at));
        let wait = Err(Duration::from_secs(1));
        assert_eq!(attempts.fail("10.0.0.1".parse().unwrap(), UnixMs(159_000)), wait);
        assert_eq!([159_000, 160_000].map(|at| check("10.0.0.1", at)), [wait, Ok(())]);
        assert_eq!(check("10.0.0.3", 100_000), Ok(()));
        assert_eq!(failures(&attempts, "10.0.0.1", 160, 14), 10);
        // A program chooses its own address of these.
        assert_eq!(failures(&attempts, "127.0.0.1", 100, 6) + failures(&attempts, "127.9.9.9", 100, 6), 10);
        assert_eq!(failures(&attempts, "::1", 100, 6), 0);
        assert_eq!(
            failures(&attempts, "2001:db8::1", 100, 6) + failures(&attempts, "2001:db8::2", 100, 6),
            10
        );
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let attempts = FailedAttempts::default();
        let address = |number: u32| IpAddr::from((0x0b00_0000 + number).to_be_bytes());
        let many = u32::try_from(MAX_ADDRESSES).unwrap();
        for number in 0..many {
            attempts.fail(address(number), UnixMs(0)).unwrap();
        }
        assert_eq!(
            (many..many + 30).filter(|number| attempts.fail(address(*number), UnixMs(1)).is_ok()).count(),
            10
        );
        assert!(attempts.0.lock().unwrap().len() <= MAX_ADDRESSES + 1);
        attempts.fail(address(many), UnixMs(60_000)).unwrap();
        assert!(attempts.0.lock().unwrap().len() <= 3);
    }
}

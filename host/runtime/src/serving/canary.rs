//! The canary period of a fresh version: counts its faults, decides when it is rolled back, and names its standby.
//!
//! ```text
//! switch --> canary --window over--> serves alone
//!               `-- too many faults among its last calls --> rolled back; the standby serves again
//! ```
//! [`FaultWindow`] is pure and takes the time as an argument; [`Canaries`] holds one for each fresh version, with its
//! standby. Never switches anything itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use gatehouse_model::{Digest, UnixMs};

use crate::config::CanaryConfig;
use crate::exec::lock;
use crate::version::loaded::Version;

/// The last calls of one version. Only they count: a fault that begins late in the period weighs as much as one that
/// begins at once.
#[derive(Clone, Debug)]
pub(crate) struct FaultWindow {
    rule: CanaryConfig,
    /// The end of the period.
    pub(crate) until: UnixMs,
    /// The last calls, one bit each; 1 is a fault.
    recent: u128,
    /// The number of calls in `recent`.
    calls: u32,
}

impl FaultWindow {
    pub(crate) fn new(rule: CanaryConfig, until: UnixMs) -> Self {
        Self { rule, until, recent: 0, calls: 0 }
    }

    fn is_over(&self, now: UnixMs) -> bool {
        now >= self.until
    }

    /// Records one call; returns the count as text once there are too many faults.
    pub(crate) fn record(&mut self, now: UnixMs, fault: bool) -> Option<String> {
        if self.is_over(now) {
            return None;
        }
        self.recent = self.recent << 1 | u128::from(fault);
        self.calls = (self.calls + 1).min(u128::BITS);
        let faults = self.recent.count_ones();
        let limit = self.rule.faults.clamp(1, u128::BITS);
        let failed = fault
            && faults >= limit
            && u64::from(faults) * 100 >= u64::from(self.rule.percent) * u64::from(self.calls);
        failed.then(|| format!("{faults} of its last {} calls were faults", self.calls))
    }
}

struct Canary {
    window: FaultWindow,
    standby: Arc<Version>,
    /// It has failed, and its rollback runs.
    failed: bool,
}

/// The fresh versions of this moment.
#[derive(Default)]
pub(crate) struct Canaries {
    by_version: Mutex<HashMap<Digest, Canary>>,
    /// Whether there is any: without one, a call takes no lock.
    any: AtomicBool,
}

impl Canaries {
    /// Begins the canary period of `version`.
    pub(crate) fn begin(&self, version: Digest, standby: Arc<Version>, window: FaultWindow) {
        let mut canaries = lock(&self.by_version);
        canaries.insert(version, Canary { window, standby, failed: false });
        self.any.store(true, Ordering::Release);
    }

    /// Ends the canary period of `version`. If it failed, a version with it as standby gets its standby instead.
    pub(crate) fn end(&self, version: &Digest) {
        let mut canaries = lock(&self.by_version);
        if let Some(ended) = canaries.remove(version).filter(|ended| ended.failed) {
            for other in canaries.values_mut().filter(|other| other.standby.digest() == *version) {
                other.standby = Arc::clone(&ended.standby);
            }
            canaries.retain(|digest, other| other.standby.digest() != *digest);
        }
        self.any.store(!canaries.is_empty(), Ordering::Release);
    }

    /// Records a call of `version`; returns its standby and the reason once it has failed.
    pub(crate) fn record(
        &self,
        version: &Digest,
        now: UnixMs,
        fault: bool,
    ) -> Option<(Arc<Version>, String)> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut canaries = lock(&self.by_version);
        let canary = canaries.get_mut(version).filter(|canary| !canary.failed)?;
        let why = canary.window.record(now, fault)?;
        canary.failed = true;
        Some((Arc::clone(&canary.standby), why))
    }

    /// The standby of `version` during its canary period.
    pub(crate) fn standby(&self, version: &Digest, now: UnixMs) -> Option<Arc<Version>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut canaries = lock(&self.by_version);
        self.remove_ended(&mut canaries, now);
        canaries.get(version).map(|canary| Arc::clone(&canary.standby))
    }

    /// Until when `version` is the standby of a fresh one.
    pub(crate) fn standby_until(&self, version: &Digest, now: UnixMs) -> Option<UnixMs> {
        let mut canaries = lock(&self.by_version);
        self.remove_ended(&mut canaries, now);
        let fresh = canaries.values().filter(|canary| canary.standby.digest() == *version);
        fresh.map(|canary| canary.window.until).max()
    }

    /// Removes canaries whose period is over. A failed one stays until its rollback is done.
    fn remove_ended(&self, canaries: &mut HashMap<Digest, Canary>, now: UnixMs) {
        canaries.retain(|_, canary| canary.failed || !canary.window.is_over(now));
        self.any.store(!canaries.is_empty(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records a line of calls (`.` good, `x` a fault), one every `pace` ms; returns the number of calls until it fails.
    fn play(rule: CanaryConfig, pace: u64, line: &str) -> Option<usize> {
        let mut window = FaultWindow::new(rule, rule.until(UnixMs(0)).unwrap_or(UnixMs(0)));
        line.bytes()
            .enumerate()
            .find_map(|(at, call)| window.record(UnixMs(at as u64 * pace), call == b'x').map(|_| at + 1))
    }

    #[test]
    fn the_rule_is_a_number_and_a_share() {
        let rule = CanaryConfig { window_s: 10, faults: 5, percent: 20 };
        let good = ".".repeat(1000);
        let check = |line: &str, expected| assert_eq!(play(rule, 1, line), expected, "{line}");
        check(&good, None);
        check("xxxx", None);
        check("xxxxx", Some(5));
        check("x.x.x.x.x", Some(9));
        check("xxxx....................x", Some(25));
        check("xxxx.....................x", None);
        check(&format!("{}xxxxx", ".".repeat(20)), Some(25));
        // Late in a long period of good calls only the last 128 calls count: 26 of them are a fifth.
        check(&format!("{good}{}", "x".repeat(40)), Some(1026));
        // Only a fault fails the version, never the good call after it.
        check("....................xxxx", None);
    }

    #[test]
    fn the_canary_period_ends() {
        let rule = CanaryConfig { window_s: 10, faults: 5, percent: 20 };
        assert_eq!(play(rule, 2000, "xxxxx"), Some(5), "at 8 s");
        assert_eq!(play(rule, 2500, "xxxxx"), None, "the fifth comes at 10 s");
        assert_eq!(play(CanaryConfig { window_s: 0, ..rule }, 1, "xxxxxxxxx"), None);
    }

    #[test]
    fn extreme_rules_work() {
        let one = CanaryConfig { window_s: 1, faults: 0, percent: 0 };
        assert_eq!(play(one, 1, "..x"), Some(3), "never without a fault");
        let never = CanaryConfig { window_s: 1, faults: 1, percent: 101 };
        assert_eq!(play(never, 1, "xxxxxxxx"), None);
        let many = CanaryConfig { window_s: 1, faults: 10_000, percent: 0 };
        assert_eq!(play(many, 1, &"x".repeat(200)), Some(128), "as many as are remembered");
    }
}

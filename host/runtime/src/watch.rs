//! The watch on a fresh version: how its calls go, when it has gone wrong often enough, and who stands by.
//!
//! ```text
//! switch --> watched --window over--> on its own
//!               `-- too many of its last calls are faults --> withdrawn; the version before serves again
//! ```
//! [`Watch`] is pure and takes the time as an argument; [`Tower`] holds one for each fresh version, with the
//! version that takes over. Never switches anything itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use gatehouse_model::{Digest, UnixMs};
use serde::Deserialize;

use crate::version::Version;

/// The `[plugins.watch]` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CanaryConfig {
    /// Seconds a version is watched after a switch; 0 watches none.
    pub window_s: u32,
    /// Faults among its last 128 calls at which it is withdrawn ...
    pub faults: u32,
    /// ... provided they are at least this share of those calls, in percent.
    pub percent: u32,
}

impl Default for CanaryConfig {
    fn default() -> Self {
        Self { window_s: 300, faults: 5, percent: 20 }
    }
}

impl CanaryConfig {
    /// When a watch that begins now ends; `None` when there is none.
    pub(crate) fn until(&self, now: UnixMs) -> Option<UnixMs> {
        (self.window_s > 0).then(|| now.plus(Duration::from_secs(self.window_s.into())))
    }
}

/// How one version has done. Only its last calls count: a fault that begins late in the window weighs as
/// much as one that begins at once.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    rule: CanaryConfig,
    until: UnixMs,
    /// The last calls, a bit each, 1 for a fault.
    recent: u128,
    /// Calls in `recent`.
    calls: u32,
}

impl Watch {
    pub(crate) fn new(rule: CanaryConfig, until: UnixMs) -> Self {
        Self { rule, until, recent: 0, calls: 0 }
    }

    pub(crate) fn is_over(&self, now: UnixMs) -> bool {
        now >= self.until
    }

    /// Takes down one call; the count in words once it is too much.
    pub(crate) fn note(&mut self, now: UnixMs, fault: bool) -> Option<String> {
        if self.is_over(now) {
            return None;
        }
        self.recent = self.recent << 1 | u128::from(fault);
        self.calls = (self.calls + 1).min(u128::BITS);
        let faults = self.recent.count_ones();
        let enough = self.rule.faults.clamp(1, u128::BITS);
        let breach = fault
            && faults >= enough
            && u64::from(faults) * 100 >= u64::from(self.rule.percent) * u64::from(self.calls);
        breach.then(|| format!("{faults} of its last {} calls were faults", self.calls))
    }
}

struct Watched {
    watch: Watch,
    before: Arc<Version>,
    /// Its withdrawal is under way; said once.
    breached: bool,
}

/// The watches of this moment.
#[derive(Default)]
pub(crate) struct Tower {
    watched: Mutex<HashMap<Digest, Watched>>,
    /// Whether there is any, so that a call in quiet times takes no lock.
    any: AtomicBool,
}

impl Tower {
    /// Watches `version` until then; `before` stands by.
    pub(crate) fn begin(&self, version: Digest, before: Arc<Version>, watch: Watch) {
        let mut watched = self.lock();
        watched.insert(version, Watched { watch, before, breached: false });
        self.any.store(true, Ordering::Release);
    }

    /// Ends the watch on `version`. Whoever would have fallen back on it falls back further.
    pub(crate) fn end(&self, version: &Digest) {
        let mut watched = self.lock();
        if let Some(ended) = watched.remove(version).filter(|ended| ended.breached) {
            for other in watched.values_mut().filter(|other| other.before.digest() == *version) {
                other.before = Arc::clone(&ended.before);
            }
            watched.retain(|digest, other| other.before.digest() != *digest);
        }
        self.any.store(!watched.is_empty(), Ordering::Release);
    }

    /// Takes down a call of `version`; who takes over, and why, once it has failed its watch.
    pub(crate) fn note(&self, version: &Digest, now: UnixMs, fault: bool) -> Option<(Arc<Version>, String)> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut watched = self.lock();
        let entry = watched.get_mut(version).filter(|entry| !entry.breached)?;
        let why = entry.watch.note(now, fault)?;
        entry.breached = true;
        Some((Arc::clone(&entry.before), why))
    }

    /// Who answers in the place of `version` while it is watched.
    pub(crate) fn standby(&self, version: &Digest, now: UnixMs) -> Option<Arc<Version>> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let mut watched = self.lock();
        self.sweep(&mut watched, now);
        watched.get(version).map(|entry| Arc::clone(&entry.before))
    }

    /// Until when `version` stands by for a younger one.
    pub(crate) fn stands_by(&self, version: &Digest, now: UnixMs) -> Option<UnixMs> {
        let mut watched = self.lock();
        self.sweep(&mut watched, now);
        let entries = watched.values().filter(|entry| entry.before.digest() == *version);
        entries.map(|entry| entry.watch.until).max()
    }

    /// Lets go of what is over. A breached one stays until its withdrawal is done.
    fn sweep(&self, watched: &mut HashMap<Digest, Watched>, now: UnixMs) {
        watched.retain(|_, entry| entry.breached || !entry.watch.is_over(now));
        self.any.store(!watched.is_empty(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Digest, Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a line of calls (`.` well, `x` a fault), one every `pace` ms; how many it took to a breach.
    fn play(rule: CanaryConfig, pace: u64, line: &str) -> Option<usize> {
        let mut watch = Watch::new(rule, rule.until(UnixMs(0)).unwrap_or(UnixMs(0)));
        line.bytes()
            .enumerate()
            .find_map(|(at, call)| watch.note(UnixMs(at as u64 * pace), call == b'x').map(|_| at + 1))
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
        // Late in a long good life only the last 128 calls count: 26 of them are a fifth.
        check(&format!("{good}{}", "x".repeat(40)), Some(1026));
        // A breach is told by a fault, never by the good call after it.
        check("....................xxxx", None);
    }

    #[test]
    fn the_watch_ends_with_its_window() {
        let rule = CanaryConfig { window_s: 10, faults: 5, percent: 20 };
        assert_eq!(play(rule, 2000, "xxxxx"), Some(5), "at 8 s");
        assert_eq!(play(rule, 2500, "xxxxx"), None, "the fifth comes at 10 s");
        assert_eq!(play(CanaryConfig { window_s: 0, ..rule }, 1, "xxxxxxxxx"), None);
    }

    #[test]
    fn odd_rules_stay_sane() {
        let one = CanaryConfig { window_s: 1, faults: 0, percent: 0 };
        assert_eq!(play(one, 1, "..x"), Some(3), "never without a fault");
        let never = CanaryConfig { window_s: 1, faults: 1, percent: 101 };
        assert_eq!(play(never, 1, "xxxxxxxx"), None);
        let many = CanaryConfig { window_s: 1, faults: 10_000, percent: 0 };
        assert_eq!(play(many, 1, &"x".repeat(200)), Some(128), "as many as are remembered");
    }
}

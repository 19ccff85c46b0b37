//! How the maker of a request learns what it took: what is left of its key's rates, and its money. A client may leave before
//! the work ends: what is to be known then waits for it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use gatehouse_model::{Credits, UnixMs};

use crate::rates::{RateStatus, RateUse};

/// Where the maker of a request finds out what is left of its rates, and what it holds and pays, whatever becomes of it.
/// Empty until the rates that it counts against are known.
#[derive(Clone, Debug, Default)]
pub struct RequestReport(Arc<Reported>);

#[derive(Debug, Default)]
struct Reported {
    rates: OnceLock<Arc<RateUse>>,
    model: OnceLock<Arc<str>>,
    has_targets: AtomicBool,
    target: OnceLock<Arc<str>>,
    attempts: AtomicU32,
    held: Amount,
    charged: Amount,
    work: Mutex<Work>,
}

/// Credits, once they are known.
#[derive(Debug)]
struct Amount(AtomicI64);

/// The work of a request, and who wants to know when its money is known.
#[derive(Default)]
struct Work {
    is_running: bool,
    waiting: Option<Waiting>,
}

/// Gets what was held and what was charged.
type Waiting = Box<dyn FnOnce(Option<Credits>, Option<Credits>) + Send>;

/// The work of a request; dropped at its end, however it comes. What waits is told then, if not before.
#[derive(Debug)]
pub(crate) struct WorkGuard(RequestReport);

/// No hold and no charge is less than zero.
const UNKNOWN: i64 = -1;

impl Default for Amount {
    fn default() -> Self {
        Self(AtomicI64::new(UNKNOWN))
    }
}

impl Amount {
    fn set(&self, amount: Credits) {
        self.0.store(amount.0, Ordering::Relaxed);
    }

    /// What is known already stays.
    fn set_once(&self, amount: Credits) {
        let _ = self.0.compare_exchange(UNKNOWN, amount.0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn known(&self) -> Option<Credits> {
        Some(Credits(self.0.load(Ordering::Relaxed))).filter(|amount| amount.0 != UNKNOWN)
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Work(running: {}, waited for: {})", self.is_running, self.waiting.is_some())
    }
}

impl Drop for WorkGuard {
    fn drop(&mut self) {
        self.0.tell(|work| work.is_running = false);
    }
}

impl RequestReport {
    /// What is left at that moment.
    #[must_use]
    pub fn status(&self, now: UnixMs) -> RateStatus {
        self.0.rates.get().map(|used| used.status(now)).unwrap_or_default()
    }

    /// The canonical id of its model, once that is known.
    #[must_use]
    pub fn model(&self) -> Option<Arc<str>> {
        self.0.model.get().cloned()
    }

    /// The first one that is found counts.
    pub(crate) fn of_model(&self, model: &str) {
        let _ = self.0.model.get_or_init(|| model.into());
    }

    /// The target that answered it, as `provider/upstream`, once one has.
    #[must_use]
    pub fn target(&self) -> Option<Arc<str>> {
        self.0.target.get().cloned()
    }

    /// Calls of accounts that were made for it while its client waited.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.0.attempts.load(Ordering::Relaxed)
    }

    /// Whether its model lists several targets, so that its client is to know which one answered.
    #[must_use]
    pub fn has_targets(&self) -> bool {
        self.0.has_targets.load(Ordering::Relaxed)
    }

    pub(crate) fn of_targets(&self) {
        self.0.has_targets.store(true, Ordering::Relaxed);
    }

    pub(crate) fn attempt(&self) {
        self.0.attempts.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn answered_by(&self, target: &str) {
        let _ = self.0.target.get_or_init(|| target.into());
    }

    /// What was held for it: the most that a text may cost, or the price of a task.
    #[must_use]
    pub fn held(&self) -> Option<Credits> {
        self.0.held.known()
    }

    /// What it was charged, zero where everything was given back. Unknown for a task, and while a text runs.
    #[must_use]
    pub fn charged(&self) -> Option<Credits> {
        self.0.charged.known()
    }

    /// Gives `then` what was held and what was charged, once both are known: at once unless the request is still worked on.
    /// Work whose client has left ends all the same, so `then` is called once.
    pub fn when_known(&self, then: impl FnOnce(Option<Credits>, Option<Credits>) + Send + 'static) {
        let mut work = self.work();
        if work.is_running && self.charged().is_none() {
            work.waiting = Some(Box::new(then));
            return;
        }
        drop(work);
        then(self.held(), self.charged());
    }

    /// The request is worked on from now on.
    pub(crate) fn begin_work(&self) -> WorkGuard {
        self.work().is_running = true;
        WorkGuard(self.clone())
    }

    /// A request that is judged again counts against the same rates.
    pub(crate) fn count(&self, used: &Arc<RateUse>) {
        let _ = self.0.rates.set(Arc::clone(used));
    }

    pub(crate) fn hold(&self, amount: Credits) {
        self.0.held.set(amount);
    }

    /// The first bill counts, as it does in the ledger.
    pub(crate) fn charge(&self, amount: Credits) {
        self.0.charged.set_once(amount);
        self.tell(|_| {});
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.0.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, change: impl FnOnce(&mut Work)) {
        let mut work = self.work();
        change(&mut work);
        let waiting = work.waiting.take();
        drop(work);
        if let Some(then) = waiting {
            then(self.held(), self.charged());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    type Told = (Option<Credits>, Option<Credits>);

    fn ask(report: &RequestReport) -> mpsc::Receiver<Told> {
        let (sender, told) = mpsc::channel();
        report.when_known(move |held, charged| sender.send((held, charged)).expect("a test that waits"));
        told
    }

    #[test]
    fn without_work_it_is_known_at_once() {
        let report = RequestReport::default();
        assert_eq!(ask(&report).try_recv(), Ok((None, None)));
        drop(report.begin_work());
        report.hold(Credits(7));
        assert_eq!(ask(&report).try_recv(), Ok((Some(Credits(7)), None)), "the price of a task");
    }

    #[test]
    fn who_asks_before_the_bill_is_told_with_it() {
        let report = RequestReport::default();
        let work = report.begin_work();
        let told = ask(&report);
        report.hold(Credits(7));
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Empty));
        report.charge(Credits(3));
        assert_eq!(told.try_recv(), Ok((Some(Credits(7)), Some(Credits(3)))));
        // The second bill of a request changes nothing, as in the ledger.
        report.charge(Credits::ZERO);
        assert_eq!(ask(&report).try_recv(), Ok((Some(Credits(7)), Some(Credits(3)))));
        drop(work);
        assert_eq!(told.try_recv(), Err(mpsc::TryRecvError::Disconnected), "once");
    }

    #[test]
    fn work_that_ends_without_a_bill_says_so() {
        let report = RequestReport::default();
        let work = report.begin_work();
        let told = ask(&report);
        report.hold(Credits(7));
        drop(work);
        assert_eq!(told.try_recv(), Ok((Some(Credits(7)), None)));
    }
}

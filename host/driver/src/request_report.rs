//! How the maker of a request learns what it took: what is left of its key's rates, and its money. Never decides about
//! either.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use gatehouse_model::{Credits, UnixMs};

use crate::rates::{RateStatus, RateUse};

/// Where the maker of a request finds out what is left of its rates, and what it holds and pays, whatever becomes of it.
/// Empty until the rates that it counts against are known.
#[derive(Clone, Debug, Default)]
pub struct RequestReport(Arc<Reported>);

#[derive(Debug, Default)]
struct Reported {
    rates: OnceLock<Arc<RateUse>>,
    held: Amount,
    charged: Amount,
}

/// Credits, once they are known.
#[derive(Debug)]
struct Amount(AtomicI64);

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

    fn known(&self) -> Option<Credits> {
        Some(Credits(self.0.load(Ordering::Relaxed))).filter(|amount| amount.0 != UNKNOWN)
    }
}

impl RequestReport {
    /// What is left at that moment.
    #[must_use]
    pub fn status(&self, now: UnixMs) -> RateStatus {
        self.0.rates.get().map(|used| used.status(now)).unwrap_or_default()
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

    /// A request that is judged again counts against the same rates.
    pub(crate) fn count(&self, used: &Arc<RateUse>) {
        let _ = self.0.rates.set(Arc::clone(used));
    }

    pub(crate) fn hold(&self, amount: Credits) {
        self.0.held.set(amount);
    }

    pub(crate) fn charge(&self, amount: Credits) {
        self.0.charged.set(amount);
    }
}

//! How the maker of a request learns what is left of its rates.

use std::sync::{Arc, OnceLock};

use gatehouse_model::UnixMs;

use crate::rates::rate_use::RateUse;
use crate::rates::status::RateStatus;

/// Where the maker of a request finds out what is left of its rates, whatever becomes of the request. Empty until the
/// rates that it counts against are known.
#[derive(Clone, Debug, Default)]
pub struct RateReport(Arc<OnceLock<Arc<RateUse>>>);

impl RateReport {
    /// What is left at that moment.
    #[must_use]
    pub fn status(&self, now: UnixMs) -> RateStatus {
        self.0.get().map(|used| used.status(now)).unwrap_or_default()
    }

    /// A request that is judged again counts against the same rates.
    pub(crate) fn set(&self, used: &Arc<RateUse>) {
        let _ = self.0.set(Arc::clone(used));
    }
}

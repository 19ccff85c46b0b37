//! Customers and their balances.

use serde::{Deserialize, Serialize};

use crate::credits::Credits;
use crate::ids::CustomerId;
use crate::time::UnixMs;

/// A customer's balances. `available + reserved + spent` always equals `deposited`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Customer {
    /// Its id.
    pub id: CustomerId,
    /// When it was opened.
    pub created: UnixMs,
    /// Free to be held.
    pub available: Credits,
    /// Held for requests under way.
    pub reserved: Credits,
    /// Settled.
    pub spent: Credits,
    /// Everything ever paid in, less what was taken back.
    pub deposited: Credits,
}

impl Customer {
    /// Whether it can pay for anything: without, all its requests are refused.
    #[must_use]
    pub fn has_credit(&self) -> bool {
        self.available > Credits::ZERO
    }
}

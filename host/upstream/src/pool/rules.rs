//! What the operator says of customers, for all providers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use gatehouse_model::CustomerId;

/// The rules under which customers share permits.
#[derive(Debug, Default)]
pub(crate) struct PoolRules {
    weights: BTreeMap<String, u32>,
    several_customers: AtomicBool,
}

impl PoolRules {
    pub(crate) fn new(weights: BTreeMap<String, u32>) -> Self {
        Self { weights, several_customers: AtomicBool::new(false) }
    }

    /// The customer's share in relation to others, at least 1.
    pub(crate) fn weight_of(&self, customer: &CustomerId) -> u64 {
        self.weights.get(&customer.0).map_or(1, |weight| u64::from(*weight).max(1))
    }

    /// Whether there are others whom a customer may keep waiting.
    pub(crate) fn has_several_customers(&self) -> bool {
        self.several_customers.load(Ordering::Relaxed)
    }

    pub(crate) fn expect_several_customers(&self) {
        self.several_customers.store(true, Ordering::Relaxed);
    }
}

//! The right to keep an instance beyond one call: of a stream, or between the two calls of a text request. Never waits,
//! never takes one back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A customer may have this many times as many as are left: at most two thirds of all, the next one at most two thirds of
/// the rest, so that some are left for a customer who comes late.
const TIMES_LEFT: usize = 2;

/// A number of permits, shared by customers.
pub(crate) struct InstancePermits {
    limit: usize,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    by_customer: BTreeMap<Arc<str>, usize>,
}

/// One of them, given back when it is dropped.
pub(crate) struct InstancePermit {
    permits: Arc<InstancePermits>,
    customer: Arc<str>,
}

impl InstancePermits {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, taken: Mutex::default() })
    }

    /// One for `customer`; `None` where all are taken, or too few are left beside what the customer has.
    pub(crate) fn take(self: &Arc<Self>, customer: &str) -> Option<InstancePermit> {
        let mut taken = self.lock();
        let left = self.limit.saturating_sub(taken.all);
        let own = taken.by_customer.get(customer).copied().unwrap_or_default();
        if own >= left.saturating_mul(TIMES_LEFT) {
            return None;
        }
        let customer: Arc<str> = customer.into();
        taken.all += 1;
        *taken.by_customer.entry(Arc::clone(&customer)).or_default() += 1;
        Some(InstancePermit { permits: Arc::clone(self), customer })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // A panic cannot leave the counts half changed.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for InstancePermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "InstancePermit({})", self.customer)
    }
}

impl Drop for InstancePermit {
    fn drop(&mut self) {
        let mut taken = self.permits.lock();
        taken.all = taken.all.saturating_sub(1);
        if let Some(own) = taken.by_customer.get_mut(&self.customer) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                taken.by_customer.remove(&self.customer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn take_all(permits: &Arc<InstancePermits>, customer: &str) -> Vec<InstancePermit> {
        std::iter::from_fn(|| permits.take(customer)).collect()
    }

    #[test]
    fn one_customer_leaves_a_third() {
        for (limit, expected) in [(0, 0), (1, 1), (3, 2), (10, 7), (100, 67), (1536, 1024)] {
            assert_eq!(take_all(&InstancePermits::new(limit), "a").len(), expected, "of {limit}");
        }
    }

    #[test]
    fn a_permit_is_given_back() {
        let permits = InstancePermits::new(1);
        let first = permits.take("a");
        assert!(first.is_some() && permits.take("a").is_none() && permits.take("b").is_none());
        drop(first);
        assert!(permits.lock().by_customer.is_empty());
        assert!(permits.take("b").is_some());
    }

    proptest! {
        /// Whatever a few customers take, in any order, some are left for one who comes late.
        #[test]
        fn a_customer_who_comes_late_gets_some(
            order in prop::collection::vec(0_usize..3, 0..2000), limit in 81_usize..2000,
        ) {
            let permits = InstancePermits::new(limit);
            let mut held = vec![];
            for customer in order {
                held.extend(permits.take(&customer.to_string()));
            }
            for customer in 0..3 {
                held.extend(take_all(&permits, &customer.to_string()));
            }
            let late = take_all(&permits, "late").len();
            // A third of a third of a third is left, of which it gets two thirds, but for what rounding takes.
            prop_assert!(late * 81 + 162 >= limit * 2 && late > 0, "{late} of {limit}");
            prop_assert!(permits.lock().all <= limit);
        }
    }
}

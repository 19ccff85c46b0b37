//! Quotas in the oracle: every amount is kept under the period in which it was held, as long as the sequence goes on.
//!
//! The rules keep one counter and forget the periods before; here nothing is forgotten, and nothing is rolled over.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, CustomerId, QuotaPeriod, UnixMs};

use super::Oracle;

/// How often the period was set, and when the period ends.
pub(super) type Label = (u32, UnixMs);
/// What of an amount counts in a period.
pub(super) type Counted = Option<(Label, i64)>;

#[derive(Clone, Debug, Default)]
pub(crate) struct QuotaState {
    quota: Option<i64>,
    period: Option<QuotaPeriod>,
    times_set: u32,
    used: BTreeMap<Label, i64>,
    /// What counted when the quota came, and in which period.
    over: (Option<Label>, i64),
}

impl QuotaState {
    /// Whether it can be; `ever` is what was used in all.
    pub(super) fn set(
        &mut self,
        (quota, period): (Option<Credits>, Option<QuotaPeriod>),
        ever: i64,
        at: UnixMs,
    ) -> bool {
        let quota = quota.map(|quota| quota.0);
        if quota.is_some_and(|quota| quota < 0) || (quota.is_none() && period.is_some()) {
            return false;
        }
        if period != self.period {
            (self.period, self.times_set) = (period, self.times_set + 1);
        } else if quota == self.quota {
            return true;
        }
        self.quota = quota;
        self.over = (self.label(at), self.used(ever, at));
        true
    }

    pub(super) fn is(&self, quota: Option<Credits>, period: Option<QuotaPeriod>) -> bool {
        (self.quota, self.period) == (quota.map(|quota| quota.0), period)
    }

    fn label(&self, at: UnixMs) -> Option<Label> {
        Some((self.times_set, self.period?.end(at)))
    }

    /// What counts at that moment.
    pub(crate) fn used(&self, ever: i64, at: UnixMs) -> i64 {
        self.label(at).map_or(ever, |label| self.used.get(&label).copied().unwrap_or(0))
    }

    /// The most that may count at that moment.
    pub(crate) fn most(&self, at: UnixMs) -> Option<i64> {
        let over = if self.over.0 == self.label(at) { self.over.1 } else { 0 };
        self.quota.map(|quota| quota.max(over))
    }

    pub(super) fn left(&self, ever: i64, at: UnixMs) -> Option<i64> {
        Some(self.quota? - self.used(ever, at))
    }

    pub(super) fn add(&mut self, amount: i64, at: UnixMs) -> Option<(Label, i64)> {
        let label = self.label(at)?;
        *self.used.entry(label).or_default() += amount;
        Some((label, amount))
    }

    /// Gives back what was held first before what was held later, each to its own period.
    pub(super) fn give_back(&mut self, back: i64, held: i64, periods: &[(Label, i64)]) {
        let counted: i64 = periods.iter().map(|(_, amount)| amount).sum();
        let mut back = (back - (held - counted).min(back)).max(0);
        for (label, amount) in periods {
            let part = back.min(*amount);
            *self.used.get_mut(label).unwrap() -= part;
            back -= part;
        }
    }
}

impl Oracle {
    pub(super) fn edit_customer(
        &mut self,
        id: &CustomerId,
        revision: u64,
        quota: (Option<Credits>, Option<QuotaPeriod>),
        at: UnixMs,
    ) -> bool {
        let Some(customer) = self.customers.get_mut(id) else { return false };
        let ever = self.balances[id].held + self.balances[id].spent;
        if customer.revision != revision || !customer.quota.set(quota, ever, at) {
            return false;
        }
        customer.revision += 1;
        true
    }
}

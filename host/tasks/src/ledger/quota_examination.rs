//! The examination's part about quotas: what is used is within them, and holds of the present period are a part of it.
//!
//! What was used in a period is not a sum of ledger rows: a row says when a hold was given back, not in which period it
//! counted. So a counter is held between two bounds.

use std::collections::BTreeMap;

use gatehouse_model::{Credits, Customer, CustomerId, Key, PeriodUse};

use crate::records::hold::Hold;
use crate::records::quota::PeriodShare;

/// What open holds count, by the number of the period.
pub(crate) type OpenShares = BTreeMap<u64, i128>;

/// What the examination keeps of the quota of a row.
#[derive(Debug)]
pub(crate) struct QuotaRow {
    /// The most that may be used; `None` without a quota.
    most: Option<Credits>,
    used: Credits,
    /// Where the quota resets.
    period: Option<PeriodUse>,
}

impl QuotaRow {
    pub(crate) fn of_key(key: &Key) -> Self {
        // A key that was replaced leaves its quota to its successor.
        let quota = key.quota.filter(|_| key.rotated_to.is_none());
        Self::new(quota, key.used_before_quota, key.quota_period.is_some(), key.period_use, key.used)
    }

    fn of_customer(customer: &Customer) -> Self {
        let used = Credits(customer.reserved.0.saturating_add(customer.spent.0));
        let has_periods = customer.quota_period.is_some();
        Self::new(customer.quota, customer.used_before_quota, has_periods, customer.period_use, used)
    }

    fn new(
        quota: Option<Credits>,
        before: Credits,
        has_periods: bool,
        period: Option<PeriodUse>,
        used: Credits,
    ) -> Self {
        let period = period.filter(|_| has_periods);
        let used = if has_periods { period.map_or(Credits::ZERO, |row| row.used) } else { used };
        Self { most: quota.map(|quota| quota.max(before)), used, period: period.filter(|_| quota.is_some()) }
    }

    /// What contradicts itself, the end of a sentence each. `open` is what holds count in its periods.
    pub(crate) fn findings(&self, open: &OpenShares) -> Vec<&'static str> {
        let mut findings = Vec::new();
        if self.used < Credits::ZERO || self.most.is_some_and(|most| self.used > most) {
            findings.push("its use is outside its quota");
        }
        if let Some(period) = self.period
            && (open.get(&period.number).is_some_and(|open| *open > i128::from(self.used.0))
                || open.keys().next_back().is_some_and(|last| *last > period.number))
        {
            findings.push("its holds count more in the period of its quota than is used");
        }
        findings
    }
}

/// Adds a share of a hold to what its owner's holds count.
pub(crate) fn add_share(open: &mut OpenShares, share: Option<PeriodShare>) {
    if let Some(share) = share {
        *open.entry(share.period).or_default() += i128::from(share.amount.0);
    }
}

/// What was seen of customers' quotas, until all rows were.
#[derive(Debug, Default)]
pub(crate) struct CustomerQuotas {
    open: BTreeMap<CustomerId, OpenShares>,
    rows: BTreeMap<CustomerId, QuotaRow>,
}

impl CustomerQuotas {
    /// A customer's row.
    pub(crate) fn customer(&mut self, customer: &Customer) {
        if customer.quota.is_some() {
            self.rows.insert(customer.id.clone(), QuotaRow::of_customer(customer));
        }
    }

    /// The row of an open hold.
    pub(crate) fn hold(&mut self, hold: &Hold) {
        if hold.counted_of_customer.is_some() {
            add_share(self.open.entry(hold.customer.clone()).or_default(), hold.counted_of_customer);
        }
    }

    /// What contradicts itself, a sentence each.
    pub(crate) fn findings(&self) -> Vec<String> {
        let none = OpenShares::new();
        let of = |(id, row): (&CustomerId, &QuotaRow)| {
            let found = row.findings(self.open.get(id).unwrap_or(&none));
            found.into_iter().map(|finding| format!("customer {id}: {finding}")).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(of).collect()
    }
}

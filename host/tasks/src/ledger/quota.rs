//! What counts against quotas that reset, of keys and of customers alike.
//!
//! - A hold counts in the period in which it is made; what joins a task, in the period in which it joins.
//! - What a hold gives back, it gives back to the period in which it counted. Where that is over, nothing of the present
//!   period changes. Of a hold that counts in several periods, the part of the earliest is given back first.
//! - What a text cost above its hold counts in the period in which it ends, as far as that has something left.
//! - An edit of the amount keeps what is used. An edit of the period begins a new one, with nothing used.
//! - The keys of a rotation share one period: the newest one's row has it.
//!
//! Quotas that never reset count what the ledger counts: `used` of a key, held and spent of a customer.

use gatehouse_model::{Credits, Customer, Key, PeriodUse, QuotaPeriod, QuotaUse, UnixMs};

use crate::commands::rejection::Rejection;
use crate::records::quota::{PeriodShare, QuotaExceeded, QuotaOwner};

/// Whether a quota allows so much more.
pub(crate) fn check_quota(
    owner: QuotaOwner,
    quota: Option<QuotaUse>,
    needed: Credits,
) -> Result<(), Rejection> {
    let Some(quota) = quota else { return Ok(()) };
    let remaining = quota.remaining();
    if needed <= remaining {
        return Ok(());
    }
    // More than all of it does not fit into the next period either.
    let resets = quota.resets.filter(|_| needed <= quota.limit);
    Err(Rejection::QuotaExceeded(QuotaExceeded { owner, needed, remaining, resets }))
}

/// The part of a key's or a customer's row that counts a period.
pub(crate) struct PeriodCounter<'r> {
    period: Option<QuotaPeriod>,
    row: &'r mut Option<PeriodUse>,
    used_before: &'r mut Credits,
}

impl<'r> PeriodCounter<'r> {
    pub(crate) fn of_key(key: &'r mut Key) -> Self {
        Self { period: key.quota_period, row: &mut key.period_use, used_before: &mut key.used_before_quota }
    }

    pub(crate) fn of_customer(customer: &'r mut Customer) -> Self {
        let Customer { quota_period, period_use, used_before_quota, .. } = customer;
        Self { period: *quota_period, row: period_use, used_before: used_before_quota }
    }

    /// Counts a new hold, or what is added to one; what the hold remembers of it. `None` where it does not fit.
    pub(crate) fn reserve(&mut self, amount: Credits, at: UnixMs) -> Option<Option<PeriodShare>> {
        let Some(row) = self.enter(at).filter(|_| amount != Credits::ZERO) else { return Some(None) };
        row.used = row.used.checked_add(amount)?;
        Some(Some(PeriodShare { period: row.number, amount }))
    }

    /// Counts the end of a hold, of which `share` counts in some period. `None` where it does not fit.
    pub(crate) fn resolve(
        &mut self,
        held: Credits,
        cost: Credits,
        share: Option<PeriodShare>,
        at: UnixMs,
    ) -> Option<()> {
        let Some(row) = self.enter(at) else { return Some(()) };
        let present = share.filter(|share| share.period == row.number);
        let earlier = held.checked_sub(present.map_or(Credits::ZERO, |share| share.amount))?;
        let given_back = held.checked_sub(cost)?;
        // Below zero, the cost is above the hold.
        let change = if given_back < Credits::ZERO {
            given_back
        } else {
            given_back.checked_sub(earlier)?.max(Credits::ZERO)
        };
        row.used = row.used.checked_sub(change)?;
        Some(())
    }

    /// An operator has edited the quota. Of another period nothing is used, and holds of before do not count in it.
    pub(crate) fn edited(&mut self, is_other_period: bool, at: UnixMs) {
        // Without periods the row keeps the last number, so that none is ever used twice.
        if let (true, Some(period), Some(row)) = (is_other_period, self.period, self.row.as_mut()) {
            *row = PeriodUse::unused(row.number.saturating_add(1), period, at);
        }
        // What was used in a period that is over is not measured by the new amount.
        self.enter(at);
    }

    /// The row of the period of that moment, if there are periods.
    fn enter(&mut self, at: UnixMs) -> Option<&mut PeriodUse> {
        let period = self.period?;
        let row = self.row.get_or_insert_with(|| PeriodUse::unused(0, period, at));
        let now = row.at(period, at);
        if now.number != row.number {
            *self.used_before = Credits::ZERO;
        }
        *row = now;
        Some(row)
    }
}

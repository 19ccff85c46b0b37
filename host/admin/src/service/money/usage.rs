//! Usage for operators: sums by hour or day, customer, key and model, of any part of them.
//!
//! Reads the sums that are kept with the ledger, never the ledger. A time with too much usage is refused instead of cut, so
//! that no total is ever a part.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gatehouse_model::{Clock, CustomerId, KeyId, UnixMs};
use gatehouse_store::{
    KEPT_DAYS_OF_HOURS, Store, UsagePeriod, UsagePosition, UsageQuery, UsageRow, UsageRows, UsageScope,
};
use gatehouse_tasks::{UsageSums, hour_of};

use crate::api::error::OperationError;

/// Rows that one report may read.
const MAX_ROWS: usize = 100_000;
/// Rows that one piece of a full listing reads.
const PIECE: usize = 2_000;
const HOUR_MS: u64 = 3_600_000;

/// What usage is summed up by, beside the parts of a [`UsageRequest`] that are fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageGroups {
    /// Each hour or day.
    pub period: Option<UsagePeriod>,
    /// Each customer.
    pub customer: bool,
    /// Each key.
    pub key: bool,
    /// Each model.
    pub model: bool,
}

/// Which usage, and how it is summed up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRequest {
    /// What makes a row.
    pub groups: UsageGroups,
    /// Only this customer.
    pub customer: Option<CustomerId>,
    /// Only this key.
    pub key: Option<KeyId>,
    /// Only these models; empty means all.
    pub models: Vec<String>,
    /// Only what ended in this time: whole hours, or whole days where the hours are not kept any more or rows are days.
    pub created: Range<UnixMs>,
}

/// A row of a report. What it is not summed up by is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageGroup {
    /// The beginning of the hour or day.
    pub since: Option<UnixMs>,
    /// The customer.
    pub customer: Option<CustomerId>,
    /// The key.
    pub key: Option<KeyId>,
    /// Canonical model; empty where it is unknown.
    pub model: Option<String>,
    /// The sums.
    pub sums: UsageSums,
}

/// A whole report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// Newest first, then by customer, key and model.
    pub rows: Vec<UsageGroup>,
    /// Of all of them.
    pub total: UsageSums,
    /// Rows of sums that were read.
    pub rows_read: usize,
}

/// A piece of a full listing, by customer, key, hour or day, and model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsagePiece {
    /// Whether its rows are hours or days.
    pub unit: UsagePeriod,
    /// Its rows.
    pub rows: Vec<UsageRow>,
    /// Where the next piece begins; `None` after the last one.
    pub next: Option<UsagePosition>,
}

/// Reads sums of usage.
pub struct Usage {
    pub(in crate::service) store: Store,
    pub(in crate::service) clock: Arc<dyn Clock>,
}

impl Usage {
    /// A report on usage.
    ///
    /// # Errors
    /// [`OperationError::Invalid`] for a time that is cut in the middle of its unit, or has too much usage.
    pub async fn report(&self, request: &UsageRequest) -> Result<UsageReport, OperationError> {
        let unit = self.unit_of(request)?;
        let Some(scope) = self.scope(request, request.groups).await? else {
            return Ok(UsageReport::default());
        };
        let found = self.sums(scope, unit, request, None, MAX_ROWS).await?;
        if found.next.is_some() {
            let expected = "a shorter time or fewer groups; there is too much usage to sum up";
            return Err(invalid("created_after", expected, request.created.start));
        }
        let mut report = UsageReport { rows_read: found.rows_read, ..UsageReport::default() };
        let mut groups: BTreeMap<_, UsageSums> = BTreeMap::new();
        let UsageGroups { period, customer, key, model } = request.groups;
        for row in found.rows.into_iter().filter(|row| request.shows(row)) {
            report.total.add(&row.sums);
            let since = period.map(|_| start_of(unit, row.period));
            let of = (customer.then_some(row.customer), key.then_some(row.key), model.then_some(row.model));
            groups.entry((Reverse(since), of)).or_default().add(&row.sums);
        }
        let group = |((Reverse(since), (customer, key, model)), sums)| UsageGroup {
            since,
            customer,
            key,
            model,
            sums,
        };
        report.rows = groups.into_iter().map(group).collect();
        Ok(report)
    }

    /// Every row that [`Usage::report`] sums up for the same request, in pieces: its sum is the report's total.
    ///
    /// # Errors
    /// As for a report; a listing has no limit of its own.
    pub async fn rows(
        &self,
        request: &UsageRequest,
        after: Option<UsagePosition>,
    ) -> Result<UsagePiece, OperationError> {
        let unit = self.unit_of(request)?;
        let each = UsageGroups { key: true, ..request.groups };
        let Some(scope) = self.scope(request, each).await? else {
            return Ok(UsagePiece { unit, rows: Vec::new(), next: None });
        };
        let found = self.sums(scope, unit, request, after, PIECE).await?;
        let rows = found.rows.into_iter().filter(|row| request.shows(row)).collect();
        Ok(UsagePiece { unit, rows, next: found.next })
    }

    async fn sums(
        &self,
        scope: UsageScope,
        period: UsagePeriod,
        request: &UsageRequest,
        after: Option<UsagePosition>,
        max_rows: usize,
    ) -> Result<UsageRows, OperationError> {
        let of = |at: UnixMs| match period {
            UsagePeriod::Hour => hour_of(at),
            UsagePeriod::Day => at.day(),
        };
        let range = of(request.created.start)..of(request.created.end);
        let query = UsageQuery { scope, period, range, after, max_rows };
        Ok(self.store.usage(query).await?)
    }

    /// Hours or days: what a report of that time is summed up from.
    fn unit_of(&self, request: &UsageRequest) -> Result<UsagePeriod, OperationError> {
        let Range { start, end } = request.created;
        if start >= end {
            return Err(invalid("created_before", "a moment after `created_after`", end));
        }
        let whole = |at: &UnixMs, unit: u64| at.0.is_multiple_of(unit) || at.0 == u64::MAX;
        let ends = [("created_after", start), ("created_before", end)];
        let days = ends.iter().all(|(_, at)| whole(at, 24 * HOUR_MS));
        if days && request.groups.period != Some(UsagePeriod::Hour) {
            return Ok(UsagePeriod::Day);
        }
        if let Some((field, at)) = ends.iter().find(|(_, at)| !whole(at, HOUR_MS)) {
            return Err(invalid(field, "a full hour (UTC)", *at));
        }
        if request.groups.period == Some(UsagePeriod::Day) {
            let (field, at) = ends.iter().find(|(_, at)| !whole(at, 24 * HOUR_MS)).unwrap_or(&ends[0]);
            return Err(invalid(field, "midnight (UTC), since rows are days", *at));
        }
        let oldest = UnixMs::of_day((self.clock.now().day() + 1).saturating_sub(KEPT_DAYS_OF_HOURS));
        if start < oldest {
            return Err(invalid(
                "created_after",
                &format!("{oldest} or later, as hours are not kept longer"),
                start,
            ));
        }
        Ok(UsagePeriod::Hour)
    }

    /// The sums to read; none where the filters contradict each other.
    async fn scope(
        &self,
        request: &UsageRequest,
        groups: UsageGroups,
    ) -> Result<Option<UsageScope>, OperationError> {
        Ok(match (&request.customer, &request.key) {
            (customer, Some(key)) => {
                let found = self.store.key(key).await?;
                let owner = found.map(|key| key.customer);
                let owner = owner.filter(|owner| customer.as_ref().is_none_or(|customer| customer == owner));
                owner.map(|owner| UsageScope::Key(owner, key.clone()))
            }
            (customer, None) if groups.key => Some(UsageScope::EachKey(customer.clone())),
            (Some(customer), None) => Some(UsageScope::Customer(customer.clone())),
            (None, None) if groups.customer => Some(UsageScope::EachCustomer),
            (None, None) => Some(UsageScope::All),
        })
    }
}

/// What rows are sorted by.
type Order = (Reverse<Option<UnixMs>>, Option<CustomerId>, Option<KeyId>, Option<String>);

impl UsageReport {
    /// The rows after a position, at most `limit`, and the position of the last one where there are more. `None` for a text
    /// that is no position.
    #[must_use]
    pub fn page(self, after: Option<&str>, limit: usize) -> Option<(Vec<UsageGroup>, Option<String>)> {
        let order = |row: &UsageGroup| -> Order {
            (Reverse(row.since), row.customer.clone(), row.key.clone(), row.model.clone())
        };
        let after: Option<Order> = match after {
            Some(text) => {
                let (since, customer, key, model) = serde_json::from_str(text).ok()?;
                Some((Reverse(since), customer, key, model))
            }
            None => None,
        };
        let is_later = |row: &UsageGroup| after.as_ref().is_none_or(|after| order(row) > *after);
        let mut rows: Vec<UsageGroup> = self.rows.into_iter().filter(is_later).collect();
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let position =
            |row: &UsageGroup| serde_json::json!([row.since, row.customer, row.key, row.model]).to_string();
        let next = rows.last().filter(|_| has_more).map(position);
        Some((rows, next))
    }
}

impl UsageRequest {
    fn shows(&self, row: &UsageRow) -> bool {
        self.models.is_empty() || self.models.contains(&row.model)
    }
}

/// When that hour or day began.
#[must_use]
pub(crate) fn start_of(unit: UsagePeriod, period: u32) -> UnixMs {
    match unit {
        UsagePeriod::Hour => UnixMs(u64::from(period) * HOUR_MS),
        UsagePeriod::Day => UnixMs::of_day(period),
    }
}

fn invalid(field: &str, expected: &str, came: UnixMs) -> OperationError {
    OperationError::Invalid(format!("{field}: expected {expected}, not {came}"))
}

//! `/usage`: what customers, keys and models used, by hour or day; and the same rows as CSV.

use std::ops::Range;

use gatehouse_model::{CustomerId, KeyId, UnixMs, view};
use gatehouse_store::{UsagePeriod, UsageRow};
use gatehouse_tasks::UsageSums;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::values::Moment;
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::csv;
use crate::http::request::query;
use crate::http::request::query::{Form, Parameter, filter, filter_any};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::{UsageGroup, UsageGroups, UsageRequest, start_of};

const GROUPS: [&str; 5] = ["hour", "day", "customer", "key", "model"];
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;

const PARAMETERS: [Parameter; 6] = [
    filter_any("group_by", Form::OneOf(&GROUPS), "What makes a row; without it there is one row for all."),
    filter("customer", Form::Text, "Only this customer."),
    filter("key", Form::Text, "Only this key."),
    filter_any("model", Form::Text, "Only these canonical models."),
    filter(
        "created_after",
        Form::Moment,
        "Only what ended from this full hour or day (UTC) on; 30 days before `created_before` without it, or 24 hours where rows are hours.",
    ),
    filter(
        "created_before",
        Form::Moment,
        "Only what ended before this full hour or day (UTC); now without it.",
    ),
];

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/usage", "listUsage", list)
            .says("Sums up usage by any part of it.")
            .query(&PARAMETERS)
            .paged()
            .returns::<UsageList>(),
        Route::get("/usage.csv", "exportUsage", export)
            .says(
                "Every row of usage as CSV, by customer, key, time and model; grouped by `hour` its rows are \
                hours.",
            )
            .query(&PARAMETERS)
            .returns_text(csv::CONTENT_TYPE),
    ]
}

/// Sums of usage.
#[derive(Debug, Serialize, JsonSchema)]
struct UsageList {
    /// Newest first, then by customer, key and model.
    data: Vec<UsageLine>,
    /// `cursor` of the next page; null after the last one.
    next: Option<String>,
    /// Of all rows of the filter, those of other pages included.
    total: Sums,
}

view! {
    /// A row; what it is not grouped by is null.
    #[derive(Debug, Serialize, JsonSchema)]
    struct UsageLine of (group: UsageGroup) {
        /// The beginning of the hour or day, UTC.
        since: Option<Moment> = group.since.map(Moment),
        /// The customer.
        customer: Option<String> = group.customer.map(|customer| customer.0),
        /// The key.
        key: Option<String> = group.key.map(|key| key.0),
        /// The canonical model; empty where it is unknown.
        model: Option<String> = group.model,
        #[serde(flatten)]
        sums: Sums = group.sums.into(),
    }
}

view! {
    /// Sums of requests that ended.
    #[derive(Debug, Serialize, JsonSchema)]
    struct Sums of (sums: UsageSums) where {
        let UsageSums { requests, failures, input, output, cached, cache_write, settled, refunded } = sums;
    } {
        /// Those that ended: settlements and releases.
        requests: u64 = requests,
        /// Those of them that cost nothing and were given back.
        failures: u64 = failures,
        /// Tokens read, neither from a cache nor into one.
        input_tokens: u64 = input,
        /// Tokens written.
        output_tokens: u64 = output,
        /// Tokens read from a cache.
        cached_tokens: u64 = cached,
        /// Tokens read and put into a cache.
        cache_write_tokens: u64 = cache_write,
        /// What was spent.
        spent_micro: i64 = settled.0,
        /// What failures gave back.
        refunded_micro: i64 = refunded.0,
    }
}

async fn list(call: Call) -> Outcome {
    let request = request(&call)?;
    let report = call.service.usage.report(&request).await?;
    let (total, after) = (report.total.into(), call.position::<String>()?);
    let (rows, next) = report.page(after.as_deref(), call.query.limit()).ok_or_else(query::malformed)?;
    let next = next.map(|position| query::write(call.operation, &call.query, &position));
    let data = rows.into_iter().map(UsageLine::from).collect();
    Ok(Reply::json(&UsageList { data, next, total }))
}

fn request(call: &Call) -> Result<UsageRequest, ApiError> {
    let groups = call.query.all("group_by");
    let by = |name: &str| groups.iter().any(|group| group == name);
    let period = match (by("hour"), by("day")) {
        (true, true) => {
            return Err(ApiError::field("group_by", "group_by: expected either hour or day, not both"));
        }
        (true, false) => Some(UsagePeriod::Hour),
        (false, true) => Some(UsagePeriod::Day),
        (false, false) => None,
    };
    let text = |name| call.query.one(name).map(str::to_owned);
    Ok(UsageRequest {
        groups: UsageGroups { period, customer: by("customer"), key: by("key"), model: by("model") },
        customer: text("customer").map(CustomerId),
        key: text("key").map(KeyId),
        models: call.query.all("model"),
        created: time(call, period),
    })
}

/// Half-open; without an end, until the end of the present hour or day.
fn time(call: &Call, period: Option<UsagePeriod>) -> Range<UnixMs> {
    let (unit, usual) = match period {
        Some(UsagePeriod::Hour) => (HOUR_MS, DAY_MS),
        Some(UsagePeriod::Day) | None => (DAY_MS, 30 * DAY_MS),
    };
    let end = call.query.moment("created_before").map(|moment| moment.0);
    let end = end.unwrap_or_else(|| UnixMs((call.at.0 / unit + 1) * unit));
    let start = call.query.moment("created_after").map(|moment| moment.0);
    start.unwrap_or_else(|| UnixMs(end.0.saturating_sub(usual)))..end
}

const COLUMNS: &str = "since customer key model requests failures input_tokens output_tokens cached_tokens \
    cache_write_tokens spent_micro refunded_micro";

async fn export(call: Call) -> Outcome {
    let request = request(&call)?;
    let (mut rows, mut after) = (0_u64, None);
    loop {
        let piece = call.service.usage.rows(&request, after).await?;
        rows = rows.saturating_add(piece.rows.len() as u64);
        csv::check_rows(rows)?;
        after = piece.next;
        if after.is_none() {
            break;
        }
    }
    Ok(csv::reply(COLUMNS, (call.service, request), |(service, request), after| async move {
        let piece = service.usage.rows(&request, after).await?;
        let rows = piece.rows.into_iter().map(|row| whole(piece.unit, row)).collect();
        Ok((rows, piece.next))
    }))
}

/// A row that is not added up with others.
fn whole(unit: UsagePeriod, row: UsageRow) -> UsageLine {
    let UsageRow { customer, key, period, model, sums } = row;
    let since = Some(Moment(start_of(unit, period)));
    UsageLine { since, customer: Some(customer.0), key: Some(key.0), model: Some(model), sums: sums.into() }
}

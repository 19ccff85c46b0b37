//! What was used each day by customer, key and model, and the sum of all of it.

use gatehouse_admin::{OperationError, UsageGroup, UsageGroups, UsagePeriod, UsageRequest, UsageSums};
use maud::{Markup, html};

use super::{ROWS, Wanted};
use crate::context::PageContext;
use crate::format::{count, credits};
use crate::parts::elements::empty;
use crate::resource::column::customer;

pub(super) async fn show(pages: &PageContext, wanted: &Wanted<'_>) -> Result<Markup, OperationError> {
    let request = UsageRequest {
        groups: UsageGroups { period: Some(UsagePeriod::Day), customer: true, key: true, model: true },
        customer: wanted.customer.clone(),
        key: wanted.key.clone(),
        models: wanted.model.iter().cloned().collect(),
        created: wanted.created(),
    };
    let report = pages.service.usage(&request).await?;
    let total = report.total;
    let wrong = || OperationError::Invalid("after: expected the address of a next page".to_owned());
    let (rows, next) = report.page(wanted.after(), ROWS).ok_or_else(wrong)?;
    Ok(html! {
        (totals(&total))
        @if rows.is_empty() {
            (empty("No request has ended in this time.", None, "curl -H \"Authorization: Bearer $TOKEN\" $ADMIN/admin/v1/usage"))
        } @else {
            (table(&rows))
        }
        (wanted.pager(next.as_deref()))
    })
}

fn totals(sums: &UsageSums) -> Markup {
    html! {
        dl.figures {
            div { dt { "Requests" } dd { (count(sums.requests)) } }
            div { dt { "Failures" } dd { (count(sums.failures)) } }
            div { dt { "Tokens in" } dd { (count(sums.input)) } }
            div { dt { "Cached" } dd { (count(sums.cached)) } }
            div { dt { "Tokens out" } dd { (count(sums.output)) } }
            div { dt { "Given back" } dd.muted { (credits(sums.refunded)) } }
            div { dt { "Spent" } dd { (credits(sums.settled)) } }
        }
        p.muted { "Of all rows of the filter, by when requests ended; days in UTC, amounts in credits." }
    }
}

fn table(rows: &[UsageGroup]) -> Markup {
    html! {
        div.scroll role="region" aria-label="Usage by day" tabindex="0" {
            table.cards {
                caption { "Usage by day, customer, key and model" }
                thead { tr {
                    @for name in ["Day", "Customer and key", "Model"] { th scope="col" { (name) } }
                    @for name in ["Requests", "Failures", "Tokens in", "Cached", "Tokens out", "Given back", "Spent"] {
                        th.right scope="col" { (name) }
                    }
                } }
                tbody { @for row in rows { tr {
                    td.num { @if let Some(since) = row.since { (since.date()) } }
                    td {
                        @if let Some(id) = &row.customer { (customer(&id.0)) }
                        @if let Some(key) = &row.key { br; a.muted href={ "/keys/" (key) } { code { "sk-" (key) "…" } } }
                    }
                    td { (row.model.as_deref().filter(|model| !model.is_empty()).unwrap_or("unknown")) }
                    td.right.num data-label="Requests" { (count(row.sums.requests)) }
                    td.right.num.less { (count(row.sums.failures)) }
                    td.right.num.less { (count(row.sums.input)) }
                    td.right.num.less { (count(row.sums.cached)) }
                    td.right.num.less { (count(row.sums.output)) }
                    td.right.less { (credits(row.sums.refunded)) }
                    td.right data-label="Spent" { (credits(row.sums.settled)) }
                } } }
            }
        }
    }
}

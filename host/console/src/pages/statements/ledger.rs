//! The rows of the ledger with the balance after each, and what they come to.

use gatehouse_admin::{HoldId, OperationError, StatementRequest, StatementRow, StatementSums};
use gatehouse_model::{Credits, UnixMs};
use maud::{Markup, html};

use super::{ROWS, Wanted};
use crate::context::PageContext;
use crate::format::{count, credits, moment, short_id};
use crate::parts::elements::empty;
use crate::resource::column::customer;

pub(super) async fn show(
    pages: &PageContext,
    wanted: &Wanted<'_>,
    now: UnixMs,
) -> Result<Markup, OperationError> {
    let before = wanted.after().map(|text| {
        text.parse()
            .map_err(|_| OperationError::Invalid(format!("after: expected a row's number, got {text:?}")))
    });
    let request = StatementRequest {
        customer: wanted.customer.clone(),
        key: wanted.key.clone(),
        created: wanted.created(),
        before: before.transpose()?,
        limit: ROWS,
    };
    let page = pages.service.statement(request.clone()).await?;
    let sums = pages.service.statement_sums(request).await?;
    let next = page.next.map(|number| number.to_string());
    Ok(html! {
        (totals(sums.as_ref(), wanted))
        @if page.rows.is_empty() {
            (empty("Nothing was paid in, held or spent in this time.", None, "curl -H \"Authorization: Bearer $TOKEN\" $ADMIN/admin/v1/ledger"))
        } @else {
            (table(&page.rows, wanted, now))
        }
        (wanted.pager(next.as_deref()))
    })
}

fn totals(sums: Option<&StatementSums>, wanted: &Wanted<'_>) -> Markup {
    let Some(sums) = sums else {
        return html! { p.muted { "There are too many days and models to add up: choose a shorter time. The file has all rows." } };
    };
    let balance = |name: &str, amount: Option<Credits>| {
        html! { @if let Some(amount) = amount { div { dt { (name) } dd { (credits(amount)) } } } }
    };
    let words = if wanted.key.is_some() {
        ["Used before", "Used after"]
    } else {
        ["Balance before", "Balance after"]
    };
    html! {
        dl.figures {
            (balance(words[0], sums.opening))
            @if wanted.key.is_none() {
                div { dt { "Paid in" } dd { (credits(sums.deposited)) } }
                div { dt { "Taken back" } dd { (credits(sums.withdrawn)) } }
            }
            div { dt { "Spent" } dd { (credits(sums.spent)) } }
            @if let Some(held) = sums.held { div { dt { "Change of held" } dd.muted { (credits(held)) } } }
            (balance(words[1], sums.closing))
        }
        p.muted {
            @match sums.rows {
                Some(rows) => (count(rows)),
                None => "More than 10,000",
            }
            " rows, days in UTC, amounts in credits."
        }
    }
}

fn table(rows: &[StatementRow], wanted: &Wanted<'_>, now: UnixMs) -> Markup {
    let balance = match (&wanted.key, &wanted.customer) {
        (Some(_), _) => Some("Used"),
        (None, Some(_)) => Some("Balance"),
        (None, None) => None,
    };
    html! {
        div.scroll role="region" aria-label="Rows of the ledger" tabindex="0" {
            table.cards {
                caption { "Rows of the ledger, newest first" }
                thead { tr {
                    @for name in ["When", "Kind", "Customer", "Key", "For"] { th scope="col" { (name) } }
                    @for name in ["Available", "Held", "Spent"] { th.right scope="col" { (name) } }
                    @if let Some(balance) = balance { th.right scope="col" { (balance) } }
                    th scope="col" { "Note" }
                } }
                tbody { @for StatementRow { entry, after, .. } in rows { tr {
                    td { (moment(entry.at, now)) }
                    td { (entry.kind.as_str()) }
                    td { (customer(&entry.customer.0)) }
                    td.less { @if let Some(key) = &entry.key { a href={ "/keys/" (key) } { code { "sk-" (key) "…" } } } }
                    td { (purpose(entry.hold)) }
                    td.right data-label="Available" { (credits(entry.movement.available)) }
                    td.right data-label="Held" { (credits(entry.movement.reserved)) }
                    td.right data-label="Spent" { (credits(entry.movement.spent)) }
                    @if let Some(balance) = balance { td.right data-label=(balance) { @if let Some(after) = after { (credits(*after)) } } }
                    td.wide { (entry.memo) }
                } } }
            }
        }
    }
}

/// What the money is for.
fn purpose(hold: Option<HoldId>) -> Markup {
    html! {
        @match hold {
            Some(HoldId::Task(task)) => a href={ "/tasks/" (task) } { (short_id(task)) },
            Some(HoldId::Request(request)) => (short_id(request)),
            None => span.muted { "none" },
        }
    }
}

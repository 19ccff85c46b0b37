//! Statements: the ledger's rows with the balance after each, and usage by day, customer, key and model; of all, of one customer
//! or of one key, for a span of days.

use maud::{Markup, html};
use serde_json::Value;

use crate::format::short_id;
use crate::request::PageRequest;
use crate::resource::column::{Column, Show, at, customer};
use crate::resource::filter::{DAYS, Filter, How};
use crate::resource::{Resource, Tabs, encoded, text};

static TABS: Tabs =
    Tabs { parameter: "of", all: &[("ledger", "Ledger", &LEDGER), ("usage", "Usage", &USAGE)] };

const CUSTOMER: Filter = Filter { name: "customer", label: "Customer", how: How::Text("") };
const KEY: Filter = Filter { name: "key", label: "Key", how: How::Text("sk-") };

pub(crate) static LEDGER: Resource = Resource {
    path: "/statements",
    section: "/statements",
    names: ("Statements", "row of the ledger"),
    about: "Rows of the ledger, newest first. Days are UTC, amounts are credits.",
    api: &["ledger"],
    tabs: Some(&TABS),
    sums: &["ledger", "sums"],
    id: "id",
    is_newest_first: true,
    filters: &[CUSTOMER, KEY, DAYS],
    figures: &[
        Column::new("Balance before", "balance_before_micro", Show::Credits),
        Column::new("Used before", "used_before_micro", Show::Credits),
        Column::new("Paid in", "deposited_micro", Show::Credits),
        Column::new("Taken back", "withdrawn_micro", Show::Credits),
        Column::new("Spent", "spent_micro", Show::Credits),
        Column::new("Change of held", "held_micro", Show::Credits),
        Column::new("Balance after", "balance_after_micro", Show::Credits),
        Column::new("Used after", "used_after_micro", Show::Credits),
        Column::new("Rows", "rows", Show::Count),
    ],
    columns: &[
        Column::new("When", "at", Show::Moment),
        Column::new("Kind", "kind", Show::Text),
        Column::new("Customer", "customer", Show::Customer),
        Column::new("Key", "key", Show::Key).less(),
        Column::own("For", purpose),
        Column::new("Available", "available_micro", Show::Credits),
        Column::new("Held", "held_micro", Show::Credits),
        Column::new("Spent", "spent_micro", Show::Credits),
        Column::new("Afterwards", "balance_micro", Show::Credits).optional(),
        Column::own("Note", |row, _| html! { (text(row, "memo")) }).wide(),
    ],
    empty: (
        "Nothing was paid in, held or spent in this time.",
        "curl -H \"Authorization: Bearer $TOKEN\" $ADMIN/admin/v1/ledger",
    ),
    download: ("/admin/v1/ledger.csv", "Download as CSV"),
    ..Resource::READ
};

static USAGE: Resource = Resource {
    names: ("Statements", "row of usage"),
    about: "Usage by day, customer, key and model, by when requests ended. Days are UTC, amounts are credits; the sums are of \
            all rows of the filter.",
    api: &["usage"],
    query: &[("group_by", "day"), ("group_by", "customer"), ("group_by", "key"), ("group_by", "model")],
    sums: &[],
    id: "",
    filters: &[CUSTOMER, KEY, Filter { name: "model", label: "Model", how: How::Text("") }, DAYS],
    figures: &[
        Column::new("Requests", "requests", Show::Count),
        Column::new("Failures", "failures", Show::Count),
        Column::new("Tokens in", "input_tokens", Show::Count),
        Column::new("Cached", "cached_tokens", Show::Count),
        Column::new("Tokens out", "output_tokens", Show::Count),
        Column::new("Given back", "refunded_micro", Show::Credits),
        Column::new("Spent", "spent_micro", Show::Credits),
    ],
    columns: &[
        Column::own(
            "Day",
            |row, _| html! { @if let Some(day) = at(&row["since"]) { span.num { (day.date()) } } },
        ),
        Column::own("Customer and key", owner),
        Column::own("Model", |row, _| {
            html! { (Some(text(row, "model")).filter(|model| !model.is_empty()).unwrap_or("unknown")) }
        }),
        Column::new("Requests", "requests", Show::Count),
        Column::new("Failures", "failures", Show::Count).less(),
        Column::new("Tokens in", "input_tokens", Show::Count).less(),
        Column::new("Cached", "cached_tokens", Show::Count).less(),
        Column::new("Tokens out", "output_tokens", Show::Count).less(),
        Column::new("Given back", "refunded_micro", Show::Credits).less(),
        Column::new("Spent", "spent_micro", Show::Credits),
    ],
    empty: (
        "No request has ended in this time.",
        "curl -H \"Authorization: Bearer $TOKEN\" $ADMIN/admin/v1/usage",
    ),
    download: ("/admin/v1/usage.csv", "Download as CSV"),
    ..LEDGER
};

/// What the money is for.
fn purpose(row: &Value, _: &PageRequest) -> Markup {
    html! {
        @match (row["task"].as_str(), row["request"].as_str()) {
            (Some(task), _) => a href={ "/tasks/" (task) } { (short_id(task)) },
            (None, Some(request)) => (short_id(request)),
            (None, None) => span.muted { "none" },
        }
    }
}

fn owner(row: &Value, _: &PageRequest) -> Markup {
    let key = text(row, "key");
    html! {
        (customer(text(row, "customer")))
        @if !key.is_empty() { br; a.muted href={ "/keys/" (encoded(key)) } { code { "sk-" (key) "…" } } }
    }
}

//! Customers: their balances, their keys, money in and out.

use maud::{Markup, html};
use serde_json::Value;

use super::keys::{KEYS, of_quota};
use crate::parts::elements::{Tone, chip};
use crate::request::PageRequest;
use crate::resource::action::{Action, Then};
use crate::resource::column::{Column, Show};
use crate::resource::fields::Hint;
use crate::resource::filter::{Filter, How, Search};
use crate::resource::one::Related;
use crate::resource::{Resource, encoded, text};

const AMOUNT: Hint = Hint::needed("amount", "Amount, credits", "");

pub(crate) static CUSTOMERS: Resource = Resource {
    path: "/customers",
    section: "/customers",
    names: ("Customers", "customer"),
    api: &["customers"],
    search: Some(Search { placeholder: "Beginning of an id", prefix: "", parameters: &["id_prefix"] }),
    filters: &[Filter { name: "without_credit", label: "Without credit", how: How::Flag }],
    columns: &[
        Column::new("Customer", "id", Show::Page(|customer| html! { bdi { (text(customer, "id")) } })),
        Column::new("Balance", "available_micro", Show::Credits),
        Column::new("Held", "held_micro", Show::Credits).less(),
        Column::new("Spent", "spent_micro", Show::Credits),
        Column::new("Since", "created", Show::Moment).less(),
        Column::own("State", state),
    ],
    empty: (
        "A customer has a balance, and keys that spend it. There are none yet.",
        "gatehouse account open CUSTOMER",
    ),
    create: "/customers",
    edit: "/customers/{customer}",
    hints: &[
        Hint::needed("id", "Id", "1 to 64 letters, digits and - _ . @. It cannot be changed later."),
        Hint::of(
            "price_variant",
            "Prices",
            "A variant of the price book, one of price_variants in the configuration. Empty: the book itself.",
        ),
    ],
    refers: "id",
    has_page: true,
    state,
    figures: &[
        Column::new("Balance", "available_micro", Show::Credits),
        Column::new("Held", "held_micro", Show::Credits),
        Column::new("Spent", "spent_micro", Show::Credits),
        Column::new("Paid in", "deposited_micro", Show::Credits),
    ],
    facts: &[
        Column::new("Customer since", "created", Show::Moment),
        Column::new("Quota of all keys", "quota_micro", Show::Own(of_quota)),
        Column::own("Prices", prices),
    ],
    more: |customer, _| {
        let query = format!("customer={}", encoded(text(customer, "id")));
        html! { p {
            a href={ "/statements?" (query) } { "Its statement" } " "
            a href={ "/usage?by=model&" (query) } { "Its usage" }
        } }
    },
    actions: &[
        Action {
            hints: &[AMOUNT, Hint::of("memo", "Note", "For the ledger.")],
            refers: "amount_micro",
            ..Action::new("deposit", "Top up", "/customers/{customer}/deposits", Then::Done("deposited"))
        },
        Action {
            consequence: "At most the balance; what is held stays.",
            hints: &[AMOUNT, Hint::needed("memo", "Reason", "For the ledger.")],
            refers: "amount_micro",
            ..Action::new(
                "withdraw",
                "Take back",
                "/customers/{customer}/withdrawals",
                Then::Done("withdrawn"),
            )
        },
    ],
    related: &[Related {
        title: "Keys",
        of: &KEYS,
        path: &["keys"],
        query: &[("customer", "{}"), ("state", "active"), ("state", "expired")],
        rows: 20,
        empty: "It has no key that works.",
        parameter: Some("customer"),
    }],
    ..Resource::READ
};

/// The variant of the price book that it pays by.
fn prices(customer: &Value, _: &PageRequest) -> Markup {
    match customer["price_variant"].as_str() {
        Some(variant) => html! { "those of the variant " bdi { (variant) } },
        None => html! { "those of the book" },
    }
}

/// Whether its requests can be paid for.
fn state(customer: &Value, _: &PageRequest) -> Markup {
    match customer["available_micro"].as_i64().unwrap_or_default() > 0 {
        true => chip(Tone::Ok, "active"),
        false => chip(Tone::Warn, "402 for all its keys"),
    }
}

//! Versions of the price book, the prices of one, and what differs between two.

use gatehouse_model::Credits;
use maud::{Markup, html};
use serde_json::Value;

use crate::format::{count, credits, plain};
use crate::parts::elements::{Tone, chip};
use crate::request::PageRequest;
use crate::resource::column::{Column, Show};
use crate::resource::{Resource, members, text};

pub(crate) static BOOKS: Resource = Resource {
    path: "/price-books",
    section: "/prices",
    names: ("Versions of the price book", "version"),
    about: "Every change of the prices in effect. The last 500 versions are kept.",
    api: &["price-books"],
    id: "number",
    name: "number",
    is_newest_first: true,
    columns: &[
        Column::new("Version", "number", Show::Page(|book| html! { "Version " (plain(&book["number"])) })),
        Column::new("Since", "at", Show::Moment),
        Column::own("Changed", |book, _| html! { (book["changed"]) " of " (book["prices"]) }),
        Column::own("Cause", |book, _| html! { (text(book, "cause")) }).wide(),
        Column::new("By", "who", Show::Text),
    ],
    empty: ("No version is kept.", "gatehouse prices history"),
    ..Resource::READ
};

/// Prices of a version.
pub(crate) static PRICES: &[Column] = &[
    Column::new("Price key", "key", Show::Code),
    Column::own("Of", part),
    Column::new("Credits", "price_micro", Show::Credits),
];

/// Prices that differ.
pub(crate) static CHANGES: &[Column] = &[
    Column::new("Price key", "key", Show::Code),
    Column::own("Of", part),
    Column::new("Before", "before_micro", Show::Credits),
    Column::new("After", "after_micro", Show::Credits),
];

/// Prices of the units of a family; one that it lacks has a key alone.
pub(crate) static UNITS: &[Column] = &[
    Column::new("Price key", "key", Show::Code).wide(),
    Column::own("Credits", |unit, _| match unit["price_micro"].as_i64() {
        Some(micro) => html! { (credits(Credits(micro))) (per(unit)) },
        None => chip(Tone::Error, "no price"),
    }),
];

/// Prices of text models, of a million tokens.
pub(crate) static TOKENS: &[Column] = &[
    Column::own("Model", |row, _| {
        html! { code { (text(row, "model")) } @for alias in members(row, "aliases") { " " span.muted { (plain(alias)) } } }
    })
    .wide(),
    Column::new("Provider", "provider", Show::Text).less(),
    Column::new("Input", "input_micro", Show::Credits),
    Column::new("Output", "output_micro", Show::Credits),
    Column::new("Cached", "cached_micro", Show::Credits).less(),
    Column::new("Cache write", "cache_write_micro", Show::Credits).less(),
    Column::new("For an hour", "cache_write_1h_micro", Show::Credits).less(),
];

/// What a request would be charged for.
pub(crate) static CHARGES: &[Column] = &[
    Column::new("Price key", "price_key", Show::Code),
    Column::own("Quantity", |charge, _| {
        let unit = match (text(charge, "unit_name"), text(charge, "unit")) {
            ("", "input_tokens") => "input tokens",
            ("", "output_tokens") => "output tokens",
            ("", _) => "units",
            (name, _) => name,
        };
        html! { (count(charge["quantity"].as_u64().unwrap_or_default())) " " (unit) }
    }),
    Column::own("Price", |charge, _| {
        let price = credits(Credits(charge["unit_price_micro"].as_i64().unwrap_or_default()));
        // That of tokens is always of a million.
        html! { (price) @if charge["unit"] == "unit" { (per(charge)) } }
    }),
    Column::new("Sum", "sum_micro", Show::Credits),
    Column::own("Keys tried", |charge, _| {
        html! { (members(charge, "price_keys").iter().map(plain).collect::<Vec<_>>().join(", ")) }
    })
    .wide(),
];

/// How many units a price is of, where that is not one.
fn per(price: &Value) -> Markup {
    let per = price["per"].as_u64().filter(|per| *per > 1);
    html! { @if let Some(per) = per { " per " (count(per)) } }
}

fn part(price: &Value, _: &PageRequest) -> Markup {
    let words = match text(price, "part") {
        "unit" => "a unit",
        "thousand_units" => "a thousand units",
        "million_units" => "a million units",
        "counter" => "a counter",
        "input_tokens" => "input tokens",
        "output_tokens" => "output tokens",
        "cached_tokens" => "cached tokens",
        "cache_write_tokens" => "cache writes",
        "cache_write_hour_tokens" => "cache writes for an hour",
        "pass_factor" => "a factor of tokens, where it is passed",
        "pass_request" => "a request that passes it",
        other => other,
    };
    html! { (words) }
}

//! Versions of the price book, the prices of one, and what differs between two.

use maud::{Markup, html};
use serde_json::Value;

use crate::resource::column::{Column, Look, Show};
use crate::resource::{Resource, plain, text};

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
pub(crate) static PRICES: Resource = Resource {
    id: "key",
    columns: &[
        Column::new("Price key", "key", Show::Code),
        Column::own("Of", part),
        Column::new("Credits", "price_micro", Show::Credits),
    ],
    ..Resource::READ
};

/// Prices that differ.
pub(crate) static CHANGES: Resource = Resource {
    id: "key",
    columns: &[
        Column::new("Price key", "key", Show::Code),
        Column::own("Of", part),
        Column::new("Before", "before_micro", Show::Credits),
        Column::new("After", "after_micro", Show::Credits),
    ],
    ..Resource::READ
};

fn part(price: &Value, _: &Look<'_>) -> Markup {
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
        other => other,
    };
    html! { (words) }
}

//! API keys: what they may do, what they used, a successor, their end.

use gatehouse_model::{Credits, QuotaUse};
use maud::{Markup, html};
use serde_json::Value;

use crate::format::plain;
use crate::parts::elements::{Tone, chip, quota};
use crate::recipes::{self, Keys};
use crate::request::PageRequest;
use crate::resource::action::{Action, Then};
use crate::resource::column::{Column, Show, at, customer, when};
use crate::resource::fields::Hint;
use crate::resource::filter::{Filter, How, Search};
use crate::resource::one::Secret;
use crate::resource::{Resource, text};

pub(crate) static KEYS: Resource = Resource {
    path: "/keys",
    section: "/keys",
    names: ("Keys", "key"),
    api: &["keys"],
    name: "name",
    search: Some(Search { placeholder: "Name or id", prefix: "sk-", parameters: &["id_prefix", "name"] }),
    filters: &[
        Filter { name: "customer", label: "Customer", how: How::Text("") },
        Filter {
            name: "revoked",
            label: "Revoked ones too",
            how: How::Unless(&[("state", "active"), ("state", "expired")]),
        },
    ],
    columns: &[
        Column::new("Name", "name", Show::Page(|key| html! { bdi { (text(key, "name")) } })),
        Column::new("Customer", "customer", Show::Customer).less(),
        Column::own("Key", |key, _| html! { code { "sk-" (text(key, "id")) "…" } }),
        Column::own("Quota, credits", of_quota),
        Column::own("Models", models).less(),
        Column::own("Expires", |key, request| when(&key["expires"], request)).less(),
        Column::own("State", state),
    ],
    empty: (
        "A key lets a client use models, and names the customer that pays. There are none yet.",
        "gatehouse key create NAME --account CUSTOMER --unlimited",
    ),
    create: "/keys",
    edit: "/keys/{key}",
    hints: &[
        Hint::needed("name", "", "For people, such as the program that uses it."),
        Hint::of("customer", "", ""),
        Hint::of(
            "quota",
            "",
            "What it may spend in all, or in each period. Empty: unlimited, up to the customer's balance.",
        ),
        Hint::of("quota_period", "Quota resets every", ""),
        Hint::of("models", "", "Ids or aliases, one a line. Empty: all models."),
        Hint::of("networks", "", "Addresses or ranges, one a line. Empty: from everywhere."),
        Hint::of("expires", "", ""),
        Hint::of("requests_per_minute", "", ""),
        Hint::of("tokens_per_minute", "", ""),
        Hint::of("concurrency", "Requests at once", ""),
        Hint::of(
            "model_limits",
            "Limits of single models",
            "One model a line, such as: ctx-pro requests=5 tokens=1000 concurrency=2",
        ),
        Hint::of("chat_format", "Chat completions", ""),
    ],
    flags: &[("force", "Names of models that come later are taken, too")],
    refers: "customer",
    secret: Some(&SECRET),
    has_page: true,
    state,
    facts: &[
        Column::own("Key", |key, _| html! { code { "sk-" (text(key, "id")) "…" } }),
        Column::own("Customer", |key, _| customer(text(key, "customer"))),
        Column::own("Used", of_quota),
        Column::own("Open now", open),
        Column::new("Replaced", "rotated_from", Show::Key),
        Column::new("Replaced by", "rotated_to", Show::Key),
        Column::new("Created", "created", Show::Moment),
        Column::new("Revoked", "revoked", Show::Moment),
    ],
    more: |key, _| {
        html! { p {
            a href={ "/usage?by=model&key=" (text(key, "id")) } { "Its usage" } " "
            a href={ "/statements?key=" (text(key, "id")) } { "Its statement" }
        } }
    },
    actions: &[
        Action {
            consequence: "A new key is made that may do the same and spends the same quota. It is shown \
                          once. The old key works for as long as you choose here.",
            when: |key| key["revoked"].is_null() && key["rotated_to"].is_null(),
            hints: &[Hint::of(
                "overlap",
                "The old key works for",
                "Such as 1h or 7d, at most seven days; 0 ends it at once.",
            )],
            usual: &[("overlap", "24h")],
            ..Action::new("rotate", "Rotate key", "/keys/{key}/rotate", Then::Shows(&SECRET))
        },
        Action {
            consequence: "Every request with this key is refused from now on, at once and for good. Tasks it \
                          has started finish.",
            is_danger: true,
            when: |key| key["revoked"].is_null(),
            ..Action::new(
                "revoke",
                "Revoke key",
                "/keys/{key}/revoke",
                Then::Goes(|id, _| format!("/keys?revoked=1&marked={id}&done=revoked")),
            )
        },
    ],
    ..Resource::READ
};

static SECRET: Secret = Secret {
    object: "key",
    heading: "Key created",
    id: "new-key",
    name: "key",
    kept: "The gateway keeps no copy that could be read.",
    next: |id| format!("/keys?marked={id}"),
    more: |pages, key, secret| {
        let is_bare = key["chat_format"] == "bare";
        html! {
            h2 { "Try it" }
            (recipes::show(&pages.facts.public_url, &Keys { any: secret, openai: secret, is_bare }))
        }
    },
};

/// What is used of the quota of a key, or of a customer.
pub(super) fn of_quota(key: &Value, _: &PageRequest) -> Markup {
    let micro = |member: &str| key[member].as_i64().map(Credits);
    let used = micro("used_micro").unwrap_or_default();
    let limited = |limit| QuotaUse {
        limit,
        used: micro("quota_used_micro").unwrap_or(used),
        resets: at(&key["quota_resets"]),
    };
    quota(used, micro("quota_micro").map(limited))
}

fn models(key: &Value, _: &PageRequest) -> Markup {
    let models: Vec<String> = key["models"].as_array().into_iter().flatten().map(plain).collect();
    let words = match models.as_slice() {
        [] => "all".to_owned(),
        [one] => one.clone(),
        more => format!("{} models", more.len()),
    };
    html! { span title=(models.join(", ")) { (words) } }
}

fn open(key: &Value, _: &PageRequest) -> Markup {
    let open: u64 = key["open"].as_object().into_iter().flatten().filter_map(|(_, open)| open.as_u64()).sum();
    html! { (open) " tasks and text requests" }
}

/// What it can do now.
fn state(key: &Value, _: &PageRequest) -> Markup {
    let is_used_up =
        key["quota_micro"].as_i64().is_some_and(|quota| key["quota_used_micro"].as_i64() >= Some(quota));
    match text(key, "state") {
        "active" if is_used_up => chip(Tone::Warn, "quota used up"),
        "active" => chip(Tone::Ok, "active"),
        other => chip(Tone::Neutral, other),
    }
}

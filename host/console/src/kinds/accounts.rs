//! Accounts of providers: their health, and the switch that keeps new work away from one. Their page is `pages/providers`.

use maud::{Markup, html};
use serde_json::Value;

use crate::format::plain;
use crate::parts::elements::{Tone, chip};
use crate::request::PageRequest;
use crate::resource::action::{Action, Then};
use crate::resource::column::{Column, Show, when};
use crate::resource::{Resource, members, text};

/// The id of an account is `<provider>/<account>`.
pub(crate) static ACCOUNTS: Resource = Resource {
    path: "/providers",
    section: "/providers",
    columns: &[
        Column::new("Account", "account", Show::Text),
        Column::own("Health", health).wide(),
        Column::own("In use", |account, _| {
            html! {
                span.num { (account["in_flight"]) " of " (account["limit"]) }
                @if !account["rate_per_second"].is_null() { " " span.muted { (account["rate_per_second"]) " calls/s" } }
            }
        }),
        Column::own("Breaker", breaker).wide(),
        Column::new("Priority", "priority", Show::Count),
        Column::new("Weight", "weight", Show::Count),
        Column::own("Last error", last_errors).wide(),
    ],
    actions: &[
        Action {
            consequence: "It gets no new task and no new text request. {/in_flight} in flight there go on \
                          and are polled.",
            when: |account| account["drained"] == false,
            ..Action::new(
                "drain",
                "Drain",
                "/providers/{provider}/accounts/{account}/drain",
                Then::List("/providers", "drained"),
            )
        },
        Action {
            when: |account| account["drained"] == true,
            ..Action::new(
                "resume",
                "Resume",
                "/providers/{provider}/accounts/{account}/resume",
                Then::List("/providers", "resumed"),
            )
        },
    ],
    ..Resource::READ
};

fn health(account: &Value, request: &PageRequest) -> Markup {
    let word = text(account, "health");
    let tone = match word {
        "healthy" => Tone::Ok,
        "drained" => Tone::Info,
        "failing" | "refused" => Tone::Error,
        _ => Tone::Warn,
    };
    html! {
        (chip(tone, word))
        @match word {
            "refused" => { " credentials or credit; tried again " (when(&account["refused_until"], request)) }
            "paused" => {
                " by the provider; goes on " (when(&account["paused_until"], request))
                @if !account["rate_limited_since"].is_null() {
                    ", too many requests since " (when(&account["rate_limited_since"], request))
                }
            }
            "drained" => { " gets no new work" }
            _ => {}
        }
    }
}

fn breaker(account: &Value, request: &PageRequest) -> Markup {
    let word = text(account, "breaker");
    let tone = match word {
        "closed" => Tone::Neutral,
        "open" => Tone::Error,
        _ => Tone::Warn,
    };
    html! {
        (chip(tone, word))
        @if !account["open_until"].is_null() { " one call is tried " (when(&account["open_until"], request)) }
    }
}

fn last_errors(account: &Value, request: &PageRequest) -> Markup {
    let one =
        |error: &Value| html! { (plain(&error["text"])) " " span.muted { (when(&error["at"], request)) } };
    html! {
        @match members(account, "last_errors") {
            [] => { span.muted { "none" } }
            [last, earlier @ ..] => {
                (one(last))
                @if !earlier.is_empty() {
                    details {
                        summary { (earlier.len()) " earlier" }
                        ul.plain { @for error in earlier { li { (one(error)) } } }
                    }
                }
            }
        }
    }
}

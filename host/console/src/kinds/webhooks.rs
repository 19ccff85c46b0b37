//! Webhooks, and what was sent to them.

use std::time::Duration;

use http::Method;
use maud::{Markup, html};
use serde_json::Value;

use crate::format::{plain, span};
use crate::parts::elements::{Tone, chip, paste};
use crate::request::PageRequest;
use crate::resource::action::{Action, Then};
use crate::resource::column::{Column, Show, when};
use crate::resource::fields::Hint;
use crate::resource::filter::{Filter, How};
use crate::resource::one::{Related, Secret};
use crate::resource::{Resource, members, text};

pub(crate) static WEBHOOKS: Resource = Resource {
    path: "/webhooks",
    section: "/webhooks",
    names: ("Webhooks", "webhook"),
    about: "What happens to a customer's tasks and money, or to the operators' accounts and plugins, is posted to their own servers, signed, and sent again until it is taken.",
    api: &["webhooks"],
    name: "url",
    filters: &[Filter { name: "customer", label: "Customer", how: How::Text("") }],
    columns: &[
        Column::new("Webhook", "url", Show::Page(|webhook| html! { bdi { (text(webhook, "url")) } })),
        Column::new("Customer", "customer", Show::Customer),
        Column::own("State", state),
        Column::new("Waiting", "pending", Show::Count),
        Column::new("Secret", "secret_created", Show::Moment),
        Column::own("Last result", last).wide(),
    ],
    empty: ("There are no webhooks.", "gatehouse webhook create https://example.com/hook --account CUSTOMER"),
    create: "/webhooks",
    edit: "/webhooks/{webhook}",
    hints: &[
        Hint::of(
            "customer",
            "",
            "Empty: the operators' own, which hears of providers' accounts and of canaries.",
        ),
        Hint::needed("url", "Address", "Where events are posted to, such as https://example.com/hook."),
        Hint::of("description", "Note", "For people."),
    ],
    refers: "customer",
    secret: Some(&SECRET),
    has_page: true,
    state,
    facts: &[
        Column::new("Id", "id", Show::Code),
        Column::new("Customer", "customer", Show::Customer),
        Column::new("Made with the key", "made_by", Show::Code),
        Column::new("Nothing is sent since", "disabled_at", Show::Moment),
        Column::new("Because", "disabled_reason", Show::Text),
        Column::own("Secret", secret),
        Column::new("Waiting", "pending", Show::Count),
        Column::own("Last result", last),
        Column::new("Last success", "last_success", Show::Moment),
    ],
    actions: &[
        Action {
            when: is_enabled,
            ..Action::new("test", "Send test event", "/webhooks/{webhook}/test", Then::Done("tested"))
        },
        Action {
            consequence: "A new secret is made and shown once. The present one signs too for 24 hours.",
            ..Action::new(
                "rotate",
                "Rotate secret",
                "/webhooks/{webhook}/rotate-secret",
                Then::Shows(&SECRET),
            )
        },
        Action {
            consequence: "It signs no more from now on. A receiver that knows only this one refuses every event.",
            is_danger: true,
            when: |webhook| !webhook["old_secret_until"].is_null(),
            ..Action::new(
                "retire",
                "Retire old secret",
                "/webhooks/{webhook}/retire-secret",
                Then::Done("retired"),
            )
        },
        Action {
            when: |webhook| !is_enabled(webhook),
            method: &Method::PATCH,
            sends: Some(("enabled", true)),
            ..Action::new("enable", "Enable", "/webhooks/{webhook}", Then::Done("enabled"))
        },
        Action {
            consequence: "Ends of tasks are told to it no more. What waits is sent once it is enabled, \
                          within seven days.",
            when: is_enabled,
            method: &Method::PATCH,
            sends: Some(("enabled", false)),
            ..Action::new("disable", "Disable", "/webhooks/{webhook}", Then::Done("disabled"))
        },
        Action {
            consequence: "Failed events of a range are sent again, newest first, at most 500 at a time. \
                          Moments are UTC; without one there is no bound but the seven days.",
            when: is_enabled,
            hints: &[
                Hint::of("from", "", "Such as 2026-11-21T09:30:00Z."),
                Hint::of("before", "", "Such as 2026-11-21T09:30:00Z."),
                Hint::of("delivered", "Delivered ones too", ""),
            ],
            without: &["cursor"],
            ..Action::new(
                "resend",
                "Send failed events again",
                "/webhooks/{webhook}/resend",
                Then::Goes(|id, answer| {
                    let word = match (answer["resent"].as_u64(), answer["next"].is_null()) {
                        (Some(0), _) => "resent-none",
                        (_, true) => "resent-range",
                        (_, false) => "resent-part",
                    };
                    format!("/webhooks/{id}?done={word}")
                }),
            )
        },
        Action {
            consequence: "{/pending} events that wait are never sent.",
            is_danger: true,
            method: &Method::DELETE,
            ..Action::new("remove", "Remove", "/webhooks/{webhook}", Then::List("/webhooks", "forgotten"))
        },
    ],
    related: &[Related {
        title: "Deliveries",
        of: &DELIVERIES,
        path: &["webhooks", "{}", "deliveries"],
        query: &[],
        rows: 50,
        empty: "Nothing was sent in the last seven days.",
        parameter: None,
    }],
    ..Resource::READ
};

pub(crate) static DELIVERIES: Resource = Resource {
    path: "/deliveries",
    section: "/webhooks",
    names: ("Deliveries", "delivery"),
    api: &["deliveries"],
    is_newest_first: true,
    columns: &[
        Column::new("When", "created", Show::Moment),
        Column::new("Event", "event", Show::Text),
        Column::new("Task", "task", Show::Task),
        Column::own("State", progress).wide(),
        Column::own("Attempts", attempts).wide(),
    ],
    actions: &[Action::new(
        "resend",
        "Resend",
        "/deliveries/{delivery}/resend",
        Then::Goes(|_, delivery| format!("/webhooks/{}?done=resent", text(delivery, "webhook"))),
    )],
    ..Resource::READ
};

static SECRET: Secret = Secret {
    object: "webhook",
    heading: "Signing secret",
    id: "new-secret",
    name: "secret",
    kept: "The gateway keeps it encrypted and never shows it again.",
    next: |id| format!("/webhooks/{id}"),
    more: |_, webhook, _| {
        html! {
            @if let Some(until) = webhook["old_secret_until"].as_str() {
                p { "The secret before signs too until " time datetime=(until) { (until) } "." }
            }
            h2 { "Verify what comes" }
            (paste("verify", "Lines that verify an event", VERIFY))
        }
    },
};

/// With a library of standardwebhooks.com.
const VERIFY: &str = "\
// npm install standardwebhooks
import { Webhook } from \"standardwebhooks\";
const webhook = new Webhook(process.env.WEBHOOK_SECRET);
// The body as it came, before it is parsed; throws where the signature is wrong.
const event = webhook.verify(rawBody, request.headers);
// An event may come twice: headers[\"webhook-id\"] is the same then.
";

fn is_enabled(webhook: &Value) -> bool {
    webhook["enabled"] == true
}

/// Whether anything is sent, and whether it arrives.
fn state(webhook: &Value, _: &PageRequest) -> Markup {
    match (is_enabled(webhook), webhook["failing_since"].is_null()) {
        (false, _) => chip(Tone::Error, "disabled"),
        (true, false) => chip(Tone::Warn, "failing"),
        (true, true) => chip(Tone::Ok, "enabled"),
    }
}

/// The last attempt of any delivery.
fn last(webhook: &Value, request: &PageRequest) -> Markup {
    let attempt = &webhook["last_attempt"];
    html! {
        @if attempt.is_null() { span.muted { "nothing was sent yet" } }
        @else { (result(attempt)) " " span.muted { (when(&attempt["at"], request)) } }
    }
}

/// The status of an attempt, or what went wrong.
fn result(attempt: &Value) -> String {
    attempt["status"]
        .as_u64()
        .map_or_else(|| text(attempt, "problem").to_owned(), |status| status.to_string())
}

fn secret(webhook: &Value, request: &PageRequest) -> Markup {
    html! {
        "made " (when(&webhook["secret_created"], request))
        @if !webhook["old_secret_until"].is_null() {
            "; the one before signs too, until " (when(&webhook["old_secret_until"], request))
        }
    }
}

fn progress(delivery: &Value, request: &PageRequest) -> Markup {
    match text(delivery, "status") {
        "pending" => {
            html! { (chip(Tone::Warn, "waiting")) " next attempt " (when(&delivery["due"], request)) }
        }
        "delivered" => chip(Tone::Ok, "delivered"),
        other => html! { (chip(Tone::Error, other)) " " (text(delivery, "reason")) },
    }
}

fn attempts(delivery: &Value, request: &PageRequest) -> Markup {
    let attempts = members(delivery, "attempts");
    html! {
        @if attempts.is_empty() { span.muted { "none yet" } } @else {
            details {
                summary { (attempts.len()) }
                ul.plain { @for attempt in attempts { li {
                    (result(attempt)) " after " (span(Duration::from_millis(attempt["took_ms"].as_u64().unwrap_or_default())))
                    ", " (when(&attempt["at"], request))
                    @if !text(attempt, "answer").is_empty() { br; code { (plain(&attempt["answer"])) } }
                } } }
            }
        }
    }
}

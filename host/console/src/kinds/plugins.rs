//! Versions of plugins, the families that they serve, and the history of deployments with the stages of each: which version serves, and
//! what may be done to each. The page of versions is `pages/plugins`.

use std::time::Duration;

use http::Method;
use maud::{Markup, html};
use serde_json::Value;

use crate::format::{plain, span};
use crate::parts::elements::{Tone, chip};
use crate::request::PageRequest;
use crate::resource::action::{Action, Then};
use crate::resource::column::{Column, Show, when};
use crate::resource::filter::{Filter, How};
use crate::resource::{Resource, members, text};

pub(crate) static VERSIONS: Resource = Resource {
    path: "/plugins",
    section: "/plugins",
    id: "digest",
    name: "version",
    columns: &[
        Column::new("Version", "version", Show::Text),
        Column::own("Digest", |version, _| {
            let digest = text(version, "digest");
            html! { code title=(digest) { (digest.get(..12).unwrap_or(digest)) } }
        }),
        Column::own("State", state).wide(),
    ],
    actions: &[
        Action {
            consequence: "It serves new requests of its family from now on. Tasks under way finish on the \
                          version that admitted them.",
            when: |version| text(version, "state") != "active",
            flags: &[("allow_removal", "It may leave out models and aliases that are served today")],
            ..Action::new("activate", "Activate", "/plugins/{digest}/activate", to("activated"))
        },
        Action {
            consequence: "Its file is deleted from the plugin store. It can be installed again.",
            is_danger: true,
            when: |version| matches!(text(version, "state"), "kept" | "rolled_back"),
            method: &Method::DELETE,
            ..Action::new("remove", "Remove", "/plugins/{digest}", to("removed"))
        },
    ],
    ..Resource::READ
};

/// An object of `/families`.
pub(crate) static FAMILIES: Resource = Resource {
    path: "/families",
    section: "/plugins",
    id: "family",
    name: "family",
    actions: &[
        Action {
            consequence: "{/standby/version} takes over. Tasks that {/active/version} admitted finish on \
                          {/active/version}.",
            is_danger: true,
            when: |family| !family["standby"].is_null(),
            ..Action::new("roll-back", "Roll back", "/families/{family}/rollback", to("rolled-back"))
        },
        Action {
            consequence: "Its models are listed no more, and new requests for them are refused. Tasks under \
                          way finish.",
            is_danger: true,
            when: |family| text(&family["active"], "state") == "active",
            ..Action::new("disable", "Disable", "/families/{family}/disable", to("family-disabled"))
        },
        Action {
            consequence: "It serves new requests again, with the version it had.",
            // Without a moment it is the configuration that has it switched off.
            when: |family| !family["disabled"]["at"].is_null(),
            ..Action::new("enable", "Enable", "/families/{family}/enable", to("family-enabled"))
        },
    ],
    ..Resource::READ
};

/// The list of plugins with a sentence.
const fn to(word: &'static str) -> Then {
    Then::List("/plugins", word)
}

fn state(version: &Value, request: &PageRequest) -> Markup {
    let (at, reason) = (&version["at"], text(version, "reason"));
    html! {
        @match text(version, "state") {
            "active" | "serves" => { (chip(Tone::Ok, "active")) @if !at.is_null() { " since " (when(at, request)) } }
            "broken" => { (chip(Tone::Error, "broken")) " " (reason) }
            "disabled" => { (chip(Tone::Warn, "disabled")) " " (reason) @if !at.is_null() { ", " (when(at, request)) } }
            "pinned" => { (chip(Tone::Info, "pinned")) " finishes the tasks it admitted" }
            "standby" => { (chip(Tone::Info, "standby")) " takes over if its successor fails; until " (when(at, request)) }
            "rolled_back" => { (chip(Tone::Warn, "rolled back")) " " (when(at, request)) ": " (reason) }
            other => { (chip(Tone::Neutral, other)) }
        }
    }
}

pub(crate) static DEPLOYMENTS: Resource = Resource {
    path: "/deployments",
    section: "/plugins",
    names: ("Deployments", "report"),
    about: "By hand, by the watched folder, by a canary and by a start. The last 1,000 reports are kept.",
    api: &["deployments"],
    id: "number",
    name: "number",
    is_newest_first: true,
    filters: &[Filter { name: "family", label: "Family", how: How::Text("") }],
    columns: &[
        Column::new("Report", "number", Show::Page(|report| html! { "Report " (plain(&report["number"])) })),
        Column::new("When", "at", Show::Moment),
        Column::new("Family", "family", Show::Text),
        Column::new("Version", "version", Show::Text),
        Column::own("Outcome", outcome),
        Column::own("Order", order),
        Column::new("By", "who", Show::Text),
    ],
    empty: ("No report is kept.", "gatehouse plugin history"),
    has_page: true,
    state: outcome,
    facts: &[
        Column::own("Family", |report, _| {
            let family = text(report, "family");
            html! { a href={ "/deployments?family=" (family) } { (family) } }
        }),
        Column::new("Version", "version", Show::Text),
        Column::new("Digest", "digest", Show::Code),
        Column::new("Replaced", "replaced", Show::Code),
        Column::own("Order", |report, request| {
            html! { (order(report, request)) ", by " (text(report, "who")) }
        }),
        Column::new("When", "at", Show::Moment),
    ],
    more: |report, _| {
        html! {
            @if let Some(reason) = report["reason"].as_str() { div.problems { p { (reason) } } }
            h2 { "Stages" }
            @match members(report, "stages") {
                [] => { p.muted { "None was run." } }
                all => (stages(all)),
            }
        }
    },
    ..Resource::READ
};

fn order(report: &Value, _: &PageRequest) -> Markup {
    let words = match text(report, "kind") {
        "install" => "installed",
        "activate" => "activated",
        "roll_back" => "rolled back by an operator",
        "canary" => "canary rolled back",
        "found" => "found at a start",
        other => other,
    };
    html! { (words) }
}

fn outcome(report: &Value, _: &PageRequest) -> Markup {
    match text(report, "outcome") {
        "switched" => chip(Tone::Ok, "switched"),
        "refused" => chip(Tone::Error, "refused"),
        "unchanged" => chip(Tone::Neutral, "served already"),
        other => chip(Tone::Neutral, other),
    }
}

/// The stages a version went through, in order.
pub(crate) fn stages(stages: &[Value]) -> Markup {
    html! {
        ol.stages {
            @for stage in stages {
                li {
                    @match text(stage, "verdict") {
                        "passed" => (chip(Tone::Ok, "passed")),
                        "refused" => (chip(Tone::Error, "refused")),
                        other => (chip(Tone::Neutral, other)),
                    }
                    " " strong { (text(stage, "stage")) } " "
                    span.muted { (span(Duration::from_millis(stage["took_ms"].as_u64().unwrap_or_default()))) }
                    @if !text(stage, "note").is_empty() { p.note { (text(stage, "note")) } }
                }
            }
        }
    }
}

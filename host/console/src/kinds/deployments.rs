//! The history of deployments, and the stages of each.

use std::time::Duration;

use maud::{Markup, html};
use serde_json::Value;

use crate::format::span;
use crate::parts::elements::{Tone, chip};
use crate::resource::column::{Column, Look, Show};
use crate::resource::filter::Filter;
use crate::resource::{Resource, members, plain, text};

pub(crate) static DEPLOYMENTS: Resource = Resource {
    path: "/deployments",
    section: "/plugins",
    names: ("Deployments", "report"),
    about: "By hand, by the watched folder, by a canary and by a start. The last 1,000 reports are kept.",
    api: &["deployments"],
    id: "number",
    name: "number",
    is_newest_first: true,
    filters: &[Filter::Text { name: "family", label: "Family", prefix: "" }],
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
        Column::own("Order", |report, look| html! { (order(report, look)) ", by " (text(report, "who")) }),
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

fn order(report: &Value, _: &Look<'_>) -> Markup {
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

fn outcome(report: &Value, _: &Look<'_>) -> Markup {
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

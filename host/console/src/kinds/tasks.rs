//! Tasks of every customer, as a list. The page of one is `pages/tasks`.

use maud::{Markup, html};
use serde_json::Value;

use crate::format::{credits, short_id};
use crate::parts::elements::{Tone, chip, progress};
use crate::resource::column::{Column, Look, Show};
use crate::resource::filter::Filter;
use crate::resource::{Resource, text};
use gatehouse_model::Credits;

pub(crate) static TASKS: Resource = Resource {
    path: "/tasks",
    section: "/tasks",
    names: ("Tasks", "task"),
    api: &["tasks"],
    live: true,
    is_newest_first: true,
    filters: &[
        Filter::Choice {
            name: "status",
            label: "Status",
            words: &["submitted", "pending", "processing", "completed", "failed"],
        },
        Filter::Text { name: "family", label: "Family", prefix: "" },
        Filter::Text { name: "model", label: "Model", prefix: "" },
        Filter::Text { name: "customer", label: "Customer", prefix: "" },
        Filter::Text { name: "key", label: "Key", prefix: "sk-" },
        Filter::Text { name: "user", label: "User", prefix: "" },
        Filter::Text { name: "tag", label: "Tag, as name=value", prefix: "" },
        Filter::Flag { name: "ambiguous", label: "Waits for a ruling" },
    ],
    columns: &[
        Column::new("Created", "created", Show::Moment),
        Column::new("Task", "id", Show::Page(|task| short_id(text(task, "id")))),
        Column::own("Model", |task, _| {
            html! { (text(task, "model")) br; span.muted { (text(task, "family")) } }
        }),
        Column::new("Customer", "customer", Show::Customer).less(),
        Column::own("Tags", |task, _| tags(task)).less(),
        Column::own("Status", status),
        Column::own("Progress", |task, _| {
            let is_over = !task["finished"].is_null();
            progress((!is_over).then(|| task["progress"].as_u64().unwrap_or_default()))
        })
        .less(),
        Column::own("Cost", cost),
    ],
    empty: (
        "A task is a job that takes a while, such as a picture or a video. There are none yet.",
        "curl $GATEWAY/v1/images/generations -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' -d @picture.json",
    ),
    download: ("/admin/v1/tasks.csv", "Download as CSV"),
    ..Resource::READ
};

/// What a client noted down: its user, and the pairs of its metadata.
pub(super) fn tags(of: &Value) -> Markup {
    let pairs = of["metadata"].as_object().into_iter().flatten();
    html! {
        @if let Some(user) = of["user"].as_str() { (user) " " }
        @for (name, value) in pairs { span.muted { (name) "=" (value.as_str().unwrap_or_default()) } " " }
    }
}

fn status(task: &Value, _: &Look<'_>) -> Markup {
    let tone = match text(task, "status") {
        "processing" => Tone::Info,
        "completed" => Tone::Ok,
        "failed" => Tone::Error,
        _ => Tone::Neutral,
    };
    html! {
        (chip(tone, text(task, "status")))
        @if task["ambiguous"] == true { " " (chip(Tone::Warn, "ambiguous")) }
    }
}

/// What it cost; what it holds where that is not known yet.
fn cost(task: &Value, _: &Look<'_>) -> Markup {
    let micro = |member: &str| task[member].as_i64().map(Credits);
    html! {
        @match (micro("cost_micro"), micro("held_micro")) {
            (Some(cost), _) => (credits(cost)),
            (None, held) => span.muted { (credits(held.unwrap_or_default())) " held" },
        }
    }
}

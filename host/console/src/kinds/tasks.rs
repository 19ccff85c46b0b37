//! Tasks of every customer, as a list. The page of one is `pages/tasks`.

use maud::{Markup, html};
use serde_json::Value;

use crate::format::{credits, short_id};
use crate::parts::elements::{Tone, chip, progress};
use crate::request::PageRequest;
use crate::resource::column::{Column, Show};
use crate::resource::filter::{Filter, How};
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
        Filter {
            name: "status",
            label: "Status",
            how: How::Choice(&["submitted", "pending", "processing", "completed", "failed"]),
        },
        Filter { name: "family", label: "Family", how: How::Text("") },
        Filter { name: "model", label: "Model", how: How::Text("") },
        Filter { name: "customer", label: "Customer", how: How::Text("") },
        Filter { name: "key", label: "Key", how: How::Text("sk-") },
        Filter { name: "user", label: "User", how: How::Text("") },
        Filter { name: "tag", label: "Tag, as name=value", how: How::Text("") },
        Filter { name: "ambiguous", label: "Waits for a ruling", how: How::Flag },
    ],
    columns: &[
        Column::new("Created", "created", Show::Moment),
        Column::new("Task", "id", Show::Page(|task| short_id(text(task, "id")))),
        Column::own("Model", |task, _| {
            html! { (text(task, "model")) br; span.muted { (text(task, "family")) } }
        }),
        Column::new("Customer", "customer", Show::Customer).less(),
        Column::own("Tags", |task, _| tags(task)).less(),
        Column::own("Status", |task, _| state(text(task, "status"), task["ambiguous"] == true)),
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

/// Its state as a shape and a word.
pub(crate) fn state(word: &str, is_ambiguous: bool) -> Markup {
    let tone = match word {
        "processing" => Tone::Info,
        "completed" => Tone::Ok,
        "failed" => Tone::Error,
        _ => Tone::Neutral,
    };
    html! {
        (chip(tone, word))
        @if is_ambiguous { " " (chip(Tone::Warn, "ambiguous")) }
    }
}

/// What it cost; what it holds where that is not known yet.
fn cost(task: &Value, _: &PageRequest) -> Markup {
    let micro = |member: &str| task[member].as_i64().map(Credits);
    html! {
        @match (micro("cost_micro"), micro("held_micro")) {
            (Some(cost), _) => (credits(cost)),
            (None, held) => span.muted { (credits(held.unwrap_or_default())) " held" },
        }
    }
}

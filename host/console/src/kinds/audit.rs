//! The audit record.

use maud::html;

use crate::resource::column::{Column, Show};
use crate::resource::filter::Filter;
use crate::resource::{Resource, text};

pub(crate) static AUDIT: Resource = Resource {
    path: "/audit",
    section: "/audit",
    names: ("Audit", "line"),
    about: "What was decided without knowing everything, and what operators did, newest first. Lines are only ever added.",
    api: &["audit"],
    id: "number",
    is_newest_first: true,
    rows: 100,
    filters: &[
        Filter::Text { name: "task", label: "Task", prefix: "" },
        Filter::Text { name: "who", label: "By", prefix: "" },
        Filter::Text { name: "object", label: "Object", prefix: "" },
        Filter::Flag { name: "decisions", label: "Decisions of the gateway only" },
    ],
    columns: &[
        Column::new("When", "at", Show::Moment),
        Column::own("Task", |line, _| {
            html! { @match line["task"].as_str() {
                Some(task) => { a href={ "/audit?task=" (task) } { code { (task) } } }
                None => { span.muted { "none" } }
            } }
        }),
        Column::own("What", |line, _| html! { (text(line, "text")) }).wide(),
    ],
    empty: ("There are no lines.", "gatehouse audit"),
    download: ("/admin/v1/audit.csv", "Download as CSV"),
    ..Resource::READ
};

//! What was done and said: the audit record, the last requests of clients, and what the process said last, as they come; the last two
//! as a text file, too.

use axum::response::IntoResponse as _;
use gatehouse_admin::Role;
use gatehouse_model::Credits;
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use maud::{Markup, html};
use serde_json::Value;

use crate::error::{Outcome, PageError};
use crate::format::{count, credits, plain, seconds};
use crate::kinds::tasks::tags;
use crate::parts::elements::{Problems, Tone, chip};
use crate::request::PageRequest;
use crate::resource::column::{Column, Show, at, key};
use crate::resource::filter::{Filter, How};
use crate::resource::list::every;
use crate::resource::{Resource, Tabs, text};

static TABS: Tabs =
    Tabs { parameter: "kind", all: &[("requests", "Requests", &REQUESTS), ("process", "Process", &PROCESS)] };

const TEXT: Filter = Filter { name: "text", label: "Text", how: How::Text("") };

pub(crate) static REQUESTS: Resource = Resource {
    path: "/logs",
    section: "/logs",
    names: ("Logs", "line"),
    about: "The last 10 000 lines of each, at most 4 MiB, in memory: a restart empties them. Times are UTC.",
    api: &["logs"],
    tabs: Some(&TABS),
    // What a plugin says stands in the log of the process, and may quote what a client wrote.
    role: Role::Operator,
    live: true,
    id: "number",
    is_newest_first: true,
    rows: 100,
    filters: &[
        Filter { name: "key", label: "Key", how: How::Text("sk-") },
        Filter { name: "status", label: "Status", how: How::Text("") },
        Filter { name: "cost", label: "Credits, at least", how: How::Text("") },
        Filter { name: "user", label: "User", how: How::Text("") },
        Filter { name: "tag", label: "Tag, as name=value", how: How::Text("") },
        TEXT,
    ],
    columns: &[
        Column::own("When", moment),
        Column::own("Request", |line, _| {
            let request = &line["request"];
            html! { (text(request, "method")) " " code { (text(request, "route")) } }
        })
        .wide(),
        Column::own("Status", |line, _| {
            let status = line["request"]["status"].as_u64().unwrap_or_default();
            let tone = match status {
                ..400 => Tone::Ok,
                400..500 => Tone::Warn,
                _ => Tone::Error,
            };
            chip(tone, &status.to_string())
        }),
        Column::own("ms", |line, _| number(line, "ms")),
        Column::own("First token, ms", |line, _| {
            let request = &line["request"];
            let first = request["first_token_ms"].as_u64().or_else(|| request["first_byte_ms"].as_u64());
            html! { @if let Some(ms) = first { span.num { (count(ms)) } } }
        })
        .less(),
        Column::own("Model", answerer),
        Column::own("Tokens", tokens),
        Column::own("Credits", cost),
        Column::own("Key", |line, _| {
            html! { @match line["request"]["key"].as_str() {
                Some(id) => (key(id)),
                None => span.muted { "none" },
            } }
        })
        .less(),
        Column::own("Tags", |line, _| tags(&line["request"])).less(),
        Column::own("In", |line, _| number(line, "received")).less(),
        Column::own("Out", |line, _| number(line, "sent")).less(),
        Column::own("Id", |line, _| html! { code { (text(&line["request"], "id")) } }).less(),
    ],
    empty: ("No line fits.", "gatehouse serve"),
    download: ("/logs-download", "Download"),
    ..Resource::READ
};

static PROCESS: Resource = Resource {
    query: &[("kind", "process")],
    filters: &[
        Filter {
            name: "level",
            label: "Level, at least",
            how: How::Choice(&["ERROR", "WARN", "INFO", "DEBUG", "TRACE"]),
        },
        Filter { name: "target", label: "Target", how: How::Text("") },
        TEXT,
    ],
    columns: &[
        Column::own("When", moment),
        Column::own("Level", |line, _| {
            let tone = match text(line, "level") {
                "ERROR" => Tone::Error,
                "WARN" => Tone::Warn,
                "INFO" => Tone::Info,
                _ => Tone::Neutral,
            };
            chip(tone, text(line, "level"))
        }),
        Column::own("Target", |line, _| html! { code { (text(line, "target")) } }).less(),
        Column::own("Line", |line, _| html! { (text(line, "text")) }).wide(),
    ],
    ..REQUESTS
};

fn moment(line: &Value, _: &PageRequest) -> Markup {
    html! { @if let Some(at) = at(&line["at"]) { span.num { (seconds(at)) } } }
}

fn number(line: &Value, member: &str) -> Markup {
    html! { span.num { (count(line["request"][member].as_u64().unwrap_or_default())) } }
}

/// Its model, and who answered: provider and account, and the plugin between.
fn answerer(line: &Value, _: &PageRequest) -> Markup {
    let request = &line["request"];
    let [model, provider, account, plugin] =
        ["model", "provider", "account", "plugin"].map(|member| request[member].as_str());
    let calls = request["attempts"].as_u64().filter(|calls| *calls > 1);
    html! {
        @if let Some(model) = model { code { (model) } }
        @if let (Some(provider), Some(account)) = (provider, account) {
            br;
            span.muted { (provider) "/" (account) @if let Some(calls) = calls { ", " (calls) " calls" } }
        }
        @if let Some(plugin) = plugin { br; span.muted { (plugin) } }
    }
}

/// Tokens read and written, and how many of those came from a cache.
fn tokens(line: &Value, _: &PageRequest) -> Markup {
    let [read, cached, written] =
        ["input_tokens", "cached_tokens", "output_tokens"].map(|member| line["request"][member].as_u64());
    html! {
        @if let (Some(read), Some(written)) = (read, written) {
            span.num { (count(read)) " / " (count(written)) }
            @if let Some(cached) = cached.filter(|cached| *cached > 0) { br; span.muted { (count(cached)) " cached" } }
        }
    }
}

/// What it was charged; what it holds where nothing is charged yet.
fn cost(line: &Value, _: &PageRequest) -> Markup {
    let micro = |member: &str| line["request"][member].as_i64().map(Credits);
    html! {
        @match (micro("charged_micro"), micro("held_micro")) {
            (Some(charged), _) => (credits(charged)),
            (None, Some(held)) => { (credits(held)) " " span.muted { "held" } },
            (None, None) => span.muted { "none" },
        }
    }
}

/// `GET /logs-download`: every line that fits, the oldest first, as text.
pub(crate) async fn download(request: PageRequest) -> Outcome {
    let log = if request.query.text("kind") == "process" { &PROCESS } else { &REQUESTS };
    let list = log.request(log.api, &request, &mut Problems::default());
    let list = || log.query.iter().fold(list.clone(), |list, (name, value)| list.query(name, value));
    let lines = match every(&request, list).await {
        // There is no gateway beside these pages, so there is no log.
        Err(refusal) if refusal.status == 409 => return Err(PageError::not_found(refusal.message)),
        found => found?,
    };
    let lines: String = lines.iter().rev().map(|line| text_of(line) + "\n").collect();
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"gatehouse-log.txt\""),
        (CACHE_CONTROL, "no-store"),
    ];
    Ok((headers, lines).into_response())
}

fn text_of(line: &Value) -> String {
    let (at, request) = (text(line, "at"), &line["request"]);
    if request.is_null() {
        let said = text(line, "text").replace('\n', " ");
        return format!("{at} {} {}: {said}", text(line, "level"), text(line, "target"));
    }
    let of = |member: &str| plain(&request[member]);
    let key = request["key"].as_str().unwrap_or("-");
    let money = [("held", "held_micro"), ("charged", "charged_micro")].map(|(name, member)| {
        let amount = request[member].as_i64().map(|micro| format!(" {name}={}", Credits(micro)));
        amount.unwrap_or_default()
    });
    let facts = told(request);
    let (method, route, status, ms) = (of("method"), of("route"), of("status"), of("ms"));
    let (received, sent, money, id) = (of("received"), of("sent"), money.concat(), of("id"));
    format!("{at} {method} {route} {status} {ms} ms key={key} in={received} out={sent}{facts}{money} {id}")
}

/// What is known of a request, for a line of text.
fn told(request: &Value) -> String {
    let named = |member: &str| Some(format!(" {member}={}", request[member].as_str()?.replace(' ', "_")));
    let timed = |member: &str| Some(format!(" {member}={}", request[member].as_u64()?));
    let [read, cached, written] =
        ["input_tokens", "cached_tokens", "output_tokens"].map(|member| plain(&request[member]));
    let tokens = request["input_tokens"].is_u64().then(|| format!(" tokens={read}/{cached}/{written}"));
    let named = ["model", "plugin", "provider", "account"].map(named);
    let timed = ["first_byte_ms", "first_token_ms"].map(timed);
    named.into_iter().chain([tokens]).chain(timed).flatten().collect()
}

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
        Filter { name: "task", label: "Task", how: How::Text("") },
        Filter { name: "who", label: "By", how: How::Text("") },
        Filter { name: "object", label: "Object", how: How::Text("") },
        Filter { name: "decisions", label: "Decisions of the gateway only", how: How::Flag },
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A line break in what a plugin said would otherwise make lines that nobody wrote.
    #[test]
    fn a_line_is_one_line() {
        let line = json!({"at": "1970-01-01T00:00:00.000Z", "level": "WARN", "target": "t", "text": "a\nb"});
        assert_eq!(text_of(&line), "1970-01-01T00:00:00.000Z WARN t: a b");
        let request = json!({"method": "GET", "route": "/v1/models", "status": 200, "ms": 3, "key": null, "received": 0,
            "sent": 5, "held_micro": 1_500_000, "charged_micro": null, "id": "req_1"});
        let line = json!({"at": "1970-01-01T00:00:00.000Z", "request": request});
        let expected = "1970-01-01T00:00:00.000Z GET /v1/models 200 3 ms key=- in=0 out=5 held=1.5 req_1";
        assert_eq!(text_of(&line), expected);
    }
}

//! `/logs`: the last 10,000 requests of clients, and the last 10,000 lines that the process said. In memory, so a restart
//! empties them.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use gatehouse_model::{KeyId, RequestLine, view};
use http::header::CACHE_CONTROL;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::values::{List, Moment};
use crate::error::ApiError;
use crate::http::call::{Call, Outcome};
use crate::http::request::query::{Form, Parameter, filter, option};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::{LOG_LEVELS, LogFilter, LogLine, least_cost, status_range, tag_of};

const FILTERS: [Parameter; 9] = [
    filter("kind", Form::OneOf(&["requests", "process"]), "Which log; `requests` without it."),
    filter("level", Form::OneOf(&LOG_LEVELS), "Lines of the process that are at least as grave."),
    filter("target", Form::Text, "Lines of this part of the program, such as `gatehouse_upstream`."),
    filter("key", Form::Text, "Requests of this key."),
    filter("status", Form::Text, "Requests with this status, such as `404`, or of a class, such as `5xx`."),
    filter(
        "cost",
        Form::Text,
        "Requests that cost at least so many credits, such as `0.5`; of tasks, their price.",
    ),
    filter("user", Form::Text, "Requests of this user of a client."),
    filter("tag", Form::Text, "Requests with this pair in their `metadata`, as `name=value`."),
    filter(
        "text",
        Form::Text,
        "A part of the line, or of a request's route, model or provider; or a request's id.",
    ),
];
/// Between two looks of a tail.
const INTERVAL: Duration = Duration::from_millis(250);
/// Lines of one look.
const BATCH: usize = 500;
/// Looks without a line after which a comment shows that the stream is alive.
const QUIET: u32 = 60;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/logs", "listLogs", list)
            .says("Lists what is kept of a log, newest first.")
            .query(&FILTERS)
            .paged()
            .returns::<List<LogRow>>()
            .for_operators(),
        Route::get("/logs/tail", "tailLogs", tail)
            .says("Sends a log's lines as events, from now on.")
            .query(&FILTERS)
            .query(&[option("after", Form::Text, "Begin after the line of this number.")])
            .returns_text("text/event-stream")
            .for_operators(),
    ]
}

/// A line of a log.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LogLine")]
struct LogRow {
    /// Its number, which grows.
    number: u64,
    /// When; of a request, when it came.
    at: Moment,
    /// Of the process: "ERROR", "WARN", "INFO", "DEBUG" or "TRACE".
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<&'static str>,
    /// Of the process: the part of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'static str>,
    /// Of the process: the sentence and its values.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The request of a client.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<LoggedRequest>,
}

view! {
    /// A request of a client.
    #[derive(Debug, Serialize, JsonSchema)]
    struct LoggedRequest of (line: RequestLine) where {
        let facts = line.facts;
        let tags = facts.tags.as_deref().cloned().unwrap_or_default();
        let text = |fact: Option<Arc<str>>| fact.map(|fact| fact.as_ref().to_owned());
    } {
        /// Its id.
        id: String = line.id.to_string(),
        /// Its method.
        method: &'static str = line.method,
        /// The pattern of its path; "-" where there is no such path.
        route: &'static str = line.route,
        /// The status of its answer; 499 where the client left first.
        status: u16 = line.status,
        /// Milliseconds until its answer had left.
        ms: u32 = line.ms,
        /// The id of its key.
        key: Option<String> = line.key.map(|key| key.0),
        /// The customer of that key. Null for a key that does not exist.
        customer: Option<String> = line.customer.map(|customer| customer.0),
        /// The canonical id of the model it is for. Null where that was never known.
        model: Option<String> = text(facts.model),
        /// The plugin that read it: family, version and the beginning of its digest.
        plugin: Option<String> = text(facts.plugin),
        /// The provider that was called last. Null where none was.
        provider: Option<String> = text(facts.provider),
        /// The account of that provider.
        account: Option<String> = text(facts.account),
        /// The target of the model that answered, as `provider/upstream`. Null where none did, and for a task.
        target: Option<String> = text(facts.target),
        /// Calls that were made for it while its client waited.
        attempts: u32 = facts.attempts,
        /// Milliseconds from the last call to the head of its answer.
        first_byte_ms: Option<u32> = facts.first_byte_ms,
        /// Milliseconds from the request to the first content of a stream.
        first_token_ms: Option<u32> = facts.first_token_ms,
        /// Tokens it read, those from a cache and into one among them. Null where nothing was counted.
        input_tokens: Option<u64> = facts.tokens.map(|tokens| tokens.read()),
        /// Of these, from a cache.
        cached_tokens: Option<u64> = facts.tokens.map(|tokens| tokens.cached),
        /// Tokens that were written for it.
        output_tokens: Option<u64> = facts.tokens.map(|tokens| tokens.output),
        /// Its client's `user`, or the `metadata.user_id` of messages.
        user: Option<String> = tags.user,
        /// The texts of its client's `metadata`, by name.
        metadata: BTreeMap<String, String> = tags.metadata,
        /// The client's address. Null for a request of the console.
        client: Option<String> = line.client.map(|client| client.to_string()),
        /// Bytes of its body.
        received: u64 = line.received,
        /// Bytes of its answer.
        sent: u64 = line.sent,
        /// What was held for it: the most that a text may cost, or the price of a task. Null where it costs nothing.
        held_micro: Option<i64> = facts.held.map(|amount| amount.0),
        /// What it was charged. Null where nothing was held, and for a task.
        charged_micro: Option<i64> = facts.charged.map(|amount| amount.0),
    }
}

impl From<(u64, LogLine)> for LogRow {
    fn from((number, line): (u64, LogLine)) -> Self {
        match line {
            LogLine::Request(line) => {
                let at = line.id.timestamp().into();
                let request = Some(LoggedRequest::from(*line));
                Self { number, at, level: None, target: None, text: None, request }
            }
            LogLine::Process(line) => Self {
                number,
                at: line.at.into(),
                level: Some(line.level),
                target: Some(line.target),
                text: Some(line.text),
                request: None,
            },
        }
    }
}

fn wanted(call: &Call) -> Result<LogFilter, ApiError> {
    let text = |name| call.query.one(name).unwrap_or_default().to_owned();
    Ok(LogFilter {
        is_process: call.query.one("kind") == Some("process"),
        level: text("level"),
        target: text("target"),
        text: text("text"),
        key: call.query.one("key").map(|key| KeyId::from(key.trim_start_matches("sk-"))),
        status: call.query.one("status").map(status_range).transpose()?,
        cost: call.query.one("cost").map(least_cost).transpose()?,
        user: call.query.one("user").map(str::to_owned),
        tag: call.query.one("tag").map(tag_of).transpose()?,
    })
}

async fn list(call: Call) -> Outcome {
    let before = call.position()?;
    let page = call.service.logs.page(&wanted(&call)?, before, call.query.limit())?;
    call.list(page.lines.into_iter().map(LogRow::from).collect(), page.next)
}

async fn tail(call: Call) -> Outcome {
    let after = call.parsed("after", "a number")?;
    let filter = wanted(&call)?;
    // Where it begins is known before the head leaves, so that no later line is missed.
    let (_, seen) = call.service.logs.after(&filter, after, 0)?;
    let state = (Arc::clone(&call.service), filter, seen, 0_u32);
    let events = stream::try_unfold(state, |(service, filter, mut seen, mut quiet)| async move {
        loop {
            let found = service.logs.after(&filter, Some(seen), BATCH);
            let (lines, last) = found.map_err(|error| io::Error::other(error.to_string()))?;
            seen = last;
            let text: String = lines.into_iter().map(|(number, line)| event(number, line)).collect();
            quiet += 1;
            if !text.is_empty() || quiet >= QUIET {
                let text = if text.is_empty() { ": alive\n\n".to_owned() } else { text };
                return Ok::<_, io::Error>(Some((Bytes::from(text), (service, filter, seen, 0))));
            }
            service.clock.pause(INTERVAL).await;
        }
    });
    let head = stream::once(async { Ok(Bytes::from_static(b"retry: 2000\n\n")) });
    let body = Body::from_stream(stream::StreamExt::chain(head, events));
    Ok(Reply::typed("text/event-stream", body).with_header(CACHE_CONTROL, "no-cache, no-transform"))
}

fn event(number: u64, line: LogLine) -> String {
    let row = LogRow::from((number, line));
    let data = serde_json::to_string(&row).unwrap_or_default();
    format!("id: {number}\nevent: line\ndata: {data}\n\n")
}

//! Logs: the last requests of clients, and what the process said last, as they come.

use std::sync::Arc;

use gatehouse_admin::{LOG_LEVELS, LogFilter, LogLine, OperationError, ResponseBody};
use gatehouse_model::{Credits, KeyId, RequestFacts, RequestLine};
use http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use maud::{Markup, html};
use url::form_urlencoded::Serializer;

use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::format::{count, credits, seconds};
use crate::parts::elements::{Tone, chip, empty};
use crate::parts::live;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Rows on one page.
const ROWS: usize = 100;
/// Lines of a download: all that are kept.
const ALL: usize = 10_000;
/// Fields of the filter.
const FILTER: [&str; 7] = ["kind", "level", "target", "key", "status", "cost", "text"];

/// `GET /logs`.
pub(crate) fn show(pages: &PageContext, request: &PageRequest) -> Result<Response<ResponseBody>, PageError> {
    let query = &request.query;
    let filter = filter(query);
    filter.check()?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/logs", "Logs");
    let other = |kind: &str, name: &str, is_shown: bool| {
        html! { a href={ "/logs?kind=" (kind) } aria-current=[is_shown.then_some("page")] { (name) } }
    };
    Ok(shell.page(
        StatusCode::OK,
        &html! {
            div.title {
                h1 { "Logs" }
                span.muted data-live-state {}
                button type="button" data-pauses hidden { "Pause" }
                a.button href=(address("/logs-download", query, "")) download { "Download" }
            }
            nav.tabs aria-label="Kind of log" {
                (other("requests", "Requests", !filter.is_process))
                (other("process", "Process", filter.is_process))
            }
            p.muted { "The last 10 000 lines of each, at most 4 MiB, in memory: a restart empties them. Times are UTC." }
            (toolbar(query, &filter))
            div data-live=(address("/logs-live", query, query.text("before"))) { (rows(pages, query, &filter)) }
        },
    ))
}

/// `GET /logs-live`: the same lines again whenever there are others.
pub(crate) fn follow(
    pages: &Arc<PageContext>,
    request: PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let filter = filter(&request.query);
    filter.check()?;
    let session = request.session.as_ref().map_or(0, |session| session.number);
    let (clock, sessions) = (Arc::clone(&pages.service.clock), Arc::clone(&pages.sessions));
    let (pages, query) = (Arc::clone(pages), request.query);
    let look = move || std::future::ready(Some(rows(&pages, &query, &filter).into()));
    Ok(live::stream(clock, sessions, session, request.end, look))
}

/// `GET /logs-download`: every line that fits, the oldest first, as text.
pub(crate) fn download(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let page = match pages.service.log_page(&filter(&request.query), None, ALL) {
        Err(OperationError::Refused(why)) => return Err(PageError::not_found(why)),
        found => found?,
    };
    let text: String = page.lines.iter().rev().map(|(_, line)| text_of(line) + "\n").collect();
    let mut response = Response::new(ResponseBody::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers
        .insert(CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"gatehouse-log.txt\""));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

fn filter(query: &Form) -> LogFilter {
    let text = |name| query.text(name).to_owned();
    let key = query.text("key").trim_start_matches("sk-");
    LogFilter {
        is_process: query.text("kind") == "process",
        level: text("level"),
        target: text("target"),
        text: text("text"),
        key: (!key.is_empty()).then(|| KeyId::from(key)),
        status: text("status"),
        cost: text("cost"),
    }
}

fn address(path: &str, query: &Form, before: &str) -> String {
    let mut fields = Serializer::new(String::new());
    for name in FILTER.into_iter().filter(|name| !query.text(name).is_empty()) {
        fields.append_pair(name, query.text(name));
    }
    if !before.is_empty() {
        fields.append_pair("before", before);
    }
    format!("{path}?{}", fields.finish())
}

fn toolbar(query: &Form, filter: &LogFilter) -> Markup {
    let field = |name: &str, label: &str| {
        html! {
            label for=(name) { (label) }
            input.short id=(name) type="search" name=(name) value=(query.text(name)) autocomplete="off" data-search[name == "text"];
        }
    };
    html! {
        form.toolbar method="get" role="search" {
            input type="hidden" name="kind" value=(if filter.is_process { "process" } else { "requests" });
            @if filter.is_process {
                label for="level" { "Level" }
                select #level name="level" {
                    option value="" { "all" }
                    @for level in LOG_LEVELS { option value=(level) selected[filter.level == level] { (level) " and graver" } }
                }
                (field("target", "Target"))
            } @else {
                (field("key", "Key"))
                (field("status", "Status"))
                (field("cost", "Credits, at least"))
            }
            (field("text", "Text"))
            button { "Show" }
        }
    }
}

fn rows(pages: &PageContext, query: &Form, filter: &LogFilter) -> Markup {
    let before = query.text("before").parse().ok();
    let page = match pages.service.log_page(filter, before, ROWS) {
        Ok(page) => page,
        Err(OperationError::Refused(_)) => {
            return empty("Only a running gateway has logs.", None, "gatehouse serve");
        }
        Err(error) => return html! { p.problems { (error) } },
    };
    html! {
        @if page.lines.is_empty() { p.empty { "No line fits." } }
        @else if filter.is_process { (of_process(&page.lines)) }
        @else { (of_requests(&page.lines)) }
        p.pager {
            @if before.is_some() { a.button href=(address("/logs", query, "")) { "Newest" } " " }
            @if let Some(next) = page.next { a.button href=(address("/logs", query, &next.to_string())) { "Older" } }
        }
    }
}

fn of_requests(lines: &[(u64, LogLine)]) -> Markup {
    html! {
        div.scroll role="region" aria-label="Requests" tabindex="0" {
            table.cards {
                caption { "Requests, newest first" }
                thead { tr { th scope="col" { "When" } th scope="col" { "Request" } th scope="col" { "Status" } th.right scope="col" { "ms" } th.right scope="col" { "First" } th scope="col" { "Model" } th.right scope="col" { "Tokens" } th.right scope="col" { "Credits" } th scope="col" { "Key" } th.right scope="col" { "In" } th.right scope="col" { "Out" } th scope="col" { "Id" } } }
                tbody { @for (_, line) in lines { @if let LogLine::Request(line) = line { tr {
                    td.num { (seconds(line.id.timestamp())) }
                    td.wide { (line.method) " " code { (line.route) } }
                    td data-label="Status" { (chip(tone(line.status), &line.status.to_string())) }
                    td.right.num data-label="ms" { (count(line.ms.into())) }
                    td.right.num.less data-label="First token, ms" { @if let Some(ms) = line.facts.first_token_ms.or(line.facts.first_byte_ms) { (count(ms.into())) } }
                    td { (answerer(&line.facts)) }
                    td.right.num data-label="Tokens" { (tokens(&line.facts)) }
                    td.right data-label="Credits" { (cost(line)) }
                    td.less { @if let Some(key) = &line.key { a href={ "/keys/" (key) } { code { "sk-" (key) "…" } } } @else { span.muted { "none" } } }
                    td.right.num.less { (count(line.received)) }
                    td.right.num.less { (count(line.sent)) }
                    td.less { code { (line.id) } }
                } } } }
            }
        }
    }
}

fn of_process(lines: &[(u64, LogLine)]) -> Markup {
    html! {
        div.scroll role="region" aria-label="Lines of the process" tabindex="0" {
            table.cards {
                caption { "Lines of the process, newest first" }
                thead { tr { th scope="col" { "When" } th scope="col" { "Level" } th scope="col" { "Target" } th scope="col" { "Line" } } }
                tbody { @for (_, line) in lines { @if let LogLine::Process(line) = line { tr {
                    td.num { (seconds(line.at)) }
                    td { (chip(level_tone(line.level), line.level)) }
                    td.less { code { (line.target) } }
                    td.wide.text { (line.text) }
                } } } }
            }
        }
    }
}

/// Its model, and who answered: provider and account, and the plugin between.
fn answerer(facts: &RequestFacts) -> Markup {
    let account = facts.provider.iter().zip(&facts.account).next();
    html! {
        @if let Some(model) = &facts.model { code { (model) } }
        @if let Some((provider, account)) = account {
            br;
            span.muted { (provider) "/" (account) @if facts.attempts > 1 { ", " (facts.attempts) " calls" } }
        }
        @if let Some(plugin) = &facts.plugin { br; span.muted { (plugin) } }
    }
}

/// Tokens read and written, and how many of those came from a cache.
fn tokens(facts: &RequestFacts) -> Markup {
    html! {
        @if let Some(tokens) = &facts.tokens {
            (count(tokens.read())) " / " (count(tokens.output))
            @if tokens.cached > 0 { br; span.muted { (count(tokens.cached)) " cached" } }
        }
    }
}

/// What it was charged; what it holds where nothing is charged yet.
fn cost(line: &RequestLine) -> Markup {
    html! {
        @if let Some(charged) = line.facts.charged { (credits(charged)) }
        @else if let Some(held) = line.facts.held { (credits(held)) " " span.muted { "held" } }
        @else { span.muted { "none" } }
    }
}

fn tone(status: u16) -> Tone {
    match status {
        ..400 => Tone::Ok,
        400..500 => Tone::Warn,
        _ => Tone::Error,
    }
}

fn level_tone(level: &str) -> Tone {
    match level {
        "ERROR" => Tone::Error,
        "WARN" => Tone::Warn,
        "INFO" => Tone::Info,
        _ => Tone::Neutral,
    }
}

fn text_of(line: &LogLine) -> String {
    match line {
        LogLine::Request(line) => {
            let key = line.key.as_ref().map_or("-", |key| key.0.as_str());
            let (at, method, route) = (line.id.timestamp(), line.method, line.route);
            let amount = |name, amount: Option<Credits>| {
                amount.map(|amount| format!(" {name}={amount}")).unwrap_or_default()
            };
            let money = amount("held", line.facts.held) + &amount("charged", line.facts.charged);
            let facts = told(&line.facts);
            format!(
                "{at} {method} {route} {} {} ms key={key} in={} out={}{facts}{money} {}",
                line.status, line.ms, line.received, line.sent, line.id
            )
        }
        LogLine::Process(line) => {
            format!("{} {} {}: {}", line.at, line.level, line.target, line.text.replace('\n', " "))
        }
    }
}

/// What is known of a request, for a line of text.
fn told(facts: &RequestFacts) -> String {
    let RequestFacts { model, plugin, provider, account, tokens, first_byte_ms, first_token_ms, .. } = facts;
    let texts = [("model", model), ("plugin", plugin), ("provider", provider), ("account", account)];
    let mut told = String::new();
    for (name, text) in texts {
        if let Some(text) = text {
            told += &format!(" {name}={}", text.replace(' ', "_"));
        }
    }
    if let Some(tokens) = tokens {
        told += &format!(" tokens={}/{}/{}", tokens.read(), tokens.cached, tokens.output);
    }
    for (name, ms) in [("first_byte_ms", first_byte_ms), ("first_token_ms", first_token_ms)] {
        if let Some(ms) = ms {
            told += &format!(" {name}={ms}");
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use gatehouse_model::{ProcessLine, UnixMs};

    use super::*;

    #[test]
    fn a_filter_stands_in_its_address() {
        let query = Form::parse(b"kind=process&level=WARN&text=a+b&before=7&other=1");
        assert_eq!(address("/logs", &query, "9"), "/logs?kind=process&level=WARN&text=a+b&before=9");
        let found = filter(&query);
        assert!(found.is_process && found.level == "WARN" && found.key.is_none());
    }

    #[test]
    fn a_line_is_one_line() {
        let line = ProcessLine { at: UnixMs(0), level: "WARN", target: "t", text: "a\nb".to_owned() };
        assert_eq!(text_of(&LogLine::Process(line)), "1970-01-01T00:00:00.000Z WARN t: a b");
    }
}

//! The page of one family: what is chosen, the form, the request as JSON and as lines to paste, the price, the answer.

use gatehouse_admin::ResponseBody;
use gatehouse_docs::Sample;
use http::{Response, StatusCode};
use maud::{Markup, html};
use serde_json::{Map, Value};
use url::form_urlencoded::Serializer;

use super::offer::Offer;
use crate::form::Form;
use crate::format::plain;
use crate::parts::elements::{Tone, chip, paste};
use crate::parts::live::Fragment;
use crate::parts::shell::Shell;
use crate::request::{PageContext, PageRequest};
use crate::runs::Run;
use crate::schema_form::{Shown, render, takes_files};

/// Runs in the strip.
const LAST_RUNS: usize = 10;

/// A form as it was sent, and what became of it.
pub(super) struct Sent {
    pub(super) form: Form,
    /// The task in the path.
    pub(super) task: String,
    /// The list that gets one more row.
    pub(super) more: String,
    /// By pointer; empty for the whole.
    pub(super) problems: Vec<(String, String)>,
    /// What the form means.
    pub(super) body: Option<Map<String, Value>>,
    /// What it would cost, as the public API says it.
    pub(super) price: Option<Value>,
    /// The same in a few words, for the button.
    pub(super) costs: Option<String>,
}

impl Sent {
    pub(super) fn new(form: Form) -> Self {
        let (task, more) = (String::new(), String::new());
        Self { form, task, more, problems: Vec::new(), body: None, price: None, costs: None }
    }
}

pub(super) fn show(
    request: &PageRequest,
    status: StatusCode,
    offer: &Offer,
    sent: &Sent,
    result: Option<(u64, Fragment)>,
) -> Response<ResponseBody> {
    let (pages, family) = (&request.pages, &offer.family.family);
    let title = format!("Playground: {family}");
    let shell = Shell::new(request, "/playground", &title);
    let last = pages.runs.last(family, request.session_number(), LAST_RUNS);
    shell.page(
        status,
        &html! {
            p.crumbs { a href="/playground" { "Playground" } }
            div.title { h1 { (family) } span.muted { (offer.family.version) } }
            (choice(offer))
            (problems(sent))
            div.halves {
                section aria-labelledby="request" {
                    h2 #request { "Request" }
                    (form(pages, offer, sent))
                }
                section aria-labelledby="result" {
                    h2 #result { "Result" }
                    @match &result {
                        Some((run, found)) => div data-live=[(!found.is_last).then(|| format!("/playground/{run}/live"))] { (found.html) },
                        None if sent.price.is_some() => { (price(sent)) }
                        None => p.muted { "Run it to see its answer, or ask for its price." },
                    }
                    (strip(family, &last))
                    (samples(pages, offer, sent))
                }
            }
        },
    )
}

/// Surface and key; what they are decides the form.
fn choice(offer: &Offer) -> Markup {
    let (keys, chosen) = (&offer.keys, offer.key.as_ref().map(|key| &key.id));
    html! {
        form.toolbar method="get" {
            label for="surface" { "Surface" }
            select #surface name="surface" data-submits {
                @for row in &offer.endpoints {
                    option value=(row.surface) selected[row.surface == offer.endpoint.surface] { (row.surface) }
                }
            }
            label for="find" { "Find key" }
            input #find type="search" name="find" value=(keys.search.find) placeholder="Name, id or customer" autocomplete="off" data-search;
            label for="key" { "As key" }
            select #key name="key" data-submits {
                @if chosen.is_none() { option value="" selected { "Choose a key" } }
                @for key in offer.key.iter().filter(|key| keys.rows.iter().all(|one| one.id != key.id)).chain(&keys.rows) {
                    option value=(key.id) selected[Some(&key.id) == chosen] { (key.name) " (" (key.customer) ", sk-" (key.id) "…)" }
                }
            }
            button { "Use" }
        }
        (more_keys(offer))
        p.muted {
            "Sent as this key: its models, rates and quota count, and its customer pays. Its list of networks does not apply here."
            @if keys.rows.is_empty() && keys.search.find.is_empty() && keys.search.after.is_empty() {
                " There is no key yet: " a href="/keys/new" { "create one" } "."
            }
        }
    }
}

/// What the list of keys leaves out: the pages before and after it, and a search that finds nothing.
fn more_keys(offer: &Offer) -> Markup {
    let keys = &offer.keys;
    let address = |after: &str| {
        let mut fields = Serializer::new(String::new());
        fields.append_pair("surface", offer.endpoint.surface);
        if let Some(key) = &offer.key {
            fields.append_pair("key", &key.id.0);
        }
        for (name, value) in [("find", keys.search.find.as_str()), ("after", after)] {
            if !value.is_empty() {
                fields.append_pair(name, value);
            }
        }
        format!("/playground/{}?{}", offer.family.family, fields.finish())
    };
    html! {
        @if keys.rows.is_empty() && !keys.search.find.is_empty() {
            p role="status" { "No key that works fits " strong { bdi { (keys.search.find) } } @if keys.next.is_some() { " among those looked at so far" } "." }
        }
        @if !keys.search.after.is_empty() || keys.next.is_some() {
            p.pager {
                span.muted { "The list has " (keys.rows.len()) " keys. " }
                @if !keys.search.after.is_empty() { a.button href=(address("")) { "First keys" } " " }
                @if let Some(next) = &keys.next { a.button href=(address(&next.0)) { "More keys" } }
            }
        }
    }
}

fn problems(sent: &Sent) -> Markup {
    html! {
        @if !sent.problems.is_empty() && sent.more.is_empty() {
            div.problems role="alert" tabindex="-1" autofocus {
                h2 { "This request cannot be sent" }
                ul { @for (_, message) in &sent.problems { li { (message) } } }
            }
        }
    }
}

fn form(pages: &PageContext, offer: &Offer, sent: &Sent) -> Markup {
    let shown = Shown { form: &sent.form, problems: &sent.problems, more: &sent.more };
    let key = offer.key.as_ref().map(|key| key.id.0.as_str()).unwrap_or_default();
    let takes_files = takes_files(&offer.fields);
    html! {
        p { code { "POST " (offer.endpoint.path) } }
        form method="post" action={ "/playground/" (offer.family.family) } enctype=[takes_files.then_some("multipart/form-data")] {
            input type="hidden" name="surface" value=(offer.endpoint.surface);
            input type="hidden" name="key" value=(key);
            @if offer.names_task() {
                div.field {
                    label for="f-task_id" { "Task " span.muted { "(required)" } }
                    p.help #f-task_id-help { "The task that the request goes on with, of the same customer." }
                    input #f-task_id type="text" name="task_id" value=(sent.task) autocomplete="off" aria-describedby="f-task_id-help";
                }
            }
            (render(&offer.fields, &shown))
            @if takes_files { (about_files(pages)) }
            div.buttons.foot {
                button.primary name="do" value="run" data-runs { "Run" @if let Some(costs) = &sent.costs { " for " (costs) } }
                button name="do" value="price" { "Dry run" }
                button name="do" value="form" { "Show the request" }
            }
        }
    }
}

/// What becomes of a file.
fn about_files(pages: &PageContext) -> Markup {
    html! {
        p.help {
            "A file is kept for as long as a result, and its link stands in its field then."
            @if pages.facts.public_url.starts_with("http:") {
                " This gateway's address is plain HTTP, which no provider outside can read: a picture of its own is sent embedded, a film or a sound as its link."
            }
        }
    }
}

/// The sum of a price in a few words.
pub(super) fn sum(price: &Value) -> Option<String> {
    let sum = Some(&price["sum"]).filter(|sum| sum.is_string() || sum.is_number()).map(plain)?;
    let at_most = if price["at_most"] == true { "at most " } else { "" };
    Some(format!("{at_most}{sum} credits"))
}

/// What it would cost.
fn price(sent: &Sent) -> Markup {
    let price = sent.price.clone().unwrap_or_default();
    html! {
        section.report role="status" aria-label="Price" {
            p { strong { @if price["at_most"] == true { "At most " } (plain(&price["sum"])) " credits" } " for " code { (plain(&price["model"])) } ", held when it is sent. Nothing was made." }
            ul.plain { @for charge in price["charges"].as_array().into_iter().flatten() {
                li { (plain(&charge["quantity"])) " " (plain(&charge["unit"])) " at " (plain(&charge["unit_price"])) @if !charge["per"].is_null() { " per " (plain(&charge["per"])) } " (" code { (plain(&charge["price_key"])) } ") = " (plain(&charge["sum"])) }
            } }
            @if let Some(failure) = price["failure"]["message"].as_str() { p { (chip(Tone::Warn, "would fail")) " " (failure) } }
        }
    }
}

/// The last runs; each brings its form and its answer back.
fn strip(family: &str, last: &[std::sync::Arc<Run>]) -> Markup {
    html! {
        @if !last.is_empty() {
            nav aria-label="Last runs" {
                h3 { "Last runs" }
                ul.strip { @for run in last {
                    li { a href={ "/playground/" (family) "?run=" (run.id) } { (run.id) ": " (summary(&run.wanted.body)) } }
                } }
            }
        }
    }
}

/// The request as JSON, and the same for other programs.
fn samples(pages: &PageContext, offer: &Offer, sent: &Sent) -> Markup {
    let Some(body) = sent.body.clone().map(Value::Object) else { return html! {} };
    let task = if sent.task.is_empty() { "TASK_ID" } else { &sent.task };
    let (path, base) = (offer.path(task), pages.facts.public_url.as_str());
    let sample = Sample { method: "POST", path: &path, body: Some(&body), has_key: true, base };
    let json = serde_json::to_string_pretty(&body).unwrap_or_default();
    let tabs = [
        ("json", "JSON", json),
        ("curl", "curl", sample.curl()),
        ("python", "Python", sample.python()),
        ("js", "JavaScript", sample.javascript()),
    ];
    html! {
        h3 { "The same request" }
        @for (id, name, text) in &tabs {
            details.recipe name="samples" {
                summary { (name) }
                (paste(&format!("sample-{id}"), name, text))
            }
        }
    }
}

/// The body of a run for its strip, one line.
fn summary(body: &Map<String, Value>) -> String {
    let words = ["prompt", "model"].iter().find_map(|name| body.get(*name)?.as_str());
    words.unwrap_or("request").chars().take(40).collect()
}

//! The playground: a form of each family's own schema, its price, and its answer. A request goes the way of every request,
//! as a key that the operator chooses, whose secret nobody needs.

mod answer;
mod input;
mod offer;
mod page;

use std::sync::Arc;

use gatehouse_model::Key;
use http::StatusCode;
use http_body_util::BodyExt as _;
use maud::html;
use serde_json::{Map, Value};

use crate::error::{Outcome, PageError};
use crate::parts::elements::empty;
use crate::parts::live::{self, Fragment};
use crate::parts::shell::{Shell, redirect};
use crate::request::{PageContext, PageRequest};
use crate::runs::{Run, Wanted};
use crate::schema_form::{fill, read};
use offer::{Keys, Offer, Search};

/// Bytes of a price's answer, at most.
const MAX_PRICE: usize = 64 * 1024;

/// `GET /playground`: the families; with `input`, a task's result, the surfaces that take it.
pub(crate) async fn list(request: PageRequest) -> Outcome {
    let wanted = request.query.text("input");
    if !wanted.is_empty() {
        return input::choose(&request, wanted).await;
    }
    let known = offer::every_family(&request.pages);
    let shell = Shell::new(&request, "/playground", "Playground");
    Ok(shell.show(&html! {
        h1 { "Playground" }
        p.muted { "Send a request to a family as one of your keys. What it costs is charged." }
        @if known.is_empty() { (empty("No family is loaded.", None, "gatehouse plugin list")) }
        ul.cards { @for family in &known {
            li.card {
                h2 { a href={ "/playground/" (family.family) } { (family.family) } }
                p.muted { (family.version) ", " (family.surfaces.len()) @if family.surfaces.len() == 1 { " surface" } @else { " surfaces" } }
            }
        } }
    }))
}

/// `GET /playground/<family>`, with `surface`, `key` (`find` and `after` in the list of keys), `run`, and `input`, a task's
/// result, which goes `into` a field.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    let (pages, query) = (&request.pages, &request.query);
    let run = pages.runs.find(query.text("run"), request.session_number());
    let (surface, key) = match &run {
        Some(run) => (run.wanted.surface.as_str(), run.wanted.key.0.as_str()),
        None => (query.text("surface"), query.text("key")),
    };
    let keys = Keys::read(pages, Search::of(query), request.now).await?;
    let offer = Offer::find(pages, &request.id, surface, key, keys).await?;
    let mut body = run.as_ref().map_or(&offer.example, |run| &run.wanted.body).clone();
    let wanted = query.text("input");
    if run.is_none() && !wanted.is_empty() {
        input::put(pages, &offer, wanted, query.text("into"), &mut body).await?;
    }
    let mut sent = page::Sent::new(fill(&offer.fields, &body));
    if let Some(run) = &run {
        sent.task = task_in(&offer, run);
    }
    sent.costs = costs(&request, &offer, &sent, &body).await?;
    sent.body = Some(body);
    let result = match &run {
        Some(run) => Some((run.id, content(pages, run).await)),
        None => None,
    };
    Ok(page::show(&request, StatusCode::OK, &offer, &sent, result))
}

/// `POST /playground/<family>`: runs it, asks for its price, or shows the form with more of it.
pub(crate) async fn act(request: PageRequest) -> Outcome {
    let pages = &request.pages;
    let (mut form, files) = request.form_with_files().await?;
    let keys = Keys::read(pages, Search::default(), request.now).await?;
    let offer = Offer::find(pages, &request.id, form.text("surface"), form.text("key"), keys).await?;
    let unkept = input::keep(&request, &mut form, files).await?;
    let task = form.text("task_id").to_owned();
    let mut sent =
        page::Sent { more: form.text("more").to_owned(), task: task.clone(), ..page::Sent::new(form) };
    let action = sent.form.text("do").to_owned();
    sent.problems = unkept;
    match read(&offer.fields, &sent.form) {
        Ok(body) => sent.body = Some(body),
        Err(wrong) => sent.problems.extend(wrong),
    }
    let is_sent = matches!(action.as_str(), "run" | "price") && sent.problems.is_empty();
    let Some(body) = sent.body.clone().filter(|_| is_sent) else {
        let is_refused = !sent.problems.is_empty() && sent.more.is_empty() && action != "form";
        let status = if is_refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        return Ok(page::show(&request, status, &offer, &sent, None));
    };
    let Some(key) = &offer.key else {
        sent.problems
            .push((String::new(), "Choose the key that it is sent as: its customer pays.".to_owned()));
        return Ok(page::show(&request, StatusCode::UNPROCESSABLE_ENTITY, &offer, &sent, None));
    };
    let wanted = wanted(&request, &offer, key, &task, body);
    if action == "price" {
        let status = match price(pages, &wanted).await? {
            Ok(price) => {
                sent.costs = page::sum(&price);
                sent.price = Some(price);
                StatusCode::OK
            }
            Err((message, param)) => {
                sent.problems.push((pointer(&offer, &message, param), message));
                StatusCode::UNPROCESSABLE_ENTITY
            }
        };
        return Ok(page::show(&request, status, &offer, &sent, None));
    }
    match pages.runs.start(&pages.service, wanted) {
        Some(run) => Ok(redirect(&format!("/playground/{}?run={run}", offer.family.family))),
        None => {
            let message = "Too many requests of the playground are under way; wait for one to end.";
            sent.problems.push((String::new(), message.to_owned()));
            Ok(page::show(&request, StatusCode::TOO_MANY_REQUESTS, &offer, &sent, None))
        }
    }
}

/// `GET /playground/<run>/live`: its answer, again whenever there is more of it.
pub(crate) fn follow(request: PageRequest) -> Outcome {
    let unknown = || PageError::not_found("this request is not remembered any more");
    let run = request.pages.runs.find(&request.id, request.session_number()).ok_or_else(unknown)?;
    Ok(live::stream(request, move |request| {
        let run = Arc::clone(&run);
        async move { Some(content(&request.pages, &run).await) }
    }))
}

/// What there is of an answer, and of the task that it began.
async fn content(pages: &PageContext, run: &Run) -> Fragment {
    let answer = run.answer();
    let found = answer::read(&answer);
    let task = match found.task {
        Some(id) => pages.service.tasks.details(id).await.ok(),
        None => None,
    };
    let is_over = task.as_ref().is_none_or(|details| details.task.status.is_final());
    let html = html! {
        (answer::head(run, &answer, &found))
        @if let Some(details) = &task {
            p { a href={ "/tasks/" (details.task.id) } { "Task " code { (details.task.id) } } }
            (super::tasks::one::outcome(details))
        }
        (answer::body(&answer, &found))
    };
    Fragment { html, is_last: answer.ended.is_some() && is_over }
}

/// What a form costs as it is first shown; nothing where no key was chosen, or where it cannot be sent as it is.
async fn costs(
    request: &PageRequest,
    offer: &Offer,
    sent: &page::Sent,
    body: &Map<String, Value>,
) -> Result<Option<String>, PageError> {
    let Some(key) = &offer.key else { return Ok(None) };
    if offer.names_task() && sent.task.is_empty() {
        return Ok(None);
    }
    let price = price(&request.pages, &wanted(request, offer, key, &sent.task, body.clone())).await?;
    Ok(price.ok().as_ref().and_then(page::sum))
}

fn wanted(request: &PageRequest, offer: &Offer, key: &Key, task: &str, body: Map<String, Value>) -> Wanted {
    Wanted {
        session: request.session_number(),
        caller: request.caller(),
        family: offer.family.family.clone(),
        surface: offer.endpoint.surface.to_owned(),
        path: offer.path(task),
        key: key.id.clone(),
        body,
    }
}

/// What it would cost, or the refusal with its field.
async fn price(
    pages: &PageContext,
    wanted: &Wanted,
) -> Result<Result<Value, (String, Option<String>)>, PageError> {
    let mut body = Value::Object(wanted.body.clone());
    body["dry_run"] = true.into();
    let response = pages.service.playground.send_as(&wanted.caller, &wanted.key, &wanted.path, body).await?;
    let is_ok = response.status().is_success();
    let failed = |error: &dyn std::fmt::Display| {
        PageError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the price could not be read: {error}"))
    };
    let bytes = http_body_util::Limited::new(response.into_body(), MAX_PRICE).collect().await;
    let bytes = bytes.map_err(|error| failed(&error))?.to_bytes();
    let answer: Value = serde_json::from_slice(&bytes).map_err(|error| failed(&error))?;
    if is_ok {
        return Ok(Ok(if answer.get("code").is_some() { answer["data"].clone() } else { answer }));
    }
    Ok(Err(answer::refusal(&answer).unwrap_or_else(|| ("The request was refused.".to_owned(), None))))
}

/// The pointer of a field that a refusal names; in the messages form its message begins with it.
fn pointer(offer: &Offer, message: &str, param: Option<String>) -> String {
    let named = message.split_once(": ").map(|(field, _)| field.to_owned());
    let Some(param) = param.or(named) else { return String::new() };
    let pointer = format!("/{}", param.replace(']', "").replace(['[', '.'], "/"));
    let top = pointer.split('/').nth(1).unwrap_or_default();
    let is_field = top == "task_id" || offer.fields.iter().any(|field| field.name == top);
    if is_field { pointer } else { String::new() }
}

/// The task in the path of a run.
fn task_in(offer: &Offer, run: &Run) -> String {
    let Some((before, rest)) = offer.endpoint.path.split_once('{') else { return String::new() };
    let after = rest.split_once('}').map_or("", |(_, after)| after);
    let task = run.wanted.path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    task.unwrap_or_default().to_owned()
}

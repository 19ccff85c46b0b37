//! One task: how far it is, its result, its money, and its early end.

use gatehouse_admin::{ApiRequest, OperationError, StepRow, TaskDetails};
use gatehouse_model::{Credits, Task, TaskId, UnixMs};
use http::StatusCode;
use maud::{Markup, html};
use serde_json::json;

use super::timeline::{self, Scale};
use super::{media, ruling};
use crate::error::{Outcome, PageError};
use crate::format::{count, credits, digest, moment, span};
use crate::kinds::tasks::state;
use crate::parts::elements::{Confirm, Field, Problems, progress};
use crate::parts::live::{self, Fragment};
use crate::parts::shell::{Shell, redirect};
use crate::request::PageRequest;
use crate::resource::column::customer;

/// Characters of a result that are shown.
const SHOWN: usize = 64 * 1024;

/// `GET /tasks/<id>`.
pub(crate) async fn show(request: PageRequest) -> Outcome {
    page(&request, StatusCode::OK, &Problems::default()).await
}

/// `GET /tasks/<id>/live`: the same again whenever it changes.
pub(crate) async fn follow(request: PageRequest) -> Outcome {
    let (id, pages) = (id_of(&request)?, &request.pages);
    if let Err(unknown @ OperationError::NotFound(_)) = pages.service.tasks.details(id).await {
        return Err(unknown.into());
    }
    // The line of its page stands for the first stream after it; any other has one of its own.
    let has_line = pages.noted_reads.take(request.session_number(), id, request.now);
    let shows_steps = has_line || note_read(&request, id).await;
    let scale = request.query.text("scale").parse::<Scale>().unwrap_or_default();
    Ok(live::stream(request, move |request| async move {
        let service = &request.pages.service;
        let details = service.tasks.details(id).await.ok()?;
        let steps = if shows_steps { Some(service.tasks.steps(id).await.ok()?) } else { None };
        let html = content(&details, steps.as_deref(), scale, service.clock.now());
        Some(Fragment { html, is_last: details.task.status.is_final() })
    }))
}

/// `POST /tasks/<id>/cancel`.
pub(crate) async fn cancel(request: PageRequest) -> Outcome {
    let (id, form, mut problems) = (id_of(&request)?, request.form(), Problems::default());
    let body = json!({"reason": form.text("reason"), "give_up": form.is_on("give_up")});
    match request.ask(ApiRequest::post(&["tasks", &request.id, "cancel"]).json(&body)).await {
        Ok(answer) => return Ok(redirect(&format!("/tasks/{id}?done={}", became(answer.status)))),
        Err(refusal) if matches!(refusal.status, 400 | 409) => problems.take(&refusal.message, &["reason"]),
        Err(refusal) => return Err(refusal.into()),
    }
    page(&request, StatusCode::UNPROCESSABLE_ENTITY, &problems).await
}

/// What a cancel came to, by the status of its answer: a task that is accepted to be stopped has not ended.
pub(crate) fn became(status: u16) -> &'static str {
    if status == 202 { "asked" } else { "cancelled" }
}

/// `POST /tasks/<id>/reconcile`.
pub(crate) async fn reconcile(request: PageRequest) -> Outcome {
    let id = id_of(&request)?;
    let mut problems = Problems::default();
    match ruling::ruling_of(&request.form()) {
        Ok(asked) => {
            let reconcile = ApiRequest::post(&["tasks", &request.id, "reconcile"]).json(&asked);
            match request.ask(reconcile).await {
                Ok(_) => return Ok(redirect(&format!("/tasks/{id}?done=ruled"))),
                Err(refusal) if matches!(refusal.status, 400 | 409) => {
                    ruling::place(asked.ruling, &refusal.message, &mut problems);
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Err((field, message)) => problems.add(field, message),
    }
    page(&request, StatusCode::UNPROCESSABLE_ENTITY, &problems).await
}

fn id_of(request: &PageRequest) -> Result<TaskId, PageError> {
    request.id.parse().map_err(|error| PageError::not_found(format!("{:?}: {error}", request.id)))
}

/// Writes the line of a read of the steps, which show clients' words; whether they may be shown now. They are for operators, and
/// without the line nobody sees them.
async fn note_read(request: &PageRequest, id: TaskId) -> bool {
    if !request.is_operator() {
        return false;
    }
    let (caller, object) = (request.caller(), format!("tasks/{id}/steps"));
    let noted = request.pages.service.commands.note(&caller, "listTaskSteps", object, None, Vec::new());
    noted.await.is_ok()
}

async fn page(request: &PageRequest, status: StatusCode, problems: &Problems) -> Outcome {
    let (id, service) = (id_of(request)?, &request.pages.service);
    let details = service.tasks.details(id).await?;
    let steps = match note_read(request, id).await {
        true => Some(service.tasks.steps(id).await?),
        false => None,
    };
    let scale = request.query.text("scale").parse::<Scale>().unwrap_or_default();
    let task = &details.task;
    let title = format!("Task {}", task.id);
    let shell = Shell::new(request, "/tasks", &title);
    let is_live = !task.status.is_final();
    if is_live && steps.is_some() {
        request.pages.noted_reads.hand_over(request.session_number(), id, request.now);
    }
    let panel = || ruling::panel(task, &request.form(), problems, steps.is_some(), request.now);
    let panel = request.is_operator().then(panel).flatten();
    Ok(shell.page(
        status,
        &html! {
            p.crumbs { a href="/tasks" { "Tasks" } }
            h1 { code { (task.id) } }
            (problems.summary())
            @if let Some(panel) = &panel { (panel) }
            div data-live=[is_live.then(|| format!("/tasks/{}/live?scale={}", task.id, scale.as_str()))] {
                (content(&details, steps.as_deref(), scale, request.now))
            }
            @if is_live && request.is_operator() && panel.is_none() { (cancellation(task)) }
        },
    ))
}

/// Everything that changes while the task runs.
fn content(details: &TaskDetails, steps: Option<&[StepRow]>, scale: Scale, now: UnixMs) -> Markup {
    let task = &details.task;
    html! {
        (title(task, None))
        @if let Some(failure) = &task.failure {
            div.problems { p { strong { (failure.kind.as_str()) } ": " (failure.message) } }
        }
        div.halves {
            section aria-labelledby="result" {
                h2 #result { "Result" }
                @if steps.is_some() { (result(task)) } @else { p.muted { "Results are for operators." } }
                h2 { "Money, credits" }
                (money(details, now))
            }
            section aria-labelledby="about" {
                h2 #about { "About" }
                (facts(task, now))
                h2 #timeline { "Timeline" }
                (timeline::show(details, steps, scale, now))
            }
        }
    }
}

/// How far a task is, and what it has made: for pages that show it among other things.
pub(crate) fn outcome(details: &TaskDetails) -> Markup {
    let task = &details.task;
    html! {
        (title(task, task.cost))
        @if let Some(failure) = &task.failure { div.problems { p { (failure.message) } } }
        (result(task))
    }
}

/// Its state and how far it is, with its cost where no amounts stand below.
fn title(task: &Task, cost: Option<Credits>) -> Markup {
    html! {
        div.title {
            (state(task.status.as_str(), task.phase.ambiguous_call().is_some()))
            @if !task.status.is_final() { (progress(Some(task.progress.into()))) }
            @if let Some(cost) = cost { span.muted { "charged " (credits(cost)) " credits" } }
        }
    }
}

fn result(task: &Task) -> Markup {
    let text = serde_json::from_slice::<serde_json::Value>(&task.public)
        .ok()
        .and_then(|value| serde_json::to_string_pretty(&value).ok())
        .unwrap_or_default();
    let shown: String = text.chars().take(SHOWN).collect();
    html! {
        @if task.media.is_empty() && text.is_empty() { p.muted { "There is none yet." } }
        @for (at, one) in task.media.iter().enumerate() {
            @let address = media::address(task, at);
            figure {
                @match one.mime.split('/').next() {
                    Some("image") => { img.result src=(address) alt={ "Result " (at + 1) " of task " (task.id) }; }
                    Some("video") => { video.result controls preload="metadata" src=(address) aria-label={ "Result " (at + 1) } {} }
                    Some("audio") => { audio controls preload="metadata" src=(address) aria-label={ "Result " (at + 1) } {} }
                    _ => {}
                }
                figcaption.muted { (one.mime) ", " (count(one.bytes)) " bytes " a href=(address) download { "Download" } " " a href={ "/playground?input=" (task.id) "." (at) } { "Use as input" } }
            }
        }
        @if !text.is_empty() {
            details.recipe { summary { "As JSON" }
                pre.block tabindex="0" role="region" aria-label="The result as JSON" { code { (shown) } }
            }
        }
    }
}

fn money(details: &TaskDetails, now: UnixMs) -> Markup {
    let task = &details.task;
    html! {
        dl.figures {
            div { dt { "Held" } dd { (credits(task.held)) } }
            div { dt { "Charged" } dd { @if let Some(cost) = task.cost { (credits(cost)) } @else { span.muted { "not yet" } } } }
        }
        @if !details.entries.is_empty() {
            div.scroll role="region" aria-label="Ledger rows of this task" tabindex="0" {
                table.cards {
                    caption { "Ledger rows of this task" }
                    thead { tr { th scope="col" { "Row" } th scope="col" { "When" } th scope="col" { "Kind" }
                        th.right scope="col" { "Available" } th.right scope="col" { "Held" } th.right scope="col" { "Spent" } } }
                    tbody { @for entry in &details.entries {
                        tr {
                            td.less { (entry.seq) }
                            td { (moment(entry.at, now)) }
                            td { (entry.kind.as_str()) }
                            td.right data-label="Available" { (credits(entry.movement.available)) }
                            td.right data-label="Held" { (credits(entry.movement.reserved)) }
                            td.right data-label="Spent" { (credits(entry.movement.spent)) }
                        }
                    } }
                }
            }
        }
    }
}

fn facts(task: &Task, now: UnixMs) -> Markup {
    html! {
        dl.facts {
            dt { "Model" } dd { (task.model) " " span.muted { (task.family) } }
            dt { "Surface" } dd { code { (task.surface) } }
            dt { "Customer" } dd { (customer(&task.customer.0)) }
            dt { "Key" } dd { a href={ "/keys/" (task.key) } { code { "sk-" (task.key) "…" } } }
            @if let Some(user) = &task.tags.user { dt { "User" } dd { (user) } }
            @for (name, value) in &task.tags.metadata { dt { code { (name) } } dd { (value) } }
            dt { "Created" } dd { (moment(task.created, now)) }
            @if let Some(finished) = task.finished {
                dt { "Ended" } dd { (moment(finished, now)) ", after " (span(finished.since(task.created))) }
            } @else {
                dt { "Fails by itself" } dd { (moment(task.deadline, now)) }
            }
            dt { "Plugin version" } dd { a href={ "/plugins#" (task.family) } { (digest(&task.digest)) } }
            @if let Some(account) = &task.assignment {
                dt { "Provider" } dd { (account.provider) ", account " (account.account) }
            }
            dt { "State" } dd { "version " (task.state_version) ", " (count(task.state.len() as u64)) " bytes" }
            dt { "Decisions" } dd { a href={ "/audit?task=" (task.id) } { "Audit lines about it" } }
        }
    }
}

fn cancellation(task: &Task) -> Markup {
    let reason = Field {
        name: "reason",
        label: "Reason",
        help: "For the audit record.",
        value: "",
        required: true,
        decimal: false,
    };
    Confirm {
        id: "cancel",
        button: "Cancel task",
        title: "Cancel this task",
        consequence: "It fails, and its customer gets everything back. Where a provider works on it, that is asked to \
                      stop first; where it cannot, the task goes on.",
        action: &format!("/tasks/{}/cancel", task.id),
        danger: true,
    }
    .with(&html! {
        (reason.show(&Problems::default()))
        label.check {
            input type="checkbox" name="give_up" value="on";
            " Give it up even if its provider works on it: what the provider still bills is yours"
        }
    })
}

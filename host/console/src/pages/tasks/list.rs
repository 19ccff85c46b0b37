//! The list of tasks, with filters that stand in its address, and as it changes.

use std::sync::Arc;

use gatehouse_admin::{AllTasksPage, AllTasksQuery, ResponseBody};
use gatehouse_model::{CustomerId, KeyId, Status, Task, UnixMs};
use http::{Response, StatusCode};
use maud::{Markup, html};

use super::{progress, state};
use crate::context::PageContext;
use crate::error::PageError;
use crate::form::Form;
use crate::format::{credits, moment, short_id};
use crate::parts::elements::empty;
use crate::parts::live;
use crate::parts::shell::Shell;
use crate::request::PageRequest;
use crate::resource::column::customer;

/// Rows on one page.
const ROWS: usize = 50;
/// Fields of the filter.
const FILTER: [&str; 6] = ["status", "family", "model", "customer", "key", "ambiguous"];

/// `GET /tasks`.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let query = &request.query;
    let found = pages.service.tasks(filter(query)?).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/tasks", "Tasks");
    let statuses: Vec<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    Ok(shell.page(StatusCode::OK, &html! {
        div.title {
            h1 { "Tasks" }
            span.muted data-live-state {}
            button type="button" data-pauses hidden { "Pause" }
        }
        form.toolbar method="get" role="search" {
            label for="status" { "Status" }
            select #status name="status" {
                option value="" { "any" }
                @for status in &statuses { option value=(status) selected[query.text("status") == *status] { (status) } }
            }
            @for (name, label) in [("family", "Family"), ("model", "Model"), ("customer", "Customer"), ("key", "Key")] {
                label for=(name) { (label) }
                input.short id=(name) type="search" name=(name) value=(query.text(name)) autocomplete="off" data-search[name == "family"];
            }
            label.check { input type="checkbox" name="ambiguous" value="true" checked[query.text("ambiguous") == "true"]; " Waits for a ruling" }
            button { "Show" }
        }
        div data-live=(address("/tasks-live", query, query.text("after"))) { (rows(pages, &found, query, request.now)) }
    }))
}

/// `GET /tasks-live`: the same rows again whenever they change.
pub(crate) fn follow(
    pages: &Arc<PageContext>,
    request: PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    filter(&request.query)?;
    let session = request.session.as_ref().map_or(0, |session| session.number);
    let (clock, sessions) = (Arc::clone(&pages.service.clock), Arc::clone(&pages.sessions));
    let (pages, query) = (Arc::clone(pages), Arc::new(request.query));
    let look = move || {
        let (pages, query) = (Arc::clone(&pages), Arc::clone(&query));
        async move {
            let found = pages.service.tasks(filter(&query).ok()?).await.ok()?;
            Some(rows(&pages, &found, &query, pages.service.clock.now()).into())
        }
    };
    Ok(live::stream(clock, sessions, session, request.end, look))
}

/// The tasks that an address means.
fn filter(query: &Form) -> Result<AllTasksQuery, PageError> {
    let wrong = |message: String| PageError::new(StatusCode::UNPROCESSABLE_ENTITY, message);
    let text = |name| Some(query.text(name)).filter(|text| !text.is_empty());
    let status =
        |word: &str| Status::parse(word).ok_or_else(|| wrong(format!("status: there is no status {word:?}")));
    let after =
        text("after").map(|id| id.parse().map_err(|error| wrong(format!("after: {error}, got {id:?}"))));
    Ok(AllTasksQuery {
        statuses: text("status").map(status).transpose()?.into_iter().collect(),
        families: text("family").map(str::to_owned).into_iter().collect(),
        model: text("model").map(str::to_owned),
        customer: text("customer").map(CustomerId::from),
        keys: text("key").map(|id| KeyId::from(id.trim_start_matches("sk-"))).into_iter().collect(),
        ambiguous: text("ambiguous").is_some(),
        after: after.transpose()?,
        limit: ROWS,
        ..AllTasksQuery::default()
    })
}

/// An address with the same filter.
fn address(path: &str, query: &Form, after: &str) -> String {
    let mut fields = url::form_urlencoded::Serializer::new(String::new());
    for name in FILTER.into_iter().filter(|name| !query.text(name).is_empty()) {
        fields.append_pair(name, query.text(name));
    }
    if !after.is_empty() {
        fields.append_pair("after", after);
    }
    format!("{path}?{}", fields.finish())
}

fn rows(pages: &PageContext, found: &AllTasksPage, query: &Form, now: UnixMs) -> Markup {
    let is_filtered = FILTER.iter().any(|name| !query.text(name).is_empty());
    html! {
        @if found.tasks.is_empty() && found.next.is_none() {
            @if is_filtered { p.empty { "No task fits. " a href="/tasks" { "Show all tasks" } } }
            @else { (empty(
                "A task is a job that takes a while, such as a picture or a video. There are none yet.",
                None,
                &format!(
                    "curl {}/v1/images/generations -H \"Authorization: Bearer $KEY\" -H 'Content-Type: application/json' -d @picture.json",
                    pages.facts.public_url
                ),
            )) }
        } @else {
            div.scroll role="region" aria-label="Tasks" tabindex="0" {
                table.cards data-rows {
                    caption { "Tasks, newest first" }
                    thead { tr {
                        @for name in ["Created", "Task", "Model", "Customer", "Status", "Progress"] { th scope="col" { (name) } }
                        th.right scope="col" { "Cost" }
                    } }
                    tbody { @for task in &found.tasks { (row(task, now)) } }
                }
            }
        }
        p.pager {
            @if !query.text("after").is_empty() { a.button href=(address("/tasks", query, "")) { "Newest" } " " }
            @if let Some(next) = found.next { a.button href=(address("/tasks", query, &next.to_string())) { "Older" } }
        }
    }
}

fn row(task: &Task, now: UnixMs) -> Markup {
    html! {
        tr {
            td { (moment(task.created, now)) }
            td { a.row id={ "t-" (task.id) } href={ "/tasks/" (task.id) } { (short_id(task.id)) } }
            td { (task.model) br; span.muted { (task.family) } }
            td.less { (customer(&task.customer.0)) }
            td { (state(task)) }
            td.less { (progress(task)) }
            td.right data-label="Cost" {
                @if let Some(cost) = task.cost { (credits(cost)) }
                @else { span.muted { (credits(task.held)) " held" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_filter() {
        let query = Form::parse(b"status=failed&model=a%26b&other=x");
        assert_eq!(address("/tasks", &query, "task_1"), "/tasks?status=failed&model=a%26b&after=task_1");
        let found = filter(&query).unwrap();
        assert_eq!((found.statuses.as_slice(), found.ambiguous), (&[Status::Failed][..], false));
        let ambiguous = Form::parse(b"ambiguous=true");
        assert!(filter(&ambiguous).unwrap().ambiguous);
        assert_eq!(address("/tasks", &ambiguous, ""), "/tasks?ambiguous=true");
        assert!(filter(&Form::parse(b"status=lost")).is_err());
        assert!(filter(&Form::parse(b"after=5")).is_err());
    }
}

//! The audit record, newest lines first.

use gatehouse_admin::{AuditQuery, ResponseBody, RowPage};
use gatehouse_model::TaskId;
use http::{Response, StatusCode};
use maud::html;

use crate::context::PageContext;
use crate::error::PageError;
use crate::format::moment;
use crate::parts::elements::empty;
use crate::parts::shell::Shell;
use crate::request::PageRequest;

/// Lines on one page.
const LINES: usize = 100;

/// `GET /audit`, with `task` for the lines about one, and `before`, the number before which the page begins.
pub(crate) async fn show(
    pages: &PageContext,
    request: &PageRequest,
) -> Result<Response<ResponseBody>, PageError> {
    let wanted = request.query.text("task");
    let task: Option<TaskId> = (!wanted.is_empty()).then(|| wanted.parse()).transpose().map_err(|error| {
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, format!("task: {error}, got {wanted:?}"))
    })?;
    let before = request.query.text("before");
    let cursor = (!before.is_empty()).then(|| before.parse()).transpose().map_err(|_| {
        let why = format!("before: expected the number of a line, got {before:?}");
        PageError::new(StatusCode::UNPROCESSABLE_ENTITY, why)
    })?;
    let query = AuditQuery { task, ..AuditQuery::default() };
    let RowPage { rows: notes, next } = pages.service.audit_lines(query, cursor, LINES).await?;
    let shell = Shell::new(request, pages.facts.sandbox.is_some(), "/audit", "Audit");
    Ok(shell.page(StatusCode::OK, &html! {
        div.title {
            h1 { "Audit" }
            a.button href=(csv(task)) download { "Download as CSV" }
        }
        p.muted { "What was decided without knowing everything, newest first. Lines are only ever added." }
        form.toolbar method="get" role="search" {
            label for="task" { "Task" }
            input #task type="search" name="task" value=(wanted) placeholder="task_..." data-search;
            button { "Show" }
        }
        @if notes.is_empty() {
            (empty("There are no lines.", None, "gatehouse audit"))
        } @else {
            div.scroll role="region" aria-label="Lines of the audit record" tabindex="0" {
                table.cards {
                    caption { "Lines of the audit record" }
                    thead { tr { th scope="col" { "When" } th scope="col" { "Task" } th scope="col" { "What" } } }
                    tbody {
                        @for note in &notes {
                            tr {
                                td { (moment(note.at, request.now)) }
                                td {
                                    @if let Some(task) = note.task { a href={ "/audit?task=" (task) } { code { (task) } } }
                                    @else { span.muted { "none" } }
                                }
                                td.wide.text { (note.text) }
                            }
                        }
                    }
                }
            }
        }
        @if let Some(next) = next {
            p { a href={ "/audit?before=" (next) @if let Some(task) = task { "&task=" (task) } } { "Older" } }
        }
    }))
}

/// The export of the admin API, with every line's request, of the same filter.
fn csv(task: Option<TaskId>) -> String {
    task.map_or_else(|| "/admin/v1/audit.csv".to_owned(), |task| format!("/admin/v1/audit.csv?task={task}"))
}

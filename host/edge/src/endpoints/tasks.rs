//! The task endpoints: read, wait, list and cancel, in the specification's shape (spec "Task"; decisions
//! "Tasks"). Never decides what a task's state means.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_driver::{CancelError, Cancelled, StoreError, TaskFilter, TaskPage, ViewError, ViewRequest};
use gatehouse_model::{Key, Status, Task, TaskId};
use gatehouse_net::{ShutdownPhase, reached};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use serde::Serialize;

use crate::backend::store_refusal;
use crate::endpoints::task_view::{TaskView, raw, view};
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::{Query, quoted};
use crate::response::{self, ResponseBody, Wrapped};

/// Limit of `Prefer: wait=N`, in seconds.
const MAX_WAIT: u64 = 60;

#[derive(Serialize)]
struct Page {
    code: u16,
    data: Vec<TaskView>,
    has_more: bool,
    first_id: Option<TaskId>,
    last_id: Option<TaskId>,
}

/// One task, now or as soon as it has ended (`Prefer: wait=N`).
pub(super) async fn read(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let context = request.context;
    let id = parse_id(request.param)?;
    let wait = preferred_wait(&request.parts.headers);
    let found = when_over(context, key, id, wait).await.map_err(store_refusal)?;
    let task = found.ok_or_else(|| unknown(request.param))?;
    let mut response = answer(context, task, &request.base_url)?;
    applied(&mut response, wait);
    Ok(response)
}

/// The caller's task that the path names.
pub(super) async fn owned(request: &EndpointRequest<'_>, key: &Key) -> Result<Task, Refusal> {
    let found = request.context.backend.task(key, parse_id(request.param)?).await.map_err(store_refusal)?;
    found.ok_or_else(|| unknown(request.param))
}

/// The task whose receipt was made just now. It goes on where it cannot be read: a repetition would make and pay another one.
pub(super) fn of_receipt(found: Result<Option<Task>, StoreError>) -> Result<Task, Refusal> {
    let gone = || Refusal::internal("a task was gone right after its receipt");
    let task = found.map_err(store_refusal).and_then(|task| task.ok_or_else(gone));
    task.map_err(Refusal::never_repeated)
}

/// The task as it is read.
fn answer(context: &EdgeContext, task: Task, base: &str) -> Outcome {
    Ok(response::wrapped(view(&*context.backend, task, base)?))
}

/// The answer to a submission whose client waits: its task, if that ends within so many seconds.
pub(super) async fn ended_within(
    context: &EdgeContext,
    key: &Key,
    id: TaskId,
    seconds: u64,
    base: &str,
) -> Result<Option<Response<ResponseBody>>, Refusal> {
    let task = when_over(context, key, id, Some(seconds)).await.map_err(store_refusal)?;
    task.filter(|task| task.status.is_final()).map(|task| answer(context, task, base)).transpose()
}

/// The task once it has ended, or as it is after so many seconds; at once where its client waits for nothing.
pub(super) async fn when_over(
    context: &EdgeContext,
    key: &Key,
    id: TaskId,
    wait: Option<u64>,
) -> Result<Option<Task>, StoreError> {
    let Some(seconds @ 1..) = wait else { return context.backend.task(key, id).await };
    tokio::select! {
        biased;
        task = context.backend.task_when_over(key, id, Duration::from_secs(seconds)) => task,
        // A shutdown does not wait for a long poll.
        () = reached(context.shutdown.clone(), ShutdownPhase::LameDuck) => context.backend.task(key, id).await,
    }
}

/// Says which preference was followed (RFC 7240).
pub(super) fn applied(response: &mut Response<ResponseBody>, wait: Option<u64>) {
    let Some(seconds) = wait else { return };
    let applied = HeaderValue::from_str(&format!("wait={seconds}")).expect("a word and a number");
    response.headers_mut().insert("preference-applied", applied);
}

/// A task as its family renders it, on the family's own path.
pub(super) async fn view_of_family(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let (task, surface) = (parse_id(request.param)?, request.route.surface);
    let view = ViewRequest { key, task, surface, base: &request.base_url };
    let body = request.context.backend.view(&view).await.map_err(|error| match error {
        ViewError::NotFound => unknown(request.param),
        ViewError::Store(error) => store_refusal(error),
        error @ ViewError::Plugin(_) => Refusal::new(Kind::Internal, error.to_string()),
        other => Refusal::internal(other),
    })?;
    Ok(response::json(&raw(body)?))
}

/// A page of the caller's tasks, newest first. `last_id` is the cursor of the next page.
pub(super) async fn list(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let filter = filter(&Query::parse(request.parts.uri.query()))?;
    let TaskPage { tasks, more, .. } =
        request.context.backend.tasks(key, &filter).await.map_err(store_refusal)?;
    let data: Vec<TaskView> = tasks
        .into_iter()
        .map(|task| view(&*request.context.backend, task, &request.base_url))
        .collect::<Result<_, _>>()?;
    let (first_id, last_id) = (data.first().map(|view| view.id), data.last().map(|view| view.id));
    Ok(response::json(&Page { code: 200, data, has_more: more, first_id, last_id }))
}

/// Ends a task early, where that is still possible; 202 where its provider is asked to stop it first.
pub(super) async fn cancel(request: &EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let id = parse_id(request.param)?;
    let backend = Arc::clone(&request.context.backend);
    // A cancellation runs to its end, even if its client disconnects.
    let running = tokio::spawn(async move { backend.cancel(&key, id).await });
    let cancelled = running.await.map_err(Refusal::internal)?.map_err(|error| match error {
        CancelError::NotFound => unknown(request.param),
        CancelError::Over(_) | CancelError::Running => Refusal::new(Kind::Conflict, error.to_string()),
        CancelError::Store(error) => store_refusal(error),
        other => Refusal::internal(other),
    })?;
    let status = match &cancelled {
        Cancelled::Ended(_) => StatusCode::OK,
        Cancelled::Asked(_) => StatusCode::ACCEPTED,
    };
    let data = view(&*request.context.backend, cancelled.into_task(), &request.base_url)?;
    let mut response = response::json(&Wrapped { code: status.as_u16(), data });
    *response.status_mut() = status;
    Ok(response)
}

/// A task that does not exist, or belongs to another customer: the same refusal for both.
pub(super) fn unknown(id: &str) -> Refusal {
    Refusal::new(Kind::NotFound, format!("unknown task {}", quoted(id)))
}

/// The id in a path; text that is not an id is an unknown task.
pub(super) fn parse_id(id: &str) -> Result<TaskId, Refusal> {
    id.parse().map_err(|_| unknown(id))
}

fn filter(query: &Query) -> Result<TaskFilter, Refusal> {
    let limit = query.page_limit()?;
    Ok(TaskFilter {
        status: query.read("status", "submitted, pending, processing, completed or failed", Status::parse)?,
        model: query.read("model", "a model id", |text| (!text.is_empty()).then(|| text.to_owned()))?,
        after: query.parsed("after", "a task id")?,
        limit,
    })
}

/// The seconds of `Prefer: wait=N`, at most [`MAX_WAIT`]. An unreadable preference is ignored (RFC 7240).
pub(super) fn preferred_wait(headers: &HeaderMap) -> Option<u64> {
    let lines = headers.get_all("prefer").iter().filter_map(|line| line.to_str().ok());
    let mut preferences = lines.flat_map(|line| line.split(',')).filter_map(|one| one.split(';').next());
    preferences.find_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        let seconds: u64 = value.trim().trim_matches('"').parse().ok()?;
        name.trim().eq_ignore_ascii_case("wait").then(|| seconds.min(MAX_WAIT))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_and_limited() {
        for (lines, expected) in [
            (&[][..], None),
            (&["wait=5"], Some(5)),
            (&["wait=0"], Some(0)),
            (&["Wait = \"7\""], Some(7)),
            (&["respond-async, wait=30; x=1"], Some(30)),
            (&["respond-async", "wait=30"], Some(30)),
            (&["wait=3600"], Some(60)),
            (&["wait"], None),
            (&["wait=soon"], None),
            (&["wait=-1"], None),
        ] {
            let mut headers = HeaderMap::new();
            lines.iter().for_each(|line| {
                headers.append("prefer", line.parse().unwrap());
            });
            assert_eq!(preferred_wait(&headers), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_wrong_filter_is_named() {
        let filter = |query: &str| filter(&Query::parse(Some(query)));
        let plain = filter("").unwrap();
        assert_eq!((plain.limit, plain.status, plain.after, plain.model), (20, None, None, None));
        let full = filter("limit=100&status=failed&model=ctx-pro").unwrap();
        assert_eq!(
            (full.limit, full.status, full.model.as_deref()),
            (100, Some(Status::Failed), Some("ctx-pro"))
        );
        for (query, named) in [
            ("limit=0", "limit"),
            ("limit=101", "limit"),
            ("limit=ten", "limit"),
            ("status=done", "status"),
            ("status=failed&status=failed", "status"),
            ("after=x", "after"),
            ("model=", "model"),
        ] {
            assert_eq!(filter(query).unwrap_err().parts().2, Some(named), "{query}");
        }
    }
}

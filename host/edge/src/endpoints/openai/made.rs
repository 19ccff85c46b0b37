//! A task that its client waits for: submitted, awaited, and its end as an answer or an error in OpenAI's words.

use std::sync::Arc;

use gatehouse_driver::{CheckedBody, Receipt, SubmitRequest};
use gatehouse_model::{FailureKind, Key, Media, Status, Task};
use http::{HeaderName, HeaderValue, Response};
use serde_json::Value;

use crate::backend::store_refusal;
use crate::config::seconds;
use crate::endpoints::jobs;
use crate::endpoints::openai::fields::Fields;
use crate::errors::{Form, Kind, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::response::ResponseBody;

/// The task behind an answer, which its client may read like any other.
const TASK: HeaderName = HeaderName::from_static("x-gateway-task-id");

/// The submission of a request in OpenAI's shape.
pub(super) fn job(
    request: &EndpointRequest<'_>,
    key: &Arc<Key>,
    surface: &'static str,
    body: CheckedBody,
) -> Result<SubmitRequest, Refusal> {
    let idempotency = jobs::idempotency(&request.parts.headers)?;
    let (key, report) = (Arc::clone(key), request.report.clone());
    Ok(SubmitRequest { key, surface, parent: None, body, idempotency, report })
}

/// Submits it. What the family refuses is told in the client's names of fields.
pub(super) async fn submit(
    context: &EdgeContext,
    job: SubmitRequest,
    fields: &Fields,
) -> Result<Receipt, Refusal> {
    let submitted = context.backend.submit(job).await;
    submitted.map_err(|error| jobs::submit_refusal(fields.in_clients_names(error), None))
}

/// The task once it has completed, if it does within the time that a client waits. It goes on without its client.
pub(super) async fn completed(context: &EdgeContext, key: &Key, receipt: Receipt) -> Result<Task, Refusal> {
    let limit = seconds(context.config.limits.task_wait_seconds);
    let task = context.backend.task_when_over(key, receipt.task, limit).await.map_err(store_refusal)?;
    let mut task = task.ok_or_else(|| Refusal::internal("a task was gone right after its receipt"))?;
    let id = task.id.to_string();
    if let Some(failure) = task.failure.take().filter(|_| task.status == Status::Failed) {
        return Err(Refusal::new(kind(failure.kind), failure.message).with_header(TASK, &id));
    }
    if task.status == Status::Completed {
        return Ok(task);
    }
    let message = format!(
        "task {id} is still at work after {} seconds: it goes on, and GET /v1/tasks/{id} has its result; the same \
         request again would make another one",
        limit.as_secs()
    );
    Err(Refusal::new(Kind::StillRunning, message).with_header(TASK, &id))
}

/// The error that a failed task is for a client that waits for it.
pub(super) fn kind(failure: FailureKind) -> Kind {
    match failure {
        FailureKind::Request => Kind::Invalid,
        FailureKind::Moderation => Kind::Moderated,
        FailureKind::Upstream => Kind::BadGateway,
        FailureKind::Timeout => Kind::UpstreamTimeout,
        FailureKind::Cancelled => Kind::Conflict,
        FailureKind::Limit => Kind::RateLimited,
        FailureKind::Internal => Kind::Internal,
    }
}

/// Names the task in an answer.
pub(super) fn name_task(response: &mut Response<ResponseBody>, receipt: Receipt) {
    let headers = response.headers_mut();
    let id = HeaderValue::from_str(&receipt.task.to_string()).expect("an id is ASCII letters and digits");
    headers.insert(TASK, id);
    if receipt.repeated {
        headers.insert(jobs::REPLAYED, HeaderValue::from_static("true"));
    }
}

/// The files of a result's list, such as `images`: what `url` of each of its elements lists.
pub(super) fn files_of<'t>(task: &'t Task, list: &str) -> Vec<&'t Media> {
    let result: Value = serde_json::from_slice(&task.public).unwrap_or_default();
    let number = |link: &Value| link.as_str()?.strip_prefix("media:")?.parse::<usize>().ok();
    links_of(&result, list).into_iter().filter_map(|link| task.media.get(number(link)?)).collect()
}

/// The links of a result's list.
pub(super) fn links_of<'v>(result: &'v Value, list: &str) -> Vec<&'v Value> {
    let elements = result.get(list).and_then(Value::as_array).into_iter().flatten();
    elements.filter_map(|element| element.get("url")?.as_array()).flatten().collect()
}

/// In the envelope of OpenAI's API, whatever the path.
pub(super) fn in_openai_form(refusal: Refusal) -> Refusal {
    refusal.in_form(Form::OpenAi)
}

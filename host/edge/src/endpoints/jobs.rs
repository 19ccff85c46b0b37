//! Every asynchronous submission: a checked body goes to the driver, a durable receipt comes back.

use std::sync::Arc;

use gatehouse_driver::{CheckedBody, Receipt, SubmitError, SubmitRequest};
use gatehouse_model::{Key, Status, TaskId};
use http::{HeaderMap, Response};
use serde::Serialize;

use crate::backend::{Backend, trouble};
use crate::endpoints::tasks;
use crate::errors::{Kind, Problem};
use crate::http::body;
use crate::http::context::{EdgeContext as Front, EndpointRequest as Visit};
use crate::http::query::quoted;
use crate::http::response::{self as answer, ResponseBody as Content};
use crate::http::routes::Submit;

/// Spec "Submission receipt".
#[derive(Serialize)]
struct Submitted {
    code: u16,
    data: [Line; 1],
}

#[derive(Serialize)]
struct Line {
    status: &'static str,
    task_id: TaskId,
}

/// Spec "Avatar assets".
#[derive(Serialize)]
struct AssetSubmitted {
    code: u16,
    data: AssetTask,
}

#[derive(Serialize)]
struct AssetTask {
    id: TaskId,
    object: &'static str,
    status: &'static str,
    progress: u8,
    model: String,
}

/// Accepts a job.
pub(super) async fn submit<B: Backend>(
    front: &Front<B>,
    visit: Visit<'_>,
    key: Arc<Key>,
    submit: Submit,
) -> Result<Response<Content>, Problem> {
    body::check_type(&visit.parts.headers)?;
    let idempotency = idempotency(&visit.parts.headers)?;
    let parent = if submit.follow_up { Some(parent(visit.open)?) } else { None };
    let body = visit.body.read(&front.config.limits, &front.bodies, &*front.clock).await?;
    let body = CheckedBody::parse(body, submit.model).map_err(|error| refusal(error, None))?;
    let request =
        SubmitRequest { key: Arc::clone(&key), surface: visit.entry.surface, parent, body, idempotency };
    let receipt = front.backend.submit(request).await;
    let receipt = receipt.map_err(|error| refusal(error, submit.model.map(|_| visit.entry.pattern)))?;
    if submit.asset { asset_receipt(front, &key, receipt) } else { Ok(plain_receipt(receipt)) }
}

fn plain_receipt(receipt: Receipt) -> Response<Content> {
    let line = Line { status: Status::Submitted.as_str(), task_id: receipt.task };
    answer::json(&Submitted { code: 200, data: [line] })
}

fn asset_receipt<B: Backend>(
    front: &Front<B>,
    key: &Key,
    receipt: Receipt,
) -> Result<Response<Content>, Problem> {
    let task = front.backend.task(key, receipt.task).map_err(trouble)?;
    let task = task.ok_or_else(|| Problem::internal("a task was gone right after its receipt"))?;
    let data = AssetTask {
        id: task.id,
        object: "clip.avatar.asset.task",
        status: Status::Processing.as_str(),
        progress: task.progress,
        model: task.model,
    };
    Ok(answer::json(&AssetSubmitted { code: 200, data }))
}

/// The `Idempotency-Key` header: 1 to 255 visible ASCII characters.
fn idempotency(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    const NAME: &str = "Idempotency-Key";
    let mut values = headers.get_all(NAME).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.as_bytes();
    let sound = (1..=255).contains(&text.len()) && text.iter().all(u8::is_ascii_graphic);
    if !sound || values.next().is_some() {
        let message = "Idempotency-Key: expected once, 1 to 255 visible ASCII characters without spaces";
        return Err(Problem::field(NAME, message));
    }
    Ok(Some(text.iter().map(|&byte| char::from(byte)).collect()))
}

/// The task a follow-up names in its path; text that is no id names no task.
fn parent(text: &str) -> Result<TaskId, Problem> {
    text.parse().map_err(|_| tasks::unknown(text))
}

/// What a client reads. `implied` is the path that implies the model, where the body names none.
pub(super) fn refusal(error: SubmitError, implied: Option<&'static str>) -> Problem {
    let message = error.to_string();
    match error {
        SubmitError::Invalid { field: Some(field), message } => Problem::field(field, message),
        SubmitError::Invalid { field: None, message } => Problem::new(Kind::Invalid, message),
        // The client named no model here: what is missing is the family behind the path.
        SubmitError::UnknownModel(_) if implied.is_some() => {
            let message = format!("no model of this gateway serves {}", implied.unwrap_or_default());
            Problem::new(Kind::ModelNotFound, message)
        }
        SubmitError::UnknownModel(model) => {
            let message =
                format!("model: unknown model {}, GET /v1/models lists those you may use", quoted(&model));
            Problem::new(Kind::UnknownModel, message).about("model")
        }
        SubmitError::ModelForbidden(_) => Problem::new(Kind::ModelForbidden, message).about("model"),
        SubmitError::NotFound(_) => Problem::new(Kind::NotFound, message),
        SubmitError::Forbidden(_) => Problem::new(Kind::Forbidden, message),
        SubmitError::InsufficientBalance { .. } => Problem::new(Kind::InsufficientBalance, message),
        SubmitError::QuotaExceeded { .. } => Problem::new(Kind::QuotaExceeded, message),
        SubmitError::IdempotencyConflict => {
            Problem::new(Kind::IdempotencyConflict, message).about("Idempotency-Key")
        }
        SubmitError::KeyGone => Problem::new(Kind::Unauthenticated, message),
        SubmitError::Busy => Problem::new(Kind::Busy, message),
        SubmitError::Draining => Problem::new(Kind::Draining, message),
        SubmitError::Store(error) => trouble(error),
        SubmitError::Plugin(_) => Problem::new(Kind::Internal, message),
        // What went wrong here is for the operator.
        other => Problem::internal(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idempotency_keys_have_a_form() {
        for (values, expected) in [
            (&[][..], Some(None)),
            (&["a"], Some(Some("a"))),
            (&["0f8fad5b-d9cb-469f-a165-70867728950e"], Some(Some("0f8fad5b-d9cb-469f-a165-70867728950e"))),
            (&[""], None),
            (&["a b"], None),
            (&["a", "a"], None),
            (&["\u{e9}"], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("idempotency-key", http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let found = idempotency(&headers).ok();
            assert_eq!(found, expected.map(|key| key.map(str::to_owned)), "{values:?}");
        }
        for (length, fits) in [(255, true), (256, false)] {
            let mut headers = HeaderMap::new();
            headers.insert("idempotency-key", "k".repeat(length).parse().unwrap());
            assert_eq!(idempotency(&headers).is_ok(), fits);
        }
    }
}

//! Every asynchronous submission: a checked body goes to the driver, a durable receipt comes back, or the ended task where the
//! client prefers to wait for it.

use std::sync::Arc;

use gatehouse_driver::{CheckedBody, Receipt, SubmitError, SubmitRequest, parent_kind};
use gatehouse_model::{FormTypes, Key, ReceiptShape, Status, TaskId};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use serde::Serialize;
use serde_json::Value;

use crate::backend::store_refusal;
use crate::endpoints::media::STORE_PAUSE;
use crate::endpoints::{dry_run, tasks};
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::body::{self, MediaType};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::quoted;
use crate::response::{self, ResponseBody};
use crate::routing::routes::{ParentIn, Submission};

/// The task behind an answer, which its client may read like any other.
pub(super) const TASK: HeaderName = HeaderName::from_static("x-gateway-task-id");

/// Spec "Submission receipt".
#[derive(Serialize)]
struct SubmittedTask {
    status: &'static str,
    task_id: TaskId,
}

/// Spec "Avatar assets".
#[derive(Serialize)]
struct AssetTask {
    id: TaskId,
    object: &'static str,
    status: &'static str,
    progress: u8,
    model: String,
}

/// Accepts a job.
pub(super) async fn submit(
    mut request: EndpointRequest<'_>,
    key: Arc<Key>,
    submission: Submission,
) -> Outcome {
    let context = request.context;
    let media_type = body::media_type(&request.parts.headers, request.route.form.is_some())?;
    let idempotency = idempotency(&request.parts.headers)?;
    let parent = match submission.parent {
        ParentIn::Nowhere => None,
        ParentIn::Path => {
            let kind = parent_kind(request.route.surface);
            let unknown =
                || Refusal::new(Kind::NotFound, format!("unknown {kind} {}", quoted(request.param)));
            Some(request.param.parse::<TaskId>().map_err(|_| unknown())?)
        }
    };
    let types = request.route.form.as_deref();
    let body = checked_body_of(&mut request, &key, submission.model, &media_type, types).await?;
    let (surface, pattern) = (request.route.surface, request.route.pattern);
    let refusal = |error| job_refusal(error, submission.model.map(|_| pattern));
    let only_asks = body.is_dry_run();
    let report = request.report.clone();
    let job = SubmitRequest { key: Arc::clone(&key), surface, parent, body, idempotency, report };
    if only_asks {
        return Ok(dry_run::answer(context.backend.dry_run(job).await.map_err(refusal)?, true));
    }
    let receipt = context.backend.submit(job).await.map_err(refusal)?;
    let wait = tasks::preferred_wait(&request.parts.headers);
    let ended = match wait {
        None | Some(0) => None,
        Some(seconds) => {
            // The task has what it needs; the wait for it holds no part of the budget.
            drop(request.body.while_streamed());
            let (id, base) = (receipt.task, request.base_url.as_str());
            // The task is made and paid for: its client must learn its id, whatever can be told of its end.
            tasks::ended_within(context, &key, id, seconds, base).await.unwrap_or_else(|refusal| {
                let (_, problem, _) = refusal.parts();
                tracing::warn!(task = %id, problem, cause = refusal.cause(), "a submission is answered without its task's end");
                None
            })
        }
    };
    let mut response = match (ended, submission.receipt) {
        (Some(ended), _) => ended,
        (None, ReceiptShape::Task) => {
            response::wrapped([SubmittedTask { status: Status::Submitted.as_str(), task_id: receipt.task }])
        }
        (None, ReceiptShape::Asset) => {
            let answer = asset_receipt(context, &key, receipt).await;
            answer.map_err(|refusal| of_task(refusal, receipt.task))?
        }
    };
    tasks::applied(&mut response, wait);
    mark_replayed(&mut response, receipt.repeated);
    Ok(response)
}

/// Reads the body of a request that makes no task and checks that it is one JSON object; the route may imply its `model`. A
/// long one is parsed in its customer's turn.
pub(super) async fn checked_body(
    request: &mut EndpointRequest<'_>,
    key: &Key,
    implied: Option<&'static str>,
) -> Result<CheckedBody, Refusal> {
    let checked = checked_body_of(request, key, implied, &MediaType::Json, None).await?;
    without_callback(&checked)?;
    Ok(checked)
}

/// Refuses an address for the end of a task where no task is made.
pub(super) fn without_callback(body: &CheckedBody) -> Result<(), Refusal> {
    if body.callback().is_none() {
        return Ok(());
    }
    let message = "callback_url: expected none, as this request is answered at once and makes no task";
    Err(Refusal::field("callback_url", message))
}

/// The same of any request, whose body may be a form.
pub(super) async fn checked_body_of(
    request: &mut EndpointRequest<'_>,
    key: &Key,
    implied: Option<&'static str>,
    media_type: &MediaType,
    types: Option<&FormTypes>,
) -> Result<CheckedBody, Refusal> {
    let EndpointRequest { context, body, .. } = request;
    let bytes = body.read(&context.config.limits, &context.bodies, &*context.clock).await?;
    let _turn = context.bodies.turn(&key.customer, bytes.len()).await;
    let bytes = match (media_type, types) {
        (MediaType::Form(boundary), Some(types)) => {
            let json = body::form_to_json(bytes, boundary, types, implied).await?;
            body.became(json, &context.bodies)?
        }
        _ => bytes,
    };
    CheckedBody::check(bytes, implied).await.map_err(submit_refusal)
}

/// Says of a receipt or answer whether an earlier request with the same `Idempotency-Key` has made it.
pub(super) fn mark_replayed(response: &mut Response<ResponseBody>, repeated: bool) {
    if repeated {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
}

/// A refusal after the receipt: its client learns which task was made all the same.
pub(super) fn of_task(refusal: Refusal, task: TaskId) -> Refusal {
    refusal.with_header(TASK, &task.to_string())
}

async fn asset_receipt(context: &EdgeContext, key: &Key, receipt: Receipt) -> Outcome {
    let task = tasks::of_receipt(context.backend.task(key, receipt.task).await)?;
    let data = AssetTask {
        id: task.id,
        object: "clip.avatar.asset.task",
        status: Status::Processing.as_str(),
        progress: task.progress,
        model: task.model,
    };
    Ok(response::wrapped(data))
}

/// The `Idempotency-Key` header: 1 to 255 visible ASCII characters.
pub(super) fn idempotency(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    const NAME: &str = "Idempotency-Key";
    let mut values = headers.get_all(NAME).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let text = value.as_bytes();
    let valid = (1..=255).contains(&text.len()) && text.iter().all(u8::is_ascii_graphic);
    if !valid || values.next().is_some() {
        let message = "Idempotency-Key: expected once, 1 to 255 visible ASCII characters without spaces";
        return Err(Refusal::field(NAME, message));
    }
    Ok(Some(text.iter().map(|&byte| char::from(byte)).collect()))
}

/// The refusal of a job. `implied` is the path that implies the model, where the body names none.
pub(crate) fn job_refusal(error: SubmitError, implied: Option<&'static str>) -> Refusal {
    match (error, implied) {
        // The client named no model: the family behind the path is missing.
        (SubmitError::UnknownModel(_), Some(path)) => {
            Refusal::new(Kind::ModelNotFound, format!("no model of this gateway serves {path}"))
        }
        (error, _) => submit_refusal(error),
    }
}

/// The refusal a client reads.
pub(crate) fn submit_refusal(error: SubmitError) -> Refusal {
    let message = error.to_string();
    match error {
        SubmitError::Invalid { field: Some(field), message } => Refusal::field(field, message),
        SubmitError::Invalid { field: None, message } => Refusal::new(Kind::Invalid, message),
        SubmitError::UnknownModel(model) => unknown_model(Kind::UnknownModel, &model),
        SubmitError::Starting(_) | SubmitError::Draining => Refusal::new(Kind::Draining, message),
        SubmitError::PathSwitchedOff(_) => Refusal::new(Kind::NotServed, message),
        SubmitError::NotServed { .. } => Refusal::new(Kind::NotServed, message).with_param("model"),
        SubmitError::ModelForbidden(_) => Refusal::new(Kind::ModelForbidden, message).with_param("model"),
        SubmitError::NotFound(_) => Refusal::new(Kind::NotFound, message),
        SubmitError::UnknownResponse(_) => {
            Refusal::new(Kind::UnknownResponse, message).with_param("previous_response_id")
        }
        SubmitError::UnknownItem(_) => Refusal::new(Kind::NotFound, message).with_param("input"),
        SubmitError::ParentOver { .. } => Refusal::new(Kind::Conflict, message),
        SubmitError::Forbidden(_) => Refusal::new(Kind::Forbidden, message),
        SubmitError::InsufficientBalance { .. } => Refusal::new(Kind::InsufficientBalance, message),
        SubmitError::QuotaExceeded(short) => {
            Refusal::new(Kind::QuotaExceeded, message).with_reset(short.resets)
        }
        SubmitError::RateLimited(limited) => {
            Refusal::new(Kind::RateLimited, message).with_wait(limited.seconds())
        }
        SubmitError::IdempotencyConflict => {
            Refusal::new(Kind::IdempotencyConflict, message).with_param("Idempotency-Key")
        }
        SubmitError::AnswerUnderWay | SubmitError::AnswerNotKept { .. } => {
            Refusal::new(Kind::Conflict, message).with_param("Idempotency-Key")
        }
        SubmitError::KeyGone => Refusal::new(Kind::Unauthenticated, message),
        SubmitError::TooLate { wait, limit } => {
            Refusal::new(Kind::RateLimited, message).with_retry_after(Some(wait.saturating_sub(limit)))
        }
        SubmitError::Busy => Refusal::new(Kind::Busy, message),
        SubmitError::MediaShare(_) => Refusal::new(Kind::RateLimited, message),
        SubmitError::Memory(shortage) => body::refuse(shortage),
        SubmitError::DiskFull(_) => Refusal::new(Kind::DiskFull, message),
        SubmitError::MediaUnavailable => {
            Refusal::new(Kind::Busy, message).with_retry_after(Some(STORE_PAUSE))
        }
        SubmitError::Store(error) => store_refusal(error),
        SubmitError::Plugin(_) => Refusal::new(Kind::Internal, message),
        // The cause is for the operator.
        other => Refusal::internal(other),
    }
}

/// A field that has another value than is expected.
pub(super) fn wrong_field(name: &str, expected: &str, got: &Value) -> Refusal {
    Refusal::field(name, format!("{name}: expected {expected}, got {}", quoted(&got.to_string())))
}

/// The specification has two statuses for it: 400 for jobs, 404 for text.
pub(super) fn unknown_model(kind: Kind, model: &str) -> Refusal {
    let model = quoted(model);
    let message = format!("model: unknown model {model}, GET /v1/models lists those you may use");
    Refusal::new(kind, message).with_param("model")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idempotency_keys_are_visible_ascii() {
        let (longest, longer) = ("k".repeat(255), "k".repeat(256));
        for (values, expected) in [
            (&[][..], Some(None)),
            (&["a"], Some(Some("a"))),
            (&["0f8fad5b-d9cb-469f-a165-70867728950e"], Some(Some("0f8fad5b-d9cb-469f-a165-70867728950e"))),
            (&[""], None),
            (&["a b"], None),
            (&["a", "a"], None),
            (&["\u{e9}"], None),
            (&[longest.as_str()], Some(Some(longest.as_str()))),
            (&[longer.as_str()], None),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("idempotency-key", HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            let found = idempotency(&headers).ok();
            assert_eq!(found, expected.map(|key| key.map(str::to_owned)), "{values:?}");
        }
    }
}

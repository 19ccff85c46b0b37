//! The API origin: creations, polls, lists, cancels.
//!
//! Checks in the provider's order: key, asynchronous header, JSON, model, fields, then markers and the account.

use std::sync::Arc;

use http::{HeaderMap, Method, Request, Response};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::common::faults::Target;
use crate::common::server::{self, Body, HandlerResult, closed};
use crate::dashscope::create;
use crate::dashscope::faults::{Marker, Refusal, error, request_id};
use crate::dashscope::list;
use crate::dashscope::poll;
use crate::dashscope::provider::{Provider, account};
use crate::dashscope::record::DeclinedVideo;

const CREATE: &str = "/api/v1/services/aigc/video-generation/video-synthesis";
/// Two images of 10 MB in base64, a video, and the rest of a body.
const MAX_BODY_BYTES: usize = 160 << 20;

/// The API listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    if path == CREATE && method == Method::POST {
        return create(&provider, request).await;
    }
    let account = match account(&provider, request.headers()) {
        Ok(account) => account,
        Err(refusal) => return Ok(refusal.response()),
    };
    let query = request.uri().query().unwrap_or_default();
    let below = path.strip_prefix("/api/v1/tasks");
    let Some(below) = below.filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
        return Ok(nothing());
    };
    let task = below.trim_start_matches('/');
    Ok(match (method, task.split_once('/')) {
        (Method::GET, None) if task.is_empty() => list::answer(&provider, query, account),
        (Method::GET, None) => poll::answer(&provider, task, account),
        (Method::POST, Some((id, "cancel"))) => cancel(&provider, id, account),
        _ => nothing(),
    })
}

fn cancel(provider: &Provider, id: &str, account: usize) -> Response<Body> {
    let now = provider.now();
    match provider.table().cancel(id, account, now) {
        Ok(()) => server::json(200, &json!({ "request_id": request_id() })),
        Err(refusal) => refusal.response(),
    }
}

async fn create(provider: &Provider, request: Request<Incoming>) -> HandlerResult {
    let (head, body) = request.into_parts();
    let bytes = server::read(body, MAX_BODY_BYTES).await?;
    let bytes = bytes.ok_or_else(|| Refusal::new(413, "RequestTooLarge", "The request is too large."));
    let is_json = server::mime(&head.headers) == "application/json";
    let body = bytes.and_then(|bytes| {
        let parsed = serde_json::from_slice(&bytes).ok().filter(|_| is_json);
        parsed
            .ok_or_else(|| Refusal::parameter("Required body invalid, please check the request body format."))
    });
    let recorded = body.as_ref().map_or(Value::Null, create::recorded);
    let decline = |status, code: &str| {
        let (code, body) = (code.to_owned(), recorded.clone());
        provider.table().declined.push(DeclinedVideo { status, code, body });
    };
    let task = match check(provider, &head.headers, body).await {
        Ok(task) => task,
        Err(refusal) => {
            decline(refusal.status, refusal.code);
            return Ok(refusal.response());
        }
    };
    let receipt = task.faults.fault(Target::Receipt);
    let now = provider.now();
    // Bound first: the guard must be gone before `decline` locks again.
    let accepted = provider.table().accept(task, now);
    let id = match accepted {
        Ok(id) => id,
        Err(fault) => {
            let refusal = error(fault);
            decline(if fault == Marker::Unavailable { 503 } else { refusal.status }, refusal.code);
            return Ok(refused(fault, &refusal));
        }
    };
    Ok(match receipt {
        Some(Marker::CreateCut) => return Err(closed()),
        Some(Marker::CreateHang) => std::future::pending().await,
        Some(Marker::CreateGarbage) => server::reply(200, "application/json", "{\"request_id\": \"5f0c"),
        Some(Marker::WithoutTask) => {
            server::json(200, &json!({ "request_id": request_id(), "output": { "task_status": "PENDING" } }))
        }
        _ => {
            let output = json!({ "task_id": id, "task_status": "PENDING" });
            server::json(200, &json!({ "request_id": request_id(), "output": output }))
        }
    })
}

async fn check(
    provider: &Provider,
    headers: &HeaderMap,
    body: Result<Value, Refusal>,
) -> Result<super::tasks::Task, Refusal> {
    let account = account(provider, headers)?;
    if headers.get("x-dashscope-async").is_none_or(|value| value != "enable") {
        let message = "current user api does not support synchronous calls.";
        return Err(Refusal::new(403, "AccessDenied", message));
    }
    let (body, samples) = (body?, provider.table().samples.clone());
    // Images inside are decoded.
    let checked = tokio::task::spawn_blocking(move || create::check(&body, account, &samples)).await;
    checked.unwrap_or_else(|_| Err(error(Marker::Broken)))
}

fn nothing() -> Response<Body> {
    Refusal::new(404, "NotFound", "There is nothing at this path.").response()
}

/// The answer of a marker that refuses.
fn refused(fault: Marker, refusal: &Refusal) -> Response<Body> {
    match fault {
        Marker::Unavailable => poll::html(),
        Marker::SnakeInspection => {
            let inside = json!({ "code": refusal.code, "message": refusal.message });
            server::json(refusal.status, &json!({ "request_id": request_id(), "error": inside }))
        }
        _ => refusal.response(),
    }
}

//! The API's listener: speed, route, method, secret, in that order; then the route's own code.

use std::sync::Arc;

use http::{HeaderMap, Method, Request, Uri};
use hyper::body::Incoming;
use serde_json::Value;

use crate::common::server::{self, HandlerResult, closed, json, reply};
use crate::midjourney::faults::Marker;
use crate::midjourney::provider::{Provider, account};
use crate::midjourney::read;
use crate::midjourney::record::Declined;
use crate::midjourney::refusal::{Refusal, not_allowed};
use crate::midjourney::submit::answer::Answer;
use crate::midjourney::submit::{self, SPEEDS};

/// Five pictures of 12 MiB in base64, and the rest of a body.
const MAX_BODY_BYTES: usize = 96 << 20;

/// The speed in a path, as records name it, and the path behind `/mj`.
fn split(uri: &Uri) -> Option<(Option<&'static str>, &str)> {
    let (prefix, rest) = uri.path().strip_prefix('/')?.split_once('/')?;
    if prefix == "mj" {
        return Some((None, rest));
    }
    let prefix = prefix.strip_prefix("mj-")?;
    let (speed, _) = SPEEDS.into_iter().find(|(_, known)| *known == prefix)?;
    Some((Some(speed), rest.strip_prefix("mj/")?))
}

/// The API listener: answers its requests.
pub(crate) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let (head, body) = request.into_parts();
    let Some((speed, path)) = split(&head.uri) else { return Ok(reply(404, "text/plain", "")) };
    let task = path.strip_prefix("task/").and_then(|rest| rest.split_once('/'));
    let (method, is_known) = match (path, task) {
        ("task/list-by-condition", _) => (Method::POST, true),
        (_, Some((_, "fetch" | "image-seed"))) => (Method::GET, true),
        (_, Some((_, "cancel"))) => (Method::POST, true),
        _ => (Method::POST, path.strip_prefix("submit/").is_some_and(submit::is_route)),
    };
    if !is_known {
        return Ok(reply(404, "text/plain", ""));
    }
    if head.method != method {
        return Ok(not_allowed(method.as_str()));
    }
    let account = match account(&provider, &head.headers) {
        Ok(account) => account,
        Err(refusal) => return Ok(declined(&provider, path, refusal)),
    };
    if let Some((id, kind)) = task {
        return read::one(&provider, account, id, kind);
    }
    let body = server::read(body, MAX_BODY_BYTES).await?;
    let body = body.ok_or_else(Refusal::too_large).and_then(|bytes| parse(&head.headers, &bytes));
    match (body, path.strip_prefix("submit/")) {
        (Err(refusal), _) => Ok(declined(&provider, path, refusal)),
        (Ok(body), None) => read::list(&provider, account, body),
        (Ok(body), Some(route)) => match submit::submit(&provider, account, speed, route, body).await {
            Ok(answer) => accepted(answer).await,
            Err(refusal) => Ok(declined(&provider, path, refusal)),
        },
    }
}

/// The reply to an accepted submit, unless a marker loses it.
async fn accepted(answer: Answer) -> HandlerResult {
    match answer.lost_by {
        Some(Marker::SubmitCut) => Err(closed()),
        Some(Marker::SubmitHang) => std::future::pending().await,
        Some(Marker::SubmitGarbage) => Ok(reply(200, "application/json", "{\"code\":1,\"desc")),
        _ => Ok(json(200, &answer.body)),
    }
}

fn declined(provider: &Provider, path: &str, refusal: Refusal) -> http::Response<server::Body> {
    if path.starts_with("submit/") {
        let (status, code) = (refusal.status, refusal.code);
        let declined = Declined { route: path.to_owned(), status, code, at: provider.now() };
        provider.table().declined.push(declined);
    }
    refusal.response()
}

/// The body as JSON. The framework takes nothing without a JSON content type.
fn parse(headers: &HeaderMap, bytes: &[u8]) -> Result<Value, Refusal> {
    if !server::mime(headers).eq_ignore_ascii_case("application/json") {
        return Err(Refusal::unsupported_type());
    }
    serde_json::from_slice(bytes).map_err(|error| Refusal::binding(&error.to_string()))
}

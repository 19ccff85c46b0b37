//! The API origin: generations, edits, the list of models.
//!
//! Checks in the provider's order: key, content type, JSON, shape, values, references, then the markers.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method, Request};
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::answer::{self, Answer};
use super::faults::{Faults, Marker};
use super::models;
use super::provider::{Provider, account};
use super::reference::{self, Reference};
use super::refusal::Refusal;
use super::schema::{self, ImageOrder};
use super::table::ImageCall;
use crate::common::clock;
use crate::common::server::{self, HandlerResult, closed};

/// Three references of 10 MiB in base64, and the rest of a body.
const MAX_BODY_BYTES: usize = 48 << 20;

/// The API listener: answers its requests.
pub(super) async fn handle(provider: Arc<Provider>, request: Request<Incoming>) -> HandlerResult {
    let path = request.uri().path();
    let route = match path.strip_prefix("/v1/images/") {
        Some(route @ ("generations" | "edits")) => route.to_owned(),
        _ if path == "/v1/image-generation-models" && request.method() == Method::GET => {
            let account = account(&provider, request.headers());
            return Ok(account.map_or_else(Refusal::response, |_| server::json(200, &models::list())));
        }
        _ => return Ok(Refusal::unknown_path().response()),
    };
    if request.method() != Method::POST {
        return Ok(Refusal::method().response());
    }
    call(&provider, route, request).await
}

/// A call under check: what its record says so far.
struct Checked {
    order: ImageOrder,
    references: Vec<Reference>,
    faults: Faults,
}

async fn call(provider: &Provider, route: String, request: Request<Incoming>) -> HandlerResult {
    let (head, body) = request.into_parts();
    let account = account(provider, &head.headers);
    let known = account.as_ref().ok().copied();
    let number = provider.table().append(ImageCall {
        route: route.clone(),
        account: known,
        at: provider.now(),
        ..ImageCall::default()
    });
    let bytes = server::read(body, MAX_BODY_BYTES).await?;
    let answer = async {
        account?;
        let bytes = bytes.ok_or_else(Refusal::too_large)?;
        check_type(&head.headers)?;
        let sent: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let checked = check(provider, number, schema::parse(&bytes)?, sent, route == "edits").await?;
        answer(provider, number, checked).await
    };
    match answer.await {
        Ok((answer, faults)) => send(provider, number, answer, &faults).await,
        Err(refusal) => {
            update(provider, number, |call| call.status = Some(refusal.status));
            Ok(refusal.response())
        }
    }
}

/// Checks the values; the record keeps the body without its files.
async fn check(
    provider: &Provider,
    number: u64,
    body: schema::CallBody,
    mut sent: Value,
    is_edit: bool,
) -> Result<Checked, Refusal> {
    let faults = Faults::of(&body.prompt);
    let order = body.check(is_edit);
    let urls = order.as_ref().map_or_else(|_| Vec::new(), |order| order.references.clone());
    let inspected = tokio::task::spawn_blocking(move || reference::inspect(&urls)).await;
    let inspected = inspected.map_err(|_| Refusal::broken()).flatten();
    without_files(&mut sent, inspected.as_deref().unwrap_or_default());
    update(provider, number, |call| call.body = sent);
    Ok(Checked { order: order?, references: inspected?, faults })
}

async fn answer(provider: &Provider, number: u64, checked: Checked) -> Result<(Answer, Faults), Refusal> {
    let Checked { order, references, faults } = checked;
    let refusal = faults.strike(&mut provider.table().counts, &order.prompt).map(Refusal::of);
    if let Some(refusal) = refusal {
        if refusal.is_billed {
            update(provider, number, |call| call.cost_in_usd_ticks = order.model.ticks);
        }
        return Err(refusal);
    }
    let more = Duration::from_millis(faults.number(Marker::Slow).unwrap_or_default());
    let time = provider.settings.job_time + more;
    if !time.is_zero() {
        clock::pause(time).await;
    }
    let answer = answer::make(provider, number, &order, &references, &faults).await?;
    update(provider, number, |call| {
        (call.images, call.cost_in_usd_ticks) = (answer.images, answer.ticks);
    });
    Ok((answer, faults))
}

async fn send(provider: &Provider, number: u64, answer: Answer, faults: &Faults) -> HandlerResult {
    if faults.has(Marker::Cut) {
        return Err(closed());
    }
    if faults.has(Marker::Hang) {
        return std::future::pending().await;
    }
    update(provider, number, |call| call.status = Some(200));
    if faults.has(Marker::Garbage) {
        return Ok(server::reply(200, "application/json", "{\"data\":[{\"url\":\"https://img"));
    }
    Ok(server::json(200, &answer.body))
}

fn update(provider: &Provider, number: u64, change: impl FnOnce(&mut ImageCall)) {
    if let Some(call) = provider.table().call(number) {
        change(call);
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let mime = server::mime(headers).to_ascii_lowercase();
    let is_json = mime == "application/json" || mime.starts_with("application/") && mime.ends_with("+json");
    if is_json { Ok(()) } else { Err(Refusal::content_type()) }
}

/// Puts the facts of each reference in place of its URL; a file that was not inspected is left out.
fn without_files(sent: &mut Value, references: &[Reference]) {
    let facts = |index: usize| references.get(index).map_or(json!(null), |found| found.record.clone());
    if let Some(url) = sent.pointer_mut("/image/url") {
        *url = facts(0);
    }
    let images = sent.get_mut("images").and_then(Value::as_array_mut);
    for (index, image) in images.into_iter().flatten().enumerate() {
        if let Some(url) = image.get_mut("url") {
            *url = facts(index);
        }
    }
}

//! `GET` and `DELETE /v1/responses/{id}`, its cancel, and the items of its request: what the customer's earlier requests left here.

use gatehouse_model::Key;
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::endpoints::jobs;
use crate::errors::{Kind, Outcome, Refusal};
use crate::http::context::EndpointRequest;
use crate::http::query::Query;
use crate::response::{self, ResponseBody};
use crate::sse;

/// Items of one page, where the client names no number.
const PAGE: usize = 20;

/// The response as it was answered, or its stream once more.
pub(super) async fn read(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let query = Query::parse(request.parts.uri.query());
    let after = query.parsed::<u64>("starting_after", "a number of at least 0")?;
    if query.parsed::<bool>("stream", "true or false")? == Some(true) {
        return replay(&*request.context.backend, key, request.param, after).await;
    }
    let kept = find(&*request.context.backend, key, request.param).await?;
    Ok(response::json_text(kept.response))
}

/// Its events, or those after the one of that number. They are all there, so they leave in one piece.
async fn replay(backend: &dyn Backend, key: &Key, id: &str, after: Option<u64>) -> Outcome {
    let events = backend.response_events(key, id, after).await;
    let events = events.map_err(|error| jobs::submit_refusal(error, None))?.ok_or_else(|| unknown(id))?;
    Ok(sse::response(ResponseBody::Whole(sse::frame(&events).freeze())))
}

/// Forgets it.
pub(super) async fn delete(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let forgotten = request.context.backend.forget_response(key, request.param).await;
    if !forgotten.map_err(|error| jobs::submit_refusal(error, None))? {
        return Err(unknown(request.param));
    }
    Ok(response::json(&json!({"id": request.param, "object": "response", "deleted": true})))
}

/// There is nothing to cancel: a response that can still be is made in the background, which is not offered here.
pub(super) async fn cancel(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    find(&*request.context.backend, key, request.param).await?;
    Err(Refusal::new(Kind::Invalid, "Cannot cancel a synchronous response."))
}

/// The items of its request, the newest first unless asked otherwise.
pub(super) async fn items(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let query = Query::parse(request.parts.uri.query());
    let limit = query.page_limit()?;
    let oldest_first = query.read("order", "asc or desc", |text| match text {
        "asc" => Some(true),
        "desc" => Some(false),
        _ => None,
    })?;
    let kept = find(&*request.context.backend, key, request.param).await?;
    let items: Vec<Value> = serde_json::from_slice(&kept.input).map_err(Refusal::internal)?;
    let mut items: Vec<Value> =
        items.into_iter().enumerate().map(|(at, item)| named(item, request.param, at)).collect();
    if oldest_first != Some(true) {
        items.reverse();
    }
    if let Some(after) = query.one("after")? {
        let at = items.iter().position(|item| item["id"] == after);
        let at = at.ok_or_else(|| Refusal::field("after", "after: expected the id of one of the items"))?;
        items.drain(..=at);
    }
    let has_more = items.len() > limit.unwrap_or(PAGE);
    items.truncate(limit.unwrap_or(PAGE));
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first, last) = (id(items.first()), id(items.last()));
    Ok(response::json(
        &json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": has_more}),
    ))
}

/// An item with a type and an id, which a request may leave out.
fn named(mut item: Value, response: &str, at: usize) -> Value {
    if let Some(members) = item.as_object_mut() {
        members.entry("type").or_insert_with(|| "message".into());
        let has_id = members.get("id").and_then(Value::as_str).is_some_and(|id| !id.is_empty());
        if !has_id {
            let own = response.strip_prefix("resp_").unwrap_or(response);
            members.insert("id".to_owned(), format!("item_{own}{at:02x}").into());
        }
    }
    item
}

async fn find(backend: &dyn Backend, key: &Key, id: &str) -> Result<gatehouse_driver::KeptResponse, Refusal> {
    let found = backend.response(key, id).await.map_err(|error| jobs::submit_refusal(error, None))?;
    found.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Refusal {
    let id: String = id.chars().take(120).collect();
    Refusal::new(Kind::NotFound, format!("Response with id '{id}' not found."))
}

//! The text endpoints: a checked body goes to the driver, a whole body or a stream of events comes back.
//! `GET` and `DELETE /v1/responses/{id}`, its cancel, and the items of its request: what the customer's earlier requests left here.

use std::borrow::Cow;
use std::sync::Arc;

use gatehouse_driver::{
    CompletionRequest, CompletionResponse, KeptResponse, RequestMemory as _, SubmitError, TextError,
    TextStream,
};
use gatehouse_model::{ChatFormat, Header, Key, Obstacle, RequestId};
use http::{HeaderMap, Response};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::backend::Backend;
use crate::config::seconds;
use crate::endpoints::{dry_run, jobs};
use crate::errors::{Form, Kind, Outcome, Refusal};
use crate::http::body;
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::query::Query;
use crate::response::{self, ResponseBody};
use crate::sse::{self, EventBody};

/// The client headers that a family receives.
const FORWARDED: [&str; 2] = ["anthropic-version", "anthropic-beta"];
/// The surface whose answers may come inside of `{code, data}`.
const CHAT: &str = "chat.completions";
/// Asks for the bare chat completion object (spec/decisions.md, "Chat completions").
pub(crate) const FORMAT: &str = "x-response-format";
/// Characters kept of a forwarded header.
const MAX_HEADER_CHARS: usize = 1024;

/// Answers a text request.
pub(super) async fn respond(mut request: EndpointRequest<'_>, key: Arc<Key>) -> Outcome {
    let context = request.context;
    let headers = &request.parts.headers;
    body::check_type(headers)?;
    let form = Form::of(request.parts.uri.path());
    let is_chat = request.route.surface == CHAT;
    let wrapped = is_chat && format(headers, key.chat_format)? == ChatFormat::Wrapped;
    let body = jobs::checked_body(&mut request, &key, None).await?;
    let body = body.with_memory(request.body.memory());
    let id = request.id;
    let completion = CompletionRequest {
        id,
        key,
        surface: request.route.surface,
        body,
        headers: FORWARDED.iter().filter_map(|name| forwarded(headers, name)).collect(),
        report: request.report.clone(),
    };
    match context.backend.complete(completion).await.map_err(text_refusal)? {
        CompletionResponse::Whole(body) if wrapped => Ok(response::json_text(wrap(&body))),
        CompletionResponse::Whole(body) => Ok(response::json_text(body)),
        CompletionResponse::DryRun(found) => Ok(dry_run::answer(found, wrapped)),
        CompletionResponse::Stream(mut stream) => {
            // Head and first events leave together, and what fails before has a status of its own.
            stream.begin().await.map_err(text_refusal)?;
            Ok(streamed(context, stream, form, id))
        }
    }
}

/// The response of these events.
pub(super) fn streamed(
    context: &EdgeContext,
    stream: TextStream,
    form: Form,
    id: RequestId,
) -> Response<ResponseBody> {
    let interval = seconds(context.config.limits.keep_alive_seconds);
    EventBody::new(stream, form, id, Arc::clone(&context.clock), interval, text_refusal).into_response()
}

/// The format of the request's header, else of its key.
pub(super) fn format(headers: &HeaderMap, of_key: ChatFormat) -> Result<ChatFormat, Refusal> {
    let Some(value) = headers.get(FORMAT) else { return Ok(of_key) };
    let text: String = String::from_utf8_lossy(value.as_bytes()).chars().take(40).collect();
    text.parse().map_err(|why| Refusal::field(FORMAT, format!("{FORMAT}: {why}")))
}

fn forwarded(headers: &HeaderMap, name: &'static str) -> Option<Header> {
    let all: Vec<Cow<'_, str>> =
        headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let value: String = all.join(",").chars().take(MAX_HEADER_CHARS).collect();
    (!value.is_empty()).then(|| Header { name: name.to_owned(), value })
}

/// Spec "Chat completions": `{code: 200, data: ...}` around the family's own bytes.
fn wrap(body: &[u8]) -> Vec<u8> {
    [r#"{"code":200,"data":"#.as_bytes(), body, b"}"].concat()
}

/// The refusal a client reads. A provider's failure is never shown as the client's error.
pub(crate) fn text_refusal(error: TextError) -> Refusal {
    let message = error.to_string();
    match error {
        TextError::Refused(SubmitError::UnknownModel(model)) => {
            jobs::unknown_model(Kind::ModelNotFound, &model)
        }
        TextError::Refused(error) => jobs::submit_refusal(error),
        TextError::Rejected { obstacle, message, field, retry_after } => match obstacle {
            Obstacle::Invalid => match field {
                Some(field) => Refusal::field(field, message),
                None => Refusal::new(Kind::Invalid, message),
            },
            Obstacle::NotFound => Refusal::new(Kind::NotFound, message),
            Obstacle::TooLarge => Refusal::new(Kind::TooLarge, message),
            Obstacle::TooLong => Refusal::new(Kind::ContextTooLong, message),
            Obstacle::RateLimited => Refusal::new(Kind::RateLimited, message).with_retry_after(retry_after),
            Obstacle::Account => Refusal::new(
                Kind::UpstreamAccount,
                "the gateway's account at the model's provider was refused",
            ),
            Obstacle::Upstream => Refusal::new(Kind::BadGateway, message),
        },
        TextError::Timeout => Refusal::new(Kind::UpstreamTimeout, message),
        TextError::Unavailable { retry_after } => {
            Refusal::new(Kind::Busy, message).with_retry_after(retry_after)
        }
        // An error unknown here is the gateway's.
        other => Refusal::internal(other),
    }
}

/// The response as it was answered, or its stream once more: all events, or those after the one of a number. It is in memory, and
/// counts, until its client has read it.
pub(super) async fn read(request: &EndpointRequest<'_>, key: &Arc<Key>) -> Outcome {
    let context = request.context;
    let query = Query::parse(request.parts.uri.query());
    let after = query.parsed::<u64>("starting_after", "a number of at least 0")?;
    let held = Arc::new(context.bodies.reserve(Arc::clone(key)));
    if query.parsed::<bool>("stream", "true or false")? == Some(true) {
        let memory = Arc::clone(&held);
        let events = context.backend.response_events(key, request.param, after, memory).await;
        let events = events.map_err(jobs::submit_refusal)?.ok_or_else(|| unknown(request.param))?;
        // They are all there, so they leave in one piece.
        let events = body::holding(sse::frame(&events).freeze(), held);
        return Ok(sse::response(ResponseBody::Whole(events)));
    }
    let kept = find(&*context.backend, key, request.param).await?;
    held.grow_to(kept.response.len()).map_err(body::refuse)?;
    Ok(response::json_text(body::holding(kept.response, held)))
}

/// Forgets it.
pub(super) async fn delete(request: &EndpointRequest<'_>, key: &Key) -> Outcome {
    let forgotten = request.context.backend.forget_response(key, request.param).await;
    if !forgotten.map_err(jobs::submit_refusal)? {
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
pub(super) async fn items(request: &EndpointRequest<'_>, key: &Arc<Key>) -> Outcome {
    let query = Query::parse(request.parts.uri.query());
    let limit = query.page_limit()?;
    let oldest_first = query.read("order", "asc or desc", |text| match text {
        "asc" => Some(true),
        "desc" => Some(false),
        _ => None,
    })?;
    let kept = find(&*request.context.backend, key, request.param).await?;
    let held = request.context.bodies.reserve(Arc::clone(key));
    held.bring(kept.input.len()).map_err(body::refuse)?;
    // A request may have many small items: the values of all take far more memory than its bytes, those of a page do not.
    let items: Vec<&RawValue> = serde_json::from_slice(&kept.input).map_err(Refusal::internal)?;
    let value = |at: usize, item: &RawValue| {
        let item: Value = serde_json::from_str(item.get()).map_err(Refusal::internal)?;
        Ok::<_, Refusal>(named(item, request.param, at))
    };
    let mut items: Vec<(usize, &RawValue)> = items.into_iter().enumerate().collect();
    if oldest_first != Some(true) {
        items.reverse();
    }
    if let Some(after) = query.one("after")? {
        let is_it = |at: usize, item: &RawValue| value(at, item).is_ok_and(|item| item["id"] == after);
        let at = items.iter().position(|(at, item)| is_it(*at, item));
        let at = at.ok_or_else(|| Refusal::field("after", "after: expected the id of one of the items"))?;
        items.drain(..=at);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let items: Vec<Value> = items.into_iter().map(|(at, item)| value(at, item)).collect::<Result<_, _>>()?;
    let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
    let (first, last) = (id(items.first()), id(items.last()));
    let page = response::json_bytes(
        &json!({"object": "list", "data": items, "first_id": first, "last_id": last, "has_more": has_more}),
    );
    Ok(response::json_text(body::holding(page, held)))
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

async fn find(backend: &dyn Backend, key: &Key, id: &str) -> Result<KeptResponse, Refusal> {
    backend.response(key, id).await.map_err(jobs::submit_refusal)?.ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Refusal {
    let id: String = id.chars().take(120).collect();
    Refusal::new(Kind::NotFound, format!("Response with id '{id}' not found."))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_header_overrides_the_keys_format() {
        use ChatFormat::{Bare, Wrapped};
        for (value, of_key, expected) in [
            (None, Wrapped, Some(Wrapped)),
            (None, Bare, Some(Bare)),
            (Some("wrapped"), Bare, Some(Wrapped)),
            (Some("bare"), Wrapped, Some(Bare)),
            (Some("x"), Wrapped, None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(FORMAT, HeaderValue::from_static(value));
            }
            assert_eq!(format(&headers, of_key).ok(), expected, "{value:?}");
        }
    }

    #[test]
    fn a_wrapped_body_keeps_its_bytes() {
        assert_eq!(wrap(br#"{"a": 1.0}"#), br#"{"code":200,"data":{"a": 1.0}}"#);
    }

    #[test]
    fn only_listed_headers_are_forwarded() {
        let mut headers = HeaderMap::new();
        for value in ["b1", "b2"] {
            headers.append("anthropic-beta", HeaderValue::from_static(value));
        }
        let found: Vec<Header> = FORWARDED.iter().filter_map(|name| forwarded(&headers, name)).collect();
        assert_eq!(found, [Header { name: "anthropic-beta".into(), value: "b1,b2".into() }]);
    }
}

//! The text endpoints: a checked body goes to the driver, a whole body or a stream of events comes back.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use gatehouse_driver::{CompletionRequest, CompletionResponse, SubmitError, TextError};
use gatehouse_model::{ChatFormat, Header, Key, Obstacle};
use http::HeaderMap;

use crate::endpoints::{dry_run, jobs};
use crate::errors::{Form, Kind, Outcome, Refusal};
use crate::http::body;
use crate::http::context::EndpointRequest;
use crate::response;
use crate::sse::EventBody;

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
            let interval = Duration::from_secs(context.config.limits.keep_alive_seconds.get().into());
            let clock = Arc::clone(&context.clock);
            Ok(EventBody::new(stream, form, id, clock, interval, text_refusal).into_response())
        }
    }
}

/// Spec "Endpoint list": not implemented, 404.
pub(super) fn no_counting() -> Refusal {
    Refusal::new(Kind::NotFound, "counting tokens is not offered here")
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
    let mut wrapped = BytesMut::with_capacity(body.len() + 24);
    wrapped.put_slice(b"{\"code\":200,\"data\":");
    wrapped.put_slice(body);
    wrapped.put_u8(b'}');
    wrapped.into()
}

/// The refusal a client reads. A provider's failure is never shown as the client's error.
pub(crate) fn text_refusal(error: TextError) -> Refusal {
    let message = error.to_string();
    match error {
        TextError::Refused(SubmitError::UnknownModel(model)) => {
            jobs::unknown_model(Kind::ModelNotFound, &model)
        }
        TextError::Refused(error) => jobs::submit_refusal(error, None),
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

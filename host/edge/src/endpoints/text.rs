//! The text endpoints: one body in, one body or a stream of events out.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut as _, BytesMut};
use gatehouse_driver::{CheckedBody, CompletionRequest, CompletionResponse, SubmitError, TextError};
use gatehouse_model::{ChatFormat, Header, Key, Obstacle};
use http::{HeaderMap, Response, header};

use crate::backend::Backend;
use crate::endpoints::jobs;
use crate::errors::{Form, Kind, Problem};
use crate::http::body;
use crate::http::context::{EdgeContext as Front, EndpointRequest as Visit};
use crate::http::query::quoted;
use crate::http::response::{self as answer, ResponseBody as Content};
use crate::sse::EventBody;

/// What of a client's headers a family may see.
const SEEN: [&str; 2] = ["anthropic-version", "anthropic-beta"];
/// Asks for the bare chat completion object (spec/decisions.md, "Chat completions").
const FORMAT: &str = "x-response-format";
/// Characters of a client's header that are handed on.
const HEADER_MOST: usize = 1024;

/// Answers a text request.
pub(super) async fn ask<B: Backend>(
    front: &Front<B>,
    visit: Visit<'_>,
    key: Arc<Key>,
) -> Result<Response<Content>, Problem> {
    let headers = &visit.parts.headers;
    body::check_type(headers)?;
    let form = Form::of(visit.parts.uri.path());
    let wrapped = form == Form::Generic && format(headers, key.chat_format)? == ChatFormat::Wrapped;
    let body = visit.body.read(&front.config.limits, &front.bodies, &*front.clock).await?;
    let body = CheckedBody::parse(body, None).map_err(|error| jobs::refusal(error, None))?;
    let request = CompletionRequest {
        id: visit.id,
        key,
        surface: visit.entry.surface,
        body,
        headers: SEEN.iter().filter_map(|name| seen(headers, name)).collect(),
    };
    match front.backend.complete(request).await.map_err(problem)? {
        CompletionResponse::Whole(body) if wrapped => Ok(answer::json_text(wrap(&body))),
        CompletionResponse::Whole(body) => Ok(answer::json_text(body)),
        CompletionResponse::Stream(stream) => {
            let every = Duration::from_secs(front.config.limits.keep_alive_seconds.get().into());
            let clock = Arc::clone(&front.clock);
            Ok(EventBody::new(stream, form, visit.id, clock, every, problem).into_response())
        }
    }
}

/// Spec "Endpoint list": not implemented, 404.
pub(super) fn no_counting() -> Problem {
    Problem::new(Kind::NotFound, "counting tokens is not offered here")
}

/// What the request says, else what its key says.
fn format(headers: &HeaderMap, of_key: ChatFormat) -> Result<ChatFormat, Problem> {
    let Some(value) = headers.get(FORMAT) else { return Ok(of_key) };
    let text: String = String::from_utf8_lossy(value.as_bytes()).chars().take(40).collect();
    text.parse().map_err(|why| Problem::field(FORMAT, format!("{FORMAT}: {why}")))
}

fn seen(headers: &HeaderMap, name: &'static str) -> Option<Header> {
    let all: Vec<Cow<'_, str>> =
        headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    let value: String = all.join(",").chars().take(HEADER_MOST).collect();
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

/// What a client reads; the provider's trouble is never shown as the client's fault.
fn problem(error: TextError) -> Problem {
    let message = error.to_string();
    match error {
        TextError::Refused(SubmitError::UnknownModel(model)) => {
            let message =
                format!("model: unknown model {}, GET /v1/models lists those you may use", quoted(&model));
            Problem::new(Kind::ModelNotFound, message).about("model")
        }
        TextError::Refused(error) => jobs::refusal(error, None),
        TextError::Rejected { obstacle, message, retry_after } => match obstacle {
            Obstacle::Invalid => Problem::new(Kind::Invalid, message),
            Obstacle::NotFound => Problem::new(Kind::NotFound, message),
            Obstacle::TooLarge => Problem::new(Kind::TooLarge, message),
            Obstacle::RateLimited => again(Problem::new(Kind::RateLimited, message), retry_after),
            Obstacle::Account => {
                Problem::new(Kind::BadGateway, "the gateway's account at the model's provider was refused")
            }
            Obstacle::Upstream => Problem::new(Kind::BadGateway, message),
        },
        TextError::Timeout => Problem::new(Kind::UpstreamTimeout, message),
        TextError::Unavailable { retry_after } => again(Problem::new(Kind::Busy, message), retry_after),
        // A reason this room does not know yet is not the client's.
        other => Problem::internal(other),
    }
}

fn again(problem: Problem, after: Option<Duration>) -> Problem {
    match after {
        Some(span) => problem.with(header::RETRY_AFTER, &span.as_secs().clamp(1, 60).to_string()),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_format_is_the_clients_choice() {
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
    fn only_what_a_family_may_see_is_handed_on() {
        let mut headers = HeaderMap::new();
        for value in ["b1", "b2"] {
            headers.append("anthropic-beta", HeaderValue::from_static(value));
        }
        let found: Vec<Header> = SEEN.iter().filter_map(|name| seen(&headers, name)).collect();
        assert_eq!(found, [Header { name: "anthropic-beta".into(), value: "b1,b2".into() }]);
    }
}

//! Requests that a family answers at once: a checked body, or the parameters of a query, goes to the driver; a body of any type
//! comes back, whole or as its provider sends it.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use gatehouse_driver::{AnswerPieces, AnswerRequest, AnswerResponse, CheckedBody, WholeAnswer};
use gatehouse_model::Key;
use http::{HeaderValue, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::{Map, Value};
use url::form_urlencoded;

use crate::endpoints::text::text_refusal;
use crate::endpoints::{dry_run, jobs};
use crate::errors::{Outcome, Refusal};
use crate::http::body;
use crate::http::context::EndpointRequest;
use crate::http::query::quoted;
use crate::response::ResponseBody;

/// Answers a request with a body; the path may imply its model.
pub(super) async fn answer(
    mut request: EndpointRequest<'_>,
    key: Arc<Key>,
    model: Option<&'static str>,
) -> Outcome {
    let media_type = body::media_type(&request.parts.headers, request.route.form.is_some())?;
    let idempotency = jobs::idempotency(&request.parts.headers)?;
    let types = request.route.form.as_deref();
    let body = jobs::checked_body_of(&mut request, &key, model, &media_type, types).await?;
    jobs::without_callback(&body)?;
    respond(&request, key, None, body, idempotency).await
}

/// Answers a request without one, which `family` does.
pub(super) async fn read(request: EndpointRequest<'_>, key: Arc<Key>, family: &'static str) -> Outcome {
    let body = Bytes::from(Value::Object(parameters(request.parts.uri.query())?).to_string());
    let body = CheckedBody::parse(body, None).map_err(jobs::submit_refusal)?;
    jobs::without_callback(&body)?;
    respond(&request, key, Some(family), body, None).await
}

async fn respond(
    request: &EndpointRequest<'_>,
    key: Arc<Key>,
    reader: Option<&'static str>,
    body: CheckedBody,
    idempotency: Option<String>,
) -> Outcome {
    let (surface, report) = (request.route.surface, request.report.clone());
    let asked = AnswerRequest { id: request.id, key, surface, reader, body, idempotency, report };
    match request.context.backend.answer(asked).await.map_err(text_refusal)? {
        AnswerResponse::Whole(answer) => Ok(whole(answer)),
        AnswerResponse::Pieces(answer) => Ok(pieces(answer)),
        AnswerResponse::DryRun(found) => Ok(dry_run::answer(found, false)),
    }
}

/// The parameters of a query, each once, as texts.
fn parameters(query: Option<&str>) -> Result<Map<String, Value>, Refusal> {
    let mut found = Map::new();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if found.insert(name.to_string(), Value::from(value.into_owned())).is_some() {
            let message = format!("{}: expected once, got twice", quoted(&name));
            return Err(Refusal::field(name.to_string(), message));
        }
    }
    Ok(found)
}

fn whole(answer: WholeAnswer) -> Response<ResponseBody> {
    let mut response = with_type(&answer.mime, ResponseBody::Whole(answer.body));
    let fresh = answer.fresh_s.map(|seconds| format!("private, max-age={seconds}"));
    if let Some(fresh) = fresh.and_then(|value| HeaderValue::from_str(&value).ok()) {
        response.headers_mut().insert(header::CACHE_CONTROL, fresh);
    }
    jobs::mark_replayed(&mut response, answer.is_repeated);
    response
}

/// What breaks off has no end: the client sees a connection that was cut, not a short file.
fn pieces(answer: AnswerPieces) -> Response<ResponseBody> {
    let mime = answer.mime.clone();
    let frames = answer.map(|piece| piece.map(Frame::data).map_err(io::Error::other));
    with_type(&mime, ResponseBody::Stream(StreamBody::new(frames).boxed_unsync()))
}

/// An answer that a family or its provider made. What a browser shows of it runs no script and has no origin: it stands under
/// the gateway's own address.
fn with_type(mime: &str, body: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let unknown = || HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(mime).unwrap_or_else(|_| unknown()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox"));
    response
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a family would judge a parameter that its client did not mean.
    #[test]
    fn a_query_gives_each_parameter_once() {
        let found = parameters(Some("language=de&name=a%20b&empty=")).unwrap();
        assert_eq!(Value::Object(found), json!({"language": "de", "name": "a b", "empty": ""}));
        assert!(parameters(None).unwrap().is_empty());
        assert!(parameters(Some("a=1&a=2")).is_err());
    }
}

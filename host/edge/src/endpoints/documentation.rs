//! `GET /v1/openapi.json` and the page at `/docs`. With a key they show what that key may use; without one, everything.
//! Clients ask again each time, and get a 304 as long as nothing has changed.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_docs::STYLE;
use gatehouse_model::Key;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::documentation::{Built, etag};
use crate::errors::{Outcome, Refusal};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::response::{ResponseBody, SharedBody};

/// Nothing from elsewhere, no script, no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The document for programs.
pub(super) async fn openapi(request: &EndpointRequest<'_>, key: Option<&Key>) -> Outcome {
    let built = built(request.context, key).await?;
    let (json, etag) = (SharedBody::of(built.json.clone()), built.etag.clone());
    Ok(answer(&request.parts.headers, "application/json", json, etag))
}

/// The page for people.
pub(super) async fn page(request: &EndpointRequest<'_>, key: Option<&Key>) -> Outcome {
    let (html, etag) = built(request.context, key).await?.page_at(&request.base_url);
    Ok(answer(&request.parts.headers, "text/html; charset=utf-8", html, etag))
}

/// The page's style sheet.
pub(super) fn style(request: &EndpointRequest<'_>) -> Response<ResponseBody> {
    static_file(request, "text/css; charset=utf-8", STYLE.as_bytes())
}

/// A file of this binary: a page, or a part of one.
pub(super) fn static_file(
    request: &EndpointRequest<'_>,
    mime: &'static str,
    bytes: &'static [u8],
) -> Response<ResponseBody> {
    let body = SharedBody::of(Bytes::from_static(bytes));
    answer(&request.parts.headers, mime, body, etag(bytes))
}

/// What a page may load, who may frame it, what it tells others.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("permissions-policy", ""),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

async fn built(context: &EdgeContext, key: Option<&Key>) -> Result<Arc<Built>, Refusal> {
    context.documents.of(context.backend.families(key), &context.table()).await.map_err(Refusal::internal)
}

/// A body, or the news that the client has it.
fn answer(
    headers: &HeaderMap,
    mime: &'static str,
    body: SharedBody,
    etag: HeaderValue,
) -> Response<ResponseBody> {
    let known = is_known(headers, etag.as_bytes());
    let mut response = Response::new(if known { ResponseBody::empty() } else { ResponseBody::Shared(body) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let own = response.headers_mut();
    own.insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    own.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    own.insert(header::VARY, HeaderValue::from_static("authorization"));
    own.insert(header::ETAG, etag);
    if mime.starts_with("text/html") {
        protect(own);
    }
    response
}

/// Whether the client names this version, or any (RFC 9110, 13.1.2: the weak comparison).
pub(super) fn is_known(headers: &HeaderMap, etag: &[u8]) -> bool {
    let lines = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut named = lines.flat_map(|line| line.split(',')).map(str::trim);
    named.any(|one| one == "*" || one.strip_prefix("W/").unwrap_or(one).as_bytes() == etag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_names_what_it_has() {
        for (lines, known) in [
            (&[][..], false),
            (&["\"abc\""], true),
            (&["W/\"abc\""], true),
            (&["\"x\", \"abc\""], true),
            (&["\"x\"", "*"], true),
            (&["abc"], false),
            (&["\"abd\""], false),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::IF_NONE_MATCH, line.parse().unwrap());
            }
            assert_eq!(is_known(&headers, b"\"abc\""), known, "{lines:?}");
        }
    }
}

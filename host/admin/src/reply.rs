//! Answers: JSON with a status, an `ETag`, other bytes, and a body that is made while it is sent.

use axum::body::Body;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

/// The answer of a handler.
#[derive(Debug)]
pub(crate) struct Reply(Response);

impl Reply {
    /// 200 with JSON.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        Self(json_response(StatusCode::OK, value))
    }

    /// 201 with JSON.
    pub(crate) fn created(value: &impl Serialize) -> Self {
        Self(json_response(StatusCode::CREATED, value))
    }

    /// 202 with JSON.
    pub(crate) fn accepted(value: &impl Serialize) -> Self {
        Self(json_response(StatusCode::ACCEPTED, value))
    }

    /// 304 without a body.
    pub(crate) fn not_modified() -> Self {
        Self::without_body(StatusCode::NOT_MODIFIED)
    }

    /// 204 without a body.
    pub(crate) fn empty() -> Self {
        Self::without_body(StatusCode::NO_CONTENT)
    }

    fn without_body(status: StatusCode) -> Self {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        Self(response)
    }

    /// 200 with a body of another type.
    pub(crate) fn typed(content_type: &'static str, body: Body) -> Self {
        let mut response = Response::new(body);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self(response)
    }

    /// With the object's `ETag`, quotes included.
    pub(crate) fn with_etag(self, etag: &str) -> Self {
        self.with_header(ETAG, etag)
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.0.headers_mut().insert(name, value);
        }
        self
    }

    pub(crate) fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    pub(crate) fn into_response(self) -> Response {
        let mut response = self.0;
        finish(&mut response);
        response
    }
}

pub(crate) fn json_response(status: StatusCode, value: &impl Serialize) -> Response {
    let text = serde_json::to_vec(value).expect("answers have string keys only");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    finish(&mut response);
    response
}

/// Headers of every answer that does not say otherwise.
fn finish(response: &mut Response) {
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.entry(X_CONTENT_TYPE_OPTIONS).or_insert(HeaderValue::from_static("nosniff"));
}

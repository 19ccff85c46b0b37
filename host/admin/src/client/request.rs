//! One request of `/admin/v1` and its answer, whichever way it is sent. Pure.

use std::fmt;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, ETAG};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::Value;

use crate::http::BASE;

/// What stands in a path or a query as it is (RFC 3986, 2.3).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request of the admin API.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    method: Method,
    target: String,
    headers: HeaderMap,
    body: Bytes,
}

/// An answer that is no refusal. Its `Debug` form hides the body: a new secret may be in it.
#[derive(Clone, PartialEq)]
pub struct ApiAnswer {
    /// 200, 201, ...
    pub status: u16,
    /// The tag of the object, where it has one.
    pub etag: Option<String>,
    /// The JSON; null for an answer without a body.
    pub body: Value,
}

/// Why a request was not done; nothing has changed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ApiRefusal {
    /// 400, 409, ...
    pub status: u16,
    /// The word of its kind, such as `not_found`.
    pub reason: String,
    /// What was expected and what came.
    pub message: String,
    /// The whole answer.
    pub body: Value,
}

impl fmt::Debug for ApiAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiAnswer").field("status", &self.status).finish_non_exhaustive()
    }
}

impl ApiRequest {
    /// A request of what is at these segments below `/admin/v1`.
    #[must_use]
    pub fn new(method: Method, path: &[&str]) -> Self {
        let mut target = BASE.to_owned();
        for segment in path {
            target.push('/');
            target.extend(utf8_percent_encode(segment, PLAIN));
        }
        Self { method, target, headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// A read of what is at these segments below `/admin/v1`.
    #[must_use]
    pub fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path)
    }

    /// A POST there.
    #[must_use]
    pub fn post(path: &[&str]) -> Self {
        Self::new(Method::POST, path)
    }

    /// An edit of what is there.
    #[must_use]
    pub fn patch(path: &[&str]) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// A removal of what is there.
    #[must_use]
    pub fn delete(path: &[&str]) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// With a parameter.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.target.push(if self.target.contains('?') { '&' } else { '?' });
        self.target.push_str(name);
        self.target.push('=');
        self.target.extend(utf8_percent_encode(&value.to_string(), PLAIN));
        self
    }

    /// With a parameter where it has a value.
    #[must_use]
    pub fn query_if(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// With a flag where it is set.
    #[must_use]
    pub fn flag(self, name: &str, is_set: bool) -> Self {
        self.query_if(name, is_set.then_some(true))
    }

    /// With a JSON body.
    #[must_use]
    pub fn json(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body).expect("bodies have string keys only");
        Self { body: body.into(), ..self.typed("application/json") }
    }

    /// With the bytes of a file.
    #[must_use]
    pub fn bytes(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self.typed("application/octet-stream") }
    }

    fn typed(mut self, kind: &'static str) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        self
    }

    /// With a header; one that cannot be sent is left out.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// Its method.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// As HTTP has it.
    pub(super) fn into_http(self) -> Request<Full<Bytes>> {
        let Self { method, target, headers, body } = self;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = target.parse().expect("a path of encoded segments");
        *request.headers_mut() = headers;
        request
    }
}

/// Tells an answer from a refusal.
///
/// # Errors
/// Text that is not the API's.
pub(super) fn read_answer(
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Result<ApiAnswer, ApiRefusal>, String> {
    let body: Value = match body.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(body).map_err(|error| format!("{status}: {error}"))?,
    };
    let status = status.as_u16();
    if status < 400 {
        let etag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        return Ok(Ok(ApiAnswer { status, etag, body }));
    }
    let text = |field: &str| body["error"][field].as_str().map(str::to_owned);
    match (text("reason"), text("message")) {
        (Some(reason), Some(message)) => Ok(Err(ApiRefusal { status, reason, message, body })),
        _ => Err(format!("{status} without a reason")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names come from the command line: one must not reach another path, or end the line.
    #[test]
    fn a_segment_and_a_value_are_encoded() {
        let request =
            ApiRequest::get(&["customers", "a/../b c", "x\r\n?"]).query("q", "a&b=ö").flag("all", true);
        let http = request.flag("none", false).into_http();
        assert_eq!(http.uri(), "/admin/v1/customers/a%2F..%2Fb%20c/x%0D%0A%3F?q=a%26b%3D%C3%B6&all=true");
    }

    #[test]
    fn an_answer_a_refusal_and_foreign_text_are_told_apart() {
        let read = |status, body: &str| {
            read_answer(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
        };
        assert_eq!(read(204, "").unwrap().unwrap().body, Value::Null);
        assert_eq!(read(200, "[7]").unwrap().unwrap().body[0], 7);
        let refused = read(409, r#"{"error":{"reason":"conflict","message":"no"}}"#).unwrap().unwrap_err();
        assert_eq!((refused.reason.as_str(), refused.to_string().as_str()), ("conflict", "no"));
        for (status, body) in [(404, "not here"), (500, "{}"), (200, "<html>")] {
            assert!(read(status, body).is_err(), "{body}");
        }
    }
}

//! Pages of other origins: which of them may call this API from a browser, and what their browsers are told. Off unless origins
//! are configured. A key travels in a header, never in a cookie, so browsers are never told to send credentials.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Serialize};

/// How long a browser keeps the answer to a preflight, in seconds: the most that Chromium keeps.
const MAX_AGE: HeaderValue = HeaderValue::from_static("7200");
/// Headers of answers that pages may read, beside those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-request-id, request-id, x-gateway-request-id, x-gateway-task-id, x-gateway-target, x-gateway-attempts, \
     retry-after, x-should-retry, x-quota-reset, idempotency-replayed, \
     x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, \
     x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens, \
     anthropic-ratelimit-requests-limit, anthropic-ratelimit-requests-remaining, anthropic-ratelimit-requests-reset, \
     anthropic-ratelimit-tokens-limit, anthropic-ratelimit-tokens-remaining, anthropic-ratelimit-tokens-reset",
);

/// The `[server.cors]` table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cors {
    /// Origins whose pages may call the API, such as `https://app.example.com`.
    pub origins: Vec<PageOrigin>,
}

/// The scheme, host and port of pages, as browsers write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PageOrigin(String);

impl TryFrom<String> for PageOrigin {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // Compared letter by letter, so it must be spelt as browsers spell it. A `*` would match nothing.
        let is_origin = !text.contains('*')
            && url::Url::parse(&text).is_ok_and(|url| {
                matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text
            });
        if is_origin {
            return Ok(Self(text));
        }
        Err(format!(
            "cors.origins: expected an origin such as \"https://app.example.com\", without a path or a slash at \
             its end, not {text:?}"
        ))
    }
}

impl Cors {
    /// The origin of the request, where its pages may call.
    fn allowed<'r>(&self, request: &'r HeaderMap) -> Option<&'r HeaderValue> {
        let origin = request.get(ORIGIN)?;
        self.origins.iter().any(|allowed| allowed.0.as_bytes() == origin.as_bytes()).then_some(origin)
    }

    /// Tells the browser of a page that may call what it may read of an answer, and every cache that the answer is for this
    /// origin.
    pub(crate) fn mark(&self, request: &HeaderMap, answer: &mut HeaderMap) {
        if self.origins.is_empty() {
            return;
        }
        answer.append(VARY, HeaderValue::from_static("origin"));
        if let Some(origin) = self.allowed(request) {
            answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            answer.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    /// Adds to the answer of an `OPTIONS` request what a browser asks before it sends a page's request: `allowed` are the
    /// methods of the path. A page may send any header: those that count are checked with the request itself.
    pub(crate) fn answer_preflight(
        &self,
        method: &Method,
        request: &HeaderMap,
        allowed: &str,
        answer: &mut HeaderMap,
    ) {
        let asks = *method == Method::OPTIONS && request.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if !asks || self.allowed(request).is_none() {
            return;
        }
        if let Ok(methods) = HeaderValue::from_str(allowed) {
            answer.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
        if let Some(names) = request.get(ACCESS_CONTROL_REQUEST_HEADERS).filter(|names| are_names(names)) {
            answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
        }
        answer.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
        answer.append(VARY, HeaderValue::from_static("access-control-request-headers"));
    }
}

/// Whether it is a list of header names, which is all that may be repeated.
fn are_names(list: &HeaderValue) -> bool {
    list.as_bytes().split(|byte| *byte == b',').all(|name| HeaderName::from_bytes(name.trim_ascii()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors() -> Cors {
        toml::from_str(r#"origins = ["https://app.test", "http://127.0.0.1:3000"]"#).unwrap()
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn an_origin_is_spelt_as_browsers_do() {
        for (text, fits) in [
            ("https://app.test", true),
            ("http://127.0.0.1:3000", true),
            ("https://app.test:8443", true),
            ("https://app.test/", false),
            ("https://app.test:443", false),
            ("https://App.test", false),
            ("https://app.test/page", false),
            ("https://user@app.test", false),
            ("app.test", false),
            ("file:///page", false),
            ("null", false),
            ("*", false),
            ("https://*.app.test", false),
        ] {
            assert_eq!(PageOrigin::try_from(text.to_owned()).is_ok(), fits, "{text}");
        }
    }

    #[test]
    fn only_pages_of_those_origins_may_read_answers() {
        for (origin, fits) in [
            ("https://app.test", true),
            ("http://127.0.0.1:3000", true),
            ("http://app.test", false),
            ("https://app.test.evil.test", false),
            ("null", false),
        ] {
            let mut answer = HeaderMap::new();
            cors().mark(&headers(&[("origin", origin)]), &mut answer);
            let allowed = answer.get(ACCESS_CONTROL_ALLOW_ORIGIN).map(|value| value.to_str().unwrap());
            assert_eq!(allowed, fits.then_some(origin));
            assert_eq!(answer[VARY], "origin");
        }
        let mut answer = HeaderMap::new();
        Cors::default().mark(&headers(&[("origin", "https://app.test")]), &mut answer);
        assert!(answer.is_empty(), "off by default: {answer:?}");
    }

    #[test]
    fn a_preflight_is_told_methods_and_headers() {
        let (own, method) = ("https://app.test", ("access-control-request-method", "POST"));
        let wanted = "authorization, content-type, x-stainless-os";
        let asked = ("access-control-request-headers", wanted);
        for (lines, methods, names) in [
            (&[("origin", own), method, asked][..], Some("POST"), Some(wanted)),
            (&[("origin", own), method], Some("POST"), None),
            (&[("origin", own), method, ("access-control-request-headers", "a b, c")], Some("POST"), None),
            (&[("origin", "https://other.test"), method, asked], None, None),
            (&[("origin", own), asked], None, None),
        ] {
            let mut answer = HeaderMap::new();
            cors().answer_preflight(&Method::OPTIONS, &headers(lines), "POST", &mut answer);
            let told = |name: HeaderName| answer.get(name).map(|value| value.to_str().unwrap());
            assert_eq!(told(ACCESS_CONTROL_ALLOW_METHODS), methods, "{lines:?}");
            assert_eq!(told(ACCESS_CONTROL_ALLOW_HEADERS), names, "{lines:?}");
        }
    }
}

//! Which headers may cross, in both directions. Pure.

use gatehouse_contract::is_host_header;
use gatehouse_model::{Header, TraceParent};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::auth::credential::Credential;
use crate::response::redact::Redactor;

/// What a plugin never sees of a reply: cookies, credentials, hop-by-hop headers.
const STRIPPED: &[&str] = &[
    "api-key",
    "authentication-info",
    "authorization",
    "connection",
    "cookie",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "set-cookie",
    "set-cookie2",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "www-authenticate",
    "x-api-key",
    "x-goog-api-key",
    "x-key",
];

/// Headers of one reply, and bytes of one header value, that are handed on.
const MAX_HEADERS: usize = 64;
const MAX_VALUE: usize = 4096;

/// The headers a plugin asked for; the error names the one it may not set.
pub(crate) fn outgoing(asked: &[Header], credential: &Credential) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for Header { name, value } in asked {
        let name = HeaderName::try_from(name.as_str()).map_err(|_| format!("header name {name:?}"))?;
        let text = name.as_str();
        if credential.owns(text) || is_host_header(text) {
            return Err(format!("header {text}"));
        }
        let value = HeaderValue::from_str(value).map_err(|_| format!("the value of header {text}"))?;
        headers.append(name, value);
    }
    Ok(headers)
}

/// The headers of a reply a plugin may see; those that hold the secret are left out whatever their name.
pub(crate) fn incoming(headers: &HeaderMap, redactor: &Redactor) -> Vec<Header> {
    // `Connection: x-foo` makes x-foo hop-by-hop too.
    let listed: Vec<String> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
        .collect();
    let visible = |name: &str, value: &str| {
        !STRIPPED.contains(&name)
            && !listed.iter().any(|hop| hop == name)
            && value.len() <= MAX_VALUE
            && !redactor.is_in(value.as_bytes())
    };
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
        .filter(|(name, value)| visible(name, value))
        .take(MAX_HEADERS)
        .map(|(name, value)| Header { name: name.to_owned(), value: value.to_owned() })
        .collect()
}

/// Says in which trace a call is.
pub(crate) fn add_trace(headers: &mut HeaderMap, place: &TraceParent) {
    let state = place.state.as_deref().map(HeaderValue::from_str);
    let parent = HeaderValue::from_str(&place.to_string());
    for (name, value) in [("traceparent", Some(parent)), ("tracestate", state)] {
        if let Some(Ok(value)) = value {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_model::Secret;

    use super::*;
    use crate::auth::credential::Kind;
    use crate::auth::location::Location;

    fn header(name: &str, value: &str) -> Header {
        Header { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_plugin_sets_only_what_is_its_own() {
        let slot = Location::Header(HeaderName::from_static("x-custom-key"));
        let credential = Credential::new(Kind::Fixed(slot, Secret::new("k".to_owned())));
        for (name, value, allowed) in [
            ("content-type", "application/json", true),
            ("Anthropic-Version", "2023-06-01", true),
            ("x-key", "k", false),
            ("Authorization", "Bearer k", false),
            ("x-custom-key", "k", false),
            ("HOST", "evil", false),
            ("Proxy-Authorization", "k", false),
            ("X-Forwarded-For", "1.1.1.1", false),
            ("transfer-encoding", "chunked", false),
            ("content-length", "3", false),
            ("a b", "x", false),
            ("x-a", "line\r\nx-b: y", false),
        ] {
            assert_eq!(outgoing(&[header(name, value)], &credential).is_ok(), allowed, "{name}");
        }
    }

    #[test]
    fn a_plugin_sees_only_what_is_for_it() {
        let secret = Secret::new("s3cret-value".to_owned());
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("retry-after", "3"),
            ("set-cookie", "a=b"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("x-echo", "key s3cret-value"),
            ("www-authenticate", "Basic"),
        ] {
            headers.append(name, HeaderValue::from_static(value));
        }
        headers.append("x-binary", HeaderValue::from_bytes(b"\xff").unwrap());
        assert_eq!(incoming(&headers, &Redactor::of(Some(&secret))), [header("retry-after", "3")]);
    }
}

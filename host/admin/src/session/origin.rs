//! Whether a request that changes something comes from a page of this very origin. Pure.
//!
//! A page on another port of the same host counts as the same *site*: its requests carry the session's cookie, even
//! one with `SameSite=Strict`. So the site is not enough; the origin must be ours. A request that says nothing of where
//! it comes from is refused too: every browser says one of the two.

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderName, Method};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a method may change something.
pub(crate) fn is_unsafe(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Checks that a request comes from a page of the origin it is sent to.
///
/// # Errors
/// What is wrong, for the person.
pub(crate) fn check(parts: &Parts) -> Result<(), &'static str> {
    let text = |name: HeaderName| parts.headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let (site, origin) = (text(FETCH_SITE), text(ORIGIN));
    if origin.is_some_and(|origin| !is_own(origin, text(HOST).unwrap_or_default())) {
        return Err("Origin: this request comes from a page of another address");
    }
    match (site, origin) {
        (Some("same-origin"), _) | (None, Some(_)) => Ok(()),
        (Some(_), _) => Err("Sec-Fetch-Site: this request comes from outside the console"),
        (None, None) => {
            Err("neither Origin nor Sec-Fetch-Site: a request that changes something needs one of them")
        }
    }
}

/// Whether the page that a browser sends this from came over TLS: even where it ends before the listener.
pub(crate) fn is_https(parts: &Parts) -> bool {
    parts.headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"))
}

/// Whether an `Origin` is that of `host`, which was checked to be a host of the listener.
fn is_own(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn only_pages_of_the_same_origin_pass() {
        for (site, origin, passes) in [
            (Some("same-origin"), Some("http://127.0.0.1:9"), true),
            (Some("same-origin"), None, true),
            (None, Some("http://127.0.0.1:9"), true),
            (None, Some("https://127.0.0.1:9"), true),
            (None, Some("HTTP://127.0.0.1:9"), false),
            (None, Some("http://127.0.0.1:8"), false),
            (None, Some("http://127.0.0.1"), false),
            (None, Some("http://localhost:9"), false),
            (None, Some("http://127.0.0.1:9.evil.example"), false),
            (None, Some("null"), false),
            (None, Some(""), false),
            (None, None, false),
            (Some("same-origin"), Some("http://127.0.0.1:8"), false),
            (Some("same-site"), Some("http://127.0.0.1:9"), false),
            (Some("same-site"), None, false),
            (Some("cross-site"), Some("http://127.0.0.1:9"), false),
            (Some("none"), None, false),
            (Some(""), None, false),
        ] {
            let mut request = Request::post("/keys").header(HOST, "127.0.0.1:9");
            for (name, value) in [(FETCH_SITE, site), (ORIGIN, origin)] {
                if let Some(value) = value {
                    request = request.header(name, value);
                }
            }
            let parts = request.body(()).unwrap().into_parts().0;
            assert_eq!(check(&parts).is_ok(), passes, "{site:?} {origin:?}");
        }
    }
}

//! The session cookie: its name, how it is set, and how it is read; and the cookie of a login that leads over an identity
//! provider.
//!
//! Whether a request that changes something comes from a page of this very origin. Pure.
//!
//! A page on another port of the same host counts as the same *site*: its requests carry the session's cookie, even
//! one with `SameSite=Strict`. So the site is not enough; the origin must be ours. A request that says nothing of where
//! it comes from is refused too: every browser says one of the two.

use std::time::Duration;

use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

/// The cookie of one listener. Its name has the port, for cookies are shared by all ports of a host.
#[derive(Clone, Debug)]
pub(crate) struct SessionCookie {
    name: String,
    is_tls: bool,
}

impl SessionCookie {
    pub(super) fn of_port(port: u16, is_tls: bool) -> Self {
        Self { name: format!("gatehouse_{port}"), is_tls }
    }

    /// `Secure` where the listener speaks TLS, and where the browser does, to a proxy. A browser that came over plain HTTP, with a
    /// login link on this machine, would not keep such a cookie.
    fn secure(&self, https: bool) -> &'static str {
        if self.is_tls || https { "; Secure" } else { "" }
    }

    /// The header that gives it to a browser. Scripts cannot read it, and no page of another site has it sent.
    pub(super) fn set(&self, id: &str, https: bool) -> HeaderValue {
        header(&format!("{}={id}; HttpOnly; SameSite=Strict; Path=/{}", self.name, self.secure(https)))
    }

    /// The header that takes it back.
    pub(crate) fn clear(&self, https: bool) -> HeaderValue {
        header(&format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0{}", self.name, self.secure(https)))
    }

    /// The header that marks a browser whose person is sent to an identity provider for `life`. Unlike the session's, it is
    /// sent when the provider's page leads back.
    pub(crate) fn set_attempt(&self, value: &str, life: Duration, https: bool) -> HeaderValue {
        let (name, secure, seconds) = (self.attempt(), self.secure(https), life.as_secs());
        header(&format!(
            "{name}={value}; HttpOnly; SameSite=Lax; Path={ATTEMPT_PATH}; Max-Age={seconds}{secure}"
        ))
    }

    /// The value of that mark in a request.
    pub(crate) fn read_attempt<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        read(headers, &self.attempt())
    }

    fn attempt(&self) -> String {
        format!("{}_login", self.name)
    }

    /// Its value in a request.
    pub(super) fn read<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        read(headers, &self.name)
    }
}

/// Begins a login at the identity provider. The mark of a login is sent to it and to what is below it, and to nothing else.
pub(crate) const ATTEMPT_PATH: &str = "/login/oidc";

/// The value of a cookie. Two different values do not count: one of them was put there by a page of another port.
fn read<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(found, _)| *found == name).map(|(_, value)| value);
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("made of letters, digits and punctuation")
}

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
    fn one_value_is_read() {
        let cookie = SessionCookie::of_port(9, false);
        for (lines, expected) in [
            (&["gatehouse_9=a"][..], Some("a")),
            (&["theme=dark; gatehouse_9=a; x=y"], Some("a")),
            (&["gatehouse_8=b", "gatehouse_9=a"], Some("a")),
            (&["gatehouse_9=a; gatehouse_9=a"], Some("a")),
            (&["gatehouse_9=a; gatehouse_9=b"], None),
            (&["gatehouse_9=a", "gatehouse_9=b"], None),
            (&["gatehouse_90=a"], None),
            (&["xgatehouse_9=a"], None),
            (&["gatehouse_9"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_str(line).unwrap());
            }
            assert_eq!(cookie.read(&headers), expected, "{lines:?}");
        }
    }

    #[test]
    fn no_script_and_no_other_site_has_it() {
        // A proxy that ends TLS, and a listener that does, whatever a browser says.
        for (is_tls, https, secure) in [
            (false, false, ""),
            (false, true, "; Secure"),
            (true, false, "; Secure"),
            (true, true, "; Secure"),
        ] {
            let cookie = SessionCookie::of_port(9, is_tls);
            for (header, expected) in [
                (cookie.set("id", https), "gatehouse_9=id; HttpOnly; SameSite=Strict; Path=/"),
                (cookie.clear(https), "gatehouse_9=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0"),
                (
                    cookie.set_attempt("5.x", Duration::from_secs(600), https),
                    "gatehouse_9_login=5.x; HttpOnly; SameSite=Lax; Path=/login/oidc; Max-Age=600",
                ),
            ] {
                assert_eq!(header, format!("{expected}{secure}"), "{is_tls} {https}");
            }
        }
    }

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

//! The session cookie: its name, how it is set, and how it is read; and the cookie of a login that leads over an identity
//! provider.

use std::time::Duration;

use http::HeaderMap;
use http::HeaderValue;
use http::header::COOKIE;

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

/// The only addresses that the mark of a login is sent to.
const ATTEMPT_PATH: &str = "/login/oidc";

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

#[cfg(test)]
mod tests {
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
}

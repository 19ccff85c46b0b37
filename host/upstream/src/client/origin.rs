//! Origins and patterns of origins: who may be talked to; and what a URL or a host name says of where it leads. Pure.

use std::fmt;

use url::{Host, Url};

/// Scheme, host and port of a URL, in the canonical form of the `url` crate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    https: bool,
    host: String,
    pub(crate) port: u16,
}

impl Origin {
    /// The origin of an http(s) URL.
    pub(crate) fn of(url: &Url) -> Option<Self> {
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Some(Self { https, host: url.host_str()?.to_owned(), port: url.port_or_known_default()? })
    }

    /// The host as the resolver wants it: an IPv6 literal without brackets.
    pub(crate) fn bare_host(&self) -> &str {
        bare(&self.host)
    }

    /// As a host that may be private, at this port alone.
    pub(crate) fn as_private(&self) -> (String, Option<u16>) {
        (self.bare_host().to_owned(), Some(self.port))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

/// A host without the brackets of an IPv6 literal.
pub(crate) fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Whether a URL holds a user name or a password.
pub(crate) fn has_login(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Whether a URL leads to this machine, as far as its host says.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// Whether a name is that domain or below it.
pub(crate) fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// One configured origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Exactly this one; may be private, since the operator wrote it out.
    Exact(Origin),
    /// Every host below a domain, over https, and only at public addresses.
    Below {
        /// `.bfl.ai`
        suffix: String,
        port: u16,
    },
}

impl Pattern {
    /// Reads `https://host[:port]`, `http://host[:port]` or `https://*.domain[:port]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = "expected an origin such as https://cdn.example.com or https://*.example.com";
        let (plain, wild) = match text.split_once("://*.") {
            Some((scheme, rest)) => (format!("{scheme}://{rest}"), true),
            None => (text.to_owned(), false),
        };
        let url = Url::parse(&plain).map_err(|_| format!("{expected}, got {text:?}"))?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let origin = Origin::of(&url).filter(|_| is_bare && !has_login(&url) && !plain.ends_with('/'));
        let origin = origin.ok_or_else(|| format!("{expected}, got {text:?}"))?;
        if origin.host.contains('*') {
            return Err(format!("{expected}, got {text:?}"));
        }
        if !wild {
            return Ok(Self::Exact(origin));
        }
        if !origin.https {
            return Err(format!("a pattern with * needs https, got {text:?}"));
        }
        if !matches!(url.host(), Some(Host::Domain(domain)) if domain.contains('.')) {
            return Err(format!("a pattern needs a domain of two labels or more after *., got {text:?}"));
        }
        Ok(Self::Below { suffix: format!(".{}", origin.host), port: origin.port })
    }

    /// Whether `origin` is one of those meant.
    pub(crate) fn covers(&self, origin: &Origin) -> bool {
        match self {
            Self::Exact(exact) => exact == origin,
            Self::Below { suffix, port } => {
                origin.https
                    && origin.port == *port
                    && origin.host.len() > suffix.len()
                    && origin.host.ends_with(suffix.as_str())
            }
        }
    }

    /// The one origin meant, if it is one.
    pub(crate) const fn exact(&self) -> Option<&Origin> {
        match self {
            Self::Exact(origin) => Some(origin),
            Self::Below { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_cover_what_they_say() {
        for (pattern, url, covered) in [
            ("https://*.bfl.ai", "https://api.eu4.bfl.ai/v1", true),
            ("https://*.bfl.ai", "https://bfl.ai/", false),
            ("https://*.bfl.ai", "https://evilbfl.ai/", false),
            ("https://*.bfl.ai", "https://x.bfl.ai.evil.com/", false),
            ("https://*.bfl.ai", "http://x.bfl.ai/", false),
            ("https://*.bfl.ai", "https://x.bfl.ai:8443/", false),
            ("https://*.bfl.ai", "https://x.BFL.ai/", true),
            ("https://api.x.ai", "https://api.x.ai:443/v1", true),
            ("https://api.x.ai", "http://api.x.ai/v1", false),
            ("http://127.0.0.1:4567", "http://127.0.0.1:4567/a", true),
            ("http://127.0.0.1:4567", "http://0x7f.1:4567/a", true),
            ("http://127.0.0.1:4567", "http://127.0.0.1:4568/a", false),
            ("http://[::1]:80", "http://[0:0::1]/", true),
        ] {
            let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
            assert_eq!(Pattern::parse(pattern).unwrap().covers(&origin), covered, "{pattern} {url}");
        }
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in [
            "api.bfl.ai",
            "ftp://bfl.ai",
            "https://bfl.ai/",
            "https://bfl.ai/v1",
            "https://bfl.ai?x",
            "https://u@bfl.ai",
            "https://*.ai",
            "http://*.bfl.ai",
            "https://*.127.0.0.1",
            "https://*",
            "https://",
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}

//! A proxy that connections to the outside go through, as many companies have one, and the targets that are reached without it.
//! Pure; the tunnel through it is made in `client`.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::Secret;
use ipnet::IpNet;
use url::Url;

use crate::client::origin::{bare, has_login};

/// Entries of `no_proxy`.
const MAX_EXEMPT: usize = 1024;

/// A proxy, and which targets are reached without it.
#[derive(PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(super) host: String,
    pub(super) port: u16,
    /// What `Proxy-Authorization` says.
    login: Option<Secret<String>>,
    exempt: Vec<Exempt>,
}

/// Targets that are reached without a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exempt {
    /// A name.
    Host(String),
    /// Every name below a domain, which begins with a dot.
    Below(String),
    /// Addresses that are written out.
    Network(IpNet),
}

impl Exempt {
    /// Reads a name, a domain with a dot before it, an address or a network.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        if let Ok(network) = text.parse::<IpNet>() {
            return Ok(Self::Network(network));
        }
        if let Ok(address) = bare(&text).parse::<IpAddr>() {
            return Ok(Self::Network(address.into()));
        }
        let name = text.strip_prefix('.').unwrap_or(&text);
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(format!(
                "expected a name, a domain such as .internal, an address or a network such as 10.0.0.0/8, got {text:?}"
            ));
        }
        Ok(if text.starts_with('.') { Self::Below(text) } else { Self::Host(text) })
    }

    /// Reads a list of them; the index of the wrong one with what is wrong.
    pub(crate) fn parse_all(texts: &[String]) -> Result<Vec<Self>, (usize, String)> {
        if texts.len() > MAX_EXEMPT {
            return Err((MAX_EXEMPT, format!("expected at most {MAX_EXEMPT} entries, got {}", texts.len())));
        }
        texts.iter().enumerate().map(|(at, text)| Self::parse(text).map_err(|why| (at, why))).collect()
    }

    fn holds(&self, host: &str, address: Option<IpAddr>) -> bool {
        match self {
            Self::Host(name) => name == host,
            Self::Below(domain) => host.ends_with(domain),
            Self::Network(network) => address.is_some_and(|address| network.contains(&address)),
        }
    }
}

impl Proxy {
    /// The proxy at an address such as `http://proxy.internal:3128`, with a login `user:password`.
    ///
    /// # Errors
    /// What was expected; never a part of the login.
    pub(crate) fn new(
        address: &str,
        login: Option<&Secret<String>>,
        exempt: Vec<Exempt>,
    ) -> Result<Self, String> {
        let url =
            Url::parse(address).map_err(|_| "expected an address such as http://proxy.internal:3128")?;
        if has_login(&url) {
            return Err("expected no login in the address; use outgoing.proxy_login".to_owned());
        }
        let host = url.host_str().filter(|_| url.scheme() == "http");
        let Some(host) = host.filter(|_| url.path() == "/" && url.query().is_none()) else {
            return Err(format!("expected http://host:port, got {address:?}"));
        };
        let host = bare(host).to_owned();
        let login = login.map(|login| Secret::new(format!("Basic {}", STANDARD.encode(login.expose()))));
        Ok(Self { host, port: url.port_or_known_default().unwrap_or(80), login, exempt })
    }

    /// Whether that target is reached without it. This machine always is.
    pub(crate) fn exempts(&self, host: &str) -> bool {
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let address = host.parse::<IpAddr>().ok();
        host == "localhost"
            || address.is_some_and(|address| address.is_loopback())
            || self.exempt.iter().any(|exempt| exempt.holds(&host, address))
    }

    /// What `Proxy-Authorization` says, if there is a login.
    pub(crate) fn login(&self) -> Option<&str> {
        self.login.as_ref().map(|login| login.expose().as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(login: Option<&str>, exempt: &[&str]) -> Proxy {
        let exempt: Vec<String> = exempt.iter().map(|&text| text.to_owned()).collect();
        let login = login.map(|login| Secret::new(login.to_owned()));
        Proxy::new("http://proxy.internal:3128", login.as_ref(), Exempt::parse_all(&exempt).unwrap()).unwrap()
    }

    /// Without it traffic that has to stay inside leaves, or the simulated providers are asked through a proxy.
    #[test]
    fn some_targets_are_reached_without_it() {
        let proxy = proxy(None, &["api.internal", ".corp", "10.0.0.0/8", "[fd00::1]"]);
        for (host, exempt) in [
            ("api.internal", true),
            ("API.internal.", true),
            ("other.internal", false),
            ("a.corp", true),
            ("corp", false),
            ("10.1.2.3", true),
            ("11.1.2.3", false),
            ("fd00::1", true),
            ("localhost", true),
            ("127.0.0.1", true),
            ("::1", true),
            ("api.example", false),
        ] {
            assert_eq!(proxy.exempts(host), exempt, "{host}");
        }
    }

    #[test]
    fn an_address_is_checked_and_a_login_not_shown() {
        for (address, fits) in [
            ("http://proxy:3128", true),
            ("http://[::1]:3128/", true),
            ("https://proxy:3128", false),
            ("socks5://proxy:1080", false),
            ("proxy:3128", false),
            ("http://proxy:3128/path", false),
            ("http://user:word@proxy:3128", false),
        ] {
            let made = Proxy::new(address, None, Vec::new());
            assert_eq!(made.is_ok(), fits, "{address}");
            assert!(made.err().is_none_or(|why| !why.contains("word")), "{address}");
        }
        assert!(Exempt::parse("http://a").is_err() && Exempt::parse(".").is_err());
    }
}

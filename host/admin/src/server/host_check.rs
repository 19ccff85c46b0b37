//! Which `Host` the admin listener serves. Pure.
//!
//! A web page may have its own name resolve to the operator's loopback address (DNS rebinding); its requests then
//! reach this listener, and the browser lets the page read the answers. They carry the page's name, so a name that
//! the operator did not list is refused. An address cannot be rebound, and browsers resolve names below `localhost` to
//! this machine by themselves.

use std::net::IpAddr;

use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use http::{StatusCode, Version};

use crate::config::Config;
use crate::oidc::OidcConfig;

/// The names of the listener.
pub(super) struct HostCheck {
    names: Vec<String>,
    any: bool,
}

impl HostCheck {
    /// A remote listener whose names are not listed takes any: the operator's proxy or firewall is in front of it. With TLS a page that
    /// resolves its own name to this listener finds no certificate of that name.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            names: config
                .hosts
                .iter()
                .cloned()
                .chain(config.oidc.as_ref().and_then(OidcConfig::host))
                .collect(),
            any: (config.allow_remote || config.tls.is_some()) && config.hosts.is_empty(),
        }
    }

    /// Checks the host of a request.
    ///
    /// # Errors
    /// The status and the message.
    pub(super) fn check(&self, parts: &Parts) -> Result<(), (StatusCode, String)> {
        let mut lines = parts.headers.get_all(HOST).iter();
        let (line, second) = (lines.next(), lines.next());
        let malformed = |message: &str| Err((StatusCode::BAD_REQUEST, format!("Host: {message}\n")));
        if second.is_some() {
            return malformed("given more than once");
        }
        let host = match line.map(|line| line.to_str().ok().and_then(|text| text.parse::<Authority>().ok())) {
            Some(None) => return malformed("expected a host name or address, with or without a port"),
            None if parts.version > Version::HTTP_10 => return malformed("missing, every request needs one"),
            host => host.flatten(),
        };
        match host.iter().chain(parts.uri.authority()).find(|host| !self.serves(host.host())) {
            None => Ok(()),
            Some(other) => {
                let message = format!(
                    "{:?} is not a host of the admin listener: use its address, localhost, or a name in admin.hosts\n",
                    other.host()
                );
                Err((StatusCode::MISDIRECTED_REQUEST, message))
            }
        }
    }

    fn serves(&self, host: &str) -> bool {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        let name = host.strip_suffix('.').unwrap_or(host);
        self.any
            || bare.parse::<IpAddr>().is_ok()
            || ["localhost", "gatehouse.localhost"].iter().any(|own| name.eq_ignore_ascii_case(own))
            || self.names.iter().any(|listed| listed.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn check(config: &Config, hosts: &[&str], expected: u16) {
        let mut request = Request::get("/metrics");
        for host in hosts {
            request = request.header(HOST, *host);
        }
        let parts = request.body(()).unwrap().into_parts().0;
        let status =
            HostCheck::new(config).check(&parts).map_or_else(|(status, _)| status.as_u16(), |()| 200);
        assert_eq!(status, expected, "{hosts:?}");
    }

    #[test]
    fn names_that_are_not_listed_are_refused() {
        let plain = Config::default();
        for (host, expected) in [
            ("127.0.0.1:9090", 200),
            ("127.0.0.1", 200),
            ("[::1]:9090", 200),
            ("10.1.2.3:9090", 200),
            ("localhost:9090", 200),
            ("LOCALHOST.", 200),
            ("gatehouse.localhost:9090", 200),
            ("other.localhost:9090", 421),
            ("rebound.example", 421),
            ("rebound.example:9090", 421),
            ("localhost.rebound.example", 421),
            ("127.0.0.1.rebound.example", 421),
            ("gatehouse.internal", 421),
            ("", 400),
            ("a b", 400),
        ] {
            check(&plain, &[host], expected);
        }
        check(&plain, &[], 400);
        check(&plain, &["127.0.0.1", "rebound.example"], 400);
        let listed = Config { hosts: vec!["gatehouse.internal".to_owned()], ..Config::default() };
        check(&listed, &["Gatehouse.Internal:9090"], 200);
        check(&listed, &["rebound.example"], 421);
        let remote = Config { allow_remote: true, ..Config::default() };
        check(&remote, &["metrics.example"], 200);
        let listed = Config { allow_remote: true, ..listed };
        check(&listed, &["metrics.example"], 421);
    }

    #[test]
    fn the_target_is_checked_too() {
        for (target, status) in [("http://127.0.0.1/metrics", 200), ("http://rebound.example/metrics", 421)] {
            let request = Request::get(target).header(HOST, "127.0.0.1").body(()).unwrap();
            let result = HostCheck::new(&Config::default()).check(&request.into_parts().0);
            assert_eq!(result.map_or_else(|(status, _)| status.as_u16(), |()| 200), status, "{target}");
        }
    }
}

//! The scheme and host that a client used, as trusted proxies forward them. Pure: the peer, the headers and the
//! trusted networks are arguments.
//!
//! `X-Forwarded-Proto` and `X-Forwarded-Host` count only when the peer itself is trusted. A proxy sets them, or
//! appends to them as to `X-Forwarded-For`. So of several values the one counts that stands as far from the end as
//! there are trusted proxies behind the outermost one: the client may have written everything left of it.

use std::net::IpAddr;

use http::HeaderMap;
use http::uri::Authority;
use ipnet::IpNet;

use crate::http::client_address;
use crate::http::head::is_host_and_port;

/// What the client used.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// That of the connection where none was forwarded.
    pub(crate) scheme: &'static str,
    /// `None` where none was forwarded.
    pub(crate) host: Option<Authority>,
}

/// The scheme and host in front of the trusted proxies. `scheme` is that of the connection.
pub(crate) fn origin(scheme: &'static str, peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Origin {
    let proxies = client_address::walk(peer, headers, trusted).proxies;
    if proxies == 0 {
        return Origin { scheme, host: None };
    }
    let of_connection = scheme;
    let scheme = value(headers, "x-forwarded-proto", proxies - 1);
    let host = value(headers, "x-forwarded-host", proxies - 1);
    Origin {
        scheme: scheme
            .and_then(|text| ["http", "https"].into_iter().find(|it| it.eq_ignore_ascii_case(text)))
            .unwrap_or(of_connection),
        host: host.and_then(|text| text.parse().ok()).filter(is_host_and_port),
    }
}

/// The value so many from the end, or the first one where there are fewer.
fn value<'h>(headers: &'h HeaderMap, name: &str, from_end: usize) -> Option<&'h str> {
    let lines: Vec<_> = headers.get_all(name).iter().filter_map(|line| line.to_str().ok()).collect();
    let values: Vec<&str> = lines.iter().flat_map(|line| line.split(',')).map(str::trim).collect();
    values.get(values.len().saturating_sub(1 + from_end)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, lines: &[(&'static str, &str)], scheme: Option<&'static str>, host: Option<&str>) {
        let trusted: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        for of_connection in ["http", "https"] {
            let found = origin(of_connection, peer.parse().unwrap(), &headers, &trusted);
            let scheme = scheme.unwrap_or(of_connection);
            let expected = Origin { scheme, host: host.map(|host| host.parse().unwrap()) };
            assert_eq!(found, expected, "{peer} {lines:?}");
        }
    }

    const FOR: &str = "x-forwarded-for";
    const PROTO: &str = "x-forwarded-proto";
    const HOST: &str = "x-forwarded-host";

    #[test]
    fn only_trusted_peers_are_believed() {
        let lines = [(PROTO, "https"), (HOST, "api.example")];
        check("203.0.113.9", &lines, None, None);
        check("10.0.0.1", &lines, Some("https"), Some("api.example"));
        check("::ffff:10.0.0.1", &lines, Some("https"), Some("api.example"));
        check("10.0.0.1", &[], None, None);
    }

    #[test]
    fn of_several_values_the_outermost_trusted_proxys_counts() {
        // One proxy that appends: the client wrote the rest.
        check(
            "10.0.0.1",
            &[
                (FOR, "198.51.100.1"),
                (PROTO, "http, https"),
                (HOST, "evil.example"),
                (HOST, "api.example:8443"),
            ],
            Some("https"),
            Some("api.example:8443"),
        );
        // Two proxies: the outer one sets, the inner one appends its own or passes on.
        let outer = "198.51.100.1, 10.0.0.2";
        check("10.0.0.1", &[(FOR, outer), (PROTO, "https, http")], Some("https"), None);
        check("10.0.0.1", &[(FOR, outer), (PROTO, "https")], Some("https"), None);
        check(
            "10.0.0.1",
            &[(FOR, outer), (HOST, "evil.example, api.example, inner")],
            None,
            Some("api.example"),
        );
    }

    #[test]
    fn unusable_values_are_ignored() {
        for text in ["ftp", "", "https://x", "wss"] {
            check("10.0.0.1", &[(PROTO, text)], None, None);
        }
        check("10.0.0.1", &[(PROTO, "HTTPS")], Some("https"), None);
        for text in ["", "a/b", "user@a", "a:99999", "a b", ":80"] {
            check("10.0.0.1", &[(HOST, text)], None, None);
        }
        check("10.0.0.1", &[(HOST, "[2001:db8::7]:8443")], None, Some("[2001:db8::7]:8443"));
    }
}

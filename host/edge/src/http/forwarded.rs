//! The client behind trusted proxies: its address, and the scheme and host that it used. Pure: the peer, the headers and the
//! trusted networks are arguments.
//!
//! `X-Forwarded-*` count only when the peer itself is trusted. A proxy sets scheme and host, or appends to them as to
//! `X-Forwarded-For`. So of several values the one counts that stands as far from the end as there are trusted proxies behind
//! the outermost one: the client may have written everything left of it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::uri::Authority;
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::http::head::is_host_and_port;

/// Marks what a standby has sent on to the gateway at work.
pub(crate) const HOP: HeaderName = HeaderName::from_static("gatehouse-sent-on-by");

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
    let proxies = walk(peer, headers, trusted).proxies;
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

/// The client's address; an IPv4 address mapped into IPv6 becomes plain IPv4.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    walk(peer, headers, trusted).client
}

/// How far the forwarded addresses are trusted.
struct Walk {
    /// The client's address.
    client: IpAddr,
    /// Trusted proxies between the client and the gateway, the peer included; 0 when the peer is the client.
    proxies: usize,
}

/// Follows the forwarded addresses from the peer to the client.
fn walk(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Walk {
    let mut client = peer.to_canonical();
    let mut proxies = 0;
    if !is_within(client, trusted) {
        return Walk { client, proxies };
    }
    proxies = 1;
    let lines: Vec<_> = headers.get_all("x-forwarded-for").iter().collect();
    let hops = lines.iter().rev().filter_map(|line| line.to_str().ok()).flat_map(|line| line.rsplit(','));
    for hop in hops {
        // An unreadable hop ends the walk at the last readable one.
        let Some(address) = parse_hop(hop.trim()) else { break };
        client = address;
        if !is_within(client, trusted) {
            break;
        }
        proxies += 1;
    }
    Walk { client, proxies }
}

/// Whether any of the networks contains the address.
pub(crate) fn is_within(address: IpAddr, networks: &[IpNet]) -> bool {
    networks.iter().any(|network| network.contains(&address))
}

/// The unit that connections are counted by: an IPv6 client usually owns a whole /64.
pub(crate) fn subnet(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

/// An address as proxies write it: bare, in brackets, or with a port.
fn parse_hop(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|socket| socket.ip()));
    address.map(|address: IpAddr| address.to_canonical())
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

    fn check_client(peer: &str, lines: &[&str], expected: &str) {
        let trusted: Vec<IpNet> = ["10.0.0.0/8", "fd00::/8"].iter().map(|net| net.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let client = client(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(client.to_string(), expected, "{peer} {lines:?}");
    }

    #[test]
    fn the_client_is_the_first_hop_from_the_end_that_is_not_trusted() {
        check_client("203.0.113.9", &[], "203.0.113.9");
        check_client("203.0.113.9", &["198.51.100.1"], "203.0.113.9");
        check_client("10.0.0.1", &[], "10.0.0.1");
        check_client("10.0.0.1", &["198.51.100.1"], "198.51.100.1");
        check_client("10.0.0.1", &["1.2.3.4, 198.51.100.1"], "198.51.100.1");
        check_client("10.0.0.1", &["198.51.100.1, 10.9.9.9"], "198.51.100.1");
        check_client("10.0.0.1", &["1.2.3.4", "198.51.100.1, 10.9.9.9", "10.8.8.8"], "198.51.100.1");
        check_client("10.0.0.1", &["10.1.1.1, 10.9.9.9"], "10.1.1.1");
        check_client("fd00::1", &["2001:db8::7"], "2001:db8::7");
        // Mapped addresses become plain IPv4.
        check_client("::ffff:203.0.113.9", &["1.2.3.4"], "203.0.113.9");
        check_client("::ffff:10.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1");
        check_client("::ffff:10.0.0.1", &["[::ffff:198.51.100.1]:99"], "198.51.100.1");
        // Ports and brackets are read, and an unreadable hop ends the walk.
        check_client("10.0.0.1", &["198.51.100.1:1234"], "198.51.100.1");
        check_client("10.0.0.1", &["[2001:db8::7]:80"], "2001:db8::7");
        check_client("10.0.0.1", &["[2001:db8::7]"], "2001:db8::7");
        check_client("10.0.0.1", &["198.51.100.1, unknown"], "10.0.0.1");
        check_client("10.0.0.1", &["198.51.100.1, unknown, 10.2.2.2"], "10.2.2.2");
        check_client("10.0.0.1", &[""], "10.0.0.1");
    }

    #[test]
    fn an_ipv6_subnet_is_a_64() {
        for (address, expected) in [
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("1.2.3.4", "1.2.3.4"),
        ] {
            assert_eq!(subnet(address.parse().unwrap()).to_string(), expected);
        }
    }
}

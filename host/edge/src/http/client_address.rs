//! The address of a request's client. Pure: the peer, the headers and the trusted networks are arguments.
//!
//! `X-Forwarded-For` counts only when the peer itself is trusted, and only from right to left up to the first
//! hop that is not trusted: the client may have written everything left of it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use http::HeaderMap;
use ipnet::IpNet;

/// The client's address; an IPv4 address mapped into IPv6 becomes plain IPv4.
pub(crate) fn client(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    walk(peer, headers, trusted).client
}

/// How far the forwarded addresses are trusted.
pub(crate) struct Walk {
    /// The client's address.
    pub(crate) client: IpAddr,
    /// Trusted proxies between the client and the gateway, the peer included; 0 when the peer is the client.
    pub(crate) proxies: usize,
}

/// Follows the forwarded addresses from the peer to the client.
pub(crate) fn walk(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> Walk {
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

    fn check(peer: &str, lines: &[&str], expected: &str) {
        let trusted: Vec<IpNet> = ["10.0.0.0/8", "fd00::/8"].iter().map(|net| net.parse().unwrap()).collect();
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append("x-forwarded-for", line.parse().unwrap());
        }
        let client = client(peer.parse().unwrap(), &headers, &trusted);
        assert_eq!(client.to_string(), expected, "{peer} {lines:?}");
    }

    #[test]
    fn only_trusted_hops_count() {
        check("203.0.113.9", &[], "203.0.113.9");
        check("203.0.113.9", &["198.51.100.1"], "203.0.113.9");
        check("10.0.0.1", &[], "10.0.0.1");
        check("10.0.0.1", &["198.51.100.1"], "198.51.100.1");
        check("10.0.0.1", &["1.2.3.4, 198.51.100.1"], "198.51.100.1");
        check("10.0.0.1", &["198.51.100.1, 10.9.9.9"], "198.51.100.1");
        check("10.0.0.1", &["1.2.3.4", "198.51.100.1, 10.9.9.9", "10.8.8.8"], "198.51.100.1");
        check("10.0.0.1", &["10.1.1.1, 10.9.9.9"], "10.1.1.1");
        check("fd00::1", &["2001:db8::7"], "2001:db8::7");
    }

    #[test]
    fn mapped_addresses_become_plain_ipv4() {
        check("::ffff:203.0.113.9", &["1.2.3.4"], "203.0.113.9");
        check("::ffff:10.0.0.1", &["::ffff:198.51.100.1"], "198.51.100.1");
        check("::ffff:10.0.0.1", &["[::ffff:198.51.100.1]:99"], "198.51.100.1");
    }

    #[test]
    fn reads_ports_and_brackets_and_stops_at_unreadable_hops() {
        check("10.0.0.1", &["198.51.100.1:1234"], "198.51.100.1");
        check("10.0.0.1", &["[2001:db8::7]:80"], "2001:db8::7");
        check("10.0.0.1", &["[2001:db8::7]"], "2001:db8::7");
        check("10.0.0.1", &["198.51.100.1, unknown"], "10.0.0.1");
        check("10.0.0.1", &["198.51.100.1, unknown, 10.2.2.2"], "10.2.2.2");
        check("10.0.0.1", &[""], "10.0.0.1");
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

//! Where a program on this machine finds a listener. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address to connect to: a listener on every address is reached on the loopback one.
#[must_use]
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        other => other,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_is_the_loopback_one() {
        for (listens, expected) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("[2001:db8::7]:80", "[2001:db8::7]:80"),
        ] {
            assert_eq!(reachable(listens.parse().unwrap()), expected.parse().unwrap());
        }
    }
}

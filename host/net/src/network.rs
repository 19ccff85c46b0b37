//! Addresses: which ones count as one client network, where something is shared between networks (the owner of one address of
//! such a network usually owns all of them), and where a program on this machine finds a listener. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Bits of an IPv4 address that name its network.
const IPV4_PREFIX: u32 = 24;
/// Bits of an IPv6 address that name its network: what many providers give to one customer.
const IPV6_PREFIX: u32 = 56;

/// The network of an address: its /24, or its /56 where it is an IPv6 address.
#[must_use]
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & (u32::MAX << (32 - IPV4_PREFIX)))),
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << (128 - IPV6_PREFIX)))),
    }
}

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
    fn a_network_is_a_24_or_a_56() {
        for (address, expected) in [
            ("198.51.100.7", "198.51.100.0"),
            ("198.51.100.255", "198.51.100.0"),
            ("198.51.101.7", "198.51.101.0"),
            ("0.0.0.0", "0.0.0.0"),
            ("::1", "::"),
            ("2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8:ffff:ff00::"),
            ("::ffff:198.51.100.7", "198.51.100.0"),
            ("2001:db8:1:2ff:3:4:5:6", "2001:db8:1:200::"),
            ("2001:db8:1:300::1", "2001:db8:1:300::"),
        ] {
            assert_eq!(network(address.parse().unwrap()).to_string(), expected, "{address}");
        }
    }

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

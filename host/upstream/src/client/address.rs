//! Which addresses are public: the IANA special-purpose registries as data. Pure.
//!
//! `std::net::IpAddr::is_global` is not stable, so the table is ours. It errs on the closed side: blocks that
//! are reachable only in special roles (6to4, Teredo, anycast relays) count as reserved.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{Ipv4Net, Ipv6Net};

/// IPv4 blocks that are not the public internet, with what they are.
const RESERVED_V4: &[(&str, &str)] = &[
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    // Azure's host agent answers here from inside every virtual machine.
    ("168.63.129.16/32", "cloud host agent"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
];

/// IPv6 blocks inside global unicast (2000::/3) that are not the public internet. All outside it is
/// reserved anyway, but for the two forms that carry an IPv4 address.
const RESERVED_V6: &[(&str, &str)] = &[
    // Teredo, ORCHID, benchmarking and the other protocol assignments.
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
];

static TABLE_V4: LazyLock<Vec<(Ipv4Net, &str)>> = LazyLock::new(|| {
    RESERVED_V4.iter().map(|(net, what)| (net.parse().expect("a constant of this file"), *what)).collect()
});
static TABLE_V6: LazyLock<Vec<(Ipv6Net, &str)>> = LazyLock::new(|| {
    RESERVED_V6.iter().map(|(net, what)| (net.parse().expect("a constant of this file"), *what)).collect()
});
static GLOBAL_UNICAST: LazyLock<Ipv6Net> =
    LazyLock::new(|| "2000::/3".parse().expect("a constant of this file"));
static NAT64: LazyLock<Ipv6Net> = LazyLock::new(|| "64:ff9b::/96".parse().expect("a constant of this file"));

/// What kind of reserved address this is; `None` for a public one.
#[must_use]
pub fn reserved(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => reserved_v4(v4),
        IpAddr::V6(v6) => reserved_v6(v6),
    }
}

fn reserved_v4(address: Ipv4Addr) -> Option<&'static str> {
    TABLE_V4.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what)
}

fn reserved_v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(inner) = address.to_ipv4_mapped() {
        return reserved_v4(inner);
    }
    if NAT64.contains(&address) {
        let [.., a, b, c, d] = address.octets();
        return reserved_v4(Ipv4Addr::new(a, b, c, d));
    }
    if !GLOBAL_UNICAST.contains(&address) {
        return Some("not global unicast");
    }
    TABLE_V6.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_is_reserved_from_end_to_end() {
        for (net, what) in TABLE_V4.iter() {
            assert_eq!(reserved(net.network().into()), Some(*what), "{net}");
            assert_eq!(reserved(net.broadcast().into()), Some(*what), "{net}");
        }
        for (net, what) in TABLE_V6.iter() {
            assert_eq!(reserved(net.network().into()), Some(*what), "{net}");
            assert_eq!(reserved(net.broadcast().into()), Some(*what), "{net}");
        }
    }

    proptest::proptest! {
        /// Wrapping an IPv4 address in IPv6 never makes it more reachable.
        #[test]
        fn a_wrapped_address_is_judged_by_what_it_carries(bits: u32) {
            let inner = Ipv4Addr::from_bits(bits);
            let mapped = inner.to_ipv6_mapped();
            let [a, b, c, d] = inner.octets();
            let nat64 = Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            proptest::prop_assert_eq!(reserved(mapped.into()), reserved(inner.into()));
            proptest::prop_assert_eq!(reserved(nat64.into()), reserved(inner.into()));
        }
    }
}

//! Links in requests: whether the provider could fetch what is behind one. The sandbox opens no socket, so the name decides.
//!
//! | link | |
//! |---|---|
//! | a sample of the sandbox | as its name says: each provider asks [`samples`](super::samples) first |
//! | a host of the machine itself: `localhost`, 127.0.0.0/8, `[::1]` | there: a file of the sandbox or of the gateway |
//! | a name that nobody resolves: `.invalid`, `.test`, `.local`, ..., or one without a dot | not there |
//! | an address that is not public: 10.0.0.0/8, 169.254.0.0/16, ... | not there |
//! | any other host, those of examples (`example.com`, `.example`) too | there, and what the request says it is |

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Top-level names that no public server resolves (RFC 6761, 6762, 7686, 8375, 9476, and ICANN's `.internal`).
const NEVER: [&str; 8] = ["invalid", "test", "local", "localdomain", "internal", "onion", "alt", "arpa"];

/// Whether a provider could fetch an http or https link.
pub(crate) fn is_there(link: &str) -> bool {
    let Ok(url) = Url::parse(link) else { return false };
    match url.host().filter(|_| matches!(url.scheme(), "http" | "https")) {
        None => false,
        Some(Host::Ipv4(address)) => address.is_loopback() || is_public(address),
        Some(Host::Ipv6(address)) => address.is_loopback() || is_public_v6(address),
        Some(Host::Domain("localhost")) => true,
        Some(Host::Domain(name)) => {
            let top = name.trim_end_matches('.').rsplit_once('.').map(|(_, top)| top);
            top.is_some_and(|top| !NEVER.contains(&top))
        }
    }
}

fn is_public(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    !(address.is_private() || address.is_link_local() || address.is_broadcast() || is_shared)
        && first != 0
        && first < 224
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.to_ipv4_mapped() {
        Some(address) => is_public(address),
        None => {
            let is_near = address.is_unique_local() || address.is_unicast_link_local();
            !(is_near || address.is_unspecified() || address.is_multicast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_decide_what_is_there() {
        for (link, expected) in [
            ("https://example.com/a.png", true),
            ("http://pictures.example/a.png", true),
            ("https://cdn.example.com./a.png", true),
            ("http://127.0.0.1:8080/v1/media/m_1.png", true),
            ("http://localhost:8080/a.png", true),
            ("http://[::1]:8080/a.png", true),
            ("https://93.184.216.34/a.png", true),
            ("https://nohost.invalid/x.png", false),
            ("https://NOHOST.INVALID/x.png", false),
            ("https://nohost.invalid./x.png", false),
            ("https://a.test/x.png", false),
            ("https://printer.local/x.png", false),
            ("https://metadata.google.internal/x", false),
            ("https://intranet/x.png", false),
            ("http://10.0.0.1/x.png", false),
            ("http://192.168.1.1/x.png", false),
            ("http://169.254.169.254/latest/", false),
            ("http://100.64.0.1/x.png", false),
            ("http://0.0.0.0/x.png", false),
            ("http://[fd00::1]/x.png", false),
            ("http://[::ffff:10.0.0.1]/x.png", false),
            ("https://", false),
            ("https://a b/x.png", false),
            ("ftp://example.com/a.png", false),
            ("a.png", false),
        ] {
            assert_eq!(is_there(link), expected, "{link}");
        }
    }
}

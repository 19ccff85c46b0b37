//! The `[admin]` table.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;

use serde::Deserialize;

/// The admin listener.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen; port 0 takes a free one. Commands find it through `admin.json` in the data folder.
    pub listen: SocketAddr,
    /// Allows an address that other machines can reach. The listener speaks plain HTTP, and its health and
    /// metrics pages need no token, so a remote one needs a proxy or a firewall in front.
    pub allow_remote: bool,
    /// Host names the listener is asked for, beside its addresses and `localhost`. Others are refused, for a web
    /// page may have its own name resolve to this listener. A remote listener without any takes all names.
    pub hosts: Vec<String>,
    /// Open connections. At the limit the oldest without an operation gives way to a new one.
    pub connections: NonZeroU32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            allow_remote: false,
            hosts: Vec::new(),
            connections: NonZeroU32::new(64).expect("a literal greater than zero"),
        }
    }
}

impl Config {
    /// Checks the table.
    ///
    /// # Errors
    /// A remote listener without `allow_remote`, or a host that is no name: the key below `admin`, and the message
    /// with the remedy.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if let Some(wrong) = self.hosts.iter().find(|name| name.is_empty() || !name.chars().all(is_part)) {
            let message =
                format!("expected host names such as \"gatehouse.internal\", without a port, got {wrong:?}");
            return Err(("hosts", message));
        }
        if self.listen.ip().is_loopback() || self.allow_remote {
            return Ok(());
        }
        let message = format!(
            "expected a loopback address such as 127.0.0.1:9090, got {}; the admin listener is not \
             encrypted: set allow_remote = true only behind a proxy that encrypts",
            self.listen
        );
        Err(("listen", message))
    }
}

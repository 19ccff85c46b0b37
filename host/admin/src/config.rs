//! The `[admin]` table.

use std::net::{Ipv4Addr, SocketAddr};

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
}

impl Default for Config {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), allow_remote: false }
    }
}

impl Config {
    /// Checks the table.
    ///
    /// # Errors
    /// A remote listener without `allow_remote`: the key below `admin`, and the message with the remedy.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
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

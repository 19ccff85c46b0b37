//! The `[admin]` table.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

/// Where the operators' door stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Where to listen; port 0 takes a free one. Commands find it through the data folder.
    pub listen: SocketAddr,
    /// Allows an address other machines can reach. The door speaks plain HTTP, and its health and metrics
    /// pages ask for no token, so whoever sets this puts something in front of it.
    pub allow_remote: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), allow_remote: false }
    }
}

impl Config {
    /// What is wrong with the table: the key below `admin`, and the remedy in words.
    ///
    /// # Errors
    /// A listener other machines can reach that was not asked for in so many words.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.listen.ip().is_loopback() || self.allow_remote {
            return Ok(());
        }
        let message = format!(
            "expected a loopback address such as 127.0.0.1:9090, got {}; the door is not encrypted, set \
             allow_remote = true only behind something that is",
            self.listen
        );
        Err(("listen", message))
    }
}

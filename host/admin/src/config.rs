//! The `[admin]` table.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;

use gatehouse_model::settings;
use gatehouse_net::TlsFiles;
use serde::Deserialize;

use crate::oidc::OidcConfig;

settings! {
    /// The admin listener.
    #[derive(Clone, Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    pub struct Config {
        /// Where to listen; port 0 takes a free one. Commands find it through `admin.json` in the data folder.
        pub listen: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        /// Mutual TLS: every page needs a certificate of the named roots. Without it the listener speaks plain HTTP.
        pub tls: Option<AdminTls> = None,
        /// What commands on this machine present to a listener with TLS.
        pub client: AdminClient = AdminClient::default(),
        /// Allows an address that other machines can reach without `tls`. The health and metrics pages need no token, so
        /// it needs a proxy or a firewall in front.
        pub allow_remote: bool = false,
        /// Host names the listener is asked for, beside its addresses and `localhost`. Others are refused, for a web
        /// page may have its own name resolve to this listener. A listener with TLS, or one that `allow_remote` allows, takes all names
        /// where this is empty.
        pub hosts: Vec<String> = Vec::new(),
        /// An identity provider whose users may log in to the console.
        pub oidc: Option<OidcConfig> = None,
        /// Open connections. At the limit the oldest without an operation gives way to a new one.
        pub connections: NonZeroU32 = NonZeroU32::new(64).expect("a literal greater than zero"),
    }
}

/// The `[admin.tls]` table: PEM files, read at start and on reload.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminTls {
    /// The listener's chain, leaf first.
    pub certificate: PathBuf,
    /// The leaf's private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PathBuf,
    /// Roots of the certificates that let a client in.
    pub client_ca: PathBuf,
}

impl AdminTls {
    /// The files as the listener reads them.
    #[must_use]
    pub fn files(&self) -> TlsFiles {
        TlsFiles {
            table: "admin.tls",
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            client_ca: Some(self.client_ca.clone()),
            http2: false,
        }
    }
}

/// The `[admin.client]` table: PEM files that a command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdminClient {
    /// Roots by which the gateway's certificate is known.
    pub ca: Option<PathBuf>,
    /// The command's chain, leaf first.
    pub certificate: Option<PathBuf>,
    /// The leaf's private key.
    pub key: Option<PathBuf>,
    /// The name in the gateway's certificate; without it, the address of the listener.
    pub server_name: Option<String>,
}

impl AdminClient {
    /// These values, and those of `other` for the ones that are not set here.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            ca: self.ca.or(other.ca),
            certificate: self.certificate.or(other.certificate),
            key: self.key.or(other.key),
            server_name: self.server_name.or(other.server_name),
        }
    }
}

impl Config {
    /// Checks the table.
    ///
    /// # Errors
    /// A remote listener without `allow_remote`, a host that is no name, an unusable `[admin.oidc]`: the key below `admin`, and the message
    /// with the remedy.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if let Some(wrong) = self.hosts.iter().find(|name| name.is_empty() || !name.chars().all(is_part)) {
            let message =
                format!("expected host names such as \"gatehouse.internal\", without a port, got {wrong:?}");
            return Err(("hosts", message));
        }
        self.oidc.as_ref().map_or(Ok(()), OidcConfig::check)?;
        if self.listen.ip().is_loopback() || self.allow_remote || self.tls.is_some() {
            return Ok(());
        }
        let message = format!(
            "expected a loopback address such as 127.0.0.1:9090, got {}; the admin listener is not \
             encrypted: configure [admin.tls], or set allow_remote = true only behind a proxy that encrypts",
            self.listen
        );
        Err(("listen", message))
    }
}

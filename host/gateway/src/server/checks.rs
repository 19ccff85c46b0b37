//! Checks of the configuration that need files or the environment: secrets and certificates.
//!
//! A start makes them before it opens the store and compiles plugins, which may take long. `check-config` makes the
//! same ones. Nothing is connected.

use std::sync::Arc;

use gatehouse_edge::Certificates;
use gatehouse_upstream::{ConfigError, SystemResolver, Upstream};

use super::error::ServeError;
use crate::config::Config;
use crate::secrets;
use crate::system::{SystemClock, SystemSeed};

/// Looks up every secret and reads the certificate files once; returns the upstream client. A self-signed certificate
/// replaces the files.
///
/// # Errors
/// A missing secret or an unusable value, with its key; an unusable certificate.
pub(crate) fn check(config: &Config, self_signed: bool) -> Result<Upstream, ServeError> {
    let upstream = open_upstream(config)?;
    match config.server.tls.clone().filter(|_| !self_signed).map(Certificates::from_files) {
        Some(Err(error)) => Err(gatehouse_edge::Error::Tls(error).into()),
        _ => Ok(upstream),
    }
}

/// The upstream client over every provider that has an account.
fn open_upstream(config: &Config) -> Result<Upstream, ConfigError> {
    let mut used =
        gatehouse_upstream::Config { providers: config.providers.clone(), fetch: config.fetch.clone() };
    used.providers.retain(|_, provider| !provider.accounts.is_empty());
    Upstream::new(
        &used,
        &secrets::resolve,
        Arc::new(SystemClock),
        Arc::new(SystemSeed),
        Arc::new(SystemResolver),
    )
}

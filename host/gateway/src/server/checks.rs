//! Checks of the configuration that need files or the environment: secrets and certificates.
//!
//! A start makes them before it opens the store and compiles plugins, which may take long. `check-config` makes the
//! same ones. Nothing is connected but, by `check-config`, the database.

use std::sync::Arc;

use gatehouse_admin::IdentityProvider;
use gatehouse_edge::Certificates;
use gatehouse_process::{SystemClock, SystemSeed};
use gatehouse_upstream::{ConfigError, SystemResolver, Upstream};

use super::error::ServeError;
use crate::config::{Config, database};
use crate::secrets;
use crate::service_checks::check_services;

/// Looks up every secret and reads the certificate files once; returns the upstream client. A self-signed certificate
/// replaces the files.
///
/// # Errors
/// Every missing secret and unusable value, with its key; an unusable certificate.
pub(crate) fn check(config: &Config, self_signed: bool) -> Result<Upstream, ServeError> {
    let wrong = check_services(config);
    if !wrong.is_empty() {
        return Err(ServeError::Config(wrong));
    }
    let upstream = open_upstream(config).map_err(|error| ServeError::Config(vec![error]))?;
    let public = config.server.tls.as_ref().filter(|_| !self_signed).map(gatehouse_edge::Tls::files);
    let admin = config.admin.tls.as_ref().map(gatehouse_admin::AdminTls::files);
    for files in public.into_iter().chain(admin) {
        Certificates::from_files(files)?;
    }
    identity_provider(config, &upstream)?;
    Ok(upstream)
}

/// The identity provider of the console, as configured. Nothing is sent yet.
pub(super) fn identity_provider(
    config: &Config,
    upstream: &Upstream,
) -> Result<Option<IdentityProvider>, ServeError> {
    let Some(oidc) = config.admin.oidc.clone() else { return Ok(None) };
    let secret = secrets::resolve(&oidc.client_secret)
        .map_err(|why| ServeError::IdentityProvider(format!("admin.oidc.client_secret: {why}")))?;
    let (clock, seed) = (Arc::new(SystemClock), Arc::new(SystemSeed));
    IdentityProvider::new(oidc, secret, upstream, clock, seed).map(Some).map_err(ServeError::IdentityProvider)
}

/// What works and should be known, a sentence each with its key.
pub(crate) fn warnings(config: &Config) -> Vec<ConfigError> {
    Upstream::warnings(&config.providers, &secrets::resolve)
}

/// Whether the database of a configuration, if it has one, can be used now. A start waits for one that does not answer.
pub(crate) async fn try_database(config: &Config) -> Result<(), String> {
    let Some(server) = database(&config.data).map_err(|error| error.problem)? else { return Ok(()) };
    server.check().await.map_err(|error| error.to_string())
}

/// The upstream client over every provider that has an account.
fn open_upstream(config: &Config) -> Result<Upstream, ConfigError> {
    let (clock, seed) = (Arc::new(SystemClock), Arc::new(SystemSeed));
    Upstream::new(&config.upstream(), &secrets::resolve, clock, seed, Arc::new(SystemResolver))
}

//! The state all listeners of the provider share, and the keys of its accounts.

use std::io;

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::settings::Settings;
use crate::common::shared::Shared;
use crate::context::jobs::JobTable;
use crate::context::refusal::Refusal;

/// Where the context-image provider listens; every address is an origin without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextAddresses {
    /// `POST /v1/flux-kontext-pro`, `POST /v1/flux-kontext-max`, `GET /v1/credits`.
    pub submit: String,
    /// `GET /v1/get_result?id=`.
    pub poll: String,
    /// The files results link to.
    pub delivery: String,
    /// Sample pictures, for references in examples and tests.
    pub samples: String,
    /// `GET /truth`: the record, for tests in other processes.
    #[serde(rename = "truth")]
    pub record: String,
}

/// The provider behind all its listeners.
pub(crate) type Provider = Shared<ContextAddresses, JobTable>;

/// Whether every key may be one of the provider's.
pub(super) fn check_keys(settings: &Settings) -> io::Result<()> {
    let message =
        "settings.keys: expected keys of 8 to 128 letters, digits, '-' and '_', one has another form";
    let error = || io::Error::new(io::ErrorKind::InvalidInput, message);
    settings.keys.iter().all(|key| well_formed(key)).then_some(()).ok_or_else(error)
}

/// The account of a request's `x-key`, as an index into the settings' keys.
pub(crate) fn account(provider: &Provider, headers: &HeaderMap) -> Result<usize, Refusal> {
    let key = headers.get("x-key").ok_or_else(Refusal::unauthenticated)?;
    let key = key.to_str().ok().filter(|key| well_formed(key)).ok_or_else(Refusal::malformed_key)?;
    provider.settings.account(key).ok_or_else(Refusal::unauthenticated)
}

/// Keys of another form are refused before the lookup.
fn well_formed(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (8..=128).contains(&key.len()) && key.bytes().all(plain)
}

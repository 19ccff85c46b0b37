//! The state all listeners of the proxy share, and the keys of its accounts.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};

use crate::common::shared::Shared;
use crate::midjourney::refusal::Refusal;
use crate::midjourney::tasks::table::TaskTable;

/// Where the proxy listens; every address is an origin without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MidjourneyAddresses {
    /// Submits, reads, lists.
    pub api: String,
    /// The files results link to.
    pub files: String,
    /// `GET /truth`: the record, for tests in other processes.
    #[serde(rename = "truth")]
    pub record: String,
}

/// The proxy behind all its listeners.
pub(crate) type Provider = Shared<MidjourneyAddresses, TaskTable>;

/// The account of a request's secret, as an index into the settings' keys. `Authorization` is taken too.
pub(crate) fn account(provider: &Provider, headers: &HeaderMap) -> Result<usize, Refusal> {
    let header = headers.get("mj-api-secret").or_else(|| headers.get(AUTHORIZATION));
    let secret = header.and_then(|value| value.to_str().ok()).ok_or_else(Refusal::unauthorized)?;
    let secret = secret.strip_prefix("Bearer ").unwrap_or(secret);
    provider.settings.account(secret).ok_or_else(Refusal::unauthorized)
}

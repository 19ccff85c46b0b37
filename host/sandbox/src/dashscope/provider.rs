//! The state all listeners of the provider share, and the keys of its accounts.

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::server::bearer;
use crate::common::shared::Shared;
use crate::dashscope::refusal::Refusal;
use crate::dashscope::tasks::TaskTable;

/// Where the provider listens; every address but `record` is an origin without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DashscopeAddresses {
    /// `POST /api/v1/services/aigc/video-generation/video-synthesis`, `/api/v1/tasks/{id}`.
    pub api: String,
    /// The files results link to.
    pub files: String,
    /// The record, for tests in other processes.
    pub record: String,
}

/// The provider behind all its listeners.
pub(crate) type Provider = Shared<DashscopeAddresses, TaskTable>;

/// The account of a request's bearer, as an index into the settings' keys.
pub(super) fn account(provider: &Provider, headers: &HeaderMap) -> Result<usize, Refusal> {
    let key = bearer(headers).ok_or_else(|| Refusal::new(401, "InvalidApiKey", "No API-key provided."))?;
    let known = provider.settings.account(key);
    known.ok_or_else(|| Refusal::new(401, "InvalidApiKey", "Invalid API-key provided."))
}

//! The provider: what its listeners share, the keys of its accounts, and its start.

use std::io;
use std::sync::Arc;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::common::server::{Listener, bearer};
use crate::common::settings::Settings;
use crate::common::shared::Shared;
use crate::dashscope::faults::Refusal;
use crate::dashscope::tasks::TaskTable;
use crate::dashscope::{endpoint, files};

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

/// Binds the provider's listeners and serves them.
pub(crate) async fn start(
    settings: &Settings,
    samples: &str,
    listeners: &mut JoinSet<()>,
) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let at_api = Listener::bind(ports.dashscope).await?;
    let at_files = Listener::bind(ports.dashscope_files).await?;
    let at_record = Listener::bind(ports.dashscope_record).await?;
    let addresses = DashscopeAddresses {
        api: at_api.origin.clone(),
        files: at_files.origin.clone(),
        record: format!("{}/truth", at_record.origin),
    };
    let provider = Provider::new(settings, addresses, TaskTable::new(settings, samples))?;
    listeners.spawn(at_api.serve(&provider, endpoint::handle));
    listeners.spawn(at_files.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}

//! The provider: what its listeners share, the keys of its accounts, and its start.

use std::io;
use std::sync::Arc;

use http::HeaderMap;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::refusal::Refusal;
use super::table::CallTable;
use super::{endpoint, files};
use crate::common::server::{Listener, bearer};
use crate::common::settings::Settings;
use crate::common::shared::Shared;

/// Where the provider listens; every address is an origin without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImagineAddresses {
    /// `POST /v1/images/generations`, `POST /v1/images/edits`, `GET /v1/image-generation-models`.
    pub api: String,
    /// The files that answers link to.
    pub files: String,
    /// `GET /truth`: the record, for tests in other processes.
    pub record: String,
}

/// The provider behind its listeners.
pub(crate) type Provider = Shared<ImagineAddresses, CallTable>;

/// The account of a request's bearer token, as an index into the settings' keys. A key's suffix may refuse it.
pub(super) fn account(provider: &Provider, headers: &HeaderMap) -> Result<usize, Refusal> {
    let key = bearer(headers).filter(|key| !key.trim().is_empty()).ok_or_else(Refusal::unauthenticated)?;
    let account = provider.settings.account(key).ok_or_else(Refusal::wrong_key)?;
    match key.rsplit_once('-').map(|(_, suffix)| suffix) {
        Some("401") => Err(Refusal::unauthenticated()),
        Some("403") => Err(Refusal::blocked_key()),
        Some("429") => Err(Refusal::rate_limited()),
        Some("broke") => Err(Refusal::no_credits(403)),
        _ => Ok(account),
    }
}

/// Starts the provider; `listeners` ends it.
pub(crate) async fn start(settings: &Settings, listeners: &mut JoinSet<()>) -> io::Result<Arc<Provider>> {
    let ports = settings.ports;
    let at_api = Listener::bind(ports.imagine).await?;
    let at_files = Listener::bind(ports.imagine_files).await?;
    let at_record = Listener::bind(ports.imagine_record).await?;
    let addresses = ImagineAddresses {
        api: at_api.origin.clone(),
        files: at_files.origin.clone(),
        record: at_record.origin.clone(),
    };
    let provider = Provider::new(settings, addresses, CallTable::default())?;
    listeners.spawn(at_api.serve(&provider, endpoint::handle));
    listeners.spawn(at_files.serve(&provider, files::handle));
    listeners.spawn(at_record.serve(&provider, Provider::answer_record));
    Ok(provider)
}

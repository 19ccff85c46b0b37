//! The state that all listeners of the provider share: addresses, settings, the table, pictures.
//!
//! Answers no request.

use std::sync::{Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, header};
use serde::{Deserialize, Serialize};

use super::record::ImagineRecord;
use super::refusal::Refusal;
use super::table::Table;
use crate::common::picture::PictureCache;
use crate::common::settings::Settings;

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
pub(crate) struct Provider {
    pub(crate) addresses: ImagineAddresses,
    pub(super) settings: Settings,
    pub(super) pictures: PictureCache,
    table: Mutex<Table>,
}

impl Provider {
    pub(super) fn new(settings: Settings, addresses: ImagineAddresses) -> Self {
        Self { addresses, settings, pictures: PictureCache::default(), table: Mutex::default() }
    }

    pub(crate) fn record(&self) -> ImagineRecord {
        self.table().record()
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(super) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The table. Locked for moments only, never across an await.
    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a request's bearer token, as an index into the settings' keys. A key's suffix may refuse it.
    pub(super) fn account(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let key = value.and_then(|value| value.strip_prefix("Bearer ")).filter(|key| !key.trim().is_empty());
        let key = key.ok_or_else(Refusal::unauthenticated)?;
        let known = self.settings.keys.iter().position(|known| known == key);
        let account = known.ok_or_else(Refusal::wrong_key)?;
        match key.rsplit_once('-').map(|(_, suffix)| suffix) {
            Some("401") => Err(Refusal::unauthenticated()),
            Some("403") => Err(Refusal::blocked_key()),
            Some("429") => Err(Refusal::rate_limited()),
            Some("broke") => Err(Refusal::no_credits(403)),
            _ => Ok(account),
        }
    }
}

//! The state all listeners of the proxy share.
//!
//! Answers no request.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::settings::Settings;
use crate::midjourney::link::Signer;
use crate::midjourney::record::MidjourneyRecord;
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
pub(crate) struct Provider {
    pub(crate) addresses: MidjourneyAddresses,
    pub(crate) settings: Settings,
    pub(crate) signer: Signer,
    tasks: Mutex<TaskTable>,
}

impl Provider {
    pub(crate) fn new(settings: &Settings, addresses: MidjourneyAddresses) -> io::Result<Self> {
        let (signer, tasks) = (Signer::new()?, Mutex::new(TaskTable::new(settings)));
        Ok(Self { addresses, signer, tasks, settings: settings.clone() })
    }

    pub(crate) fn record(&self) -> MidjourneyRecord {
        self.tasks().record()
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(crate) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The task table. Locked for moments only, never across an await.
    pub(crate) fn tasks(&self) -> MutexGuard<'_, TaskTable> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a request's secret, as an index into the settings' keys. `Authorization` is taken too.
    pub(crate) fn account(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        let header = headers.get("mj-api-secret").or_else(|| headers.get(http::header::AUTHORIZATION));
        let secret = header.and_then(|value| value.to_str().ok()).ok_or_else(Refusal::unauthorized)?;
        let secret = secret.strip_prefix("Bearer ").unwrap_or(secret);
        let known = self.settings.keys.iter().position(|known| known == secret);
        known.ok_or_else(Refusal::unauthorized)
    }
}

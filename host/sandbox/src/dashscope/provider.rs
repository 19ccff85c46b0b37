//! The state all listeners of the provider share.
//!
//! Answers no request.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::{Deserialize, Serialize};

use crate::common::settings::Settings;
use crate::dashscope::record::DashscopeRecord;
use crate::dashscope::refusal::Refusal;
use crate::dashscope::signature::Signer;
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
pub(crate) struct Provider {
    pub(crate) addresses: DashscopeAddresses,
    pub(super) settings: Settings,
    pub(super) signer: Signer,
    /// Origin of the sandbox's samples.
    pub(super) samples: String,
    tasks: Mutex<TaskTable>,
}

impl Provider {
    pub(super) fn new(settings: &Settings, addresses: DashscopeAddresses, samples: &str) -> io::Result<Self> {
        Ok(Self {
            addresses,
            settings: settings.clone(),
            signer: Signer::new()?,
            samples: samples.to_owned(),
            tasks: Mutex::new(TaskTable::new(settings)),
        })
    }

    pub(crate) fn record(&self) -> DashscopeRecord {
        self.tasks().record()
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(super) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The table of tasks. Locked for moments only, never across an await.
    pub(super) fn tasks(&self) -> MutexGuard<'_, TaskTable> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a request's bearer, as an index into the settings' keys.
    pub(super) fn account(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        let bearer =
            headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let key = bearer.ok_or_else(|| Refusal::new(401, "InvalidApiKey", "No API-key provided."))?;
        let known = self.settings.keys.iter().position(|known| known == key);
        known.ok_or_else(|| Refusal::new(401, "InvalidApiKey", "Invalid API-key provided."))
    }
}

//! The state all listeners of the provider share: addresses, settings, the job table, the signing key, pictures.
//!
//! Answers no request.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::picture::PictureCache;
use crate::common::settings::Settings;
use crate::context::jobs::JobTable;
use crate::context::record::ContextRecord;
use crate::context::refusal::Refusal;
use crate::context::signature::Signer;

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
pub(crate) struct Provider {
    pub(crate) addresses: ContextAddresses,
    pub(crate) settings: Settings,
    pub(crate) signer: Signer,
    pub(crate) pictures: PictureCache,
    jobs: Mutex<JobTable>,
}

impl Provider {
    pub(crate) fn new(settings: Settings, addresses: ContextAddresses) -> io::Result<Self> {
        if !settings.keys.iter().all(|key| well_formed(key)) {
            let message =
                "settings.keys: expected keys of 8 to 128 letters, digits, '-' and '_', one has another form";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(Self {
            addresses,
            signer: Signer::new()?,
            pictures: PictureCache::default(),
            jobs: Mutex::new(JobTable::new(&settings)),
            settings,
        })
    }

    pub(crate) fn record(&self) -> ContextRecord {
        self.jobs().record()
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(crate) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The job table. Locked for moments only, never across an await.
    pub(crate) fn jobs(&self) -> MutexGuard<'_, JobTable> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a request's `x-key`, as an index into the settings' keys.
    pub(crate) fn account(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        let key = headers.get("x-key").ok_or_else(Refusal::unauthenticated)?;
        let key = key.to_str().ok().filter(|key| well_formed(key)).ok_or_else(Refusal::malformed_key)?;
        let known = self.settings.keys.iter().position(|known| known == key);
        known.ok_or_else(Refusal::unauthenticated)
    }
}

/// Keys of another form are refused before the lookup.
fn well_formed(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (8..=128).contains(&key.len()) && key.bytes().all(plain)
}

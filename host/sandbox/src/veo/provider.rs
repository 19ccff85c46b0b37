//! The state all listeners of the provider share. Answers no request.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::settings::Settings;
use crate::veo::faults::unauthenticated;
use crate::veo::operations::Operations;
use crate::veo::record::{Dialect, VeoRecord};
use crate::veo::refusal::Refusal;
use crate::veo::tokens::Tokens;

/// Where the provider listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VeoAddresses {
    /// Vertex AI with its version, project and region.
    pub vertex: String,
    /// The token endpoint of its service accounts.
    pub token: String,
    /// The origin of its buckets.
    pub storage: String,
    /// The Gemini API with its version.
    pub gemini: String,
    /// The record, for tests in other processes.
    pub record: String,
}

/// The provider behind all its listeners.
pub(crate) struct Provider {
    pub(crate) addresses: VeoAddresses,
    pub(super) tokens: Tokens,
    settings: Settings,
    operations: Mutex<Operations>,
}

impl Provider {
    pub(super) fn new(settings: &Settings, addresses: VeoAddresses) -> io::Result<Self> {
        Ok(Self {
            addresses,
            tokens: Tokens::new()?,
            settings: settings.clone(),
            operations: Mutex::new(Operations::new(settings)),
        })
    }

    pub(crate) fn record(&self) -> VeoRecord {
        let operations = self.operations();
        let (begun, declined) = operations.listed();
        VeoRecord { accepted: operations.accepted, operations: begun, declined, tokens: self.tokens.count() }
    }

    /// Milliseconds since the Unix epoch by the provider's clock.
    pub(super) fn now(&self) -> u64 {
        (self.settings.now)()
    }

    /// The table of operations. Locked for moments only, never across an await.
    pub(super) fn operations(&self) -> MutexGuard<'_, Operations> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The account of a request: of its bearer token, or of its API key as an index into the settings' keys.
    pub(super) fn account(&self, dialect: Dialect, headers: &HeaderMap) -> Result<usize, Refusal> {
        let account = match dialect {
            Dialect::Vertex => self.tokens.account(headers, self.now()),
            Dialect::Gemini => {
                let key = headers.get("x-goog-api-key").and_then(|key| key.to_str().ok());
                let Some(key) = key else {
                    let message = "Method doesn't allow unregistered callers.";
                    return Err(Refusal::new(403, "PERMISSION_DENIED", message));
                };
                self.settings.keys.iter().position(|known| known == key)
            }
        };
        account.ok_or_else(unauthenticated)
    }
}

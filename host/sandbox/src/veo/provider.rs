//! The state all listeners of the provider share. Answers no request.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::settings::Settings;
use crate::veo::faults::unauthenticated;
use crate::veo::operations::Operations;
use crate::veo::record::VeoRecord;
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

    /// The account of a request, by its bearer token.
    pub(super) fn account(&self, headers: &HeaderMap) -> Result<usize, Refusal> {
        self.tokens.account(headers, self.now()).ok_or_else(unauthenticated)
    }
}

//! The state all listeners of the provider share, and the tokens of its accounts.

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use crate::common::shared::Shared;
use crate::veo::faults::unauthenticated;
use crate::veo::operations::Operations;
use crate::veo::refusal::Refusal;

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
pub(crate) type Provider = Shared<VeoAddresses, Operations>;

/// The account of a request, by its bearer token.
pub(super) fn account(provider: &Provider, headers: &HeaderMap) -> Result<usize, Refusal> {
    provider.table().tokens.account(headers, provider.now()).ok_or_else(unauthenticated)
}

//! What every page is made from: the service, the sessions, and what is said of the gateway.

use std::sync::Arc;

use gatehouse_admin::{AdminService, Revealed, Sessions};
use gatehouse_model::{ApiKey, KeyId};

use crate::api::Api;
use crate::once::Once;
use crate::runs::Runs;

/// What the pages say of the gateway they belong to.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What clients' addresses begin with, without a slash at the end.
    pub public_url: String,
    /// The host of the identity provider whose users may log in.
    pub identity_provider: Option<String>,
    /// Keys to try the gateway with; only in sandbox mode.
    pub sandbox: Option<SandboxSecrets>,
}

/// The two keys of sandbox mode.
#[derive(Clone, Debug)]
pub struct SandboxSecrets {
    /// Chat completions come wrapped in `{code, data}`.
    pub wrapped: Revealed,
    /// Chat completions come bare, as OpenAI's SDKs expect.
    pub bare: Revealed,
}

impl SandboxSecrets {
    /// The id of the key whose answers come as SDKs expect.
    pub(crate) fn id(&self) -> Option<KeyId> {
        ApiKey::parse(&self.bare.0).ok().map(|key| key.id())
    }
}

/// What pages are made from.
pub(crate) struct PageContext {
    pub(crate) service: Arc<AdminService>,
    pub(crate) api: Api,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) facts: Facts,
    /// Requests of the playground.
    pub(crate) runs: Runs,
    pub(crate) once: Once,
}

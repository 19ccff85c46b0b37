//! What pages and folders show of plugins and logins.
//!
//! Names that programs already read (`withdrawn`) stay in the JSON where the type has a newer word.

use std::collections::BTreeMap;
use std::fmt;

use gatehouse_model::{Digest, UnixMs};
use gatehouse_runtime::ManifestFacts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::DefaultView;
use crate::http::access::caller::Role;
use crate::http::values::Moment;

/// What a check or a deployment came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PluginOutcome {
    /// The version.
    pub plugin: PluginView,
    /// The version that served before; `None` for the first one, the same, and after a check.
    pub replaced: Option<Digest>,
    /// Every stage in order.
    pub stages: Vec<StageView>,
    /// What became of the defaults that it brought, or would become.
    pub defaults: Vec<DefaultView>,
}

/// A family that was taken away.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Uninstalled")]
pub struct UninstalledView {
    /// The family.
    pub family: String,
    /// The digests of the versions that were deleted.
    pub versions: Vec<String>,
    /// What became of the defaults that it brought.
    pub defaults: Vec<DefaultView>,
}

/// A login link of the console. Works once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "LoginLink")]
pub struct LoginLinkView {
    /// The same link under every name that a browser on the gateway's machine may use, the best first.
    #[schemars(with = "Vec<String>")]
    pub urls: Vec<Revealed>,
    /// What it allows.
    pub role: Role,
    /// When it stops working.
    pub expires: Moment,
}

/// A secret in a result: it serialises, and its `Debug` form hides it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revealed(pub String);

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// One stage of a deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stage")]
pub struct StageView {
    /// `admit`, `compile`, ...
    pub stage: String,
    /// Its end.
    pub verdict: StageVerdict,
    /// How long it took.
    pub took_ms: u64,
    /// What it found, a sentence.
    pub note: String,
}

/// The end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StageVerdict {
    /// The version may go on.
    Passed,
    /// The version was refused here.
    Refused,
    /// There was nothing to do.
    Skipped,
}

/// One plugin version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PluginView {
    /// The family it serves.
    pub family: String,
    /// Its semver.
    pub version: String,
    /// The sha256 of the component.
    pub digest: Digest,
    /// Models it serves.
    pub models: Vec<String>,
    /// Other names of its models, by model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, Vec<String>>,
    /// What its manifest says of it to people.
    #[serde(default)]
    pub facts: ManifestFacts,
    /// Its state on this gateway.
    pub state: PluginState,
}

/// The state of a plugin version on this gateway.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum PluginState {
    /// Serves new requests.
    Active {
        /// Since then.
        since: UnixMs,
    },
    /// Active, but it could not be loaded.
    Broken {
        /// Why.
        reason: String,
    },
    /// Would serve, but the configuration has its family switched off.
    DisabledByConfiguration,
    /// Would serve, but an operator has switched its family off.
    DisabledByOperator {
        /// Since then.
        since: UnixMs,
    },
    /// Passed every stage; the family was not switched.
    Checked,
    /// In the plugin store; can be activated.
    Kept,
    /// Finishes the tasks it admitted.
    Pinned,
    /// Passed every stage and serves from now on.
    Serves,
    /// Ready to take over from its successor, a canary.
    Standby {
        /// The end of the canary's observation.
        until: UnixMs,
    },
    /// Rolled back after faults as a canary; serves again only after `plugin activate`.
    #[serde(rename = "withdrawn")]
    RolledBack {
        /// When.
        at: UnixMs,
        /// Why.
        reason: String,
    },
}

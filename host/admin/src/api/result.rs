//! What pages and folders show of plugins, keys, logins and the ledger.
//!
//! Names that programs already read (`withdrawn`) stay in the JSON where the type has a newer word.

use std::collections::BTreeMap;
use std::fmt;

use gatehouse_model::{
    ChatFormat, Credits, CustomerId, Digest, Key, KeyId, Limits, PeriodUse, QuotaPeriod, QuotaUse, UnixMs,
};
use gatehouse_runtime::ManifestFacts;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::DefaultView;
use crate::http::access::caller::Role;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginLinkView {
    /// The same link under every name that a browser on the gateway's machine may use, the best first.
    pub urls: Vec<Revealed>,
    /// What it allows.
    pub role: Role,
    /// When it stops working.
    pub expires: UnixMs,
}

/// A key without its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// The public part of the key.
    pub id: KeyId,
    /// The customer that pays.
    #[serde(rename = "account")]
    pub customer: CustomerId,
    /// A name for people.
    pub name: String,
    /// When it was made.
    pub created: UnixMs,
    /// Spending limit.
    pub quota: Option<Credits>,
    /// How often the quota resets; `None` is never.
    #[serde(default)]
    pub quota_period: Option<QuotaPeriod>,
    /// What was used in the period of the last use.
    #[serde(default)]
    pub period_use: Option<PeriodUse>,
    /// Held plus settled through it.
    pub used: Credits,
    /// Models it may use; empty means all.
    pub models: Vec<String>,
    /// Networks it may be used from; empty means all.
    pub networks: Vec<IpNet>,
    /// When it stops working.
    pub expires: Option<UnixMs>,
    /// When it was revoked.
    pub revoked: Option<UnixMs>,
    /// Form of chat completions, where the request does not choose.
    pub chat_format: ChatFormat,
    /// How fast and how much at a time.
    #[serde(default)]
    pub limits: Limits,
    /// The same of single models.
    #[serde(default)]
    pub model_limits: BTreeMap<String, Limits>,
    /// Live tasks and open text requests at present, by model.
    #[serde(default)]
    pub open: BTreeMap<String, u32>,
    /// Counts the changes of the key; an edit may insist on it.
    #[serde(default)]
    pub revision: u64,
    /// The key that it replaced.
    #[serde(default)]
    pub rotated_from: Option<KeyId>,
    /// The key that replaced it.
    #[serde(default)]
    pub rotated_to: Option<KeyId>,
}

impl KeyView {
    /// The quota and what is used of it at that moment; `None` without a quota.
    #[must_use]
    pub fn quota_use(&self, at: UnixMs) -> Option<QuotaUse> {
        QuotaUse::new(self.quota, (self.quota_period, self.period_use), self.used, at)
    }
}

impl From<Key> for KeyView {
    fn from(key: Key) -> Self {
        Self {
            id: key.id,
            customer: key.customer,
            name: key.name,
            created: key.created,
            quota: key.quota,
            quota_period: key.quota_period,
            period_use: key.period_use,
            used: key.used,
            models: key.models,
            networks: key.networks,
            expires: key.expires,
            revoked: key.revoked,
            chat_format: key.chat_format,
            limits: key.limits,
            model_limits: key.model_limits,
            open: key.open,
            revision: key.revision,
            rotated_from: key.rotated_from,
            rotated_to: key.rotated_to,
        }
    }
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

/// One stage of a plugin version's deployment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageView {
    /// "admit", "compile", ...
    pub stage: String,
    /// Its end.
    pub verdict: StageVerdict,
    /// Its duration in milliseconds.
    pub took_ms: u64,
    /// The finding, a sentence.
    pub note: String,
}

/// The end of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

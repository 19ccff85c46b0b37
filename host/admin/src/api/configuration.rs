//! Results about the configuration: what a reload changed, and what the defaults of a family add.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a reload of the configuration changed; values are never shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Reloaded")]
pub struct ReloadView {
    /// Keys with another value, now in effect.
    pub changed: Vec<String>,
    /// Accounts that are new, gone, or have another secret; a clause each.
    pub accounts: Vec<String>,
    /// Keys with another value that a running gateway cannot take over.
    pub needs_restart: Vec<String>,
    /// What active plugins lack from now on, a sentence each.
    pub warnings: Vec<String>,
}

/// The configuration of a gateway.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Config")]
pub struct EffectiveView {
    /// Every key with its value, tables as objects. A secret is told as `(secret) from ...` or `not set`.
    pub values: serde_json::Map<String, serde_json::Value>,
    /// Keys whose value here is not in effect before a restart.
    pub needs_restart: Vec<String>,
}

/// The defaults of a family, as its author wrote them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FamilyDefaultsFile {
    /// The file's name, for messages.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// One value of a family's defaults, or one that they no longer bring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FamilyDefault")]
pub struct DefaultView {
    /// The key.
    pub key: String,
    /// The value they bring, as TOML; empty when they bring none any more.
    pub value: String,
    /// What becomes of it.
    #[serde(flatten)]
    pub effect: DefaultEffect,
}

/// What becomes of one value of a family's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "effect", rename_all = "kebab-case")]
#[schemars(rename = "DefaultEffect")]
pub enum DefaultEffect {
    /// The gateway had none.
    Added,
    /// It replaces an earlier default.
    Changed {
        /// The value before.
        before: String,
    },
    /// It is in effect already.
    Unchanged,
    /// The operator's own value stays in effect.
    Overridden {
        /// That value.
        by: String,
        /// Where it is set.
        at: String,
    },
    /// An earlier default goes.
    Removed {
        /// The value before.
        before: String,
    },
}

//! The gateway itself as operators read it: what a reload changed, backups, examinations by the doctor, and the gateways of one
//! database.

use std::collections::BTreeMap;

use gatehouse_model::{view, words};
use gatehouse_store::KnownNode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::Moment;

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

/// Where a backup goes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBackup {
    /// A folder of the gateway's machine, from its root, that is empty or not there yet; or `s3://<bucket>/<prefix>`, below which
    /// there is nothing yet.
    pub to: String,
}

/// A backup that is being made, or was. It goes on whether anybody looks or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BackupRun {
    /// Its number, to look at it again.
    pub run: u64,
    /// Whether it goes on.
    pub state: RunState,
    /// Rows copied so far, and then checked.
    pub done: u64,
    /// Rows to copy and check; more once the copying is done.
    pub of: u64,
    /// Bytes sent to a bucket so far.
    pub sent_bytes: u64,
    /// Bytes to send to a bucket; zero before the copy is checked, and where it goes to a folder.
    pub bytes_to_send: u64,
    /// What it holds; null while it goes on.
    pub backup: Option<BackupView>,
}

/// A backup that was made and looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackupView {
    /// Where it is: a folder, or an address of a bucket.
    pub location: String,
    /// The moment that it shows.
    pub made: Moment,
    /// Files in it.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows of the store.
    pub rows: u64,
    /// Entries of the ledger.
    pub ledger_entries: u64,
    /// The digest of the ends of all customers' ledgers.
    pub ledger_digest: String,
}

/// An examination. It goes on whether anybody looks or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DoctorRun {
    /// Its number, to look at it again.
    pub run: u64,
    /// Whether it goes on.
    pub state: RunState,
    /// Rows checked so far.
    pub checked: u64,
    /// Rows to check; zero in its first moments.
    pub of: u64,
    /// What it found; null while it goes on.
    pub report: Option<DoctorReport>,
}

/// Whether an examination goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "DoctorState")]
pub(crate) enum RunState {
    /// It goes on.
    Running,
    /// It has its report.
    Done,
}

/// The doctor's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct DoctorReport {
    /// Whether nothing is wrong.
    pub sound: bool,
    /// Violated invariants, a sentence each.
    pub findings: Vec<String>,
    /// Rows checked, by kind.
    pub counts: BTreeMap<String, u64>,
    /// Difference between the ledger and the balances.
    pub imbalance_micro: i64,
}

/// The gateways that use the database of `data.url`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetView {
    /// How often another gateway, or the same one again, began to work.
    pub epoch: i64,
    /// Whether one is at work.
    pub is_at_work: bool,
    /// Seconds left of the lease of the one at work.
    pub lease_seconds: u64,
    /// Whether those that run are configured to do different things.
    pub configurations_differ: bool,
    /// What to look at, a sentence each.
    pub warnings: Vec<String>,
    /// Those that were seen within the last day, by their names.
    pub nodes: Vec<NodeView>,
}

view! {
    /// A gateway of a fleet, as it told the others of itself.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub struct NodeView of (known: KnownNode) where {
        let role = NodeRole::of(&known);
    } {
        /// Its name.
        pub name: String = known.node.name,
        /// What it does.
        pub role: NodeRole = role,
        /// Where the others reach its public API.
        pub address: Option<String> = known.node.address,
        /// Its release.
        pub version: String = known.node.version,
        /// A digest of what it is configured to do.
        pub configuration: String = known.node.configuration,
        /// Since it was seen last.
        pub seen_seconds_ago: u64 = known.seen.as_secs(),
        /// Whether another process that runs calls itself the same.
        pub name_is_doubled: bool = known.is_doubled,
    }
}

/// A gateway that was not seen for so many seconds does not run.
const GONE: u64 = 30;

words! {
    /// What a gateway does for its fleet.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum NodeRole {
        /// It serves, and is the only one that writes.
        AtWork = "at work",
        /// It waits for the place of the one at work.
        Standby = "standby",
        /// It was not seen for a while.
        Gone = "gone",
    }
}

impl NodeRole {
    fn of(known: &KnownNode) -> Self {
        match (known.at_work, known.seen.as_secs() < GONE) {
            (true, _) => Self::AtWork,
            (false, true) => Self::Standby,
            (false, false) => Self::Gone,
        }
    }
}

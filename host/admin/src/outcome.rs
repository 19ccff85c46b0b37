//! What an operation is answered with.

use std::collections::BTreeMap;
use std::fmt;

use gatehouse_model::{ChatFormat, Credits, Customer, CustomerId, Digest, Key, KeyId, TaskId, UnixMs};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The answer to an operation that was performed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// One account as it now is.
    Customer(Customer),
    /// Accounts by id.
    Accounts {
        /// The accounts.
        accounts: Vec<Customer>,
    },
    /// One key as it now is.
    Key(KeyView),
    /// A new key, and the only time its secret is seen.
    KeyCreated {
        /// Its policy.
        key: KeyView,
        /// The whole key, for the client.
        secret: Revealed,
    },
    /// Keys, oldest first.
    Keys {
        /// The keys.
        keys: Vec<KeyView>,
    },
    /// What the doctor found.
    Examined(Examination),
    /// Lines of the audit record, newest first.
    Audit {
        /// The lines.
        notes: Vec<AuditNote>,
    },
    /// A component passed every stage of loading.
    PluginChecked {
        /// The version.
        plugin: PluginView,
        /// Every stage in order.
        stages: Vec<StageView>,
    },
    /// A version was deleted.
    PluginRemoved {
        /// Its digest.
        digest: Digest,
    },
    /// A family is served by this version from now on.
    PluginSwitched {
        /// The version.
        plugin: PluginView,
        /// What served before; `None` when nothing did, or the same.
        replaced: Option<Digest>,
        /// Every stage in order.
        stages: Vec<StageView>,
    },
    /// Plugin versions by family.
    Plugins {
        /// The versions.
        plugins: Vec<PluginView>,
    },
}

/// A key without what is kept of its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyView {
    /// The public part.
    pub id: KeyId,
    /// Who pays.
    pub account: CustomerId,
    /// For people.
    pub name: String,
    /// When it was made.
    pub created: UnixMs,
    /// Spending limit.
    pub quota: Option<Credits>,
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
    /// How its chat completions come unless a request says otherwise.
    pub chat_format: ChatFormat,
}

impl From<Key> for KeyView {
    fn from(key: Key) -> Self {
        Self {
            id: key.id,
            account: key.customer,
            name: key.name,
            created: key.created,
            quota: key.quota,
            used: key.used,
            models: key.models,
            networks: key.networks,
            expires: key.expires,
            revoked: key.revoked,
            chat_format: key.chat_format,
        }
    }
}

/// A secret on its one way to the person who asked for it: it serialises, and does not print otherwise.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revealed(pub String);

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The doctor's report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Examination {
    /// What is wrong, a sentence each; empty when the books are sound.
    pub findings: Vec<String>,
    /// What was looked at, by kind.
    pub counts: BTreeMap<String, u64>,
    /// What the ledger and the balances differ by; zero when the books are sound.
    pub imbalance: Credits,
}

impl Examination {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty() && self.imbalance == Credits::ZERO
    }
}

/// One line of the audit record: something the gateway had to decide without knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditNote {
    /// When it was written.
    pub at: UnixMs,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What happened and what was done about it.
    pub text: String,
}

/// One stage of a plugin version's way into service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageView {
    /// "admit", "compile", ...
    pub stage: String,
    /// How it ended.
    pub verdict: StageVerdict,
    /// How long it took, ms.
    pub took_ms: u64,
    /// What was found, a sentence.
    pub note: String,
}

/// How a stage ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StageVerdict {
    /// Well.
    Passed,
    /// The version was turned away here.
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
    /// Which build exactly.
    pub digest: Digest,
    /// Models it serves, aliases not counted; unknown while it is not active.
    pub models: Vec<String>,
    /// What it does here.
    pub state: PluginState,
}

/// What a plugin version does here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum PluginState {
    /// Serves new requests.
    Active {
        /// Since then.
        since: UnixMs,
    },
    /// Should serve and cannot.
    Broken {
        /// Why.
        reason: String,
    },
    /// Passed every stage; nothing was switched.
    Checked,
    /// Lies in the data folder, to be activated.
    Kept,
    /// Finishes the tasks it admitted.
    Pinned,
    /// Passed every stage and serves from now on.
    Serves,
    /// Takes over should its successor fail.
    Standby {
        /// When the watch on its successor ends.
        until: UnixMs,
    },
    /// Failed its watch; serves again only when it is activated by hand.
    Withdrawn {
        /// When.
        at: UnixMs,
        /// Why.
        reason: String,
    },
}

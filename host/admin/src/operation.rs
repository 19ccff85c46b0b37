//! What an operator may ask, and how it is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_model::{ChatFormat, Credits, CustomerId, Digest, KeyId, TaskId, UnixMs};
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::StageView;

/// One thing an operator asks. The same value is performed by a command on a store it opened itself, or
/// sent to the gateway that has the store open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    /// Opens an account without credit.
    AccountOpen {
        /// Its new id.
        account: CustomerId,
    },
    /// Lists every account.
    AccountList,
    /// Shows one account.
    AccountShow {
        /// Which.
        account: CustomerId,
    },
    /// Pays in.
    AccountDeposit {
        /// Which.
        account: CustomerId,
        /// More than zero.
        amount: Credits,
        /// For the ledger.
        memo: String,
    },
    /// Takes back what is available.
    AccountWithdraw {
        /// Which.
        account: CustomerId,
        /// More than zero.
        amount: Credits,
        /// For the ledger.
        memo: String,
    },
    /// Makes an API key.
    KeyCreate(NewKey),
    /// Lists keys.
    KeyList {
        /// Only this account's.
        account: Option<CustomerId>,
        /// Revoked ones too.
        revoked: bool,
    },
    /// Shows one key's policy and use; its secret is gone for good.
    KeyShow {
        /// Which.
        key: KeyId,
    },
    /// Ends a key at once.
    KeyRevoke {
        /// Which.
        key: KeyId,
    },
    /// Re-sums the books and checks every hold against its task.
    Doctor,
    /// Reads the audit record, newest lines first.
    Audit {
        /// Only lines about this task.
        task: Option<TaskId>,
        /// At most this many.
        limit: u32,
    },
    /// Lists plugin versions.
    PluginList,
    /// Takes a component through every stage of loading and switches its family to it.
    PluginInstall {
        /// Its bytes.
        component: Component,
        /// Refuse any other bytes.
        sha256: Option<Digest>,
        /// The line of its signature file.
        #[serde(default)]
        signature: Option<String>,
    },
    /// Switches to a version that is kept already.
    PluginActivate {
        /// Its digest, or the unmistakable beginning of it.
        version: String,
    },
    /// Switches a family back to the version before.
    PluginRollback {
        /// The family.
        family: String,
    },
    /// Deletes a version that neither serves nor finishes a task.
    PluginRemove {
        /// Its digest, or the unmistakable beginning of it.
        version: String,
    },
    /// Takes a component through every stage of loading but the switch.
    PluginCheck {
        /// Its bytes.
        component: Component,
        /// The line of its signature file.
        #[serde(default)]
        signature: Option<String>,
    },
}

impl Operation {
    /// Whether it may write. Reading never makes a store where there was none.
    #[must_use]
    pub fn writes(&self) -> bool {
        matches!(
            self,
            Self::AccountOpen { .. }
                | Self::AccountDeposit { .. }
                | Self::AccountWithdraw { .. }
                | Self::KeyCreate(_)
                | Self::KeyRevoke { .. }
                | Self::PluginInstall { .. }
                | Self::PluginActivate { .. }
                | Self::PluginRollback { .. }
                | Self::PluginRemove { .. }
        )
    }
}

/// The policy of a key to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// Who pays.
    pub account: CustomerId,
    /// For people.
    pub name: String,
    /// Spending limit; `None` is unlimited.
    pub quota: Option<Credits>,
    /// Models it may use; empty means all.
    pub models: Vec<String>,
    /// Networks it may be used from; empty means all.
    pub networks: Vec<IpNet>,
    /// When it stops working.
    pub expires: Option<UnixMs>,
    /// How its chat completions come unless a request says otherwise.
    #[serde(default)]
    pub chat_format: ChatFormat,
}

/// A component's bytes; base64 on the wire.
#[derive(Clone, PartialEq, Eq)]
pub struct Component(pub Vec<u8>);

impl std::fmt::Debug for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Component({} bytes)", self.0.len())
    }
}

impl Serialize for Component {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Component {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        STANDARD.decode(text.as_bytes()).map(Self).map_err(serde::de::Error::custom)
    }
}

/// Why an operation was not performed; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "error", content = "message", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OperationError {
    /// The operation is not well-formed.
    #[error("{0}")]
    Invalid(String),
    /// What it names does not exist.
    #[error("{0}")]
    NotFound(String),
    /// The rules do not allow it.
    #[error("{0}")]
    Refused(String),
    /// A plugin version was turned away.
    #[error("{reason}")]
    PluginRefused {
        /// The stage and why.
        reason: String,
        /// Every stage up to that one.
        stages: Vec<StageView>,
    },
    /// Too much is going on; ask again.
    #[error("{0}")]
    Busy(String),
    /// The gateway could not do it.
    #[error("{0}")]
    Failed(String),
}

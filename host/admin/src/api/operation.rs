//! Operations of an operator.
//!
//! Names that programs already send (`account-open`, `account`) stay in the JSON where the type has a newer word.

use gatehouse_model::{Credits, CustomerId, KeyId, Status, TaskId};
use serde::{Deserialize, Serialize};

use crate::api::key_policy::{KeyPatch, NewKey};
use crate::api::plugin_offer::PluginOffer;
use crate::api::task::TaskRuling;
use crate::api::webhook::WebhookRequest;
use crate::http::access::caller::Role;

/// One operation. A command performs it on a store that it opened itself, or sends the same value to the
/// gateway that has the store open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    /// Opens a customer without credit.
    #[serde(rename = "account-open", alias = "customer-open")]
    CustomerOpen {
        /// Its new id.
        #[serde(rename = "account", alias = "customer")]
        customer: CustomerId,
    },
    /// Lists every customer.
    #[serde(rename = "account-list", alias = "customer-list")]
    CustomerList,
    /// Shows one customer.
    #[serde(rename = "account-show", alias = "customer-show")]
    CustomerShow {
        /// Its id.
        #[serde(rename = "account", alias = "customer")]
        customer: CustomerId,
    },
    /// Pays in.
    #[serde(rename = "account-deposit", alias = "customer-deposit")]
    CustomerDeposit {
        /// Its id.
        #[serde(rename = "account", alias = "customer")]
        customer: CustomerId,
        /// More than zero.
        amount: Credits,
        /// For the ledger.
        memo: String,
    },
    /// Takes back what is available.
    #[serde(rename = "account-withdraw", alias = "customer-withdraw")]
    CustomerWithdraw {
        /// Its id.
        #[serde(rename = "account", alias = "customer")]
        customer: CustomerId,
        /// More than zero.
        amount: Credits,
        /// For the ledger.
        memo: String,
    },
    /// Makes an API key.
    KeyCreate(NewKey),
    /// Lists keys.
    KeyList {
        /// Only this customer's.
        #[serde(rename = "account", alias = "customer")]
        customer: Option<CustomerId>,
        /// Revoked ones too.
        revoked: bool,
    },
    /// Shows one key's policy and use, never its secret.
    KeyShow {
        /// Its id.
        key: KeyId,
    },
    /// Changes a key's policy.
    KeyEdit {
        /// Its id.
        key: KeyId,
        /// Only if the key has this revision.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revision: Option<u64>,
        /// What changes.
        patch: Box<KeyPatch>,
    },
    /// Makes a successor of a key, which goes on working for a while.
    KeyRotate {
        /// Its id.
        key: KeyId,
        /// For how many milliseconds both work; at most seven days.
        overlap_ms: u64,
    },
    /// Revokes a key at once.
    KeyRevoke {
        /// Its id.
        key: KeyId,
    },
    /// Asks about a webhook, or changes one.
    Webhook {
        /// What.
        request: WebhookRequest,
    },
    /// Sums up the ledger again and checks every hold and every index row against its task.
    Doctor,
    /// Reads the audit record, newest lines first.
    Audit {
        /// Only lines about this task.
        task: Option<TaskId>,
        /// At most this many, and at most 1,000.
        limit: u32,
        /// Lines of operators' requests, too; without it, what the gateway decided by itself.
        #[serde(default)]
        requests: bool,
        /// Only lines below this number: the `next` of the answer before.
        #[serde(default)]
        cursor: Option<u64>,
    },
    /// Reads the configuration again and switches to it, or changes nothing.
    Reload,
    /// Makes a link that logs one person in to the console of a running gateway.
    ConsoleLink {
        /// What the person may do.
        #[serde(default)]
        role: Role,
    },
    /// Lists tasks of all customers, newest first.
    TaskList {
        /// Only those whose call is ambiguous and waits for a ruling.
        #[serde(default)]
        ambiguous: bool,
        /// Only those in this state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
        /// Only this customer's.
        #[serde(rename = "account", alias = "customer", default, skip_serializing_if = "Option::is_none")]
        customer: Option<CustomerId>,
        /// At most this many.
        limit: u32,
    },
    /// Rules on the ambiguous call of a task; by a running gateway.
    TaskReconcile {
        /// The task.
        task: TaskId,
        /// What becomes of the call, and why.
        ruling: TaskRuling,
    },
    /// Ends a task early; by a running gateway.
    TaskCancel {
        /// The task.
        task: TaskId,
        /// For the audit record.
        reason: String,
        /// Also while its provider works on it.
        #[serde(default)]
        give_up: bool,
    },
    /// Shows what a task did, with its exchanges with providers; leaves a line in the audit record.
    TaskSteps {
        /// The task.
        task: TaskId,
    },
    /// Shows the prices in effect; of a running gateway.
    Prices,
    /// What a request would cost. Makes nothing, and needs no key and no money.
    PricePreview {
        /// The path of its endpoint, or the operation.
        target: String,
        /// The body as a client would send it.
        body: serde_json::Value,
        /// The customer whose tasks and names it refers to.
        #[serde(rename = "account", alias = "customer", default, skip_serializing_if = "Option::is_none")]
        customer: Option<CustomerId>,
        /// The version of the price book to price it by; without it, the prices in effect.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        book: Option<u64>,
    },
    /// Lists the versions of the price book, newest first.
    PriceHistory {
        /// At most this many.
        limit: u32,
    },
    /// Shows what differs between two versions of the price book.
    PriceDiff {
        /// The version.
        book: u64,
        /// Another one; without it, the one before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        against: Option<u64>,
    },
    /// Lists the reports of deployments, newest first.
    DeploymentList {
        /// Only of this family.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        family: Option<String>,
        /// At most this many.
        limit: u32,
    },
    /// Shows one report of a deployment.
    DeploymentShow {
        /// Its number.
        number: u64,
    },
    /// Lists providers with their accounts' health; of a running gateway.
    ProviderList,
    /// Keeps new work away from an account of a provider; what is in flight goes on.
    ProviderDrain {
        /// The provider.
        provider: String,
        /// The account's name.
        account: String,
    },
    /// Lets new work come to a drained account again.
    ProviderResume {
        /// The provider.
        provider: String,
        /// The account's name.
        account: String,
    },
    /// Lists plugin versions.
    PluginList,
    /// Deploys a component: every stage, the switch of its family included.
    PluginInstall(PluginOffer),
    /// Switches a family to a version in the plugin store.
    PluginActivate {
        /// Its digest, or an unambiguous prefix of it.
        version: String,
        /// Whether it may leave out a model, alias or surface that its predecessor serves.
        #[serde(default)]
        allow_removal: bool,
    },
    /// Switches a family back to its previous version.
    PluginRollback {
        /// The family.
        family: String,
    },
    /// Keeps new requests away from a family; its tasks go on.
    PluginDisable {
        /// The family.
        family: String,
    },
    /// Has a family serve again that was switched off.
    PluginEnable {
        /// The family.
        family: String,
    },
    /// Takes away a family, with every version of it and the defaults that came with it.
    PluginUninstall {
        /// The family.
        family: String,
    },
    /// Deletes a version that neither serves nor has tasks to finish.
    PluginRemove {
        /// Its digest, or an unambiguous prefix of it.
        version: String,
    },
    /// Takes a component through every stage of deployment but the switch.
    PluginCheck(PluginOffer),
}

impl Operation {
    /// The plugin to check or to install.
    #[must_use]
    pub fn offer(&self) -> Option<&PluginOffer> {
        match self {
            Self::PluginInstall(offer) | Self::PluginCheck(offer) => Some(offer),
            _ => None,
        }
    }

    /// Whether it may write. An operation that only reads never creates a store.
    #[must_use]
    pub fn writes(&self) -> bool {
        if let Self::Webhook { request } = self {
            return request.writes();
        }
        matches!(
            self,
            Self::CustomerOpen { .. }
                | Self::CustomerDeposit { .. }
                | Self::CustomerWithdraw { .. }
                | Self::KeyCreate(_)
                | Self::KeyEdit { .. }
                | Self::KeyRotate { .. }
                | Self::KeyRevoke { .. }
                | Self::TaskReconcile { .. }
                | Self::TaskCancel { .. }
                | Self::PluginInstall(_)
                | Self::PluginActivate { .. }
                | Self::PluginRollback { .. }
                | Self::PluginDisable { .. }
                | Self::PluginEnable { .. }
                | Self::PluginUninstall { .. }
                | Self::PluginRemove { .. }
        )
    }
}

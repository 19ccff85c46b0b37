//! Operations performed on an open store: the same code for a command that opened it itself and for the
//! admin listener of a serving gateway.
//!
//! Owns the checks on what an operator types and the words of a refusal. The rules of money and keys stay in
//! `tasks`; this only sends its commands.

mod accounts;
mod keys;
mod live;
mod plugins;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use gatehouse_admin::{AuditNote, Examination, Operation, OperationError, Operations, Outcome, Performing};
use gatehouse_driver::Driver;
use gatehouse_model::{Clock, Digest, Pepper, Seed, TaskId};
use gatehouse_runtime::{Inventory, PluginService, Trust};
use gatehouse_store::{Store, StoreError};
use gatehouse_tasks::{Answer, Command, Rejection, Report};
use metrics_exporter_prometheus::PrometheusHandle;

use crate::config::Config;
use crate::embedded::PLUGINS;

pub(crate) use live::StoredStates;

/// An open store and what is needed to work on it.
pub(crate) struct Desk {
    /// The store.
    pub(crate) store: Store,
    /// How to reach the plugins.
    pub(crate) plugins: Plugins,
    /// Under which keys are digested.
    pub(crate) pepper: Pepper,
    /// Time.
    pub(crate) clock: Arc<dyn Clock>,
    /// Randomness.
    pub(crate) seed: Arc<dyn Seed>,
}

/// Plugins that serve, or what is needed to load them for a look.
pub(crate) enum Plugins {
    /// They serve.
    Serving(PluginService),
    /// They are opened when asked for.
    Closed(Box<gatehouse_runtime::Config>),
}

impl Desk {
    /// Performs one operation.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub(crate) async fn perform(&self, operation: Operation) -> Result<Outcome, OperationError> {
        // An operator sees what clients were told.
        self.store.catch_up().await.map_err(broken)?;
        match operation {
            Operation::AccountOpen { account } => self.open_account(account).await,
            Operation::AccountList => {
                Ok(Outcome::Accounts { accounts: self.store.accounts().map_err(broken)? })
            }
            Operation::AccountShow { account } => self.show_account(&account),
            Operation::AccountDeposit { account, amount, memo } => {
                self.pay(account, amount, memo, Way::In).await
            }
            Operation::AccountWithdraw { account, amount, memo } => {
                self.pay(account, amount, memo, Way::Out).await
            }
            Operation::KeyCreate(new) => self.create_key(new).await,
            Operation::KeyList { account, revoked } => self.list_keys(account.as_ref(), revoked),
            Operation::KeyShow { key } => self.show_key(&key),
            Operation::KeyRevoke { key } => self.revoke_key(key).await,
            Operation::Doctor => self.examine().await,
            Operation::Audit { task, limit } => self.read_audit(task, limit).await,
            Operation::PluginList => self.list_plugins().await,
            Operation::PluginCheck { component, signature } => self.check_plugin(component, signature).await,
            Operation::PluginInstall { component, sha256, signature } => {
                self.install_plugin(component, sha256, signature).await
            }
            Operation::PluginActivate { version } => self.activate_plugin(&version).await,
            Operation::PluginRollback { family } => self.roll_back_plugin(family).await,
            Operation::PluginRemove { version } => self.remove_plugin(&version).await,
        }
    }

    async fn examine(&self) -> Result<Outcome, OperationError> {
        let store = self.store.clone();
        let report = aside(move || store.examine()).await?.map_err(broken)?;
        Ok(Outcome::Examined(examination(report)))
    }

    async fn read_audit(&self, task: Option<TaskId>, limit: u32) -> Result<Outcome, OperationError> {
        let (store, limit) = (self.store.clone(), usize::try_from(limit).unwrap_or(usize::MAX));
        let notes = aside(move || store.audit(task, limit)).await?.map_err(broken)?;
        let notes = notes.into_iter().map(|note| AuditNote { at: note.at, task: note.task, text: note.text });
        Ok(Outcome::Audit { notes: notes.collect() })
    }

    async fn send(&self, command: Command) -> Result<Answer, OperationError> {
        self.store.execute(command).await.map_err(broken)?.map_err(rejected)
    }
}

/// Which way money moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    In,
    Out,
}

/// A serving gateway behind the operators' door.
pub(crate) struct Serving {
    /// The open store.
    pub(crate) desk: Desk,
    /// Told when keys change.
    pub(crate) driver: Driver,
    /// Renders the metrics.
    pub(crate) metrics: PrometheusHandle,
}

impl Operations for Serving {
    fn perform(&self, operation: Operation) -> Performing<'_> {
        Box::pin(async move {
            let keys = matches!(operation, Operation::KeyCreate(_) | Operation::KeyRevoke { .. });
            let outcome = self.desk.perform(operation).await;
            if keys {
                self.driver.keys_changed();
            }
            outcome
        })
    }

    fn metrics(&self) -> String {
        self.metrics.render()
    }

    fn is_ready(&self) -> bool {
        self.driver.is_ready()
    }
}

fn examination(report: Report) -> Examination {
    let mut findings = report.findings;
    let kept = u64::try_from(findings.len()).unwrap_or(u64::MAX);
    if report.found > kept {
        findings.push(format!("and {} more", report.found - kept));
    }
    let counts = [
        ("accounts", report.accounts),
        ("keys", report.keys),
        ("ledger entries", report.entries),
        ("open holds", report.holds),
        ("live tasks", report.live),
        ("finished tasks", report.finished),
    ];
    let counts = counts.map(|(name, count)| (name.to_owned(), count));
    Examination { findings, counts: BTreeMap::from(counts), imbalance: report.imbalance }
}

/// Runs what takes long away from the threads that serve.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, OperationError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| OperationError::Failed(format!("the operation was cut short: {error}")))
}

fn broken(error: StoreError) -> OperationError {
    match error {
        StoreError::Busy => OperationError::Busy(error.to_string()),
        other => OperationError::Failed(other.to_string()),
    }
}

fn rejected(rejection: Rejection) -> OperationError {
    let text = rejection.to_string();
    match rejection {
        Rejection::NoAccount(_) | Rejection::NoKey(_) => OperationError::NotFound(text),
        Rejection::Malformed { .. } | Rejection::Overflow => OperationError::Invalid(text),
        _ => OperationError::Refused(text),
    }
}

/// The room of plugins in `data`, as the configuration wants it.
#[must_use]
pub(crate) fn families_config(data: PathBuf, config: &Config) -> gatehouse_runtime::Config {
    let plugins = &config.plugins;
    // Simulated providers stand in for all of them, and have an account each once they run.
    let supplied =
        config.providers.iter().filter(|(_, it)| config.sandbox.enabled || !it.accounts.is_empty());
    gatehouse_runtime::Config {
        data_dir: data,
        threads: plugins.threads,
        streams: plugins.streams,
        limits: plugins.limits,
        limits_by_family: plugins.limits_by_family.clone(),
        settings: plugins.settings.clone(),
        trust: Trust { keys: plugins.trusted_keys.clone(), required: plugins.require_signature },
        built_in: PLUGINS.iter().map(|plugin| Digest::of(plugin.wasm)).collect(),
        inventory: Some(Inventory {
            providers: supplied.map(|(name, _)| name.clone()).collect(),
            prices: config.prices.keys().cloned().collect(),
        }),
        canary: plugins.canary,
    }
}

//! FamilySwitches: switched off, on again, and taken away. Owns nothing; has histories written by [`Deployments`] and [`PriceVersions`].

use std::sync::Arc;

use gatehouse_model::Digest;
use gatehouse_runtime::{FamilyError, PluginService};
use gatehouse_store::Store;
use gatehouse_tasks::DeploymentKind;

use super::deployments::Deployments;
use super::plugin_source::{PluginSource, needed_by_task};
use crate::api::error::OperationError;
use crate::api::plugin::{DeployedView, UninstalledView};
use crate::service::configuration::{Configuration, Deployed};
use crate::service::job::on_blocking_thread;
use crate::service::money::PriceVersions;
use crate::service::price_history::PriceCause;

/// FamilySwitches as a whole.
pub struct FamilySwitches {
    pub(in crate::service) store: Store,
    pub(in crate::service) plugins: Arc<PluginSource>,
    pub(in crate::service) configuration: Arc<dyn Configuration>,
    pub(in crate::service) deployments: Arc<Deployments>,
    pub(in crate::service) price_versions: Arc<PriceVersions>,
}

impl FamilySwitches {
    /// Keeps new requests away from a family; its tasks go on. The digest of the version that would serve it.
    pub(crate) async fn disable(&self, family: &str) -> Result<Digest, OperationError> {
        let (plugins, name) = (self.plugins.service().await?, family.to_owned());
        on_blocking_thread(move || plugins.disable(&name)).await?.map_err(failed)
    }

    /// Has a family serve again that was switched off.
    pub(crate) async fn enable(&self, family: &str) -> Result<DeployedView, OperationError> {
        let (plugins, name) = (self.plugins.service().await?, family.to_owned());
        let outcome = on_blocking_thread(move || plugins.enable(&name)).await?;
        self.deployments
            .answer(Deployed::new(DeploymentKind::Activate, None, family, outcome), Vec::new())
            .await
    }

    /// Takes away a family, with every version of it and the defaults that came with it. The store is checked too: without a
    /// running gateway no version is pinned by the tasks that need it.
    pub(crate) async fn uninstall(&self, family: &str) -> Result<UninstalledView, OperationError> {
        let plugins = self.plugins.service().await?;
        let (store, configuration) = (self.store.clone(), Arc::clone(&self.configuration));
        let cause = PriceCause::present(format!("plugin uninstall {family}"));
        let name = family.to_owned();
        let uninstalled = on_blocking_thread(move || {
            plugins.check_uninstall(&name).map_err(failed)?;
            // A refusal leaves the family on.
            let forgotten = configuration.forget(&name, &cause)?;
            // Nothing new comes to it from here on, so what is counted below can only become less.
            plugins.disable(&name).map_err(failed)?;
            check_tasks(&store, &plugins, &name)?;
            let versions = plugins.uninstall(&name, forgotten.forget).map_err(failed)?;
            // The file was read again, and may switch other families.
            plugins.apply_switches();
            Ok::<_, OperationError>((versions, forgotten.effects))
        });
        let (versions, defaults) = uninstalled.await??;
        self.price_versions.keep().await;
        let versions = versions.iter().map(Digest::to_string).collect();
        Ok(UninstalledView { family: family.to_owned(), versions, defaults })
    }
}

/// Refused while a task of the family lives.
fn check_tasks(store: &Store, plugins: &PluginService, family: &str) -> Result<(), OperationError> {
    let all = plugins.list();
    let versions: Vec<Digest> = all.iter().filter(|one| one.family == family).map(|one| one.digest).collect();
    match needed_by_task(store, &versions)? {
        Some(digest) => Err(failed(FamilyError::Busy { family: family.to_owned(), digest })),
        None => Ok(()),
    }
}

fn failed(error: FamilyError) -> OperationError {
    match error {
        FamilyError::Unknown { .. } => OperationError::NotFound(error.to_string()),
        FamilyError::Folder(_) => OperationError::Failed(error.to_string()),
        _ => OperationError::Refused(error.to_string()),
    }
}

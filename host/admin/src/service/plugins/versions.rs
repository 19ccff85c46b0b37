//! Plugin versions: list, check, install, activate, roll back, remove; and families: switched off, on again, taken away. Owns nothing;
//! has histories written by [`Deployments`] and [`Prices`].

use std::sync::Arc;

use gatehouse_model::{About, Digest};
use gatehouse_runtime::{
    Companion, DeployError, DeployReport, FamilyError, PluginService, Removal, RemoveError, SignedComponent,
};
use gatehouse_store::Store;
use gatehouse_tasks::DeploymentKind;

use super::deployments::{Deployments, refused};
use super::plugin_source::{PluginSource, needed_by_task};
use crate::api::error::OperationError;
use crate::api::plugin::{DeployedView, PluginOffer, PluginVersion, UninstalledView};
use crate::api::system::DefaultView;
use crate::service::configuration::Configuration;
use crate::service::job::on_blocking_thread;
use crate::service::money::Prices;
use crate::service::price_history::PriceCause;

/// Versions of plugins, and their families as a whole.
pub struct Versions {
    pub(in crate::service) store: Store,
    pub(in crate::service) plugins: Arc<PluginSource>,
    pub(in crate::service) configuration: Arc<dyn Configuration>,
    pub(in crate::service) deployments: Arc<Deployments>,
    pub(in crate::service) prices: Arc<Prices>,
}

impl Versions {
    /// Every version in the plugin store, by family and digest. They are in memory, and as many as an operator installed.
    pub async fn list(&self) -> Result<Vec<PluginVersion>, OperationError> {
        let all = self.plugins.service().await?.list();
        let mut all: Vec<PluginVersion> = all.into_iter().map(PluginVersion::from).collect();
        all.sort_by(|one, other| (&one.family, &one.digest).cmp(&(&other.family, &other.digest)));
        Ok(all)
    }

    /// Takes a component through every stage of deployment but the switch.
    pub(crate) async fn check(&self, offer: PluginOffer) -> Result<DeployedView, OperationError> {
        let (_, outcome, defaults) = self.deploy(offer, Goal::Check).await?;
        Ok(DeployedView::of(outcome.map_err(refused)?, "checked", defaults))
    }

    /// Deploys a component: every stage, the switch of its family included.
    pub(crate) async fn install(&self, offer: PluginOffer) -> Result<DeployedView, OperationError> {
        let (digest, outcome, effects) = self.deploy(offer, Goal::Install).await?;
        self.prices.keep().await;
        self.deployments.answer(DeploymentKind::Install, Some(digest), "", outcome, effects).await
    }

    /// Takes a plugin through the deployment, up to the goal: what comes before the goal is the same for both.
    async fn deploy(&self, offer: PluginOffer, goal: Goal) -> Result<Offered, OperationError> {
        let digest = offer.component.digest();
        if let Some(expected) = offer.sha256.filter(|expected| *expected != digest) {
            let why = format!("the component's sha256 is {digest}, not {expected}; nothing was installed");
            return Err(OperationError::Refused(why));
        }
        let plugins = self.plugins.service().await?;
        let configuration = Arc::clone(&self.configuration);
        let who = PriceCause::present(String::new());
        let deployed = move || deploy(&plugins, &*configuration, &offer, goal, &who);
        let (outcome, effects) = on_blocking_thread(deployed).await??;
        Ok((digest, outcome, effects))
    }

    /// Switches a family to a version in the plugin store: by its digest, or an unambiguous prefix of it.
    pub(crate) async fn activate(
        &self,
        version: &str,
        allow_removal: bool,
    ) -> Result<DeployedView, OperationError> {
        let plugins = self.plugins.service().await?;
        let digest = find_version(&plugins, version)?;
        let removal = removal(allow_removal);
        let outcome = on_blocking_thread(move || plugins.activate_with(&digest, removal)).await?;
        self.deployments.answer(DeploymentKind::Activate, Some(digest), "", outcome, Vec::new()).await
    }

    /// Switches a family back to its previous version.
    pub(crate) async fn roll_back(&self, family: &str) -> Result<DeployedView, OperationError> {
        let (plugins, name) = (self.plugins.service().await?, family.to_owned());
        let outcome = on_blocking_thread(move || plugins.roll_back(&name)).await?;
        self.deployments.answer(DeploymentKind::RollBack, None, family, outcome, Vec::new()).await
    }

    /// Deletes a version that neither serves nor has tasks to finish. The store is checked too: without a running gateway no
    /// version is pinned by the tasks that need it.
    pub(crate) async fn remove(&self, version: &str) -> Result<Digest, OperationError> {
        let plugins = self.plugins.service().await?;
        let digest = find_version(&plugins, version)?;
        let store = self.store.clone();
        on_blocking_thread(move || {
            if needed_by_task(&store, &[digest])?.is_some() {
                return Err(OperationError::Refused(RemoveError::Pinned(digest).to_string()));
            }
            plugins.remove(&digest).map_err(|error| OperationError::Refused(error.to_string()))
        })
        .await??;
        Ok(digest)
    }

    /// Keeps new requests away from a family; its tasks go on. The digest of the version that would serve it.
    pub(crate) async fn disable(&self, family: &str) -> Result<Digest, OperationError> {
        let (plugins, name) = (self.plugins.service().await?, family.to_owned());
        on_blocking_thread(move || plugins.disable(&name)).await?.map_err(failed)
    }

    /// Has a family serve again that was switched off.
    pub(crate) async fn enable(&self, family: &str) -> Result<DeployedView, OperationError> {
        let (plugins, name) = (self.plugins.service().await?, family.to_owned());
        let outcome = on_blocking_thread(move || plugins.enable(&name)).await?;
        self.deployments.answer(DeploymentKind::Activate, None, family, outcome, Vec::new()).await
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
        self.prices.keep().await;
        let versions = versions.iter().map(Digest::to_string).collect();
        Ok(UninstalledView { family: family.to_owned(), versions, defaults })
    }
}

/// What an operator's flag says.
fn removal(is_allowed: bool) -> Removal {
    if is_allowed { Removal::Allowed } else { Removal::Refused }
}

/// The one version whose digest begins with `version`.
fn find_version(plugins: &PluginService, version: &str) -> Result<Digest, OperationError> {
    let all = plugins.list();
    let mut matching =
        all.iter().map(|one| one.digest).filter(|digest| digest.to_string().starts_with(version));
    match (matching.next(), matching.next()) {
        (Some(digest), None) if !version.is_empty() => Ok(digest),
        (Some(_), _) => {
            Err(OperationError::Invalid(format!("{version:?} is the prefix of more than one digest")))
        }
        (None, _) => {
            let why = format!(
                "no plugin version {version:?} in the plugin store; `gatehouse plugin list` lists them"
            );
            Err(OperationError::NotFound(why))
        }
    }
}

/// How far a plugin is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Every stage but the switch.
    Check,
    /// The switch.
    Install,
}

/// The version, what came of its deployment, and what becomes of the defaults it brings.
type Offered = (Digest, Result<DeployReport, DeployError>, Vec<DefaultView>);

/// The deployment of a plugin, with the defaults it brings. The plugin itself says which family they are of, so it is checked
/// once before they are prepared, and then under what is prepared.
fn deploy(
    plugins: &PluginService,
    configuration: &dyn Configuration,
    offer: &PluginOffer,
    goal: Goal,
    who: &PriceCause,
) -> Result<(Result<DeployReport, DeployError>, Vec<DefaultView>), OperationError> {
    let component = SignedComponent { wasm: &offer.component.0, signature: offer.signature.as_deref() };
    let removal = removal(offer.allow_removal);
    let run = |companion: Option<&dyn Companion>| match goal {
        Goal::Check => plugins.check_with(component, removal, companion),
        Goal::Install => plugins.install_with(component, removal, companion),
    };
    let Some(defaults) = offer.defaults() else { return Ok((run(None), Vec::new())) };
    let draft = configuration.draft(&defaults)?;
    if !plugins.fits_pool(&draft) {
        let why = "plugins.limits_by_family: these defaults allow a call more memory than the running gateway has for \
                   one; add the table to gatehouse.toml, start the gateway again, and install the plugin then";
        return Err(OperationError::Refused(why.to_owned()));
    }
    let report = match plugins.check_under(component, removal, &draft) {
        Ok(report) => report,
        Err(refused) => return Ok((Err(refused), Vec::new())),
    };
    let About { family, version, .. } = &report.about;
    let cause =
        PriceCause { what: format!("plugin install {family} {version} with defaults"), ..who.clone() };
    let staged = configuration.stage(&report.about, &defaults, &cause)?;
    let (outcome, effects) = (run(Some(&*staged)), staged.effects());
    drop(staged);
    if goal == Goal::Install {
        // The file was read again, and may switch other families.
        plugins.apply_switches();
    }
    Ok((outcome, effects))
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

//! Plugin versions: list, check, install, activate, roll back, remove.

use std::collections::BTreeMap;
use std::sync::Arc;

use gatehouse_model::{About, Digest};
use gatehouse_runtime::{
    Companion, DeployError, DeployReport, Disabled, PluginService, Removal, RemoveError, SignedComponent,
    StageReport, StageVerdict, VersionState, VersionSummary,
};
use gatehouse_store::Store;
use gatehouse_tasks::DeploymentKind;

use super::live_states::StoredStates;
use crate::api::configuration::DefaultView;
use crate::api::error::OperationError;
use crate::api::plugin_offer::PluginOffer;
use crate::api::result::{PluginOutcome, PluginState, PluginView, StageView};
use crate::service::admin_service::{AdminService, Backend, on_blocking_thread, store_failed};
use crate::service::configuration::Configuration;
use crate::service::configuration::Deployed;
use crate::service::money::PriceCause;

/// Streams of a plugin runtime that a command opens for itself.
const OFFLINE_STREAMS: usize = 8;

impl AdminService {
    /// Every version in the plugin store.
    ///
    /// # Errors
    /// A plugin store that cannot be opened.
    pub async fn plugins(&self) -> Result<Vec<PluginView>, OperationError> {
        Ok(self.plugin_service().await?.list().into_iter().map(listed).collect())
    }

    /// Takes a component through every stage of deployment but the switch.
    ///
    /// # Errors
    /// Why it was refused.
    pub async fn check_plugin(&self, offer: PluginOffer) -> Result<PluginOutcome, OperationError> {
        let object = format!("plugins/{}", offer.component.digest());
        self.recorded(("checkPlugin", object), self.check(offer)).await
    }

    async fn check(&self, offer: PluginOffer) -> Result<PluginOutcome, OperationError> {
        let (_, outcome, defaults) = self.deploy(offer, Goal::Check).await?;
        let report = outcome.map_err(refused)?;
        let stages = stages(&report.stages);
        Ok(PluginOutcome { plugin: checked(report), replaced: None, stages, defaults })
    }

    /// Deploys a component: every stage, the switch of its family included.
    ///
    /// # Errors
    /// Why it was refused.
    pub async fn install_plugin(&self, offer: PluginOffer) -> Result<PluginOutcome, OperationError> {
        let object = format!("plugins/{}", offer.component.digest());
        self.recorded(("deployPlugin", object), self.install(offer)).await
    }

    async fn install(&self, offer: PluginOffer) -> Result<PluginOutcome, OperationError> {
        let (digest, outcome, effects) = self.deploy(offer, Goal::Install).await?;
        self.keep_price_books().await;
        self.finish(Deployed::new(DeploymentKind::Install, Some(digest), "", outcome), effects).await
    }

    /// Takes a plugin through the deployment, up to the goal: what comes before the goal is the same for both.
    async fn deploy(&self, offer: PluginOffer, goal: Goal) -> Result<Offered, OperationError> {
        let digest = offer.component.digest();
        if let Some(expected) = offer.sha256.filter(|expected| *expected != digest) {
            let why = format!("the component's sha256 is {digest}, not {expected}; nothing was installed");
            return Err(OperationError::Refused(why));
        }
        let plugins = self.plugin_service().await?;
        let configuration = Arc::clone(&self.configuration);
        let who = PriceCause::present(String::new());
        let deployed = move || deploy(&plugins, &*configuration, &offer, goal, &who);
        let (outcome, effects) = on_blocking_thread(deployed).await??;
        Ok((digest, outcome, effects))
    }

    /// Keeps the report and answers with it.
    pub(super) async fn finish(
        &self,
        deployed: Deployed,
        defaults: Vec<DefaultView>,
    ) -> Result<PluginOutcome, OperationError> {
        self.keep_deployment(&deployed).await;
        switched(deployed.outcome, defaults)
    }

    /// Switches a family to a version in the plugin store: by its digest, or an unambiguous prefix of it.
    ///
    /// # Errors
    /// No such version, or why it was refused.
    pub async fn activate_plugin(
        &self,
        version: &str,
        allow_removal: bool,
    ) -> Result<PluginOutcome, OperationError> {
        let work = async {
            let plugins = self.plugin_service().await?;
            let digest = find_version(&plugins, version)?;
            let removal = removal(allow_removal);
            let outcome = on_blocking_thread(move || plugins.activate_with(&digest, removal)).await?;
            self.finish(Deployed::new(DeploymentKind::Activate, Some(digest), "", outcome), Vec::new()).await
        };
        self.recorded(("activatePlugin", format!("plugins/{version}")), work).await
    }

    /// Switches a family back to its previous version.
    ///
    /// # Errors
    /// No version before, or why it was refused.
    pub async fn roll_back_plugin(&self, family: &str) -> Result<PluginOutcome, OperationError> {
        let work = async {
            let plugins = self.plugin_service().await?;
            let name = family.to_owned();
            let outcome = on_blocking_thread(move || plugins.roll_back(&name)).await?;
            self.finish(Deployed::new(DeploymentKind::RollBack, None, family, outcome), Vec::new()).await
        };
        self.recorded(("rollBackFamily", format!("families/{family}")), work).await
    }

    /// Deletes a version that neither serves nor has tasks to finish. The store is checked too: without a running gateway no
    /// version is pinned by the tasks that need it.
    ///
    /// # Errors
    /// No such version, or one that is needed.
    pub async fn remove_plugin(&self, version: &str) -> Result<Digest, OperationError> {
        let work = async {
            let plugins = self.plugin_service().await?;
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
        };
        self.recorded(("removePlugin", format!("plugins/{version}")), work).await
    }

    pub(super) async fn plugin_service(&self) -> Result<PluginService, OperationError> {
        match &self.backend {
            Backend::Running { plugins, .. } => Ok(plugins.clone()),
            Backend::Offline(config) => {
                // Nobody reads a stream here, and each reserves address space.
                let config =
                    gatehouse_runtime::Config { streams: OFFLINE_STREAMS, ..config.as_ref().clone() };
                let clock = self.clock.clone();
                let opened = on_blocking_thread(move || {
                    PluginService::open(config, clock).inspect(|service| service.complete_start())
                });
                let plugins =
                    opened.await?.map_err(|error| OperationError::Failed(format!("plugins: {error}")))?;
                plugins.rehearse_on(Arc::new(StoredStates(self.store.clone())));
                Ok(plugins)
            }
        }
    }
}

/// One of the versions that a live task needs, by the store: without a running gateway none is loaded for it.
pub(super) fn needed_by_task(store: &Store, versions: &[Digest]) -> Result<Option<Digest>, OperationError> {
    for task in store.live_tasks() {
        let digest = task.map_err(store_failed)?.digest;
        if versions.contains(&digest) {
            return Ok(Some(digest));
        }
    }
    Ok(None)
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

fn switched(
    report: Result<DeployReport, DeployError>,
    defaults: Vec<DefaultView>,
) -> Result<PluginOutcome, OperationError> {
    let report = report.map_err(refused)?;
    let (replaced, stages) = (report.replaced, stages(&report.stages));
    let plugin = PluginView { state: PluginState::Serves, ..checked(report) };
    Ok(PluginOutcome { plugin, replaced, stages, defaults })
}

fn refused(refused: DeployError) -> OperationError {
    OperationError::PluginRefused { reason: refused.to_string(), stages: stages(&refused.stages) }
}

fn stages(stages: &[StageReport]) -> Vec<StageView> {
    let view = |stage: &StageReport| StageView {
        stage: stage.name.to_owned(),
        verdict: match stage.verdict {
            StageVerdict::Passed => crate::api::result::StageVerdict::Passed,
            StageVerdict::Refused => crate::api::result::StageVerdict::Refused,
            StageVerdict::Skipped => crate::api::result::StageVerdict::Skipped,
        },
        took_ms: stage.took_ms,
        note: stage.note.clone(),
    };
    stages.iter().map(view).collect()
}

fn listed(version: VersionSummary) -> PluginView {
    PluginView {
        models: version.models.iter().map(|model| model.id.clone()).collect(),
        facts: version.facts,
        aliases: aliases(version.models.into_iter().map(|model| (model.id, model.aliases))),
        family: version.family,
        version: version.version,
        digest: version.digest,
        state: match version.state {
            VersionState::Active(since) => PluginState::Active { since },
            VersionState::Broken(reason) => PluginState::Broken { reason },
            VersionState::Disabled(Disabled::ByConfiguration) => PluginState::DisabledByConfiguration,
            VersionState::Disabled(Disabled::ByOperator(since)) => PluginState::DisabledByOperator { since },
            VersionState::Kept => PluginState::Kept,
            VersionState::Pinned => PluginState::Pinned,
            VersionState::Standby { until } => PluginState::Standby { until },
            VersionState::RolledBack { at, reason } => PluginState::RolledBack { at, reason },
        },
    }
}

fn checked(report: DeployReport) -> PluginView {
    let facts = (&report.about).into();
    let About { family, version, models, .. } = report.about;
    PluginView {
        facts,
        family,
        version,
        models: models.iter().map(|model| model.id.clone()).collect(),
        aliases: aliases(models.into_iter().map(|model| (model.id, model.aliases))),
        digest: report.digest,
        state: PluginState::Checked,
    }
}

/// Models with other names, and those names.
fn aliases(models: impl Iterator<Item = (String, Vec<String>)>) -> BTreeMap<String, Vec<String>> {
    models.filter(|(_, aliases)| !aliases.is_empty()).collect()
}

//! Plugin versions: which serve, and whether a component would.

use std::sync::Arc;

use gatehouse_admin::{Component, OperationError, Outcome, PluginState, PluginView, StageView};
use gatehouse_model::{About, Digest};
use gatehouse_runtime::{
    DeployError, DeployReport, PluginService, Registry, RemoveError, SignedComponent, StageReport, StageVerdict,
    VersionState, VersionSummary,
};

use super::{Desk, Plugins, StoredStates, aside, broken};

impl Desk {
    pub(super) async fn list_plugins(&self) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        let registry = families.registry();
        let plugins = families.list().into_iter().map(|version| listed(version, &registry)).collect();
        Ok(Outcome::Plugins { plugins })
    }

    pub(super) async fn check_plugin(
        &self,
        component: Component,
        signature: Option<String>,
    ) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        let offered = move || families.check(SignedComponent { wasm: &component.0, signature: signature.as_deref() });
        let report = aside(offered).await?.map_err(refused)?;
        let stages = stages(&report.stages);
        Ok(Outcome::PluginChecked { plugin: checked(report), stages })
    }

    pub(super) async fn install_plugin(
        &self,
        component: Component,
        sha256: Option<Digest>,
        signature: Option<String>,
    ) -> Result<Outcome, OperationError> {
        let digest = Digest::of(&component.0);
        if let Some(expected) = sha256.filter(|expected| *expected != digest) {
            let why = format!("the component's sha256 is {digest}, not {expected}; nothing was installed");
            return Err(OperationError::Refused(why));
        }
        let families = self.families().await?;
        let offered = move || families.install(SignedComponent { wasm: &component.0, signature: signature.as_deref() });
        switched(aside(offered).await?)
    }

    pub(super) async fn activate_plugin(&self, version: &str) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        let digest = named(&families, version)?;
        switched(aside(move || families.activate(&digest)).await?)
    }

    pub(super) async fn roll_back_plugin(&self, family: String) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        switched(aside(move || families.roll_back(&family)).await?)
    }

    /// The store is asked too: without a running gateway nothing is loaded for the tasks that need it.
    pub(super) async fn remove_plugin(&self, version: &str) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        let digest = named(&families, version)?;
        for task in self.store.live_tasks() {
            if task.map_err(broken)?.digest == digest {
                return Err(OperationError::Refused(RemoveError::Pinned(digest).to_string()));
            }
        }
        let removed = aside(move || families.remove(&digest)).await?;
        removed.map_err(|error| OperationError::Refused(error.to_string()))?;
        Ok(Outcome::PluginRemoved { digest })
    }

    async fn families(&self) -> Result<PluginService, OperationError> {
        match &self.plugins {
            Plugins::Serving(families) => Ok(families.clone()),
            Plugins::Closed(config) => {
                let (config, clock) = (config.as_ref().clone(), self.clock.clone());
                let opened = aside(move || PluginService::open(config, clock)).await?;
                let families = opened.map_err(|error| OperationError::Failed(format!("plugins: {error}")))?;
                families.rehearse_on(Arc::new(StoredStates(self.store.clone())));
                Ok(families)
            }
        }
    }
}

/// The one version whose digest begins that way.
fn named(families: &PluginService, version: &str) -> Result<Digest, OperationError> {
    let all = families.list();
    let mut fitting =
        all.iter().map(|one| one.digest).filter(|digest| digest.to_string().starts_with(version));
    match (fitting.next(), fitting.next()) {
        (Some(digest), None) if !version.is_empty() => Ok(digest),
        (Some(_), _) => {
            Err(OperationError::Invalid(format!("{version:?} begins more than one version's digest")))
        }
        (None, _) => {
            let why =
                format!("no plugin version {version:?} is kept here; `gatehouse plugin list` shows them");
            Err(OperationError::NotFound(why))
        }
    }
}

fn switched(report: Result<DeployReport, DeployError>) -> Result<Outcome, OperationError> {
    let report = report.map_err(refused)?;
    let (replaced, stages) = (report.replaced, stages(&report.stages));
    let plugin = PluginView { state: PluginState::Serves, ..checked(report) };
    Ok(Outcome::PluginSwitched { plugin, replaced, stages })
}

fn refused(refused: DeployError) -> OperationError {
    OperationError::PluginRefused { reason: refused.to_string(), stages: stages(&refused.stages) }
}

fn stages(stages: &[StageReport]) -> Vec<StageView> {
    let view = |stage: &StageReport| StageView {
        stage: stage.name.to_owned(),
        verdict: match stage.verdict {
            StageVerdict::Passed => gatehouse_admin::StageVerdict::Passed,
            StageVerdict::Refused => gatehouse_admin::StageVerdict::Refused,
            StageVerdict::Skipped => gatehouse_admin::StageVerdict::Skipped,
        },
        took_ms: stage.took_ms,
        note: stage.note.clone(),
    };
    stages.iter().map(view).collect()
}

fn listed(version: VersionSummary, registry: &Registry) -> PluginView {
    let serving = registry.family(&version.family).filter(|active| active.digest() == version.digest);
    PluginView {
        models: serving.map_or(vec![], |active| models(active.about())),
        family: version.family,
        version: version.version,
        digest: version.digest,
        state: match version.state {
            VersionState::Active(since) => PluginState::Active { since },
            VersionState::Broken(reason) => PluginState::Broken { reason },
            VersionState::Kept => PluginState::Kept,
            VersionState::Pinned => PluginState::Pinned,
            VersionState::Standby { until } => PluginState::Standby { until },
            VersionState::RolledBack { at, reason } => PluginState::Withdrawn { at, reason },
        },
    }
}

fn checked(report: DeployReport) -> PluginView {
    PluginView {
        models: models(&report.about),
        family: report.about.family,
        version: report.about.version,
        digest: report.digest,
        state: PluginState::Checked,
    }
}

fn models(about: &About) -> Vec<String> {
    about.models.iter().map(|model| model.id.clone()).collect()
}

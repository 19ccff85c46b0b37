//! Plugin versions: which serve, and whether a component would.

use gatehouse_admin::{Component, OperationError, Outcome, PluginState, PluginView};
use gatehouse_families::{Families, Registry, RemoveError, Report, StageError, VersionState, VersionSummary};
use gatehouse_model::{About, Digest};

use super::{Desk, Plugins, aside, broken};

impl Desk {
    pub(super) async fn list_plugins(&self) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        let registry = families.registry();
        let plugins = families.list().into_iter().map(|version| listed(version, &registry)).collect();
        Ok(Outcome::Plugins { plugins })
    }

    pub(super) async fn check_plugin(&self, component: Component) -> Result<Outcome, OperationError> {
        let families = self.families().await?;
        let report = aside(move || families.check(&component.0)).await?;
        let report = report.map_err(|error| OperationError::Refused(error.to_string()))?;
        Ok(Outcome::PluginChecked(checked(report)))
    }

    pub(super) async fn install_plugin(
        &self,
        component: Component,
        sha256: Option<Digest>,
    ) -> Result<Outcome, OperationError> {
        let digest = Digest::of(&component.0);
        if let Some(expected) = sha256.filter(|expected| *expected != digest) {
            let why = format!("the component's sha256 is {digest}, not {expected}; nothing was installed");
            return Err(OperationError::Refused(why));
        }
        let families = self.families().await?;
        switched(aside(move || families.install(&component.0)).await?)
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

    async fn families(&self) -> Result<Families, OperationError> {
        match &self.plugins {
            Plugins::Serving(families) => Ok(families.clone()),
            Plugins::Closed(config) => {
                let (config, clock) = (config.clone(), self.clock.clone());
                let opened = aside(move || Families::open(config, clock)).await?;
                opened.map_err(|error| OperationError::Failed(format!("plugins: {error}")))
            }
        }
    }
}

/// The one version whose digest begins that way.
fn named(families: &Families, version: &str) -> Result<Digest, OperationError> {
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

fn switched(report: Result<Report, StageError>) -> Result<Outcome, OperationError> {
    let report = report.map_err(|error| OperationError::Refused(error.to_string()))?;
    let replaced = report.replaced;
    Ok(Outcome::PluginSwitched {
        plugin: PluginView { state: PluginState::Serves, ..checked(report) },
        replaced,
    })
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
        },
    }
}

fn checked(report: Report) -> PluginView {
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

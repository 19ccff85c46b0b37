//! Plugin versions: which serve, and whether a component would.

use gatehouse_admin::{Component, OperationError, Outcome, PluginState, PluginView};
use gatehouse_families::{Families, Registry, Report, VersionState, VersionSummary};
use gatehouse_model::About;

use super::{Desk, Plugins, aside};

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

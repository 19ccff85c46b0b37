//! The switch: a version that passed every stage becomes the active one of its family.
//!
//! The component is durable before it is listed as active, and listed before it serves.

use std::sync::Arc;

use gatehouse_model::Digest;

use crate::deploy::canary::FaultWindow;
use crate::deploy::companion::Companion;
use crate::deploy::error::StageError;
use crate::deploy::pipeline::{Goal, Order, SignedComponent};
use crate::deploy::plugin_store::ActiveEntry;
use crate::deploy::report::{DeployError, DeployReport};
use crate::state::{ServiceState, lock};
use crate::version::Version;
use crate::versions::VersionState;

impl ServiceState {
    /// Returns the version it replaced, and a note for the report.
    pub(super) fn switch(
        &self,
        version: &Arc<Version>,
        component: &SignedComponent<'_>,
        goal: Goal,
        companion: Option<&dyn Companion>,
    ) -> Result<(Option<Digest>, String), StageError> {
        let _one_change = lock(&self.changing);
        let rule = companion.map_or_else(|| self.config.load().canary, |companion| companion.config().canary);
        let registry = self.registry.load_full();
        let (digest, family, since) = (version.digest(), version.family(), self.clock.now());
        let next = registry.with(Arc::clone(version), since)?;
        let failed = |what| move |source| StageError::Switch { what, source };
        self.store.keep_component(&digest, component.wasm).map_err(failed("the component"))?;
        if let Some(signature) = component.signature {
            self.store.keep_signature(&digest, signature).map_err(failed("the signature"))?;
        }
        self.keep_manifest(version).map_err(failed("the manifest"))?;
        let mut active = self.store.active().map_err(failed("the list of active versions"))?;
        let earlier = active.get(family).map(|entry| entry.before(&digest)).unwrap_or_default();
        let before = registry.family(family).filter(|before| before.digest() != digest);
        let standby = before
            .as_ref()
            .filter(|before| goal == Goal::Switch && !before.is_rolled_back())
            .and_then(|before| Some((Arc::clone(before), rule.until(since)?)));
        let canary_until = standby.as_ref().map(|(_, until)| *until);
        let entry = ActiveEntry { digest, since, before: earlier, canary_until, disabled: None };
        active.insert(family.to_owned(), entry);
        if let Some(companion) = companion {
            companion.keep(family, &digest).map_err(failed("the configuration that comes with it"))?;
        }
        let listed = self.store.write_active(&active).map_err(failed("the list of active versions"));
        if let (Err(_), Some(companion)) = (&listed, companion) {
            companion.discard(family, &digest);
        }
        listed?;
        self.clear_rollback(&digest).map_err(failed("the list of rolled back versions"))?;
        version.set_rolled_back(false);
        self.insert_loaded(version);
        lock(&self.broken).remove(family);
        let note = match &standby {
            Some((standby, until)) => {
                format!("serves; canary until {until}, standby {}", standby.digest().short())
            }
            None => "serves".to_owned(),
        };
        self.canaries.end(&digest);
        if let Some((standby, until)) = standby {
            self.canaries.begin(digest, standby, FaultWindow::new(rule, until));
        }
        if let Some(companion) = companion {
            companion.apply();
        }
        // The configuration of this moment, which may not be the one it was checked under.
        version.configure(&self.config.load());
        version.begin_counting();
        self.registry.store(Arc::new(next.under(self.config.load().inventory.clone())));
        tracing::info!(family, version = version.about().version, %digest, "plugin version is active");
        Ok((before.map(|before| before.digest()), note))
    }

    /// Deploys a component of the plugin store, through every stage.
    pub(crate) fn activate(&self, digest: &Digest, order: Order) -> Result<DeployReport, DeployError> {
        let failed = |source| StageError::Switch { what: "the kept component", source };
        let wasm = self.store.component(digest).map_err(failed)?.ok_or(StageError::NotKept(*digest))?;
        let signature = self.store.signature(digest).map_err(failed)?;
        self.deploy(&SignedComponent { wasm: &wasm, signature: signature.as_deref() }, order, None)
    }

    /// The version that served `family` before the active one.
    pub(crate) fn previous(&self, family: &str) -> Result<Digest, StageError> {
        let failed = |source| StageError::Switch { what: "the list of active versions", source };
        let active = self.store.active().map_err(failed)?;
        let has = |digest: &&Digest| self.store.has_component(digest);
        active.get(family).and_then(|entry| entry.before.iter().find(has).copied()).ok_or_else(|| {
            StageError::NothingBefore { family: family.to_owned(), kept: self.others_of(family) }
        })
    }

    /// The versions of `family` that do not serve, as an operator names them.
    fn others_of(&self, family: &str) -> Vec<String> {
        let others = self.list().into_iter().filter(|one| {
            one.family == family && !matches!(one.state, VersionState::Active(_) | VersionState::Broken(_))
        });
        others.map(|one| format!("{} ({})", one.digest.short(), one.version)).collect()
    }
}

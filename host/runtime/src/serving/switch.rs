//! The switch: a version that passed every stage becomes the active one of its family. And the automatic rollback: a fresh version
//! with too many faults is replaced by its standby.
//!
//! The component is durable before it is listed as active, and listed before it serves. Nothing automatic activates a rolled back
//! version again; an operator may.

use std::io;
use std::sync::Arc;

use gatehouse_model::{Digest, metric};

use crate::config::{CanaryConfig, Config};
use crate::exec::lock;
use crate::fault::Fault;
use crate::serving::active::Serving;
use crate::serving::canary::FaultWindow;
use crate::stages::admit::SignedComponent;
use crate::stages::report::StageError;
use crate::store::plugin_store::{ActiveEntry, Rollback};
use crate::version::loaded::Version;

/// Configuration that a deployment brings besides its component: both are in effect from the switch on, or neither is. The
/// version is checked under it.
pub trait Companion {
    /// The runtime's part of it.
    fn config(&self) -> &Config;

    /// Makes it durable for the version `digest` of `family`, before that version is listed as active. It counts from then
    /// on: where a crash comes between, the next start must do without it.
    ///
    /// # Errors
    /// The file system's; the version is refused.
    fn keep(&self, family: &str, digest: &Digest) -> io::Result<()>;

    /// Takes [`Companion::keep`] back: the switch could not be made durable.
    fn discard(&self, family: &str, digest: &Digest);

    /// Puts it into effect, right before the version serves.
    fn apply(&self);
}

/// What became of a switch.
pub(crate) struct Switched {
    /// The version that served before.
    pub(crate) replaced: Option<Digest>,
    /// For the report.
    pub(crate) note: String,
}

impl Serving {
    /// Makes a version the active one; with a canary period where there is a rule for it.
    pub(crate) fn switch(
        &self,
        version: &Arc<Version>,
        component: &SignedComponent<'_>,
        rule: Option<CanaryConfig>,
        companion: Option<&dyn Companion>,
    ) -> Result<Switched, StageError> {
        let _one_change = lock(&self.changing);
        let (registry, store) = (self.registry.load_full(), &self.versions.store);
        let (digest, family, since) = (version.digest(), version.family(), self.clock.now());
        let next = registry.with(Arc::clone(version), since)?;
        let failed = |what| move |source| StageError::Switch { what, source };
        store.keep_component(&digest, component.wasm).map_err(failed("the component"))?;
        if let Some(signature) = component.signature {
            store.keep_signature(&digest, signature).map_err(failed("the signature"))?;
        }
        self.versions.keep_manifest(version).map_err(failed("the manifest"))?;
        let mut active = store.active().map_err(failed("the list of active versions"))?;
        let earlier = active.get(family).map(|entry| entry.before(&digest)).unwrap_or_default();
        let before = registry.family(family).filter(|before| before.digest() != digest);
        let standby = before.as_ref().filter(|before| !before.is_rolled_back()).and_then(|before| {
            let rule = rule?;
            Some((Arc::clone(before), FaultWindow::new(rule, rule.until(since)?)))
        });
        let canary_until = standby.as_ref().map(|(_, window)| window.until);
        let entry = ActiveEntry { digest, since, before: earlier, canary_until, disabled: None };
        active.insert(family.to_owned(), entry);
        if let Some(companion) = companion {
            companion.keep(family, &digest).map_err(failed("the configuration that comes with it"))?;
        }
        let listed = store.write_active(&active).map_err(failed("the list of active versions"));
        if let (Err(_), Some(companion)) = (&listed, companion) {
            companion.discard(family, &digest);
        }
        listed?;
        self.versions.clear_rollback(&digest).map_err(failed("the list of rolled back versions"))?;
        version.set_rolled_back(false);
        self.versions.insert_loaded(version);
        lock(&self.broken).remove(family);
        self.canaries.end(&digest);
        let mut note = "serves".to_owned();
        if let Some((standby, window)) = standby {
            note = format!("serves; canary until {}, standby {}", window.until, standby.digest().short());
            self.canaries.begin(digest, standby, window);
        }
        if let Some(companion) = companion {
            companion.apply();
        }
        // The configuration of this moment, which may not be the one it was checked under.
        let config = self.versions.config.load();
        version.configure(&config);
        version.begin_counting();
        self.registry.store(Arc::new(next.under(config.inventory.clone())));
        tracing::info!(family, version = version.about().version, %digest, "plugin version is active");
        Ok(Switched { replaced: before.map(|before| before.digest()), note })
    }

    /// Records the outcome of a call of `version`. One fault too many, and a blocking thread rolls it back.
    pub(crate) fn record_call(self: &Arc<Self>, version: &Arc<Version>, fault: Option<&Fault>) {
        let is_fault = fault.is_some_and(Fault::is_plugin_caused);
        let Some((standby, share)) = self.canaries.record(&version.digest(), self.clock.now(), is_fault)
        else {
            return;
        };
        let last = fault.map(ToString::to_string).unwrap_or_default();
        let reason = format!("{share}; the last: {last}");
        // At once, so that the standby answers the calls that wait in the queue.
        version.set_rolled_back(true);
        let (serving, version) = (Arc::clone(self), Arc::clone(version));
        tokio::task::spawn_blocking(move || serving.roll_back(&version, &standby, reason));
    }

    /// Makes the standby active again. The registry changes first: if the process ends before the lists are written,
    /// the next one continues the canary period.
    fn roll_back(&self, version: &Arc<Version>, standby: &Arc<Version>, reason: String) {
        let one_change = lock(&self.changing);
        let (digest, family, at) = (version.digest(), version.family(), self.clock.now());
        let registry = self.registry.load_full();
        let serving = registry.is_active(&digest);
        if serving {
            match registry.with(Arc::clone(standby), at) {
                Ok(next) => self.registry.store(Arc::new(next)),
                Err(clash) => {
                    tracing::error!(family, %digest, reason, %clash, "a failing plugin version cannot be rolled back");
                    version.set_rolled_back(false);
                    self.canaries.end(&digest);
                    return;
                }
            }
        }
        tracing::error!(
            family, version = version.about().version, %digest, reason, serving, standby = %standby.digest(),
            "plugin version rolled back"
        );
        metrics::counter!(metric::PLUGIN_ROLLED_BACK, "family" => family.to_owned()).increment(1);
        let record = Rollback { family: family.to_owned(), at, reason };
        if let Err(error) = self.write_rollback(&digest, serving.then_some(standby), record) {
            let effect = "the rollback is not recorded; a restart continues the canary period";
            tracing::error!(family, %digest, %error, "{effect}");
        }
        self.canaries.end(&digest);
        drop(one_change);
        if let Some(listener) = self.on_roll_back.get() {
            listener();
        }
    }

    fn write_rollback(
        &self,
        failed: &Digest,
        standby: Option<&Arc<Version>>,
        record: Rollback,
    ) -> io::Result<()> {
        let (family, since) = (record.family.clone(), record.at);
        self.versions.record_rollback(*failed, record, || {
            let Some(standby) = standby else { return Ok(()) };
            let mut active = self.versions.store.active()?;
            let digest = standby.digest();
            // An operator may go back further than the standby, and not to the version that failed.
            let earlier = active.get(&family).map(|entry| entry.before(&digest));
            let before = earlier.into_iter().flatten().filter(|one| one != failed).collect();
            active.insert(family, ActiveEntry { digest, since, before, canary_until: None, disabled: None });
            self.versions.store.write_active(&active)
        })
    }
}

//! Families that are switched off, on again, and taken away.
//!
//! A family that is off keeps its versions and its entry in the list of active versions. The registry does not have it, so no
//! new request reaches it; tasks that it admitted go on. What switches it off is an operator's command, which the list keeps,
//! or `enabled = false` in the configuration. A start loads nothing of it.

use gatehouse_model::{Digest, UnixMs};

use crate::deploy::error::StageError;
use crate::deploy::pipeline::{Goal, Order, Removal};
use crate::deploy::plugin_store::ActiveEntry;
use crate::deploy::report::{DeployError, DeployReport};
use crate::registry::DisabledFamily;
use crate::state::{ServiceState, lock};

/// What switched a family off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disabled {
    /// An operator, at that time.
    ByOperator(UnixMs),
    /// `enabled = false` in the configuration.
    ByConfiguration,
}

/// Why a family was not switched off or taken away.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FamilyError {
    /// No plugin of that family is installed.
    #[error("no plugin of family {family:?} is installed; the families are {}", known.join(", "))]
    Unknown {
        /// The name.
        family: String,
        /// The families that have a version that serves, or is off.
        known: Vec<String>,
    },
    /// A version of it came with the binary, and the next start would install it again.
    #[error(
        "family {0:?} came with the gateway and cannot be uninstalled; `gatehouse plugin disable {0}` switches it off"
    )]
    BuiltIn(String),
    /// Tasks or requests still run on a version of it.
    #[error(
        "version {digest} of family {family:?} finishes what it admitted; the family is off, so nothing new comes to it: \
         try again when its tasks have ended"
    )]
    Busy {
        /// The family.
        family: String,
        /// The version.
        digest: Digest,
    },
    /// The file system's.
    #[error("the plugin store: {0}")]
    Folder(#[from] std::io::Error),
}

impl ServiceState {
    /// What switches `family` off, if anything does.
    pub(crate) fn disabled_by(&self, family: &str, entry: &ActiveEntry) -> Option<Disabled> {
        let by_operator = entry.disabled.map(Disabled::ByOperator);
        let configured = self.config.load().disabled.contains(family).then_some(Disabled::ByConfiguration);
        configured.or(by_operator)
    }

    /// Keeps new requests away from a family.
    pub(crate) fn switch_off(&self, family: &str, digest: Digest, by: Disabled) {
        let _one_change = lock(&self.changing);
        self.switch_off_locked(family, digest, by);
    }

    /// The same for a caller that holds the lock of changes.
    fn switch_off_locked(&self, family: &str, digest: Digest, by: Disabled) {
        let entry = lock(&self.kept).get(&digest).cloned();
        let (names, routes) = entry.map(|entry| (entry.all_names(), entry.routes)).unwrap_or_default();
        let off = DisabledFamily { digest, by, names, routes };
        self.registry.store(self.registry.load().without(family, off).into());
        lock(&self.broken).remove(family);
        // It is under observation no more: a fault of a task that it finishes rolls nothing back.
        self.canaries.end(&digest);
        tracing::info!(family, %digest, ?by, "plugin family is switched off");
    }

    /// Switches a family off until an operator enables it again. One that is off stays so.
    pub(crate) fn disable(&self, family: &str) -> Result<Digest, FamilyError> {
        let _one_deployment = lock(&self.deploying);
        // A rollback writes the same list.
        let _one_change = lock(&self.changing);
        let mut active = self.store.active()?;
        let Some(entry) = active.get_mut(family) else { return Err(self.unknown(family)) };
        if entry.disabled.is_some() {
            return Ok(entry.digest);
        }
        entry.disabled = Some(self.clock.now());
        entry.canary_until = None;
        let entry = entry.clone();
        self.store.write_active(&active)?;
        if let Some(by) = self.disabled_by(family, &entry) {
            self.switch_off_locked(family, entry.digest, by);
        }
        Ok(entry.digest)
    }

    /// Has the version that served a family before it was switched off serve again, through every stage.
    pub(crate) fn enable(&self, family: &str) -> Result<DeployReport, DeployError> {
        let failed = |source| StageError::Switch { what: "the list of active versions", source };
        let active = self.store.active().map_err(failed)?;
        let entry =
            active.get(family).ok_or_else(|| StageError::NoFamily(self.unknown(family).to_string()))?;
        self.activate(&entry.digest, Order { goal: Goal::SwitchBack, removal: Removal::Allowed })
    }

    /// Whether a family may be taken away at all; tasks that still need it are looked for later.
    pub(crate) fn check_uninstall(&self, family: &str) -> Result<(), FamilyError> {
        if !self.store.active()?.contains_key(family) {
            return Err(self.unknown(family));
        }
        let config = self.config.load();
        if self.versions_of(family).iter().any(|digest| config.built_in.contains(digest)) {
            return Err(FamilyError::BuiltIn(family.to_owned()));
        }
        Ok(())
    }

    fn versions_of(&self, family: &str) -> Vec<Digest> {
        let kept = lock(&self.kept);
        kept.iter().filter(|(_, entry)| entry.family == family).map(|(digest, _)| *digest).collect()
    }

    /// Takes away a family, with every version of it. It is off from here on, also where the rest is refused. `before` runs
    /// once nothing speaks against it, and may refuse.
    pub(crate) fn uninstall(
        &self,
        family: &str,
        before: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<Vec<Digest>, FamilyError> {
        self.check_uninstall(family)?;
        self.disable(family)?;
        let _one_deployment = lock(&self.deploying);
        let _one_change = lock(&self.changing);
        let versions = self.versions_of(family);
        // From here on no caller begins to load one of them.
        let mut reserved = Vec::new();
        for digest in &versions {
            let reservation = self.loads.reserve(*digest).filter(|_| self.loaded(digest).is_none());
            let busy = || FamilyError::Busy { family: family.to_owned(), digest: *digest };
            reserved.push(reservation.ok_or_else(busy)?);
        }
        before()?;
        let mut active = self.store.active()?;
        active.remove(family);
        self.store.write_active(&active)?;
        self.registry.store(self.registry.load().forgetting(family).into());
        lock(&self.broken).remove(family);
        for digest in &versions {
            self.store.drop_component(digest)?;
            lock(&self.kept).remove(digest);
            self.clear_rollback(digest)?;
        }
        tracing::info!(family, versions = versions.len(), "plugin family uninstalled");
        Ok(versions)
    }

    /// Switches families and their paths off and on as the configuration of this moment says. Blocks: one that comes back is loaded.
    pub(crate) fn apply_switches(&self) {
        let _one_deployment = lock(&self.deploying);
        self.apply_paths();
        let active = match self.store.active() {
            Ok(active) => active,
            Err(error) => {
                tracing::error!(%error, "plugin families are switched neither off nor on: the list is unreadable");
                return;
            }
        };
        for (family, entry) in active {
            let is_off = self.registry.load().disabled(&family).map(|off| off.by);
            match (is_off, self.disabled_by(&family, &entry)) {
                (None, Some(by)) => self.switch_off(&family, entry.digest, by),
                (Some(_), None) => {
                    self.forget_disabled(&family);
                    self.reactivate(family, entry);
                }
                (Some(was), Some(by)) if was != by => self.switch_off(&family, entry.digest, by),
                _ => {}
            }
        }
    }

    /// A path that the configuration does not allow any more is not served.
    fn apply_paths(&self) {
        let _one_change = lock(&self.changing);
        let inventory = self.config.load().inventory.clone();
        self.registry.store(self.registry.load().under(inventory).into());
    }

    fn forget_disabled(&self, family: &str) {
        let _one_change = lock(&self.changing);
        self.registry.store(self.registry.load().forgetting(family).into());
    }

    fn unknown(&self, family: &str) -> FamilyError {
        let known = self.store.active().unwrap_or_default().into_keys().collect();
        FamilyError::Unknown { family: family.to_owned(), known }
    }
}

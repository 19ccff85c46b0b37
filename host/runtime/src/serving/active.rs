//! Which version serves each family, and which families are off.
//!
//! Owns the registry, the canaries, and the one lock under which they change together with the list of active versions. A family
//! that is off keeps its versions and its entry in that list. The registry does not have it, so no new request reaches it; tasks
//! that it admitted go on. What switches it off is an operator's command, which the list keeps, or `enabled = false` in the
//! configuration. A start loads nothing of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwap;
use gatehouse_model::{Clock, Digest};
use wasmtime::component::Component;

use crate::config::Config;
use crate::exec::lock;
use crate::serving::canary::{Canaries, FaultWindow};
use crate::serving::registry::{Disabled, DisabledFamily, Registry};
use crate::serving::versions::Versions;
use crate::stages::fit::{FitError, check_inventory};
use crate::stages::routes::check_routes;
use crate::store::plugin_store::ActiveEntry;
use crate::version::loaded::Version;

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

pub(crate) struct Serving {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) versions: Arc<Versions>,
    pub(crate) registry: ArcSwap<Registry>,
    pub(crate) canaries: Canaries,
    /// Active versions that could not be loaded: family -> version and reason.
    pub(crate) broken: Mutex<BTreeMap<String, (Digest, String)>>,
    /// Canaries that wait for their standby; see [`Serving::begin_late_canaries`].
    late_standbys: Mutex<Vec<ActiveEntry>>,
    /// One change of the registry at a time; held for moments, so that a rollback waits for no compiler.
    pub(crate) changing: Mutex<()>,
    /// Told after each automatic rollback.
    pub(crate) on_roll_back: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Serving {
    pub(crate) fn new(versions: Versions, clock: Arc<dyn Clock>) -> Self {
        let inventory = versions.config.load().inventory.clone();
        Self {
            registry: ArcSwap::from_pointee(Registry::default().under(inventory)),
            versions: Arc::new(versions),
            canaries: Canaries::default(),
            broken: Mutex::default(),
            late_standbys: Mutex::default(),
            changing: Mutex::default(),
            on_roll_back: OnceLock::new(),
            clock,
        }
    }

    /// The standby of `version` during its canary period; after its rollback, the active version.
    pub(crate) fn standby(&self, version: &Version) -> Option<Arc<Version>> {
        let digest = version.digest();
        self.canaries.standby(&digest, self.clock.now()).or_else(|| {
            let active = self.registry.load().family(version.family());
            active.filter(|active| version.is_rolled_back() && active.digest() != digest)
        })
    }

    /// Makes a version active that was active before the restart, or before its family was switched off. `code` is that of
    /// the version, where the caller has found it.
    pub(crate) fn reactivate(&self, family: String, entry: ActiveEntry, code: Option<Component>) {
        let config = self.versions.config.load_full();
        let loaded = self.versions.check_signature(&config, &entry.digest).and_then(|()| {
            let loaded = self.versions.load_with(&entry.digest, code);
            loaded.map_err(|unavailable| unavailable.to_string())
        });
        let changed = loaded.and_then(|version| {
            let _one_change = lock(&self.changing);
            let registry = self.registry.load_full();
            // An operator may have installed another version while this one was compiled, or switched the family off.
            if registry.family(&family).is_some() || registry.disabled.contains_key(&family) {
                return Ok(false);
            }
            version.begin_counting();
            let next = registry.with(version, entry.since).map_err(|clash| clash.to_string())?;
            self.registry.store(Arc::new(next));
            Ok(true)
        });
        match changed {
            Ok(true) => self.resume_canary(&entry),
            Ok(false) => {}
            // Switched off or taken away while it was loaded.
            Err(_) if self.registry.load().disabled.contains_key(&family) || !self.is_listed(&family) => {}
            Err(why) => {
                tracing::error!(family, digest = %entry.digest, why, "an active plugin version does not load");
                lock(&self.broken).insert(family, (entry.digest, why));
            }
        }
    }

    /// Whether the list of active versions has the family; also where it cannot be read.
    fn is_listed(&self, family: &str) -> bool {
        self.versions.store.active().map_or(true, |active| active.contains_key(family))
    }

    /// A restart does not end a canary period, but its count begins anew.
    fn resume_canary(&self, entry: &ActiveEntry) {
        let (Some(before), Some(until)) = (entry.before.first(), entry.canary_until) else { return };
        if until <= self.clock.now() {
            return;
        }
        let is_kept = self.versions.store.has_component(before);
        let code = is_kept.then(|| self.versions.compiler.find(before)).flatten();
        if code.is_some() {
            self.begin_canary(entry, code);
        } else {
            // To compile it would keep the gateway from serving.
            lock(&self.late_standbys).push(entry.clone());
        }
    }

    /// Canaries whose standby has to be compiled, which nothing waits for at a start. Blocks.
    pub(crate) fn begin_late_canaries(&self) {
        for entry in std::mem::take(&mut *lock(&self.late_standbys)) {
            self.begin_canary(&entry, None);
        }
    }

    fn begin_canary(&self, entry: &ActiveEntry, code: Option<Component>) {
        let (Some(before), Some(until)) = (entry.before.first(), entry.canary_until) else { return };
        let loaded = self.versions.load_with(before, code);
        let _one_change = lock(&self.changing);
        if !self.registry.load().is_active(&entry.digest) {
            return;
        }
        match loaded {
            Ok(standby) => {
                let window = FaultWindow::new(self.versions.config.load().canary, until);
                self.canaries.begin(entry.digest, standby, window);
            }
            Err(unavailable) => tracing::warn!(%unavailable, "a fresh version has no standby"),
        }
    }

    /// What switches `family` off, if anything does.
    pub(crate) fn disabled_by(&self, family: &str, entry: &ActiveEntry) -> Option<Disabled> {
        let by_operator = entry.disabled.map(Disabled::ByOperator);
        let disabled = &self.versions.config.load().disabled;
        disabled.contains(family).then_some(Disabled::ByConfiguration).or(by_operator)
    }

    /// Keeps new requests away from a family.
    pub(crate) fn switch_off(&self, family: &str, digest: Digest, by: Disabled) {
        let _one_change = lock(&self.changing);
        self.switch_off_locked(family, digest, by);
    }

    /// The same for a caller that holds the lock of changes.
    fn switch_off_locked(&self, family: &str, digest: Digest, by: Disabled) {
        let entry = self.versions.manifest(&digest);
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
        // A rollback writes the same list.
        let _one_change = lock(&self.changing);
        let mut active = self.versions.store.active()?;
        let Some(entry) = active.get_mut(family) else { return Err(self.unknown(family)) };
        if entry.disabled.is_some() {
            return Ok(entry.digest);
        }
        entry.disabled = Some(self.clock.now());
        entry.canary_until = None;
        let entry = entry.clone();
        self.versions.store.write_active(&active)?;
        if let Some(by) = self.disabled_by(family, &entry) {
            self.switch_off_locked(family, entry.digest, by);
        }
        Ok(entry.digest)
    }

    /// Whether a family may be taken away at all; tasks that still need it are looked for later.
    pub(crate) fn check_uninstall(&self, family: &str) -> Result<(), FamilyError> {
        if !self.versions.store.active()?.contains_key(family) {
            return Err(self.unknown(family));
        }
        let config = self.versions.config.load();
        if self.versions_of(family).iter().any(|digest| config.built_in.contains(digest)) {
            return Err(FamilyError::BuiltIn(family.to_owned()));
        }
        Ok(())
    }

    fn versions_of(&self, family: &str) -> Vec<Digest> {
        let kept = self.versions.manifests().into_iter();
        kept.filter(|(_, entry)| entry.family == family).map(|(digest, _)| digest).collect()
    }

    /// Takes away a family that is off, with every version of it. `before` runs once nothing speaks against it, and may refuse.
    pub(crate) fn take_away(
        &self,
        family: &str,
        before: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<Vec<Digest>, FamilyError> {
        let _one_change = lock(&self.changing);
        let versions = self.versions_of(family);
        // From here on no caller begins to load one of them.
        let mut reserved = Vec::new();
        for digest in &versions {
            let busy = || FamilyError::Busy { family: family.to_owned(), digest: *digest };
            reserved.push(self.versions.reserve(digest).ok_or_else(busy)?);
        }
        before()?;
        let mut active = self.versions.store.active()?;
        active.remove(family);
        self.versions.store.write_active(&active)?;
        self.registry.store(self.registry.load().forgetting(family).into());
        lock(&self.broken).remove(family);
        versions.iter().try_for_each(|digest| self.versions.delete(digest))?;
        tracing::info!(family, versions = versions.len(), "plugin family uninstalled");
        Ok(versions)
    }

    /// Switches families and their paths off and on as the configuration of this moment says. Blocks: one that comes back is
    /// loaded.
    pub(crate) fn apply_switches(&self) {
        self.apply_paths();
        let active = match self.versions.store.active() {
            Ok(active) => active,
            Err(error) => {
                tracing::error!(%error, "plugin families are switched neither off nor on: the list is unreadable");
                return;
            }
        };
        for (family, entry) in active {
            let is_off = self.registry.load().disabled.get(&family).map(|off| off.by);
            match (is_off, self.disabled_by(&family, &entry)) {
                (None, Some(by)) => self.switch_off(&family, entry.digest, by),
                (Some(_), None) => {
                    self.forget_disabled(&family);
                    self.reactivate(family, entry, None);
                }
                (Some(was), Some(by)) if was != by => self.switch_off(&family, entry.digest, by),
                _ => {}
            }
        }
    }

    /// A path that the configuration does not allow any more is not served.
    fn apply_paths(&self) {
        let _one_change = lock(&self.changing);
        let inventory = self.versions.config.load().inventory.clone();
        self.registry.store(self.registry.load().under(inventory).into());
    }

    fn forget_disabled(&self, family: &str) {
        let _one_change = lock(&self.changing);
        self.registry.store(self.registry.load().forgetting(family).into());
    }

    pub(crate) fn unknown(&self, family: &str) -> FamilyError {
        let known = self.versions.store.active().unwrap_or_default().into_keys().collect();
        FamilyError::Unknown { family: family.to_owned(), known }
    }

    /// What the active versions would lack under `config`.
    pub(crate) fn lacks_under(&self, config: &Config) -> Vec<String> {
        let mut lacks = Vec::new();
        for active in self.registry.load().active() {
            let (family, digest) = (active.version.family(), active.version.digest());
            let found = config.inventory.as_ref().map(|all| check_inventory(active.version.about(), all));
            if let Some(Err(FitError::Lacks { lacks: all, .. })) = found {
                lacks.extend(all.into_iter().map(|one| format!("family {family}: {one}")));
            }
            let routed = config.inventory.as_ref().map(|all| check_routes(active.version.about(), all));
            if let Some(Err(error)) = routed {
                lacks.push(format!("family {family}: {error}"));
            }
            if let Err(why) = self.versions.check_signature(config, &digest) {
                lacks.push(format!("family {family}: the next start would not load its version: {why}"));
            }
        }
        lacks
    }
}

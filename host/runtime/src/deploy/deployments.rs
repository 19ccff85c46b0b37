//! What operators do with plugins. Owns the lock of deployments, the live tasks to rehearse on, and what a start has not made
//! ready yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use gatehouse_model::{Clock, Digest};

use crate::config::Config;
use crate::deploy::pipeline::{Goal, Order, Removal};
use crate::exec::lock;
use crate::serving::active::{FamilyError, Serving};
use crate::serving::summary::VersionState;
use crate::serving::switch::Companion;
use crate::serving::versions::{RemoveError, Versions};
use crate::stages::admit::SignedComponent;
use crate::stages::rehearse::LiveStates;
use crate::stages::report::{DeployError, DeployReport, OpenError, StageError};
use crate::store::plugin_store::ActiveEntry;

/// The deployment of versions, and of the families that they serve. Every method that says so blocks.
pub struct Deployments {
    pub(crate) serving: Arc<Serving>,
    /// One deployment at a time. Locked before a change of the registry.
    pub(super) deploying: Mutex<()>,
    /// The store of live tasks, once it is known.
    pub(super) live: OnceLock<Arc<dyn LiveStates>>,
    /// What the start has not made ready yet.
    starting: Mutex<StartState>,
}

/// The families of a start that do not serve yet.
#[derive(Default)]
struct StartState {
    /// Those that the caller, or the plugin store, named.
    not_ready: BTreeSet<String>,
    /// Active ones whose code is missing.
    without_code: BTreeMap<String, ActiveEntry>,
}

impl Deployments {
    /// Active versions that have to be compiled are left for later.
    pub(crate) fn open(config: Config, clock: Arc<dyn Clock>, synchronous: bool) -> Result<Self, OpenError> {
        let versions = Versions::open(config, synchronous)?;
        let path = versions.store.active_path();
        let active = versions.store.active().map_err(|source| OpenError::Folder { path, source })?;
        let serving = Serving::new(versions, clock);
        let mut starting = StartState::default();
        for (family, entry) in active {
            if let Some(by) = serving.disabled_by(&family, &entry) {
                serving.switch_off(&family, entry.digest, by);
            } else if let Some(code) = serving.versions.compiler.find(&entry.digest) {
                serving.reactivate(family, entry, Some(code));
            } else {
                starting.not_ready.insert(family.clone());
                starting.without_code.insert(family, entry);
            }
        }
        Ok(Self {
            serving: Arc::new(serving),
            deploying: Mutex::default(),
            live: OnceLock::new(),
            starting: Mutex::new(starting),
        })
    }

    /// The active families that do not serve, because their code has to be compiled first: after an update of the gateway.
    #[must_use]
    pub fn families_without_code(&self) -> Vec<String> {
        lock(&self.starting).without_code.keys().cloned().collect()
    }

    /// Compiles the active version of such a family, which serves then; any other family stays as it is. Blocks for seconds.
    pub fn reactivate(&self, family: &str) {
        let entry = lock(&self.starting).without_code.get(family).cloned();
        if let Some(entry) = entry {
            self.serving.reactivate(family.to_owned(), entry, None);
            // Not before: until then nobody else may take the family for one without a version.
            lock(&self.starting).without_code.remove(family);
        }
    }

    /// The same for all of them.
    pub(crate) fn reactivate_all(&self) {
        for family in self.families_without_code() {
            self.reactivate(&family);
            self.is_ready_now(&family);
        }
    }

    /// Names families that are not ready before [`Deployments::is_ready_now`] says so.
    pub fn expect_families(&self, families: impl IntoIterator<Item = String>) {
        lock(&self.starting).not_ready.extend(families);
    }

    /// The family serves, or will not before an operator acts.
    pub fn is_ready_now(&self, family: &str) {
        lock(&self.starting).not_ready.remove(family);
    }

    /// The families of the start that are not ready.
    #[must_use]
    pub fn families_not_ready(&self) -> Vec<String> {
        lock(&self.starting).not_ready.iter().cloned().collect()
    }

    /// Does what a start leaves for later, so that only active versions, and those of live tasks, delay it: a standby or
    /// a kept version may have to be compiled. Blocks.
    pub fn complete_start(&self) {
        self.serving.begin_late_canaries();
        self.serving.versions.index_all();
    }

    /// Compiles a component that is about to be installed, unless there is code for it, which the installation reads. Several
    /// threads may do so at once, each for another component; why one cannot be compiled is the installation's to say. Blocks
    /// for seconds.
    pub fn compile_ahead(&self, digest: &Digest, wasm: &[u8]) {
        let versions = &self.serving.versions;
        if versions.compiler.has_code(digest) {
            return;
        }
        let compiled = versions.compiler.compile(digest, wasm, &versions.config.load());
        if let Err(error @ StageError::Host(_)) = compiled {
            tracing::warn!(%error, "a component is compiled when it is installed");
        }
    }

    /// Sets the store of live tasks, for the rehearsal before a switch. Only the first call counts.
    pub fn rehearse_on(&self, live: Arc<dyn LiveStates>) {
        drop(self.live.set(live));
    }

    /// Has `listener` told after each automatic rollback, on a blocking thread. Only the first call counts.
    pub fn on_roll_back(&self, listener: Box<dyn Fn() + Send + Sync>) {
        drop(self.serving.on_roll_back.set(listener));
    }

    /// Replaces the configuration: limits and settings from the next call on, the rest from the next deployment on.
    /// Threads, streams, the folder and the memory of the engine's pool stay.
    pub fn configure(&self, config: Config) {
        self.serving.versions.configure(config);
    }

    /// The configuration of this moment.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.serving.versions.config.load_full()
    }

    /// Whether calls under the limits of `config` fit into the engine's pool.
    #[must_use]
    pub fn fits_pool(&self, config: &Config) -> bool {
        config.largest_memory() <= self.serving.versions.pool_memory
    }

    /// What the active versions would lack under `config`, a sentence each. Blocks.
    #[must_use]
    pub fn lacks_under(&self, config: &Config) -> Vec<String> {
        self.serving.lacks_under(config)
    }

    /// Whether a component without a trusted signature is refused.
    #[must_use]
    pub fn requires_signature(&self) -> bool {
        self.config().trust.required
    }

    /// Takes a component through every stage and makes it the active version of its family. A version that is active
    /// already stays as it is. Blocks for seconds.
    ///
    /// # Errors
    /// The stage that refused it; the version active before keeps serving.
    pub fn install<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
    ) -> Result<DeployReport, DeployError> {
        self.install_with(component, Removal::Refused, None)
    }

    /// The same; `removal` says whether the version may leave out what its predecessor serves, and `companion` is a
    /// configuration that comes with it.
    ///
    /// # Errors
    /// The stage that refused it; neither version nor configuration has changed then.
    pub fn install_with<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
        removal: Removal,
        companion: Option<&dyn Companion>,
    ) -> Result<DeployReport, DeployError> {
        self.deploy(&component.into(), Order { goal: Goal::Switch, removal }, companion)
    }

    /// Takes a component through every stage except the switch. Keeps nothing but its code, for the installation that
    /// follows: whatever passes here, [`Deployments::install_with`] takes. Blocks for seconds.
    pub fn check_with<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
        removal: Removal,
        companion: Option<&dyn Companion>,
    ) -> Result<DeployReport, DeployError> {
        self.deploy(&component.into(), Order { goal: Goal::Check, removal }, companion)
    }

    /// The same under another configuration.
    pub fn check_under<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
        removal: Removal,
        config: &Config,
    ) -> Result<DeployReport, DeployError> {
        self.deploy_under(config, &component.into(), Order { goal: Goal::Check, removal }, None)
    }

    /// Makes a kept version the active one of its family. Blocks.
    ///
    /// # Errors
    /// [`StageError::NotKept`], or the stage that refused it.
    pub fn activate(&self, digest: &Digest) -> Result<DeployReport, DeployError> {
        self.activate_with(digest, Removal::Refused)
    }

    /// The same; `removal` says whether the version may leave out what its predecessor serves.
    pub fn activate_with(&self, digest: &Digest, removal: Removal) -> Result<DeployReport, DeployError> {
        self.deploy_kept(digest, Order { goal: Goal::Switch, removal })
    }

    /// Activates the version that served `family` before the present one. It has served before, so it gets no canary
    /// period: two versions never alternate by themselves. Blocks.
    ///
    /// # Errors
    /// [`StageError::NothingBefore`], or the stage that refused the earlier version.
    pub fn roll_back(&self, family: &str) -> Result<DeployReport, DeployError> {
        let failed = |source| StageError::Switch { what: "the list of active versions", source };
        let active = self.serving.versions.store.active().map_err(failed)?;
        let has = |digest: &&Digest| self.serving.versions.store.has_component(digest);
        let previous = active.get(family).and_then(|entry| entry.before.iter().find(has));
        let nothing =
            || StageError::NothingBefore { family: family.to_owned(), kept: self.others_of(family) };
        self.switch_back(previous.ok_or_else(nothing)?)
    }

    /// It served what it serves before another version came, so nobody need allow what it leaves out.
    fn switch_back(&self, digest: &Digest) -> Result<DeployReport, DeployError> {
        self.deploy_kept(digest, Order { goal: Goal::SwitchBack, removal: Removal::Allowed })
    }

    /// The versions of `family` that do not serve, as an operator names them.
    fn others_of(&self, family: &str) -> Vec<String> {
        let others = self.serving.list().into_iter().filter(|one| {
            one.family == family && !matches!(one.state, VersionState::Active(_) | VersionState::Broken(_))
        });
        others.map(|one| format!("{} ({})", one.digest.short(), one.version)).collect()
    }

    /// Deploys a component of the plugin store, through every stage.
    fn deploy_kept(&self, digest: &Digest, order: Order) -> Result<DeployReport, DeployError> {
        let store = &self.serving.versions.store;
        let failed = |source| StageError::Switch { what: "the kept component", source };
        let wasm = store.component(digest).map_err(failed)?.ok_or(StageError::NotKept(*digest))?;
        let signature = store.signature(digest).map_err(failed)?;
        self.deploy(&SignedComponent { wasm: &wasm, signature: signature.as_deref() }, order, None)
    }

    /// Keeps new requests away from a family, until it is enabled; tasks it admitted go on. One that is off stays so. The
    /// version that would serve it. Blocks.
    pub fn disable(&self, family: &str) -> Result<Digest, FamilyError> {
        let _one_deployment = lock(&self.deploying);
        self.serving.disable(family)
    }

    /// Has the version serve again that served `family` when it was switched off. It passes every stage. Blocks.
    ///
    /// # Errors
    /// [`StageError::NoFamily`], or the stage that refused it.
    pub fn enable(&self, family: &str) -> Result<DeployReport, DeployError> {
        let failed = |source| StageError::Switch { what: "the list of active versions", source };
        let active = self.serving.versions.store.active().map_err(failed)?;
        let entry = active
            .get(family)
            .ok_or_else(|| StageError::NoFamily(self.serving.unknown(family).to_string()))?;
        self.switch_back(&entry.digest)
    }

    /// Whether a family may be uninstalled at all; nothing changes.
    ///
    /// # Errors
    /// [`FamilyError`] for one that does not exist or came with the binary.
    pub fn check_uninstall(&self, family: &str) -> Result<(), FamilyError> {
        self.serving.check_uninstall(family)
    }

    /// Switches a family off and deletes every version of it. `before` runs once nothing speaks against it, and may
    /// refuse. Blocks.
    ///
    /// # Errors
    /// See [`FamilyError`]. The family is off from then on, but for one that does not exist or came with the binary.
    pub fn uninstall(
        &self,
        family: &str,
        before: impl FnOnce() -> std::io::Result<()>,
    ) -> Result<Vec<Digest>, FamilyError> {
        self.serving.check_uninstall(family)?;
        let _one_deployment = lock(&self.deploying);
        self.serving.disable(family)?;
        self.serving.take_away(family, before)
    }

    /// Switches families off and on as [`Config::disabled`] says. Blocks: one that comes back is loaded.
    pub fn apply_switches(&self) {
        let _one_deployment = lock(&self.deploying);
        self.serving.apply_switches();
    }

    /// Deletes a version from the plugin store. Blocks.
    ///
    /// # Errors
    /// See [`RemoveError`]; nothing is deleted then.
    pub fn remove(&self, digest: &Digest) -> Result<(), RemoveError> {
        let _one_deployment = lock(&self.deploying);
        self.serving.remove(digest)
    }
}

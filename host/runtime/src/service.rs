//! The plugin service: open, deploy, find versions. The face of this crate for `driver` and `gateway`; calls are in `calls`.

use std::sync::Arc;

use gatehouse_model::{Clock, Digest, KeyId};

use crate::config::Config;
use crate::deploy::companion::Companion;
use crate::deploy::disabled::FamilyError;
use crate::deploy::error::OpenError;
use crate::deploy::pipeline::{Goal, Order, Removal, SignedComponent};
use crate::deploy::report::{DeployError, DeployReport};
use crate::deploy::stages::rehearse::LiveStates;
use crate::registry::Registry;
use crate::state::ServiceState;
use crate::version::Version;
use crate::version_error::{RemoveError, VersionUnavailable};
use crate::versions::VersionSummary;

/// All families of the gateway. Cheap to clone.
#[derive(Clone)]
pub struct PluginService {
    pub(crate) state: Arc<ServiceState>,
    /// The key whose requests it serves; empty: nobody's in particular.
    key: Arc<str>,
}

impl std::fmt::Debug for PluginService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PluginService")
    }
}

/// The version that takes a task's next step.
#[derive(Clone, Debug)]
pub enum StepRoute {
    /// This version, with the state as it is.
    Run(Arc<Version>),
    /// This version, after it has migrated the state.
    Migrate(Arc<Version>),
}

impl PluginService {
    /// Starts the engine and the plugin threads, and loads every version that was active before. One that no longer
    /// loads is logged and listed as broken; the others serve. Blocks, for seconds where a version has to be compiled.
    /// [`PluginService::complete_start`] does the rest.
    ///
    /// # Errors
    /// [`OpenError`] when the engine, a thread or the plugin store does not work.
    pub fn open(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let service = Self::open_compiled(config, clock)?;
        service.reactivate_all();
        Ok(service)
    }

    /// The same, but versions that have to be compiled are left to [`PluginService::reactivate`], so that others serve
    /// meanwhile.
    ///
    /// # Errors
    /// As [`PluginService::open`].
    pub fn open_compiled(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self::over(ServiceState::open(config, clock, false)?))
    }

    fn reactivate_all(&self) {
        for family in self.families_without_code() {
            self.reactivate(&family);
            self.is_ready_now(&family);
        }
    }

    /// The same, but every call blocks its caller until it is done. For a simulation, which needs the same order of
    /// events each time; in a gateway, calls would run one after the other.
    ///
    /// # Errors
    /// As [`PluginService::open`].
    pub fn open_synchronous(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let service = Self::over(ServiceState::open(config, clock, true)?);
        service.reactivate_all();
        service.complete_start();
        Ok(service)
    }

    fn over(state: ServiceState) -> Self {
        Self { state: Arc::new(state), key: "".into() }
    }

    /// The same service for a request with this key: it shares what its customer gets of the plugin threads with the
    /// customer's other keys.
    #[must_use]
    pub fn for_key(&self, key: &KeyId) -> Self {
        Self { state: Arc::clone(&self.state), key: key.0.as_str().into() }
    }

    pub(crate) fn key(&self) -> Arc<str> {
        Arc::clone(&self.key)
    }

    /// Does what a start leaves for later, so that only active versions, and those of live tasks, delay it: a standby or
    /// a kept version may have to be compiled. Blocks.
    pub fn complete_start(&self) {
        self.state.complete_start();
    }

    /// Replaces the configuration: limits and settings from the next call on, the rest from the next deployment on.
    /// Threads, streams, the folder and the memory of the engine's pool stay.
    pub fn configure(&self, config: Config) {
        self.state.configure(config);
    }

    /// The configuration of this moment.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.state.config.load_full()
    }

    /// Whether calls under the limits of `config` fit into the engine's pool.
    #[must_use]
    pub fn fits_pool(&self, config: &Config) -> bool {
        config.largest_memory() <= self.state.pool_memory
    }

    /// What the active versions would lack under `config`, a sentence each. Blocks.
    #[must_use]
    pub fn lacks_under(&self, config: &Config) -> Vec<String> {
        self.state.lacks_under(config)
    }

    /// Whether a component without a trusted signature is refused.
    #[must_use]
    pub fn requires_signature(&self) -> bool {
        self.state.config.load().trust.required
    }

    /// Sets the store of live tasks, for the rehearsal before a switch. Only the first call counts.
    pub fn rehearse_on(&self, live: Arc<dyn LiveStates>) {
        drop(self.state.live.set(live));
    }

    /// Has `listener` told after each automatic rollback, on a blocking thread. Only the first call counts.
    pub fn on_roll_back(&self, listener: Box<dyn Fn() + Send + Sync>) {
        drop(self.state.on_roll_back.set(listener));
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
        self.state.deploy(&component.into(), Order { goal: Goal::Switch, removal }, companion)
    }

    /// Takes a component through every stage except the switch. Keeps nothing but its code, for the installation that
    /// follows. Blocks for seconds.
    ///
    /// # Errors
    /// The stage that refused it.
    pub fn check<'a>(&self, component: impl Into<SignedComponent<'a>>) -> Result<DeployReport, DeployError> {
        self.check_with(component, Removal::Refused, None)
    }

    /// The same for what [`PluginService::install_with`] would be asked: whatever passes here, an installation takes.
    ///
    /// # Errors
    /// As [`PluginService::check`].
    pub fn check_with<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
        removal: Removal,
        companion: Option<&dyn Companion>,
    ) -> Result<DeployReport, DeployError> {
        self.state.deploy(&component.into(), Order { goal: Goal::Check, removal }, companion)
    }

    /// The same under another configuration.
    ///
    /// # Errors
    /// The stage that refused it.
    pub fn check_under<'a>(
        &self,
        component: impl Into<SignedComponent<'a>>,
        removal: Removal,
        config: &Config,
    ) -> Result<DeployReport, DeployError> {
        self.state.deploy_under(config, &component.into(), Order { goal: Goal::Check, removal }, None)
    }

    /// Makes a kept version the active one of its family. Blocks.
    ///
    /// # Errors
    /// [`crate::StageError::NotKept`], or the stage that refused it.
    pub fn activate(&self, digest: &Digest) -> Result<DeployReport, DeployError> {
        self.activate_with(digest, Removal::Refused)
    }

    /// The same; `removal` says whether the version may leave out what its predecessor serves.
    ///
    /// # Errors
    /// As [`PluginService::activate`].
    pub fn activate_with(&self, digest: &Digest, removal: Removal) -> Result<DeployReport, DeployError> {
        self.state.activate(digest, Order { goal: Goal::Switch, removal })
    }

    /// Activates the version that served `family` before the present one. It has served before, so it gets no canary
    /// period: two versions never alternate by themselves. Blocks.
    ///
    /// # Errors
    /// [`crate::StageError::NothingBefore`], or the stage that refused the earlier version.
    pub fn roll_back(&self, family: &str) -> Result<DeployReport, DeployError> {
        // It served what it serves before the present version came.
        let order = Order { goal: Goal::SwitchBack, removal: Removal::Allowed };
        self.state.activate(&self.state.previous(family)?, order)
    }

    /// Keeps new requests away from a family, until it is enabled; tasks it admitted go on. One that is off stays so. The
    /// version that would serve it. Blocks.
    ///
    /// # Errors
    /// See [`FamilyError`].
    pub fn disable(&self, family: &str) -> Result<Digest, FamilyError> {
        self.state.disable(family)
    }

    /// Has the version serve again that served `family` when it was switched off. It passes every stage. Blocks.
    ///
    /// # Errors
    /// [`crate::StageError::NoFamily`], or the stage that refused it.
    pub fn enable(&self, family: &str) -> Result<DeployReport, DeployError> {
        self.state.enable(family)
    }

    /// Whether a family may be uninstalled at all; nothing changes.
    ///
    /// # Errors
    /// [`FamilyError`] for one that does not exist or came with the binary.
    pub fn check_uninstall(&self, family: &str) -> Result<(), FamilyError> {
        self.state.check_uninstall(family)
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
        self.state.uninstall(family, before)
    }

    /// Switches families off and on as [`Config::disabled`] says. Blocks: one that comes back is loaded.
    pub fn apply_switches(&self) {
        self.state.apply_switches();
    }

    /// Whether `family` is switched off.
    #[must_use]
    pub fn is_disabled(&self, family: &str) -> bool {
        self.registry().disabled(family).is_some() || self.config().disabled.contains(family)
    }

    /// Why that version was rolled back, if it was. Only an operator may activate it again.
    #[must_use]
    pub fn rollback_reason(&self, digest: &Digest) -> Option<String> {
        self.state.rollback_reason(digest)
    }

    /// Deletes a version from the plugin store. Blocks.
    ///
    /// # Errors
    /// See [`RemoveError`]; nothing is deleted then.
    pub fn remove(&self, digest: &Digest) -> Result<(), RemoveError> {
        self.state.remove(digest)
    }

    /// The registry of this moment.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        self.state.registry.load_full()
    }

    /// A version by digest. A loaded one returns at once; another is loaded from the plugin store on a blocking
    /// thread, in a few milliseconds, or in seconds if it must be compiled again. It stays loaded while the caller
    /// holds it.
    ///
    /// # Errors
    /// See [`VersionUnavailable`].
    pub async fn version(&self, digest: &Digest) -> Result<Arc<Version>, VersionUnavailable> {
        self.state.version(digest).await
    }

    /// The version that takes the next step of a task with `family`, `digest` and `state_version`: the active one if
    /// it is the same or can migrate the state; else the version that admitted the task.
    ///
    /// # Errors
    /// [`VersionUnavailable`] when that version cannot be had.
    pub async fn route(
        &self,
        family: &str,
        digest: &Digest,
        state_version: u32,
    ) -> Result<StepRoute, VersionUnavailable> {
        match self.registry().family(family) {
            Some(active) if active.digest() == *digest => Ok(StepRoute::Run(active)),
            Some(active) if active.about().reads_state.contains(&state_version) => {
                Ok(StepRoute::Migrate(active))
            }
            _ => self.version(digest).await.map(StepRoute::Run),
        }
    }

    /// Every version that is active, broken, loaded or kept. Reads memory only.
    #[must_use]
    pub fn list(&self) -> Vec<VersionSummary> {
        self.state.list()
    }

    /// The operator's table of `family`, as JSON: the `settings` of a context.
    #[must_use]
    pub fn settings(&self, family: &str) -> Arc<str> {
        self.registry()
            .family(family)
            .map_or_else(|| self.state.config.load().settings_of(family), |active| active.settings())
    }
}

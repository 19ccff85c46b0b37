//! The plugin service: open, and find what serves. Owns the plugin threads and the permits to keep an instance.

use std::ops::Deref;
use std::sync::Arc;

use gatehouse_model::{Clock, Digest, KeyId};

use crate::config::{Config, REQUEST_INSTANCES};
use crate::deploy::deployments::Deployments;
use crate::exec::instance::InstancePermits;
use crate::exec::threads::Threads;
use crate::serving::registry::Registry;
use crate::serving::summary::VersionSummary;
use crate::serving::versions::VersionUnavailable;
use crate::stages::report::OpenError;
use crate::version::loaded::Version;

/// All families of the gateway: their calls, and by dereference what operators do with them. A handle, cheap to clone.
#[derive(Clone)]
pub struct PluginService {
    deployments: Arc<Deployments>,
    pub(super) capacity: Arc<Capacity>,
    /// The key whose requests it serves; empty: nobody's in particular.
    pub(super) key: Arc<str>,
}

/// What calls share.
pub(super) struct Capacity {
    pub(super) threads: Threads,
    /// Streams that may be open at once; each holds an instance.
    streams: Arc<InstancePermits>,
    /// Of requests that are answered whole, between their two calls.
    request_instances: Arc<InstancePermits>,
}

impl Capacity {
    /// Permits to keep an instance: for a stream, or else for a request that is answered whole.
    pub(super) fn instance_permits(&self, streaming: bool) -> &Arc<InstancePermits> {
        if streaming { &self.streams } else { &self.request_instances }
    }
}

impl Deref for PluginService {
    type Target = Deployments;

    fn deref(&self) -> &Deployments {
        &self.deployments
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
    /// [`Deployments::complete_start`] does the rest.
    ///
    /// # Errors
    /// [`OpenError`] when the engine, a thread or the plugin store does not work.
    pub fn open(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let service = Self::open_compiled(config, clock)?;
        service.reactivate_all();
        Ok(service)
    }

    /// The same, but versions that have to be compiled are left to [`Deployments::reactivate`], so that others serve
    /// meanwhile.
    pub fn open_compiled(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Self::start(config, clock, false)
    }

    /// The same, but every call blocks its caller until it is done. For a simulation, which needs the same order of
    /// events each time; in a gateway, calls would run one after the other.
    pub fn open_synchronous(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        let service = Self::start(config, clock, true)?;
        service.reactivate_all();
        service.complete_start();
        Ok(service)
    }

    fn start(config: Config, clock: Arc<dyn Clock>, synchronous: bool) -> Result<Self, OpenError> {
        let streams = InstancePermits::new(config.streams);
        let threads = config.thread_count();
        let deployments = Deployments::open(config, clock, synchronous)?;
        let threads = Threads::start("plugin", threads).map_err(OpenError::Threads)?;
        let capacity = Capacity {
            threads: if synchronous { threads.synchronous() } else { threads },
            streams,
            request_instances: InstancePermits::new(REQUEST_INSTANCES),
        };
        Ok(Self { deployments: Arc::new(deployments), capacity: Arc::new(capacity), key: "".into() })
    }

    /// The same service for a request with this key: it shares what its customer gets of the plugin threads with the
    /// customer's other keys.
    #[must_use]
    pub fn for_key(&self, key: &KeyId) -> Self {
        Self { key: key.0.as_str().into(), ..self.clone() }
    }

    /// The registry of this moment.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        self.serving.registry.load_full()
    }

    /// A version by digest. A loaded one returns at once; another is loaded from the plugin store on a blocking
    /// thread, in a few milliseconds, or in seconds if it must be compiled again. It stays loaded while the caller
    /// holds it.
    pub async fn version(&self, digest: &Digest) -> Result<Arc<Version>, VersionUnavailable> {
        self.serving.versions.version(digest).await
    }

    /// The version that takes the next step of a task with `family`, `digest` and `state_version`: the active one if
    /// it is the same or can migrate the state; else the version that admitted the task.
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
        self.serving.list()
    }

    /// Whether `family` is switched off.
    #[must_use]
    pub fn is_disabled(&self, family: &str) -> bool {
        self.registry().disabled.contains_key(family) || self.config().disabled.contains(family)
    }

    /// Why that version was rolled back, if it was. Only an operator may activate it again.
    #[must_use]
    pub fn rollback_reason(&self, digest: &Digest) -> Option<String> {
        self.serving.versions.rollback(digest).map(|record| record.reason)
    }

    /// The operator's table of `family`, as JSON: the `settings` of a context.
    #[must_use]
    pub fn settings(&self, family: &str) -> Arc<str> {
        let active = self.registry().family(family);
        active.map_or_else(|| self.config().settings_of(family), |active| active.settings())
    }

    /// Calls of `family` that wait for a plugin thread, new work left out.
    #[must_use]
    pub fn waiting(&self, family: &str) -> usize {
        self.capacity.threads.waiting(family)
    }

    /// Whether `version` is a canary, or was rolled back: another version may then take what it faults on.
    #[must_use]
    pub fn is_on_trial(&self, version: &Version) -> bool {
        version.is_rolled_back()
            || self.serving.canaries.standby(&version.digest(), self.serving.clock.now()).is_some()
    }
}

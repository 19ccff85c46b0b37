//! The state behind the plugin service, and how a start finds the versions of the data folder again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwap;
use gatehouse_model::{Clock, Digest};

use crate::config::{Config, REQUEST_INSTANCES};
use crate::deploy::canary::{Canaries, FaultWindow};
use crate::deploy::error::{OpenError, StageError};
use crate::deploy::manifest_index::ManifestEntry;
use crate::deploy::plugin_store::{ActiveEntry, PluginStore, Rollback};
use crate::deploy::stages::admit::AdmitError;
use crate::deploy::stages::compile::Compiler;
use crate::deploy::stages::rehearse::LiveStates;
use crate::deploy::verifier::Verifier;
use crate::exec::instance_permits::InstancePermits;
use crate::exec::single_flight::SingleFlight;
use crate::exec::threads::Threads;
use crate::registry::Registry;
use crate::version::Version;
use crate::version_error::VersionUnavailable;

/// Shared by all clones of the service.
pub(crate) struct ServiceState {
    /// The operator's configuration, replaced as a whole.
    pub(crate) config: ArcSwap<Config>,
    /// Bytes of memory that the engine's pool has for one call.
    pub(crate) pool_memory: usize,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) verifier: Verifier,
    pub(crate) compiler: Compiler,
    pub(crate) store: Arc<PluginStore>,
    pub(crate) threads: Threads,
    /// Streams that may be open at once; each holds an instance.
    pub(crate) streams: Arc<InstancePermits>,
    /// Of requests that are answered whole, between their two calls.
    pub(crate) request_instances: Arc<InstancePermits>,
    pub(crate) registry: ArcSwap<Registry>,
    /// Every loaded version: the active ones, and those that a task or a caller holds.
    pub(crate) loaded: Mutex<HashMap<Digest, Weak<Version>>>,
    /// Every version of the plugin store, by what it declares.
    pub(crate) kept: Mutex<BTreeMap<Digest, ManifestEntry>>,
    /// Active versions that could not be loaded: family -> version and reason.
    pub(crate) broken: Mutex<BTreeMap<String, (Digest, String)>>,
    /// Rolled back versions, as the plugin store has them.
    pub(crate) rolled_back: Mutex<BTreeMap<Digest, Rollback>>,
    pub(crate) canaries: Canaries,
    /// Canaries that wait for their standby; see [`ServiceState::complete_start`].
    pub(crate) late_standbys: Mutex<Vec<ActiveEntry>>,
    /// What the start has not made ready yet.
    pub(crate) starting: Mutex<StartState>,
    /// The store of live tasks, once it is known.
    pub(crate) live: OnceLock<Arc<dyn LiveStates>>,
    /// Told after each automatic rollback.
    pub(crate) on_roll_back: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// One deployment at a time. Locked before `changing`.
    pub(crate) deploying: Mutex<()>,
    /// One change of the registry at a time; held for moments, so that a rollback waits for no compiler.
    pub(crate) changing: Mutex<()>,
    /// Versions that are being loaded from the plugin store for a caller in async code.
    pub(crate) loads: SingleFlight<Digest, Result<Arc<Version>, VersionUnavailable>>,
}

/// The families of a start that do not serve yet.
#[derive(Debug, Default)]
pub(crate) struct StartState {
    /// Those that the caller, or the plugin store, named.
    pub(crate) not_ready: BTreeSet<String>,
    /// Active ones whose code is missing.
    pub(crate) without_code: BTreeMap<String, ActiveEntry>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ServiceState {
    /// Active versions that have to be compiled are left for later.
    pub(crate) fn open(config: Config, clock: Arc<dyn Clock>, synchronous: bool) -> Result<Self, OpenError> {
        let folder = |(path, source)| OpenError::Folder { path, source };
        let store = PluginStore::open(&config.data_dir).map_err(folder)?;
        let list = |source| OpenError::Folder { path: store.active_path(), source };
        let active = store.active().map_err(list)?;
        let rolled_back = store.rolled_back().map_err(list)?;
        let components = store.components().map_err(list)?;
        let store = Arc::new(store);
        let count = config.thread_count();
        let pool_memory = config.largest_memory();
        let verifier = Verifier::open(count, config.streams, pool_memory)?;
        let threads = Threads::start("plugin", count).map_err(OpenError::Threads)?;
        let state = Self {
            compiler: Compiler::new(verifier.engine.clone(), Arc::clone(&store), config.compilers),
            streams: InstancePermits::new(config.streams),
            request_instances: InstancePermits::new(REQUEST_INSTANCES),
            threads: if synchronous { threads.synchronous() } else { threads },
            verifier,
            store,
            registry: ArcSwap::from_pointee(Registry::default().under(config.inventory.clone())),
            loaded: Mutex::default(),
            kept: Mutex::default(),
            broken: Mutex::default(),
            rolled_back: Mutex::new(rolled_back),
            canaries: Canaries::default(),
            live: OnceLock::new(),
            on_roll_back: OnceLock::new(),
            deploying: Mutex::default(),
            changing: Mutex::default(),
            loads: SingleFlight::default(),
            late_standbys: Mutex::default(),
            starting: Mutex::default(),
            pool_memory,
            config: ArcSwap::from_pointee(config),
            clock,
        };
        for digest in components {
            if let Some(entry) = state.store.manifest(&digest) {
                lock(&state.kept).insert(digest, entry);
            }
        }
        for (family, entry) in active {
            match state.disabled_by(&family, &entry) {
                Some(by) => state.switch_off(&family, entry.digest, by),
                None if state.compiler.is_compiled(&entry.digest) => state.reactivate(family, entry),
                None => state.leave_for_later(&family, entry),
            }
        }
        Ok(state)
    }

    /// Leaves an active version for later whose code is missing.
    fn leave_for_later(&self, family: &str, entry: ActiveEntry) {
        let mut starting = lock(&self.starting);
        starting.not_ready.insert(family.to_owned());
        starting.without_code.insert(family.to_owned(), entry);
    }

    /// What a start leaves for later, because nothing waits for it and it may have to compile: the standby of a canary,
    /// and kept versions whose manifest was never written. Blocks.
    pub(crate) fn complete_start(&self) {
        for entry in std::mem::take(&mut *lock(&self.late_standbys)) {
            self.begin_canary(&entry);
        }
        let components = self.store.components().unwrap_or_else(|error| {
            tracing::warn!(%error, "kept plugin versions are not listed");
            Vec::new()
        });
        for digest in components {
            if !lock(&self.kept).contains_key(&digest) {
                self.index(digest);
            }
        }
    }

    /// Makes a version active that was active before the restart, or before its family was switched off.
    pub(crate) fn reactivate(&self, family: String, entry: ActiveEntry) {
        let loaded = self
            .check_signature(&entry.digest)
            .and_then(|()| self.load(&entry.digest).map_err(|unavailable| unavailable.to_string()));
        let changed = loaded.and_then(|version| {
            let _one_change = lock(&self.changing);
            let registry = self.registry.load_full();
            // An operator may have installed another version while this one was compiled, or switched the family off.
            if registry.family(&family).is_some() || registry.disabled(&family).is_some() {
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
            Err(_) if self.registry.load().disabled(&family).is_some() || !self.is_listed(&family) => {}
            Err(why) => {
                tracing::error!(family, digest = %entry.digest, why, "an active plugin version does not load");
                lock(&self.broken).insert(family, (entry.digest, why));
            }
        }
    }

    /// Whether the list of active versions has the family; also where it cannot be read.
    fn is_listed(&self, family: &str) -> bool {
        self.store.active().map_or(true, |active| active.contains_key(family))
    }

    /// Whether the configuration of today accepts the signature of a kept component.
    fn check_signature(&self, digest: &Digest) -> Result<(), String> {
        self.check_signature_under(&self.config.load(), digest)
    }

    /// The same under another configuration.
    pub(crate) fn check_signature_under(&self, config: &Config, digest: &Digest) -> Result<(), String> {
        let trust = &config.trust;
        if !trust.required || config.built_in.contains(digest) {
            return Ok(());
        }
        let wasm = self.store.component(digest).map_err(|error| error.to_string())?;
        let signature = self.store.signature(digest).map_err(|error| error.to_string())?;
        let wasm = wasm.ok_or_else(|| VersionUnavailable::Unknown(*digest).to_string())?;
        let checked = trust.check(&wasm, signature.as_deref()).map_err(AdmitError::from);
        checked.map(drop).map_err(|error| StageError::from(error).to_string())
    }

    /// A restart does not end a canary period, but its count begins anew.
    fn resume_canary(&self, entry: &ActiveEntry) {
        let (Some(before), Some(until)) = (entry.before.first(), entry.canary_until) else { return };
        if until <= self.clock.now() {
            return;
        }
        if self.store.has_component(before) && self.compiler.is_compiled(before) {
            self.begin_canary(entry);
        } else {
            // To compile it would keep the gateway from serving.
            lock(&self.late_standbys).push(entry.clone());
        }
    }

    fn begin_canary(&self, entry: &ActiveEntry) {
        let (Some(before), Some(until)) = (entry.before.first(), entry.canary_until) else { return };
        let loaded = self.load(before);
        let _one_change = lock(&self.changing);
        if !self.registry.load().is_active(&entry.digest) {
            return;
        }
        match loaded {
            Ok(standby) => {
                let window = FaultWindow::new(self.config.load().canary, until);
                self.canaries.begin(entry.digest, standby, window);
            }
            Err(unavailable) => tracing::warn!(%unavailable, "a fresh version has no standby"),
        }
    }

    /// Takes a kept component without a manifest into the index. One that does not load is not listed.
    fn index(&self, digest: Digest) {
        let indexed = self.load(&digest).map_err(|unavailable| unavailable.to_string());
        let indexed =
            indexed.and_then(|version| self.keep_manifest(&version).map_err(|error| error.to_string()));
        if let Err(why) = indexed {
            tracing::warn!(%digest, why, "a kept plugin version is not listed");
        }
    }

    /// Records what a kept version declares.
    pub(crate) fn keep_manifest(&self, version: &Version) -> std::io::Result<()> {
        let entry = ManifestEntry::from(version.about());
        lock(&self.kept).insert(version.digest(), entry.clone());
        self.store.keep_manifest(&version.digest(), &entry)
    }
}

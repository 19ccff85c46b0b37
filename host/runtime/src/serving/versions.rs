//! The versions that this gateway has: those of the plugin store, by what they declare, and those that are loaded.
//!
//! Owns the store, the compiler, the verifier and the configuration of this moment. A loaded version is found at once. Any other
//! is loaded from the plugin store on a blocking thread, once for all concurrent callers; no lock is held meanwhile. Never
//! decides which version serves.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};

use arc_swap::ArcSwap;
use gatehouse_model::{Digest, UnixMs};
use wasmtime::component::Component;

use crate::config::Config;
use crate::exec::lock;
use crate::exec::single_flight::{Reservation, SingleFlight};
use crate::stages::admit::AdmitError;
use crate::stages::compile::Compiler;
use crate::stages::report::{OpenError, StageError, StageLog};
use crate::stages::verifier::{Candidate, Verifier};
use crate::store::manifest_index::ManifestEntry;
use crate::store::plugin_store::{PluginStore, Rollback};
use crate::version::loaded::Version;

/// A version that cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionUnavailable {
    /// It is kept and does not load.
    #[error("plugin version {digest} cannot be loaded: {source}")]
    Broken {
        /// Its digest.
        digest: Digest,
        /// The stage that refused it.
        source: Arc<StageError>,
    },
    /// Its file cannot be read.
    #[error("plugin version {digest} cannot be read: {source}")]
    Unreadable {
        /// Its digest.
        digest: Digest,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// It was never installed here, or its file was removed.
    #[error("plugin version {0} is not in the data folder")]
    Unknown(Digest),
}

/// Why a version was not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// It serves its family.
    #[error("plugin version {0} serves; activate another one first")]
    Active(Digest),
    /// It is not in the plugin store.
    #[error("plugin version {0} is not in the data folder")]
    NotKept(Digest),
    /// Live tasks need it.
    #[error("plugin version {0} finishes tasks it admitted; try again when they have ended")]
    Pinned(Digest),
    /// It takes over if a fresh version fails.
    #[error("plugin version {digest} is the standby of its successor; try again after {until}")]
    Standby {
        /// Its digest.
        digest: Digest,
        /// The end of the canary period.
        until: UnixMs,
    },
    /// The file system's.
    #[error("the plugin store: {0}")]
    Folder(#[from] std::io::Error),
}

type Loaded = Result<Arc<Version>, VersionUnavailable>;

pub(crate) struct Versions {
    /// The operator's configuration, replaced as a whole.
    pub(crate) config: ArcSwap<Config>,
    /// Bytes of memory that the engine's pool has for one call.
    pub(crate) pool_memory: usize,
    pub(crate) verifier: Verifier,
    pub(crate) compiler: Compiler,
    pub(crate) store: Arc<PluginStore>,
    /// A load blocks its caller also in async code.
    synchronous: bool,
    /// Every loaded version: the active ones, and those that a task or a caller holds.
    loaded: Mutex<HashMap<Digest, Weak<Version>>>,
    /// Every version of the plugin store, by what it declares.
    kept: Mutex<BTreeMap<Digest, ManifestEntry>>,
    /// Rolled back versions, as the plugin store has them.
    rolled_back: Mutex<BTreeMap<Digest, Rollback>>,
    /// Versions that are being loaded from the plugin store for a caller in async code.
    loads: SingleFlight<Digest, Loaded>,
}

impl Versions {
    pub(crate) fn open(config: Config, synchronous: bool) -> Result<Self, OpenError> {
        let folder = |(path, source)| OpenError::Folder { path, source };
        let store = PluginStore::open(&config.data_dir).map_err(folder)?;
        let list = |source| OpenError::Folder { path: store.active_path(), source };
        let rolled_back = store.rolled_back().map_err(list)?;
        let components = store.components().map_err(list)?;
        let store = Arc::new(store);
        let pool_memory = config.largest_memory();
        let verifier = Verifier::open(config.thread_count(), config.streams, pool_memory)?;
        let manifest = |digest| Some((digest, store.manifest(&digest)?));
        Ok(Self {
            compiler: Compiler::new(
                verifier.engine.clone(),
                Arc::clone(&store),
                config.compilers,
                config.packaged_code.clone(),
            ),
            kept: Mutex::new(components.into_iter().filter_map(manifest).collect()),
            rolled_back: Mutex::new(rolled_back),
            config: ArcSwap::from_pointee(config),
            loaded: Mutex::default(),
            loads: SingleFlight::default(),
            pool_memory,
            verifier,
            store,
            synchronous,
        })
    }

    /// A version: at once, or loaded on a blocking thread.
    pub(crate) async fn version(self: &Arc<Self>, digest: &Digest) -> Loaded {
        if let Some(version) = self.loaded(digest) {
            return Ok(version);
        }
        if self.synchronous {
            return self.load(digest);
        }
        let digest = *digest;
        // A second time where the first met the removal of that version.
        for _ in 0..2 {
            let versions = Arc::clone(self);
            if let Some(result) = self.loads.run(digest, move || versions.load(&digest)).await {
                return result;
            }
        }
        let source = Arc::new(StageError::Host("the load was interrupted".to_owned()));
        Err(VersionUnavailable::Broken { digest, source })
    }

    /// Loads a version on this thread, unless it is loaded.
    pub(crate) fn load(&self, digest: &Digest) -> Loaded {
        self.load_with(digest, None)
    }

    /// The same with `code` that was found before: to look for it is to read it whole.
    pub(crate) fn load_with(&self, digest: &Digest, code: Option<Component>) -> Loaded {
        if let Some(version) = self.loaded(digest) {
            return Ok(version);
        }
        let version = self.load_from_store(*digest, code)?;
        let mut loaded = lock(&self.loaded);
        // Another thread may have been faster; all callers get the same version.
        if let Some(first) = loaded.get(digest).and_then(Weak::upgrade) {
            return Ok(first);
        }
        loaded.insert(*digest, Arc::downgrade(&version));
        // The configuration may have changed meanwhile; from here on a change finds the version.
        version.configure(&self.config.load());
        Ok(version)
    }

    /// It passed every stage when it was installed; only newly compiled code is tested again.
    fn load_from_store(&self, digest: Digest, code: Option<Component>) -> Loaded {
        let broken = |source| VersionUnavailable::Broken { digest, source: Arc::new(source) };
        let unreadable = |source| VersionUnavailable::Unreadable { digest, source: Arc::new(source) };
        let is_kept = self.store.has_component(&digest);
        let code = if is_kept { code.or_else(|| self.compiler.find(&digest)) } else { None };
        let (component, compiled) = match code {
            Some(component) => (component, false),
            None => {
                let wasm = self.store.component(&digest).map_err(unreadable)?;
                let wasm = wasm.ok_or(VersionUnavailable::Unknown(digest))?;
                self.compiler.compile(&digest, &wasm, &self.config.load()).map_err(broken)?
            }
        };
        let candidate = Candidate { component, digest, bytes: None, manifest: None };
        let version = self
            .verifier
            .verify(&candidate, &self.config.load_full(), &mut StageLog::default())
            .map_err(broken)?;
        if compiled {
            self.verifier.self_test(&version).map_err(broken)?;
        }
        version.set_rolled_back(self.rollback(&digest).is_some());
        Ok(version)
    }

    /// A version that is loaded now.
    pub(crate) fn loaded(&self, digest: &Digest) -> Option<Arc<Version>> {
        lock(&self.loaded).get(digest).and_then(Weak::upgrade)
    }

    pub(crate) fn all_loaded(&self) -> Vec<Arc<Version>> {
        lock(&self.loaded).values().filter_map(Weak::upgrade).collect()
    }

    pub(crate) fn insert_loaded(&self, version: &Arc<Version>) {
        let mut loaded = lock(&self.loaded);
        loaded.retain(|_, version| version.strong_count() > 0);
        loaded.insert(version.digest(), Arc::downgrade(version));
    }

    /// Keeps callers from loading a version; `None` where one is loaded, or being loaded.
    pub(crate) fn reserve(&self, digest: &Digest) -> Option<Reservation<Digest, Loaded>> {
        self.loads.reserve(*digest).filter(|_| self.loaded(digest).is_none())
    }

    /// Replaces the configuration, that of every loaded version included.
    pub(crate) fn configure(&self, config: Config) {
        self.config.store(Arc::new(config));
        let loaded = lock(&self.loaded);
        let config = self.config.load();
        loaded.values().filter_map(Weak::upgrade).for_each(|version| version.configure(&config));
    }

    /// Whether that configuration accepts the signature of a kept component.
    pub(crate) fn check_signature(&self, config: &Config, digest: &Digest) -> Result<(), String> {
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

    /// What a kept version declares.
    pub(crate) fn manifest(&self, digest: &Digest) -> Option<ManifestEntry> {
        lock(&self.kept).get(digest).cloned()
    }

    /// What every kept version declares.
    pub(crate) fn manifests(&self) -> BTreeMap<Digest, ManifestEntry> {
        lock(&self.kept).clone()
    }

    /// Records what a kept version declares.
    pub(crate) fn keep_manifest(&self, version: &Version) -> std::io::Result<()> {
        let entry = ManifestEntry::from(version.about());
        lock(&self.kept).insert(version.digest(), entry.clone());
        self.store.keep_manifest(&version.digest(), &entry)
    }

    /// Takes every kept component without a manifest into the index. One that does not load is not listed. Blocks.
    pub(crate) fn index_all(&self) {
        let components = self.store.components().unwrap_or_else(|error| {
            tracing::warn!(%error, "kept plugin versions are not listed");
            Vec::new()
        });
        for digest in components.into_iter().filter(|digest| self.manifest(digest).is_none()) {
            let indexed = self.load(&digest).map_err(|unavailable| unavailable.to_string());
            let indexed =
                indexed.and_then(|version| self.keep_manifest(&version).map_err(|error| error.to_string()));
            if let Err(why) = indexed {
                tracing::warn!(%digest, why, "a kept plugin version is not listed");
            }
        }
    }

    /// Deletes a version from the plugin store.
    pub(crate) fn delete(&self, digest: &Digest) -> std::io::Result<()> {
        self.store.drop_component(digest)?;
        lock(&self.kept).remove(digest);
        self.clear_rollback(digest)
    }

    /// Another kept version of the family that calls itself the same.
    pub(crate) fn same_semver(&self, version: &Version) -> Option<Digest> {
        let about = version.about();
        let kept = lock(&self.kept);
        let (other, _) = kept.iter().find(|(digest, entry)| {
            **digest != version.digest() && (&entry.family, &entry.version) == (&about.family, &about.version)
        })?;
        Some(*other)
    }

    /// When and why a version was rolled back, if it was.
    pub(crate) fn rollback(&self, digest: &Digest) -> Option<Rollback> {
        lock(&self.rolled_back).get(digest).cloned()
    }

    /// Records the rollback of a version; `write_rest` writes what belongs to it.
    pub(crate) fn record_rollback(
        &self,
        digest: Digest,
        record: Rollback,
        write_rest: impl FnOnce() -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut all = lock(&self.rolled_back).clone();
        all.insert(digest, record.clone());
        let written = self.store.write_rolled_back(&all).and_then(|()| write_rest());
        // Last: an observer of this list may rely on the files. Also when they could not be written.
        lock(&self.rolled_back).insert(digest, record);
        written
    }

    /// Forgets the rollback of a version that an operator activates or removes.
    pub(crate) fn clear_rollback(&self, digest: &Digest) -> std::io::Result<()> {
        let mut rolled_back = lock(&self.rolled_back);
        match rolled_back.remove(digest) {
            Some(_) => self.store.write_rolled_back(&rolled_back),
            None => Ok(()),
        }
    }
}

//! The versions of this house: taken in, switched, pinned, found again after a restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use arc_swap::ArcSwap;
use gatehouse_model::{Clock, Digest};
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::load::{AdmitError, Candidate, Compiler, Journal, LiveStates, OpenError, StageError, Workshop};
use crate::registry::Registry;
use crate::service::{Missing, RemoveError, VersionState, VersionSummary};
use crate::shelf::{Row, Shelf, Withdrawal};
use crate::threads::Threads;
use crate::version::Version;
use crate::watch::{Tower, Watch};

/// The room's state.
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) workshop: Workshop,
    pub(crate) compiler: Compiler,
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) threads: Threads,
    /// Streams that may be open at once; each holds an instance.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) registry: ArcSwap<Registry>,
    /// Every version somebody still holds, active or pinned.
    loaded: Mutex<HashMap<Digest, Weak<Version>>>,
    /// Active versions that could not be loaded: family -> what and why.
    pub(crate) broken: Mutex<BTreeMap<String, (Digest, String)>>,
    /// Versions that failed their watch, as the shelf has them.
    pub(crate) withdrawn: Mutex<BTreeMap<Digest, Withdrawal>>,
    /// Fresh versions, and who stands by for them.
    pub(crate) tower: Tower,
    /// Where live tasks are kept, once somebody has said so.
    pub(crate) live: OnceLock<Arc<dyn LiveStates>>,
    /// One version on its way at a time. Taken before `changing`.
    pub(crate) preparing: Mutex<()>,
    /// One change of the registry at a time; held for moments, so that a withdrawal waits for no compiler.
    pub(crate) changing: Mutex<()>,
    /// One load of a pinned version at a time, so that it is loaded once.
    fetching: Mutex<()>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(crate) fn open(config: Config, clock: Arc<dyn Clock>, in_turn: bool) -> Result<Self, OpenError> {
        let shelf =
            Shelf::open(&config.data_dir).map_err(|(path, source)| OpenError::Folder { path, source })?;
        let rows =
            shelf.active().map_err(|source| OpenError::Folder { path: shelf.active_path(), source })?;
        let withdrawn =
            shelf.withdrawn().map_err(|source| OpenError::Folder { path: shelf.active_path(), source })?;
        let shelf = Arc::new(shelf);
        let count = config.thread_count();
        let workshop = Workshop::open(count + config.streams, config.largest_memory())?;
        let threads = Threads::start("plugin", count).map_err(OpenError::Threads)?;
        let inner = Inner {
            compiler: Compiler::new(workshop.engine.clone(), Arc::clone(&shelf)),
            streams: Arc::new(Semaphore::new(config.streams)),
            threads: if in_turn { threads.in_turn() } else { threads },
            workshop,
            shelf,
            registry: ArcSwap::default(),
            loaded: Mutex::default(),
            broken: Mutex::default(),
            withdrawn: Mutex::new(withdrawn),
            tower: Tower::default(),
            live: OnceLock::new(),
            preparing: Mutex::default(),
            changing: Mutex::default(),
            fetching: Mutex::default(),
            config,
            clock,
        };
        for (family, row) in rows {
            inner.revive(family, row);
        }
        Ok(inner)
    }

    /// Makes a version active again that was so before the restart.
    fn revive(&self, family: String, row: Row) {
        let loaded = self
            .vouched_for(&row.digest)
            .and_then(|()| self.version(&row.digest).map_err(|missing| missing.to_string()));
        let revived = loaded.and_then(|version| {
            self.registry.load().with(version, row.since).map_err(|clash| clash.to_string())
        });
        if revived.is_ok() {
            self.watch_again(&row);
        }
        match revived {
            Ok(next) => self.registry.store(Arc::new(next)),
            Err(why) => {
                tracing::error!(family, digest = %row.digest, why, "an active plugin version does not load");
                lock(&self.broken).insert(family, (row.digest, why));
            }
        }
    }

    /// Whether the kept component may serve under the signatures asked for today.
    fn vouched_for(&self, digest: &Digest) -> Result<(), String> {
        let trust = &self.config.trust;
        if !trust.required || self.config.built_in.contains(digest) {
            return Ok(());
        }
        let wasm = self.shelf.component(digest).map_err(|error| error.to_string())?;
        let signature = self.shelf.signature(digest).map_err(|error| error.to_string())?;
        let wasm = wasm.ok_or_else(|| Missing::Unknown(*digest).to_string())?;
        let judged = trust.judge(&wasm, signature.as_deref()).map_err(AdmitError::from);
        judged.map(drop).map_err(|error| StageError::from(error).to_string())
    }

    /// A restart does not end a watch; what was counted before it is forgotten.
    fn watch_again(&self, row: &Row) {
        let (Some(before), Some(until)) = (row.before, row.watched_until) else { return };
        if until <= self.clock.now() {
            return;
        }
        match self.version(&before) {
            Ok(before) => self.tower.begin(row.digest, before, Watch::new(self.config.watch, until)),
            Err(missing) => tracing::warn!(%missing, "nobody stands by for a version under watch"),
        }
    }

    /// The version that served `family` before the present one.
    pub(crate) fn before(&self, family: &str) -> Result<Digest, StageError> {
        let failed = |source| StageError::Switch { what: "the list of active versions", source };
        let rows = self.shelf.active().map_err(failed)?;
        rows.get(family)
            .and_then(|row| row.before)
            .ok_or_else(|| StageError::NothingBefore(family.to_owned()))
    }

    /// Deletes a version that neither serves nor finishes a task.
    pub(crate) fn remove(&self, digest: &Digest) -> Result<(), RemoveError> {
        let _one_on_its_way = lock(&self.preparing);
        let _one_at_a_time = lock(&self.changing);
        // Nobody may begin to load it from here on.
        let _nobody_else = lock(&self.fetching);
        if !self.shelf.has_component(digest) {
            return Err(RemoveError::NotKept(*digest));
        }
        let rows = self.shelf.active()?;
        if rows.values().any(|row| row.digest == *digest) {
            return Err(RemoveError::Active(*digest));
        }
        if let Some(until) = self.tower.stands_by(digest, self.clock.now()) {
            return Err(RemoveError::Standby { digest: *digest, until });
        }
        if self.held(digest).is_some() {
            return Err(RemoveError::Pinned(*digest));
        }
        self.shelf.drop_component(digest)?;
        self.pardon(digest)?;
        tracing::info!(%digest, "plugin version removed");
        Ok(())
    }

    pub(crate) fn version(&self, digest: &Digest) -> Result<Arc<Version>, Missing> {
        if let Some(version) = self.held(digest) {
            return Ok(version);
        }
        let _one_at_a_time = lock(&self.fetching);
        if let Some(version) = self.held(digest) {
            return Ok(version);
        }
        let version = self.fetch(*digest)?;
        self.remember(&version);
        Ok(version)
    }

    /// Loads from the shelf. It was proved when it was installed; only code made anew is tested again.
    fn fetch(&self, digest: Digest) -> Result<Arc<Version>, Missing> {
        let broken = |source| Missing::Broken { digest, source };
        let kept = if self.shelf.has_component(&digest) { self.compiler.find(&digest) } else { None };
        let (component, compiled) = match kept {
            Some(component) => (component, false),
            None => {
                let wasm = self
                    .shelf
                    .component(&digest)
                    .map_err(|source| Missing::Unreadable { digest, source })?
                    .ok_or(Missing::Unknown(digest))?;
                self.compiler.compile(&digest, &wasm).map_err(broken)?
            }
        };
        let candidate = Candidate { component, digest, bytes: None };
        let version =
            self.workshop.prove(&candidate, &self.config, &mut Journal::default()).map_err(broken)?;
        if compiled {
            self.workshop.rehearse(&version).map_err(broken)?;
        }
        version.set_withdrawn(lock(&self.withdrawn).contains_key(&digest));
        Ok(version)
    }

    pub(crate) fn held(&self, digest: &Digest) -> Option<Arc<Version>> {
        lock(&self.loaded).get(digest).and_then(Weak::upgrade)
    }

    pub(crate) fn remember(&self, version: &Arc<Version>) {
        let mut loaded = lock(&self.loaded);
        loaded.retain(|_, version| version.strong_count() > 0);
        loaded.insert(version.digest(), Arc::downgrade(version));
    }

    pub(crate) fn list(&self) -> Vec<VersionSummary> {
        let registry = self.registry.load_full();
        let summary = |version: &Version, state| VersionSummary {
            family: version.family().to_owned(),
            version: version.about().version.clone(),
            digest: version.digest(),
            state,
        };
        let mut all: Vec<VersionSummary> = registry
            .active()
            .map(|active| summary(&active.version, VersionState::Active(active.since)))
            .collect();
        let held: Vec<Arc<Version>> = lock(&self.loaded).values().filter_map(Weak::upgrade).collect();
        let others = held.iter().filter(|version| !registry.is_active(&version.digest()));
        all.extend(
            others.map(|version| summary(version, self.state_aside(&version.digest(), VersionState::Pinned))),
        );
        all.extend(lock(&self.broken).iter().map(|(family, (digest, why))| VersionSummary {
            family: family.clone(),
            version: String::new(),
            digest: *digest,
            state: VersionState::Broken(why.clone()),
        }));
        let listed: Vec<Digest> = all.iter().map(|one| one.digest).collect();
        let kept = self.shelf.components().unwrap_or_default();
        let idle = kept.iter().filter(|digest| !listed.contains(digest));
        all.extend(
            idle.filter_map(|digest| self.version(digest).ok())
                .map(|one| summary(&one, self.state_aside(&one.digest(), VersionState::Kept))),
        );
        all.sort_by(|a, b| (&a.family, a.digest).cmp(&(&b.family, b.digest)));
        all
    }

    /// What a version that does not serve does, unless there is more to say than `usual`.
    fn state_aside(&self, digest: &Digest, usual: VersionState) -> VersionState {
        if let Some(row) = lock(&self.withdrawn).get(digest) {
            return VersionState::Withdrawn { at: row.at, reason: row.reason.clone() };
        }
        match self.tower.stands_by(digest, self.clock.now()) {
            Some(until) => VersionState::Standby { until },
            None => usual,
        }
    }
}

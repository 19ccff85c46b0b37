//! The versions of this house: taken in, switched, pinned, found again after a restart.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use arc_swap::ArcSwap;
use gatehouse_model::{Clock, Digest};
use tokio::sync::Semaphore;

use crate::config::Config;
use crate::load::{Candidate, Compiler, OpenError, Report, StageError, Workshop, admit};
use crate::registry::Registry;
use crate::room::{Missing, RemoveError, VersionState, VersionSummary};
use crate::shelf::{Row, Shelf};
use crate::threads::Threads;
use crate::version::Version;

/// The room's state.
pub(crate) struct Inner {
    pub(crate) config: Config,
    clock: Arc<dyn Clock>,
    workshop: Workshop,
    compiler: Compiler,
    shelf: Arc<Shelf>,
    pub(crate) threads: Threads,
    /// Streams that may be open at once; each holds an instance.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) registry: ArcSwap<Registry>,
    /// Every version somebody still holds, active or pinned.
    loaded: Mutex<HashMap<Digest, Weak<Version>>>,
    /// Active versions that could not be loaded: family -> what and why.
    broken: Mutex<BTreeMap<String, (Digest, String)>>,
    /// One change of the registry at a time.
    changing: Mutex<()>,
    /// One load of a pinned version at a time, so that it is loaded once.
    fetching: Mutex<()>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(crate) fn open(config: Config, clock: Arc<dyn Clock>, in_turn: bool) -> Result<Self, OpenError> {
        let shelf =
            Shelf::open(&config.data_dir).map_err(|(path, source)| OpenError::Folder { path, source })?;
        let rows =
            shelf.active().map_err(|source| OpenError::Folder { path: shelf.active_path(), source })?;
        let shelf = Arc::new(shelf);
        let count = config.thread_count();
        let workshop = Workshop::open(count + config.streams, &config.loosest())?;
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
        let revived = self.version(&row.digest).map_err(|missing| missing.to_string()).and_then(|version| {
            self.registry.load().with(version, row.since).map_err(|clash| clash.to_string())
        });
        match revived {
            Ok(next) => self.registry.store(Arc::new(next)),
            Err(why) => {
                tracing::error!(family, digest = %row.digest, why, "an active plugin version does not load");
                lock(&self.broken).insert(family, (row.digest, why));
            }
        }
    }

    pub(crate) fn take_in(&self, wasm: &[u8], switch: bool) -> Result<Report, StageError> {
        let begun = Instant::now();
        let _one_at_a_time = lock(&self.changing);
        let digest = admit(wasm, self.config.loosest().component())?;
        let registry = self.registry.load_full();
        let (version, compiled, self_tests) = if let Some(version) = self.held(&digest) {
            registry.fits(version.about())?;
            (version, false, 0)
        } else {
            let made = self.make(wasm, digest, &registry);
            if made.is_err() || !switch {
                self.forget(&digest);
            }
            made?
        };
        let before = registry.family(version.family()).map(|active| active.digest());
        if switch && before != Some(digest) {
            self.switch(&registry, &version, wasm)?;
        }
        Ok(Report {
            about: version.about().clone(),
            digest,
            bytes: wasm.len(),
            self_tests,
            compiled,
            active: switch || before == Some(digest),
            replaced: before.filter(|before| switch && *before != digest),
            took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    fn make(
        &self,
        wasm: &[u8],
        digest: Digest,
        registry: &Registry,
    ) -> Result<(Arc<Version>, bool, usize), StageError> {
        let (component, compiled) = self.compiler.compile(&digest, wasm)?;
        let candidate = Candidate { component, digest, bytes: Some(wasm.len()) };
        let version = self.workshop.prove(&candidate, &self.config, Some(registry))?;
        let self_tests = self.workshop.rehearse(&version)?;
        Ok((version, compiled, self_tests))
    }

    /// Drops the code of a component that is not kept.
    fn forget(&self, digest: &Digest) {
        if !self.shelf.has_component(digest)
            && let Err(error) = self.shelf.drop_code(digest)
        {
            tracing::warn!(%digest, %error, "code of a rejected plugin could not be removed");
        }
    }

    /// The component is durable before it is listed, and listed before it serves.
    fn switch(&self, registry: &Registry, version: &Arc<Version>, wasm: &[u8]) -> Result<(), StageError> {
        let since = self.clock.now();
        let next = registry.with(Arc::clone(version), since)?;
        let failed = |what| move |source| StageError::Switch { what, source };
        self.shelf.keep_component(&version.digest(), wasm).map_err(failed("the component"))?;
        let mut rows = self.shelf.active().map_err(failed("the list of active versions"))?;
        let before = rows.get(version.family()).map(|row| row.digest).filter(|row| *row != version.digest());
        rows.insert(version.family().to_owned(), Row { digest: version.digest(), since, before });
        self.shelf.write_active(&rows).map_err(failed("the list of active versions"))?;
        self.remember(version);
        lock(&self.broken).remove(version.family());
        self.registry.store(Arc::new(next));
        tracing::info!(
            family = version.family(), version = version.about().version, digest = %version.digest(),
            "plugin version is active"
        );
        Ok(())
    }

    /// Switches to a component that is kept already, through every stage.
    pub(crate) fn activate(&self, digest: &Digest) -> Result<Report, StageError> {
        let failed = |source| StageError::Switch { what: "the kept component", source };
        let wasm = self.shelf.component(digest).map_err(failed)?.ok_or(StageError::NotKept(*digest))?;
        self.take_in(&wasm, true)
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
        if self.held(digest).is_some() {
            return Err(RemoveError::Pinned(*digest));
        }
        self.shelf.drop_component(digest)?;
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
        let version = self.workshop.prove(&candidate, &self.config, None).map_err(broken)?;
        if compiled {
            self.workshop.rehearse(&version).map_err(broken)?;
        }
        Ok(version)
    }

    fn held(&self, digest: &Digest) -> Option<Arc<Version>> {
        lock(&self.loaded).get(digest).and_then(Weak::upgrade)
    }

    fn remember(&self, version: &Arc<Version>) {
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
        let pinned = held.iter().filter(|version| !registry.is_active(&version.digest()));
        all.extend(pinned.map(|version| summary(version, VersionState::Pinned)));
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
            idle.filter_map(|digest| self.version(digest).ok()).map(|one| summary(&one, VersionState::Kept)),
        );
        all.sort_by(|a, b| (&a.family, a.digest).cmp(&(&b.family, b.digest)));
        all
    }
}

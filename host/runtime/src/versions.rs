//! Finding, listing and removing versions.
//!
//! A loaded version is found at once. Any other is loaded from the plugin store on a blocking thread, once for all
//! concurrent callers; no lock is held meanwhile. A list loads nothing.

use std::sync::{Arc, Weak};

use gatehouse_model::{Digest, UnixMs};

use crate::config::Config;
use crate::deploy::disabled::Disabled;
use crate::deploy::error::StageError;
use crate::deploy::manifest_index::{ManifestEntry, ManifestFacts, ModelNames};
use crate::deploy::report::StageLog;
use crate::deploy::stages::fit::{FitError, check_inventory};
use crate::deploy::stages::routes::check_routes;
use crate::deploy::verifier::Candidate;
use crate::state::{ServiceState, lock};
use crate::version::Version;
use crate::version_error::{RemoveError, VersionUnavailable};

/// One version as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSummary {
    /// Its family.
    pub family: String,
    /// Its semver; empty for a broken version that was never read.
    pub version: String,
    /// Its digest.
    pub digest: Digest,
    /// The models it declares, as far as they are known.
    pub models: Vec<ModelNames>,
    /// What it says of itself to people, as far as it is known.
    pub facts: ManifestFacts,
    /// What it does.
    pub state: VersionState,
}

/// What a version does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionState {
    /// Serves new requests since then.
    Active(UnixMs),
    /// Should serve and cannot, for this reason.
    Broken(String),
    /// Would serve, but its family is switched off. It finishes the tasks it admitted.
    Disabled(Disabled),
    /// In the plugin store, ready to be activated.
    Kept,
    /// Finishes the tasks it admitted.
    Pinned,
    /// Takes over if the fresh version fails.
    Standby {
        /// The end of the canary period.
        until: UnixMs,
    },
    /// Failed in its canary period. It finishes the tasks it admitted and serves again only when an operator
    /// activates it.
    RolledBack {
        /// When.
        at: UnixMs,
        /// Why.
        reason: String,
    },
}

impl ServiceState {
    pub(crate) async fn version(
        self: &Arc<Self>,
        digest: &Digest,
    ) -> Result<Arc<Version>, VersionUnavailable> {
        if let Some(version) = self.loaded(digest) {
            return Ok(version);
        }
        if self.threads.is_synchronous() {
            return self.load(digest);
        }
        let digest = *digest;
        // A second time where the first met the removal of that version.
        for _ in 0..2 {
            let state = Arc::clone(self);
            if let Some(result) = self.loads.run(digest, move || state.load(&digest)).await {
                return result;
            }
        }
        let source = Arc::new(StageError::Host("the load was interrupted".to_owned()));
        Err(VersionUnavailable::Broken { digest, source })
    }

    /// Loads a version on this thread, unless it is loaded.
    pub(crate) fn load(&self, digest: &Digest) -> Result<Arc<Version>, VersionUnavailable> {
        if let Some(version) = self.loaded(digest) {
            return Ok(version);
        }
        let version = self.load_from_store(*digest)?;
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
    fn load_from_store(&self, digest: Digest) -> Result<Arc<Version>, VersionUnavailable> {
        let broken = |source| VersionUnavailable::Broken { digest, source: Arc::new(source) };
        let unreadable = |source| VersionUnavailable::Unreadable { digest, source: Arc::new(source) };
        let kept = if self.store.has_component(&digest) { self.compiler.find(&digest) } else { None };
        let (component, compiled) = match kept {
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
        version.set_rolled_back(lock(&self.rolled_back).contains_key(&digest));
        Ok(version)
    }

    /// A version that is loaded now.
    pub(crate) fn loaded(&self, digest: &Digest) -> Option<Arc<Version>> {
        lock(&self.loaded).get(digest).and_then(Weak::upgrade)
    }

    pub(crate) fn insert_loaded(&self, version: &Arc<Version>) {
        let mut loaded = lock(&self.loaded);
        loaded.retain(|_, version| version.strong_count() > 0);
        loaded.insert(version.digest(), Arc::downgrade(version));
    }

    /// Replaces the configuration, that of every loaded version included.
    pub(crate) fn configure(&self, config: Config) {
        self.config.store(Arc::new(config));
        let loaded = lock(&self.loaded);
        let config = self.config.load();
        loaded.values().filter_map(Weak::upgrade).for_each(|version| version.configure(&config));
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
            if let Err(why) = self.check_signature_under(config, &digest) {
                lacks.push(format!("family {family}: the next start would not load its version: {why}"));
            }
        }
        lacks
    }

    /// Deletes a version that neither serves nor finishes a task.
    pub(crate) fn remove(&self, digest: &Digest) -> Result<(), RemoveError> {
        let _one_deployment = lock(&self.deploying);
        let _one_change = lock(&self.changing);
        // From here on no caller begins to load it.
        let reserved = self.loads.reserve(*digest);
        if !self.store.has_component(digest) {
            return Err(RemoveError::NotKept(*digest));
        }
        let active = self.store.active()?;
        if active.values().any(|entry| entry.digest == *digest) {
            return Err(RemoveError::Active(*digest));
        }
        if let Some(until) = self.canaries.standby_until(digest, self.clock.now()) {
            return Err(RemoveError::Standby { digest: *digest, until });
        }
        if reserved.is_none() || self.loaded(digest).is_some() {
            return Err(RemoveError::Pinned(*digest));
        }
        self.store.drop_component(digest)?;
        lock(&self.kept).remove(digest);
        self.clear_rollback(digest)?;
        tracing::info!(%digest, "plugin version removed");
        Ok(())
    }

    /// Every version, from memory alone.
    pub(crate) fn list(&self) -> Vec<VersionSummary> {
        let registry = self.registry.load_full();
        let kept = lock(&self.kept).clone();
        let summary = |version: &Version, state| VersionSummary {
            family: version.family().to_owned(),
            version: version.about().version.clone(),
            digest: version.digest(),
            models: ManifestEntry::from(version.about()).model_names(),
            facts: version.about().into(),
            state,
        };
        let mut all: Vec<VersionSummary> = registry
            .active()
            .map(|active| summary(&active.version, VersionState::Active(active.since)))
            .collect();
        let loaded: Vec<Arc<Version>> = lock(&self.loaded).values().filter_map(Weak::upgrade).collect();
        let disabled = registry.all_disabled();
        let serves = |digest: &Digest| {
            registry.is_active(digest) || disabled.values().any(|off| off.digest == *digest)
        };
        let others = loaded.iter().filter(|version| !serves(&version.digest()));
        all.extend(others.map(|one| summary(one, self.inactive_state(&one.digest(), VersionState::Pinned))));
        let unloaded = |family: &String, digest: &Digest, state| VersionSummary {
            family: family.clone(),
            version: kept.get(digest).map_or_else(String::new, |entry| entry.version.clone()),
            digest: *digest,
            models: kept.get(digest).map_or_else(Vec::new, ManifestEntry::model_names),
            facts: kept.get(digest).map(|entry| entry.facts.clone()).unwrap_or_default(),
            state,
        };
        let broken = lock(&self.broken).clone();
        all.extend(
            broken
                .iter()
                .map(|(family, (digest, why))| unloaded(family, digest, VersionState::Broken(why.clone()))),
        );
        all.extend(
            disabled
                .iter()
                .map(|(family, off)| unloaded(family, &off.digest, VersionState::Disabled(off.by))),
        );
        let listed: Vec<Digest> = all.iter().map(|one| one.digest).collect();
        let idle = kept.into_iter().filter(|(digest, _)| !listed.contains(digest));
        all.extend(idle.map(|(digest, entry)| VersionSummary {
            facts: entry.facts.clone(),
            models: entry.model_names(),
            family: entry.family,
            version: entry.version,
            digest,
            state: self.inactive_state(&digest, VersionState::Kept),
        }));
        all.sort_by_cached_key(|one| {
            let version = semver::Version::parse(&one.version).ok();
            (one.family.clone(), version, one.digest)
        });
        all
    }

    /// The state of a version that does not serve: rolled back, standby, or else `usual`.
    fn inactive_state(&self, digest: &Digest, usual: VersionState) -> VersionState {
        if let Some(record) = lock(&self.rolled_back).get(digest) {
            return VersionState::RolledBack { at: record.at, reason: record.reason.clone() };
        }
        match self.canaries.standby_until(digest, self.clock.now()) {
            Some(until) => VersionState::Standby { until },
            None => usual,
        }
    }
}

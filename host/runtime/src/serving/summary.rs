//! The versions as operators see them, from memory alone; and the removal of one that does nothing.

use gatehouse_model::{Digest, UnixMs};

use crate::exec::lock;
use crate::serving::active::Serving;
use crate::serving::registry::Disabled;
use crate::serving::versions::RemoveError;
use crate::store::manifest_index::{ManifestEntry, ManifestFacts, ModelNames};
use crate::version::loaded::Version;

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

impl Serving {
    /// Deletes a version that neither serves nor finishes a task.
    pub(crate) fn remove(&self, digest: &Digest) -> Result<(), RemoveError> {
        let _one_change = lock(&self.changing);
        // From here on no caller begins to load it.
        let reserved = self.versions.reserve(digest);
        if !self.versions.store.has_component(digest) {
            return Err(RemoveError::NotKept(*digest));
        }
        let active = self.versions.store.active()?;
        if active.values().any(|entry| entry.digest == *digest) {
            return Err(RemoveError::Active(*digest));
        }
        if let Some(until) = self.canaries.standby_until(digest, self.clock.now()) {
            return Err(RemoveError::Standby { digest: *digest, until });
        }
        if reserved.is_none() {
            return Err(RemoveError::Pinned(*digest));
        }
        self.versions.delete(digest)?;
        tracing::info!(%digest, "plugin version removed");
        Ok(())
    }

    /// Every version, from memory alone.
    pub(crate) fn list(&self) -> Vec<VersionSummary> {
        let registry = self.registry.load_full();
        let kept = self.versions.manifests();
        let of_loaded = |version: &Version, state| {
            let entry = ManifestEntry::from(version.about());
            summary(version.family(), version.digest(), Some(&entry), state)
        };
        let mut all: Vec<VersionSummary> = registry
            .active()
            .map(|active| of_loaded(&active.version, VersionState::Active(active.since)))
            .collect();
        let loaded = self.versions.all_loaded();
        let disabled = &registry.disabled;
        let serves = |digest: &Digest| {
            registry.is_active(digest) || disabled.values().any(|off| off.digest == *digest)
        };
        for other in loaded.iter().filter(|version| !serves(&version.digest())) {
            all.push(of_loaded(other, self.inactive_state(&other.digest(), VersionState::Pinned)));
        }
        let unloaded =
            |family: &str, digest: Digest, state| summary(family, digest, kept.get(&digest), state);
        for (family, (digest, why)) in &*lock(&self.broken) {
            all.push(unloaded(family, *digest, VersionState::Broken(why.clone())));
        }
        for (family, off) in disabled {
            all.push(unloaded(family, off.digest, VersionState::Disabled(off.by)));
        }
        let listed: Vec<Digest> = all.iter().map(|one| one.digest).collect();
        for (digest, entry) in kept.iter().filter(|(digest, _)| !listed.contains(digest)) {
            let state = self.inactive_state(digest, VersionState::Kept);
            all.push(unloaded(&entry.family, *digest, state));
        }
        all.sort_by_cached_key(|one| {
            let version = semver::Version::parse(&one.version).ok();
            (one.family.clone(), version, one.digest)
        });
        all
    }

    /// The state of a version that does not serve: rolled back, standby, or else `usual`.
    fn inactive_state(&self, digest: &Digest, usual: VersionState) -> VersionState {
        if let Some(record) = self.versions.rollback(digest) {
            return VersionState::RolledBack { at: record.at, reason: record.reason };
        }
        match self.canaries.standby_until(digest, self.clock.now()) {
            Some(until) => VersionState::Standby { until },
            None => usual,
        }
    }
}

/// The row of a version by what it declares, as far as that is known.
fn summary(
    family: &str,
    digest: Digest,
    entry: Option<&ManifestEntry>,
    state: VersionState,
) -> VersionSummary {
    VersionSummary {
        family: family.to_owned(),
        version: entry.map(|entry| entry.version.clone()).unwrap_or_default(),
        digest,
        models: entry.map(ManifestEntry::model_names).unwrap_or_default(),
        facts: entry.map(|entry| entry.facts.clone()).unwrap_or_default(),
        state,
    }
}

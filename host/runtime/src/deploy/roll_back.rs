//! The automatic rollback: a fresh version with too many faults is replaced by its standby.
//!
//! Nothing automatic activates a rolled back version again; an operator may.

use std::sync::Arc;

use gatehouse_model::{Digest, metric};

use crate::deploy::plugin_store::{ActiveEntry, Rollback};
use crate::fault::Fault;
use crate::state::{ServiceState, lock};
use crate::version::Version;

impl ServiceState {
    /// Records the outcome of a call of `version`. One fault too many, and a blocking thread rolls it back.
    pub(crate) fn record_call(self: &Arc<Self>, version: &Arc<Version>, fault: Option<&Fault>) {
        let is_fault = fault.is_some_and(Fault::is_plugin_caused);
        let Some((standby, share)) = self.canaries.record(&version.digest(), self.clock.now(), is_fault)
        else {
            return;
        };
        let last = fault.map(ToString::to_string).unwrap_or_default();
        let reason = format!("{share}; the last: {last}");
        // At once, so that the standby answers the calls that wait in the queue.
        version.set_rolled_back(true);
        let (state, version) = (Arc::clone(self), Arc::clone(version));
        tokio::task::spawn_blocking(move || state.roll_back(&version, &standby, reason));
    }

    /// Makes the standby active again. The registry changes first: if the process ends before the lists are written,
    /// the next one continues the canary period.
    fn roll_back(&self, version: &Arc<Version>, standby: &Arc<Version>, reason: String) {
        let one_change = lock(&self.changing);
        let (digest, family, at) = (version.digest(), version.family(), self.clock.now());
        let registry = self.registry.load_full();
        let serving = registry.is_active(&digest);
        if serving {
            match registry.with(Arc::clone(standby), at) {
                Ok(next) => self.registry.store(Arc::new(next)),
                Err(clash) => {
                    tracing::error!(family, %digest, reason, %clash, "a failing plugin version cannot be rolled back");
                    version.set_rolled_back(false);
                    self.canaries.end(&digest);
                    return;
                }
            }
        }
        tracing::error!(
            family, version = version.about().version, %digest, reason, serving, standby = %standby.digest(),
            "plugin version rolled back"
        );
        metrics::counter!(metric::PLUGIN_ROLLED_BACK, "family" => family.to_owned()).increment(1);
        let record = Rollback { family: family.to_owned(), at, reason };
        if let Err(error) = self.write_rollback(version, serving.then_some(standby), record) {
            let effect = "the rollback is not recorded; a restart continues the canary period";
            tracing::error!(family, %digest, %error, "{effect}");
        }
        self.canaries.end(&digest);
        drop(one_change);
        if let Some(listener) = self.on_roll_back.get() {
            listener();
        }
    }

    fn write_rollback(
        &self,
        version: &Version,
        standby: Option<&Arc<Version>>,
        record: Rollback,
    ) -> std::io::Result<()> {
        let (digest, at) = (version.digest(), record.at);
        let mut all = lock(&self.rolled_back).clone();
        all.insert(digest, record.clone());
        let written = self.store.write_rolled_back(&all).and_then(|()| {
            let Some(standby) = standby else { return Ok(()) };
            let mut active = self.store.active()?;
            // An operator may go back further than the standby, and not to the version that failed.
            let earlier = active.get(version.family()).map(|entry| entry.before(&standby.digest()));
            let before = earlier.into_iter().flatten().filter(|one| *one != digest).collect();
            let digest = standby.digest();
            let entry = ActiveEntry { digest, since: at, before, canary_until: None, disabled: None };
            active.insert(version.family().to_owned(), entry);
            self.store.write_active(&active)
        });
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

    /// Why a version was rolled back, if it was.
    pub(crate) fn rollback_reason(&self, digest: &Digest) -> Option<String> {
        lock(&self.rolled_back).get(digest).map(|record| record.reason.clone())
    }
}

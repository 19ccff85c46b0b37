//! The room's face: open, install, look up, call.

use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::{Accepted, Clock, Context, Digest, Event, Refusal, Step, Submission, UnixMs, metric};
use tokio::sync::Semaphore;

use crate::chain::{Offer, Plan};
use crate::config::Config;
use crate::fault::Fault;
use crate::load::{LiveStates, OpenError, Refused, Report, StageError};
use crate::registry::Registry;
use crate::version::Version;
use crate::versions::Inner;

/// All families of the gateway. Cheap to clone.
#[derive(Clone)]
pub struct PluginService {
    pub(crate) inner: Arc<Inner>,
}

impl std::fmt::Debug for PluginService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PluginService")
    }
}

/// Where a task's next step runs.
#[derive(Clone, Debug)]
pub enum Route {
    /// On this version, with the state as it is.
    Run(Arc<Version>),
    /// On this version, once it has migrated the state.
    Migrate(Arc<Version>),
}

/// A version that is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// It is there and does not load.
    #[error("plugin version {digest} cannot be loaded: {source}")]
    Broken {
        /// Its digest.
        digest: Digest,
        /// The stage that turned it away.
        source: StageError,
    },
    /// Its file cannot be read.
    #[error("plugin version {digest} cannot be read: {source}")]
    Unreadable {
        /// Its digest.
        digest: Digest,
        /// Why.
        source: std::io::Error,
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
    /// It is not here.
    #[error("plugin version {0} is not in the data folder")]
    NotKept(Digest),
    /// Live tasks need it.
    #[error("plugin version {0} finishes tasks it admitted; try again when they have ended")]
    Pinned(Digest),
    /// It takes over if a fresh version fails.
    #[error("plugin version {digest} stands by while its successor is watched; try again after {until}")]
    Standby {
        /// Its digest.
        digest: Digest,
        /// When the watch ends.
        until: UnixMs,
    },
    /// The file system's.
    #[error("the folder of versions: {0}")]
    Folder(#[from] std::io::Error),
}

/// One version as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionSummary {
    /// Its family.
    pub family: String,
    /// Its semver; empty when it could not be loaded.
    pub version: String,
    /// Its digest.
    pub digest: Digest,
    /// What it does here.
    pub state: VersionState,
}

/// What a version does here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionState {
    /// Serves new requests since then.
    Active(UnixMs),
    /// Should serve and cannot, for this reason.
    Broken(String),
    /// Lies in the data folder, to be activated.
    Kept,
    /// Finishes the tasks it admitted.
    Pinned,
    /// Takes over should its successor fail, until then.
    Standby {
        /// When the watch on its successor ends.
        until: UnixMs,
    },
    /// Failed its watch. It finishes the tasks it admitted if it can, and serves again only when an operator
    /// activates it.
    Withdrawn {
        /// When.
        at: UnixMs,
        /// Why.
        reason: String,
    },
}

impl PluginService {
    /// Starts the engine and the plugin threads and loads every version that was active before. One that no
    /// longer loads is logged and listed as broken; the others serve.
    ///
    /// # Errors
    /// [`OpenError`] when the engine, a thread or the folder of versions does not work.
    pub fn open(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self { inner: Arc::new(Inner::open(config, clock, false)?) })
    }

    /// The same, but every call holds up the thread that asks for it until it is done. For whoever must have
    /// everything happen in an order that can be had again; a gateway would stand still.
    ///
    /// # Errors
    /// As [`PluginService::open`].
    pub fn open_in_turn(config: Config, clock: Arc<dyn Clock>) -> Result<Self, OpenError> {
        Ok(Self { inner: Arc::new(Inner::open(config, clock, true)?) })
    }

    /// Says where live tasks are kept, for the rehearsal before a switch; the first word counts.
    pub fn rehearse_on(&self, live: Arc<dyn LiveStates>) {
        drop(self.inner.live.set(live));
    }

    /// Takes a component through every stage and makes it the active version of its family. Heavy and
    /// synchronous: call it where blocking is allowed. A version that is active already is left alone.
    ///
    /// # Errors
    /// The stage that turned it away; the version active before keeps serving.
    pub fn install<'a>(&self, offer: impl Into<Offer<'a>>) -> Result<Report, Refused> {
        self.inner.take_in(&offer.into(), Plan::Switch)
    }

    /// Takes a component through every stage but the switch; nothing is kept.
    ///
    /// # Errors
    /// The stage that turned it away.
    pub fn check<'a>(&self, offer: impl Into<Offer<'a>>) -> Result<Report, Refused> {
        self.inner.take_in(&offer.into(), Plan::Check)
    }

    /// Makes a version that is kept already the active one of its family, through every stage again.
    ///
    /// # Errors
    /// The stage that turned it away; the version active before keeps serving.
    pub fn activate(&self, digest: &Digest) -> Result<Report, Refused> {
        self.inner.activate(digest, Plan::Switch)
    }

    /// Goes back to the version that served `family` before the present one. It has served before, so it is
    /// not watched: nothing ever goes back and forth by itself.
    ///
    /// # Errors
    /// [`StageError::NothingBefore`], or the stage that turned the earlier version away.
    pub fn roll_back(&self, family: &str) -> Result<Report, Refused> {
        self.inner.activate(&self.inner.before(family)?, Plan::Back)
    }

    /// Why that version was withdrawn, if it was. Nothing automatic may activate it.
    #[must_use]
    pub fn withdrawn(&self, digest: &Digest) -> Option<String> {
        self.inner.withdrawn_because(digest)
    }

    /// Deletes a version from the data folder.
    ///
    /// # Errors
    /// See [`RemoveError`]; nothing is deleted then.
    pub fn remove(&self, digest: &Digest) -> Result<(), RemoveError> {
        self.inner.remove(digest)
    }

    /// The registry of this moment.
    #[must_use]
    pub fn registry(&self) -> Arc<Registry> {
        self.inner.registry.load_full()
    }

    /// A version by digest: loaded already, or loaded now from the data folder. Takes a few milliseconds
    /// then, more if its code must be made again. It stays loaded while the caller holds it.
    ///
    /// # Errors
    /// [`Missing`] says why it cannot be had.
    pub fn version(&self, digest: &Digest) -> Result<Arc<Version>, Missing> {
        self.inner.version(digest)
    }

    /// Where a task stamped with `family`, `digest` and `state_version` continues: on the active version
    /// when it is the same, or when it can migrate the state; else on the version that admitted the task.
    ///
    /// # Errors
    /// [`Missing`] when that version cannot be had.
    pub fn route(&self, family: &str, digest: &Digest, state_version: u32) -> Result<Route, Missing> {
        match self.registry().family(family) {
            Some(active) if active.digest() == *digest => Ok(Route::Run(active)),
            Some(active) if active.about().reads_state.contains(&state_version) => Ok(Route::Migrate(active)),
            _ => self.version(digest).map(Route::Run),
        }
    }

    /// Judges a request.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn submit(
        &self,
        version: &Arc<Version>,
        cx: Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        self.call(version, "submit", move |version| version.submit(&cx, submission)).await
    }

    /// Takes one step.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn advance(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        event: Event,
    ) -> Result<Step, Fault> {
        self.call(version, "advance", move |version| version.advance(&cx, &state, event)).await
    }

    /// Rewrites a state that version `from` wrote; the inner error is the plugin's own.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn migrate(
        &self,
        version: &Arc<Version>,
        from: u32,
        state: Vec<u8>,
    ) -> Result<Result<Vec<u8>, String>, Fault> {
        let answer = self.call(version, "migrate", move |version| version.migrate(from, &state)).await;
        if let Err(fault) = answer.as_ref() {
            self.inner.note(version, Some(fault));
        }
        answer
    }

    /// Every version that is active, should be, is pinned by a live task, or is kept.
    #[must_use]
    pub fn list(&self) -> Vec<VersionSummary> {
        self.inner.list()
    }

    /// The operator's table of `family`, as JSON: the `settings` of a context.
    #[must_use]
    pub fn settings(&self, family: &str) -> Arc<[u8]> {
        self.registry()
            .family(family)
            .map_or_else(|| self.inner.config.settings_of(family), |active| active.settings())
    }

    /// Calls of `family` that wait for a plugin thread.
    #[must_use]
    pub fn waiting(&self, family: &str) -> usize {
        self.inner.threads.waiting(family)
    }

    pub(crate) fn streams(&self) -> Arc<Semaphore> {
        Arc::clone(&self.inner.streams)
    }

    pub(crate) async fn call<R: Send + 'static>(
        &self,
        version: &Arc<Version>,
        function: &'static str,
        body: impl FnOnce(&Version) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let family = version.family().to_owned();
        let version = Arc::clone(version);
        let answer = self
            .inner
            .threads
            .run(&family, move || {
                let begun = Instant::now();
                let answer = body(&version);
                metrics::histogram!(metric::PLUGIN_SECONDS, "family" => version.family().to_owned())
                    .record(begun.elapsed());
                answer
            })
            .await;
        let outcome = answer.as_ref().map_or_else(Fault::word, |_| "ok");
        metrics::counter!(
            metric::PLUGIN_CALLS, "family" => family, "function" => function, "outcome" => outcome
        )
        .increment(1);
        answer
    }
}

//! Calls that a fault of a fresh version does not fail: the version that stands by answers in its place.
//!
//! Safe because a plugin is pure: a call that faulted has done nothing, so the same question may be put to
//! somebody else. Only the plugin's own faults are put twice, and only once; a refusal is an answer. Where
//! both versions fault, it is the request's doing and does not count against the fresh one.

use std::sync::Arc;

use gatehouse_model::{Accepted, Context, Event, Refusal, Step, Submission, metric};

use crate::fault::Fault;
use crate::registry::Resolved;
use crate::service::PluginService;
use crate::version::Version;
use crate::versions::Inner;

/// An answer, and the version that gave it.
#[derive(Clone, Debug)]
pub struct ServedBy<T> {
    /// Who answered; a task goes on with this version.
    pub by: Arc<Version>,
    /// The answer.
    pub answer: T,
}

/// A state before it was migrated for the version that is asked now.
#[derive(Clone, Debug)]
pub struct StateBefore {
    /// The version that wrote it.
    pub by: Arc<Version>,
    /// The state as it wrote it.
    pub state: Vec<u8>,
}

impl Inner {
    /// Who answers in the place of `version`: whoever stands by while it is watched, or serves now that it
    /// is withdrawn.
    fn stand_in(&self, version: &Version) -> Option<Arc<Version>> {
        let digest = version.digest();
        self.tower.standby(&digest, self.clock.now()).or_else(|| {
            let active = self.registry.load().family(version.family());
            active.filter(|active| version.is_withdrawn() && active.digest() != digest)
        })
    }
}

impl PluginService {
    /// Judges a request; where the version found for it faults and another one stands by that serves the
    /// model, that one judges it.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn judge(
        &self,
        found: &Resolved,
        surface: &str,
        cx: Context,
        submission: Submission,
    ) -> Result<ServedBy<Result<Accepted, Refusal>>, Fault> {
        let version = &found.version;
        let stand_in = self.inner.stand_in(version).filter(|other| other.serves(surface, &found.model));
        let first = |cx: Context, submission| async {
            if version.is_withdrawn() && stand_in.is_some() {
                return Err(Fault::Withdrawn);
            }
            let judging = move |version: &Version| {
                // It may have been withdrawn while this call waited for a thread.
                if version.is_withdrawn() { Err(Fault::Withdrawn) } else { version.submit(&cx, submission) }
            };
            self.call(version, "submit", judging).await
        };
        let Some(other) = stand_in.clone() else {
            return self.alone(version, self.submit(version, cx, submission).await);
        };
        let answer = first(cx.clone(), submission.clone()).await;
        let again = || self.submit(&other, cx, submission);
        self.rescue(version, &other, "submit", answer, again).await
    }

    /// Takes one step; where `version` faults, the version that wrote the state it was given takes it, or
    /// the one that stands by, if its states are of the same version.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn step(
        &self,
        version: &Arc<Version>,
        written: Option<StateBefore>,
        cx: Context,
        state: Vec<u8>,
        event: Event,
    ) -> Result<ServedBy<Step>, Fault> {
        let same = |other: &Arc<Version>| other.about().state_version == version.about().state_version;
        let other = written.map(|written| (written.by, Some(written.state))).or_else(|| {
            let other = self.inner.stand_in(version).filter(same)?;
            Some((other, None))
        });
        let Some((other, older)) = other else {
            return self.alone(version, self.advance(version, cx, state, event).await);
        };
        let older = older.unwrap_or_else(|| state.clone());
        let answer = self.advance(version, cx.clone(), state, event.clone()).await;
        let again = || self.advance(&other, cx, older, event);
        self.rescue(version, &other, "advance", answer, again).await
    }

    /// Who answers a text call in the place of `version`.
    pub(crate) fn stand_in(&self, version: &Version) -> Option<Arc<Version>> {
        self.inner.stand_in(version)
    }

    /// Remembers a fault of a call nobody else could make.
    pub(crate) fn fault(&self, version: &Arc<Version>, fault: &Fault) {
        self.inner.note(version, Some(fault));
    }

    /// Makes a call on `version` and, where that faults, on `other`. What is asked may be megabytes: it is
    /// copied only where there is an other.
    pub(crate) async fn either<A: Clone, T, F: Future<Output = Result<T, Fault>>>(
        &self,
        version: &Arc<Version>,
        other: Option<Arc<Version>>,
        function: &'static str,
        asked: A,
        call: impl Fn(Arc<Version>, A) -> F,
    ) -> Result<ServedBy<T>, Fault> {
        let Some(other) = other else {
            return self.alone(version, call(Arc::clone(version), asked).await);
        };
        let answer = if version.is_withdrawn() {
            Err(Fault::Withdrawn)
        } else {
            call(Arc::clone(version), asked.clone()).await
        };
        self.rescue(version, &other, function, answer, || call(Arc::clone(&other), asked)).await
    }

    /// An answer nobody else could have given.
    fn alone<T>(&self, version: &Arc<Version>, answer: Result<T, Fault>) -> Result<ServedBy<T>, Fault> {
        self.inner.note(version, answer.as_ref().err());
        answer.map(|answer| ServedBy { by: Arc::clone(version), answer })
    }

    async fn rescue<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        version: &Arc<Version>,
        other: &Arc<Version>,
        function: &'static str,
        answer: Result<T, Fault>,
        again: impl FnOnce() -> F,
    ) -> Result<ServedBy<T>, Fault> {
        let fault = match answer {
            Err(fault) if fault.is_plugins() => fault,
            rest => return self.alone(version, rest),
        };
        match again().await {
            Ok(answer) => {
                self.inner.note(version, Some(&fault));
                let family = version.family().to_owned();
                tracing::warn!(family, %fault, by = %other.digest(), function, "another version answered");
                metrics::counter!(metric::PLUGIN_FALLBACKS, "family" => family, "function" => function)
                    .increment(1);
                Ok(ServedBy { by: Arc::clone(other), answer })
            }
            Err(second) if second.is_plugins() => Err(fault),
            Err(second) => Err(second),
        }
    }
}

//! The fallback: when a fresh version faults, its standby answers, and the request does not fail.
//!
//! Safe because a plugin is pure: a call that faulted has done nothing, so another version may take the same input.
//! Only faults that the plugin caused fall back, and only once; a refusal is an answer. If both versions fault, the
//! request is the cause and the fault does not count against the fresh version.

use std::sync::Arc;

use gatehouse_model::{Context, Event, Refusal, Step, Submission, metric};

use crate::fault::Fault;
use crate::registry::Resolved;
use crate::service::PluginService;
use crate::state::ServiceState;
use crate::version::Version;
use crate::version_first_step::{StartContext, Submitted};

/// An answer, and the version that gave it.
#[derive(Clone, Debug)]
pub struct ServedBy<T> {
    /// The version that answered; a task goes on with it.
    pub by: Arc<Version>,
    /// The answer.
    pub answer: T,
}

/// A state before its migration.
#[derive(Clone, Debug)]
pub struct StateBefore {
    /// The version that wrote it.
    pub by: Arc<Version>,
    /// The state.
    pub state: Vec<u8>,
}

impl ServiceState {
    /// The standby of `version` during its canary period; after its rollback, the active version.
    fn standby(&self, version: &Version) -> Option<Arc<Version>> {
        let digest = version.digest();
        self.canaries.standby(&digest, self.clock.now()).or_else(|| {
            let active = self.registry.load().family(version.family());
            active.filter(|active| version.is_rolled_back() && active.digest() != digest)
        })
    }
}

impl PluginService {
    /// Judges a request, and takes the first step of its task if `start` gives a context for it. If the version faults and
    /// its standby serves the model, the standby judges it.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn submit_with_fallback(
        &self,
        found: &Resolved,
        surface: &str,
        cx: Context,
        submission: Submission,
        start: StartContext,
    ) -> Result<ServedBy<Result<Submitted, Refusal>>, Fault> {
        let version = &found.version;
        let standby = self.standby(version).filter(|standby| standby.serves(surface, &found.model));
        let Some(standby) = standby else {
            let answer = self.submit_and_start(version, cx, submission, start).await;
            return self.without_fallback(version, answer);
        };
        let origin = self.new_work(&cx, submission.body.len());
        let first = async |cx: Context, submission, start: StartContext| {
            if version.is_rolled_back() {
                return Err(Fault::RolledBack);
            }
            let submit = move |version: &Version| {
                // It may have been rolled back while this call waited for a thread.
                if version.is_rolled_back() {
                    Err(Fault::RolledBack)
                } else {
                    version.submit_and_start(&cx, submission, &start)
                }
            };
            self.call(version, "submit", &origin, submit).await
        };
        let answer = first(cx.clone(), submission.clone(), start.clone()).await;
        let second = || self.submit_and_start(&standby, cx, submission, start);
        self.fall_back(version, &standby, "submit", answer, second).await
    }

    /// Takes one step. If `version` faults, the version that wrote the state takes it, or the standby, if both have
    /// the same state version.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn advance_with_fallback(
        &self,
        version: &Arc<Version>,
        before: Option<StateBefore>,
        cx: Context,
        state: Vec<u8>,
        event: Event,
    ) -> Result<ServedBy<Step>, Fault> {
        let before = before.map(|before| (before.by, Some(before.state)));
        let fallback = before.or_else(|| Some((self.fallback_of(version)?, None)));
        let Some((other, older)) = fallback else {
            return self.without_fallback(version, self.advance(version, cx, state, event).await);
        };
        let older = older.unwrap_or_else(|| state.clone());
        let answer = self.advance(version, cx.clone(), state, event.clone()).await;
        let second = || self.advance(&other, cx, older, event);
        self.fall_back(version, &other, "advance", answer, second).await
    }

    /// The version that may answer in place of `version`.
    pub(crate) fn standby(&self, version: &Version) -> Option<Arc<Version>> {
        self.state.standby(version)
    }

    /// The version that may take a step in place of `version`: it reads the same states. Where the standby does not, that is the
    /// version which has replaced `version` since.
    fn fallback_of(&self, version: &Version) -> Option<Arc<Version>> {
        let standby = self.standby(version)?;
        let active = || self.state.registry.load().family(version.family());
        let reads =
            |other: &Arc<Version>| other.digest() != version.digest() && other.shares_state_with(version);
        Some(standby).filter(reads).or_else(|| active().filter(reads))
    }

    /// Whether a step that `version` faults on is taken by another version at once, without a state of before a migration.
    #[must_use]
    pub fn has_fallback(&self, version: &Version) -> bool {
        self.fallback_of(version).is_some()
    }

    /// Whether `version` is a canary, or was rolled back: another version may then take what it faults on.
    #[must_use]
    pub fn is_on_trial(&self, version: &Version) -> bool {
        version.is_rolled_back()
            || self.state.canaries.standby(&version.digest(), self.state.clock.now()).is_some()
    }

    /// Records a fault of a call that no other version could take, or of an answer that the caller found to be against the
    /// rules.
    pub fn record_fault(&self, version: &Arc<Version>, fault: &Fault) {
        self.state.record_call(version, Some(fault));
    }

    /// Makes a call on `version` and, if that faults, on `other`. The input may have megabytes: it is copied only if
    /// there is another version.
    pub(crate) async fn call_with_fallback<A: Clone, T, F: Future<Output = Result<T, Fault>>>(
        &self,
        version: &Arc<Version>,
        other: Option<Arc<Version>>,
        function: &'static str,
        input: A,
        call: impl Fn(Arc<Version>, A) -> F,
    ) -> Result<ServedBy<T>, Fault> {
        let Some(other) = other else {
            return self.without_fallback(version, call(Arc::clone(version), input).await);
        };
        let answer = if version.is_rolled_back() {
            Err(Fault::RolledBack)
        } else {
            call(Arc::clone(version), input.clone()).await
        };
        self.fall_back(version, &other, function, answer, || call(Arc::clone(&other), input)).await
    }

    /// The answer of a call that no other version could take.
    fn without_fallback<T>(
        &self,
        version: &Arc<Version>,
        answer: Result<T, Fault>,
    ) -> Result<ServedBy<T>, Fault> {
        self.state.record_call(version, answer.as_ref().err());
        answer.map(|answer| ServedBy { by: Arc::clone(version), answer })
    }

    async fn fall_back<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        version: &Arc<Version>,
        other: &Arc<Version>,
        function: &'static str,
        answer: Result<T, Fault>,
        second: impl FnOnce() -> F,
    ) -> Result<ServedBy<T>, Fault> {
        let fault = match answer {
            Err(fault) if fault.is_plugin_caused() => fault,
            rest => return self.without_fallback(version, rest),
        };
        match second().await {
            Ok(answer) => {
                self.state.record_call(version, Some(&fault));
                let family = version.family().to_owned();
                tracing::warn!(family, %fault, by = %other.digest(), function, "another version answered");
                metrics::counter!(metric::PLUGIN_FALLBACKS, "family" => family, "function" => function)
                    .increment(1);
                Ok(ServedBy { by: Arc::clone(other), answer })
            }
            Err(second) if second.is_plugin_caused() => Err(fault),
            Err(second) => Err(second),
        }
    }
}

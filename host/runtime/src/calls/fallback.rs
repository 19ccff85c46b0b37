//! One call, and the fallback: when a fresh version faults, its standby answers, and the request does not fail.
//!
//! Safe because a plugin is pure: a call that faulted has done nothing, so another version may take the same input.
//! Only faults that the plugin caused fall back, and only once; a refusal is an answer. If both versions fault, the
//! request is the cause and the fault does not count against the fresh version.

use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::{Context, metric};

use crate::calls::service::PluginService;
use crate::exec::queue::family_queue::Origin;
use crate::fault::Fault;
use crate::version::loaded::Version;

/// An answer, and the version that gave it.
#[derive(Clone, Debug)]
pub struct ServedBy<T> {
    /// The version that answered; a task goes on with it.
    pub by: Arc<Version>,
    /// The answer.
    pub answer: T,
}

/// What the call's customer is already served with.
pub(super) fn begun_work(cx: &Context) -> Origin {
    Origin::begun(&cx.customer)
}

impl PluginService {
    /// What a request begins, with the bytes of its body.
    pub(super) fn new_work(&self, cx: &Context, bytes: usize) -> Origin {
        Origin::new(&cx.customer, Arc::clone(&self.key), bytes)
    }

    /// Makes one call on a plugin thread.
    pub(super) async fn call<R: Send + 'static>(
        &self,
        version: &Arc<Version>,
        function: &'static str,
        origin: &Origin,
        body: impl FnOnce(&Arc<Version>) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let called = Arc::clone(version);
        let timed = move || {
            let begun = Instant::now();
            let answer = body(&called);
            metrics::histogram!(metric::PLUGIN_SECONDS, "family" => called.family().to_owned())
                .record(begun.elapsed());
            answer
        };
        let answer = self.capacity.threads.run(version.family(), origin, timed).await;
        version.count_call(function, answer.as_ref().map_or_else(Fault::label, |_| "ok"));
        answer
    }

    /// The version that may answer in place of `version`.
    pub(super) fn standby(&self, version: &Version) -> Option<Arc<Version>> {
        self.serving.standby(version)
    }

    /// The same where it has to read what `version` has written.
    pub(super) fn standby_that_reads(&self, version: &Version) -> Option<Arc<Version>> {
        self.standby(version).filter(|standby| standby.shares_state_with(version))
    }

    /// Records a fault of a call that no other version could take, or of an answer that the caller found to be against the
    /// rules.
    pub fn record_fault(&self, version: &Arc<Version>, fault: &Fault) {
        self.serving.record_call(version, Some(fault));
    }

    /// Makes a call on `version` and, if that faults, on `other`. The input may have megabytes: it is copied only if
    /// there is another version.
    pub(super) async fn call_with_fallback<A: Clone, T, F: Future<Output = Result<T, Fault>>>(
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
    pub(super) fn without_fallback<T>(
        &self,
        version: &Arc<Version>,
        answer: Result<T, Fault>,
    ) -> Result<ServedBy<T>, Fault> {
        self.serving.record_call(version, answer.as_ref().err());
        answer.map(|answer| ServedBy { by: Arc::clone(version), answer })
    }

    pub(super) async fn fall_back<T, F: Future<Output = Result<T, Fault>>>(
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
                self.serving.record_call(version, Some(&fault));
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

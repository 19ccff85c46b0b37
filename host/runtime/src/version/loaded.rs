//! One loaded version of a family: its manifest, what its operator set for it, and one call of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use gatehouse_guest::LogSource;
use gatehouse_model::{About, Body, Digest, Purpose, Refusal, Reply, Status, SurfaceInfo, TaskId, metric};

use crate::abi_v1::exports::{Callee, FamilyPre};
use crate::config::{Config, FamilyConfig};
use crate::exec::instance::{CallSetup, call};
use crate::exec::limits::Limits;
use crate::fault::{Fault, LARGE_INPUT_BYTES, OUTCOMES};

/// What a version makes of a request; a fault where it gives no acceptable answer.
pub(crate) type Verdict<T> = Result<Result<T, Refusal>, Fault>;

/// The name of a request in faults.
pub(crate) const REQUEST: &str = "the request's JSON";
/// A request and an answer up to this many bytes share an instance; larger ones need its memory for themselves.
pub(super) const MAX_KEPT: usize = LARGE_INPUT_BYTES;
/// A reply as its limits name it.
pub(crate) const REPLY: &str = "the upstream's reply";

/// A loaded version. It stays loaded while an `Arc` of it exists; a task that is pinned to it keeps one.
pub struct Version {
    pub(crate) about: About,
    pub(crate) digest: Digest,
    pub(crate) label: Arc<str>,
    /// What the operator set for its family; replaced when that changes.
    pub(crate) config: ArcSwap<FamilyConfig>,
    pub(crate) pre: FamilyPre,
    pub(crate) log_source: LogSource,
    /// It failed in its canary period and gets no new calls.
    pub(crate) rolled_back: AtomicBool,
    /// The log has said that it cannot read a state.
    pub(crate) unread_logged: AtomicBool,
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

impl Version {
    /// Its manifest.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The digest of its component.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Its family, version and digest, for logs and traces.
    #[must_use]
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Its family.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.about.family
    }

    /// What each of its calls may use.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.config.load().limits
    }

    /// The operator's table for its family, as JSON: the `settings` of a context.
    #[must_use]
    pub fn settings(&self) -> Arc<str> {
        Arc::clone(&self.config.load().settings)
    }

    /// From its next call on it has the limits and settings of `config`.
    pub(crate) fn configure(&self, config: &Config) {
        self.config.store(Arc::new(config.of_family(self.family())));
    }

    /// Whether `model` (its own id) is served on `surface`.
    #[must_use]
    pub fn serves(&self, surface: &str, model: &str) -> bool {
        let on = |surfaces: &[String]| surfaces.iter().any(|served| served == surface);
        self.about.models.iter().any(|info| info.id == model && on(&info.surfaces))
    }

    /// Its surface of that name.
    #[must_use]
    pub fn surface(&self, name: &str) -> Option<&SurfaceInfo> {
        self.about.surfaces.iter().find(|surface| surface.name == name)
    }

    /// Whether a request on `surface` joins its parent.
    pub(crate) fn joins(&self, surface: &str) -> bool {
        self.surface(surface).is_some_and(|surface| surface.joins)
    }

    /// Whether its text half serves `surface`.
    pub(crate) fn serves_text(&self, surface: &str) -> bool {
        self.about.offers.text && self.about.surfaces.iter().any(|own| own.name == surface)
    }

    /// Whether its dialect half speaks `dialect`.
    pub(crate) fn speaks(&self, dialect: &str) -> bool {
        self.about.offers.dialect && self.about.dialects.iter().any(|own| own == dialect)
    }

    /// Counts an answer of a call.
    pub(crate) fn count_call(&self, function: &'static str, outcome: &'static str) {
        let family = self.family().to_owned();
        metrics::counter!(metric::PLUGIN_CALLS, "family" => family, "function" => function, "outcome" => outcome)
            .increment(1);
    }

    /// Counts what has not happened yet, for what this version serves: an alert on a counter's growth does not see the value
    /// it is born with.
    pub(crate) fn begin_counting(&self) {
        let family = || self.family().to_owned();
        let mut functions = Vec::new();
        functions.extend(self.about.offers.jobs.then_some(["submit", "advance"]).into_iter().flatten());
        let answers = self.about.offers.text || self.about.offers.dialect || self.about.offers.direct;
        functions.extend(answers.then_some(["prepare", "answer"]).into_iter().flatten());
        for function in functions {
            for outcome in OUTCOMES {
                metrics::counter!(metric::PLUGIN_CALLS, "family" => family(), "function" => function, "outcome" => outcome)
                    .increment(0);
            }
            metrics::counter!(metric::PLUGIN_FALLBACKS, "family" => family(), "function" => function)
                .increment(0);
        }
        metrics::counter!(metric::PLUGIN_QUEUE_FULL, "family" => family()).increment(0);
        metrics::counter!(metric::PLUGIN_ROLLED_BACK, "family" => family()).increment(0);
        let tasks = self.about.offers.jobs.then_some(Purpose::Task);
        let answers = self.about.offers.direct.then_some(Purpose::Answer);
        for (movement, cause) in tasks.into_iter().chain(answers).flat_map(Purpose::counted) {
            for model in self.about.models.iter().map(|model| model.id.clone()) {
                metrics::counter!(metric::MONEY, "model" => model, "movement" => movement, "cause" => cause)
                    .increment(0);
            }
        }
        let models = self.about.models.iter().filter(|_| self.about.offers.jobs);
        for model in models.map(|model| model.id.clone()) {
            for name in [metric::TASKS_ACCEPTED, metric::TASKS_TOO_LATE, metric::TASKS_JOINED] {
                metrics::counter!(name, "model" => model.clone()).increment(0);
            }
            for outcome in [Status::Completed, Status::Failed] {
                metrics::counter!(metric::TASKS_ENDED, "model" => model.clone(), "outcome" => outcome.as_str()).increment(0);
            }
        }
    }

    /// Whether both write the same state version.
    pub(crate) fn shares_state_with(&self, other: &Self) -> bool {
        self.about.state_version == other.about.state_version
    }

    pub(crate) fn is_rolled_back(&self) -> bool {
        self.rolled_back.load(Ordering::Acquire)
    }

    pub(crate) fn set_rolled_back(&self, rolled_back: bool) {
        self.rolled_back.store(rolled_back, Ordering::Release);
    }

    /// Whether this is the first time that it cannot read a state: the log says once what to do about it.
    pub fn is_first_unread(&self) -> bool {
        !self.unread_logged.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn call_setup(&self, task: Option<TaskId>, budget_ms: u32) -> CallSetup {
        let source = LogSource { task, ..self.log_source.clone() };
        CallSetup { limits: self.limits(), source, budget_ms }
    }

    /// For a call whose answer is dropped, with the time of a deployment: no operator must take its lines for events.
    pub(super) fn trial_setup(&self, task: Option<TaskId>) -> CallSetup {
        let setup = self.call_setup(task, self.limits().load_ms.get());
        CallSetup { source: LogSource { is_trial: true, ..setup.source }, ..setup }
    }

    /// One call on a fresh instance, with the limits for an input of that many bytes; faults name the input as `what`.
    pub(crate) fn call_for_input<R>(
        &self,
        what: &'static str,
        bytes: usize,
        budget_ms: u32,
        body: impl FnOnce(&mut Callee<'_>) -> wasmtime::Result<R>,
    ) -> Result<R, Fault> {
        let limits = self.limits().for_input(bytes);
        let budget_ms = budget_ms.max(limits.call_ms.get());
        let answer = call(&self.pre, CallSetup { limits, ..self.call_setup(None, budget_ms) }, body);
        answer.map_err(|fault| fault.for_input(what, bytes))
    }

    pub(crate) fn check_input(&self, what: &'static str, bytes: usize, limit: usize) -> Result<(), Fault> {
        if bytes > limit { Err(Fault::InputTooLarge { what, bytes, limit }) } else { Ok(()) }
    }

    /// The bytes of a reply that its plugin is handed, where they are not too many.
    pub(super) fn check_reply(&self, reply: &Reply) -> Result<usize, Fault> {
        let Body::Inline(body) = &reply.body else { return Ok(0) };
        self.check_input(REPLY, body.len(), self.limits().crossing())?;
        Ok(body.len())
    }
}

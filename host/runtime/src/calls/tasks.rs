//! The calls for tasks: judge a request, take a step, and what families may offer besides.
//!
//! New work is shared between customers, and refused to the one that fills a family's queue; begun work waits.

use std::sync::Arc;

use gatehouse_model::{Accepted, Call, Context, Event, Json, Refusal, Reply, Step, Submission, TaskView};

use crate::calls::fallback::{ServedBy, begun_work};
use crate::calls::service::PluginService;
use crate::exec::queue::family_queue::Origin;
use crate::fault::Fault;
use crate::serving::registry::Resolved;
use crate::version::loaded::Version;
use crate::version::tasks::{StartContext, Submitted};

/// A state before its migration.
#[derive(Clone, Debug)]
pub struct StateBefore {
    /// The version that wrote it.
    pub by: Arc<Version>,
    /// The state.
    pub state: Vec<u8>,
}

impl PluginService {
    /// Judges a request.
    pub async fn submit(
        &self,
        version: &Arc<Version>,
        cx: Context,
        submission: Submission,
    ) -> Result<Result<Accepted, Refusal>, Fault> {
        let origin = self.new_work(&cx, submission.body.len());
        self.call(version, "submit", &origin, move |version| version.submit(&cx, submission)).await
    }

    /// Judges a request, and takes the first step of its task if `start` gives a context for it.
    pub(crate) async fn submit_and_start(
        &self,
        version: &Arc<Version>,
        cx: Context,
        submission: Submission,
        start: StartContext,
    ) -> Result<Result<Submitted, Refusal>, Fault> {
        let origin = self.new_work(&cx, submission.body.len());
        let submit = move |version: &Arc<Version>| version.submit_and_start(&cx, submission, &start);
        self.call(version, "submit", &origin, submit).await
    }

    /// Judges a request, and takes the first step of its task if `start` gives a context for it. If the version faults and
    /// its standby serves the model, the standby judges it.
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
            let submit = move |version: &Arc<Version>| {
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

    /// Takes one step.
    pub async fn advance(
        &self,
        version: &Arc<Version>,
        cx: Context,
        state: Vec<u8>,
        event: Event,
    ) -> Result<Step, Fault> {
        let origin = begun_work(&cx);
        let step = move |version: &Arc<Version>| version.advance(&cx, &state, event);
        let answer = self.call(version, "advance", &origin, step).await;
        if let Err(fault) = &answer
            && fault.is_unread_state()
            && version.is_first_unread()
        {
            let (family, semver) = (version.family(), &version.about().version);
            let remedy = "count STATE_VERSION up or read the old form";
            tracing::error!(family, version = semver, digest = %version.digest(), %fault, remedy, "a plugin version cannot read a task's state");
        }
        answer
    }

    /// Renders a task for `surface`.
    pub async fn view(
        &self,
        version: &Arc<Version>,
        cx: Context,
        surface: String,
        view: TaskView,
    ) -> Result<Json, Fault> {
        let origin = self.new_work(&cx, 0);
        self.call(version, "view", &origin, move |version| version.view(&cx, &surface, view)).await
    }

    /// One call for the items of several `shared` calls of one key.
    pub async fn merge(
        &self,
        version: &Arc<Version>,
        cx: Context,
        key: String,
        items: Arc<[String]>,
    ) -> Result<Call, Fault> {
        let origin = begun_work(&cx);
        let merge = move |version: &Arc<Version>| version.merge(&cx, &key, &items);
        let answer = self.call(version, "merge", &origin, merge).await;
        self.serving.record_call(version, answer.as_ref().err());
        answer
    }

    /// The reply to each item of a merged call.
    pub async fn split(
        &self,
        version: &Arc<Version>,
        cx: Context,
        key: String,
        items: Arc<[String]>,
        reply: Reply,
    ) -> Result<Vec<Option<Reply>>, Fault> {
        let origin = begun_work(&cx);
        let split = move |version: &Arc<Version>| version.split(&cx, &key, &items, reply);
        let answer = self.call(version, "split", &origin, split).await;
        self.serving.record_call(version, answer.as_ref().err());
        answer
    }

    /// Rewrites a state that version `from` wrote; the inner error is the plugin's own.
    pub async fn migrate(
        &self,
        version: &Arc<Version>,
        from: u32,
        state: Vec<u8>,
    ) -> Result<Result<Vec<u8>, String>, Fault> {
        let origin = Origin::begun("");
        let migrate = move |version: &Arc<Version>| version.migrate(from, &state);
        let answer = self.call(version, "migrate", &origin, migrate).await;
        if let Err(fault) = answer.as_ref() {
            self.serving.record_call(version, Some(fault));
        }
        answer
    }

    /// The version that may take a step in place of `version`: it reads the same states. Where the standby does not, that is the
    /// version which has replaced `version` since.
    fn fallback_of(&self, version: &Version) -> Option<Arc<Version>> {
        let standby = self.standby(version)?;
        let active = || self.serving.registry.load().family(version.family());
        let reads =
            |other: &Arc<Version>| other.digest() != version.digest() && other.shares_state_with(version);
        Some(standby).filter(reads).or_else(|| active().filter(reads))
    }

    /// Whether a step that `version` faults on is taken by another version at once, without a state of before a migration.
    #[must_use]
    pub fn has_fallback(&self, version: &Version) -> bool {
        self.fallback_of(version).is_some()
    }
}

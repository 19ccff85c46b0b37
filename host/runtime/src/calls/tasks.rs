//! The calls of the plugin service for tasks: judge a request, take a step, and what families may offer besides.
//!
//! New work is shared between customers, and refused to the one that fills a family's queue; begun work waits.

use std::sync::Arc;
use std::time::Instant;

use gatehouse_model::{
    Accepted, Call, Context, Event, Json, Refusal, Reply, Step, Submission, TaskView, metric,
};

use crate::exec::instance_permits::InstancePermits;
use crate::exec::queue::family_queue::{JobKind, Origin};
use crate::fault::Fault;
use crate::service::PluginService;
use crate::version::Version;
use crate::version_first_step::{StartContext, Submitted};

/// What a customer is already served with.
pub(crate) fn begun_by(customer: &str) -> Origin {
    Origin { customer: customer.into(), kind: JobKind::Begun }
}

pub(crate) fn begun_work(cx: &Context) -> Origin {
    begun_by(&cx.customer)
}

impl PluginService {
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
        let submit = move |version: &Version| version.submit_and_start(&cx, submission, &start);
        self.call(version, "submit", &origin, submit).await
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
        let origin = begun_work(&cx);
        let step = move |version: &Version| version.advance(&cx, &state, event);
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
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
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
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn merge(
        &self,
        version: &Arc<Version>,
        cx: Context,
        key: String,
        items: Arc<[String]>,
    ) -> Result<Call, Fault> {
        let origin = begun_work(&cx);
        let merge = move |version: &Version| version.merge(&cx, &key, &items);
        let answer = self.call(version, "merge", &origin, merge).await;
        self.state.record_call(version, answer.as_ref().err());
        answer
    }

    /// The reply to each item of a merged call.
    ///
    /// # Errors
    /// [`Fault`] when there is no acceptable answer.
    pub async fn split(
        &self,
        version: &Arc<Version>,
        cx: Context,
        key: String,
        items: Arc<[String]>,
        reply: Reply,
    ) -> Result<Vec<Option<Reply>>, Fault> {
        let origin = begun_work(&cx);
        let split = move |version: &Version| version.split(&cx, &key, &items, reply);
        let answer = self.call(version, "split", &origin, split).await;
        self.state.record_call(version, answer.as_ref().err());
        answer
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
        let origin = begun_by("");
        let migrate = move |version: &Version| version.migrate(from, &state);
        let answer = self.call(version, "migrate", &origin, migrate).await;
        if let Err(fault) = answer.as_ref() {
            self.state.record_call(version, Some(fault));
        }
        answer
    }

    /// Calls of `family` that wait for a plugin thread, new work left out.
    #[must_use]
    pub fn waiting(&self, family: &str) -> usize {
        self.state.threads.waiting(family)
    }

    /// Permits to keep an instance: for a stream, or else for a request that is answered whole.
    pub(crate) fn instance_permits(&self, streaming: bool) -> &Arc<InstancePermits> {
        if streaming { &self.state.streams } else { &self.state.request_instances }
    }

    /// What a request begins, with the bytes of its body.
    pub(crate) fn new_work(&self, cx: &Context, bytes: usize) -> Origin {
        Origin { customer: cx.customer.as_str().into(), kind: JobKind::New { key: self.key(), bytes } }
    }

    pub(crate) async fn call<R: Send + 'static>(
        &self,
        version: &Arc<Version>,
        function: &'static str,
        origin: &Origin,
        body: impl FnOnce(&Version) -> Result<R, Fault> + Send + 'static,
    ) -> Result<R, Fault> {
        let called = Arc::clone(version);
        let answer = self
            .state
            .threads
            .run(version.family(), origin, move || {
                let begun = Instant::now();
                let answer = body(&called);
                metrics::histogram!(metric::PLUGIN_SECONDS, "family" => called.family().to_owned())
                    .record(begun.elapsed());
                answer
            })
            .await;
        let outcome = answer.as_ref().map_or_else(Fault::label, |_| "ok");
        version.count_call(function, outcome);
        answer
    }
}

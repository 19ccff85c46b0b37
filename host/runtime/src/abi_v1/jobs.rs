//! The calls of the interfaces `jobs`, `views` and `bulk`.

use gatehouse_model::{Accepted, Call, Context, Event, Json, Reply, Step, Submission, TaskView};

use super::exports::bindings::exports::gatehouse::family::{jobs as wit, views};
use super::exports::bindings::gatehouse::family::{types, upstream};
use super::exports::{Callee, Judged};
use super::lower;
use super::types::Convert as _;

impl Callee<'_> {
    /// `jobs.submit`.
    pub(crate) fn submit(&mut self, cx: &Context, submission: Submission) -> Judged<Accepted> {
        let cx = lower::context(cx);
        let request = lower::Submission {
            surface: &submission.surface,
            model: wit::ModelName { id: submission.model.id, alias: submission.model.alias },
            body: &submission.body,
            parents: submission.parents.convert(),
            owned: submission.owned.convert(),
            blobs: submission.blobs.convert(),
            extra: lower::EXTRA,
        };
        self.ask::<_, Result<wit::Accepted, types::Refusal>, _>(self.jobs()?.submit, (&cx, &request))
    }

    /// `jobs.advance`.
    pub(crate) fn advance(&mut self, cx: &Context, state: &[u8], event: Event) -> wasmtime::Result<Step> {
        let (cx, event): (_, wit::Event) = (lower::context(cx), event.convert());
        self.ask::<_, wit::Step, _>(self.jobs()?.advance, (&cx, state, &event))
    }

    /// `jobs.migrate`.
    pub(crate) fn migrate(&mut self, from: u32, state: &[u8]) -> wasmtime::Result<Result<Vec<u8>, String>> {
        self.call(self.jobs()?.migrate, (from, state))
    }

    /// `views.view`.
    pub(crate) fn view(&mut self, cx: &Context, surface: &str, view: TaskView) -> wasmtime::Result<Json> {
        let view: views::TaskView = view.convert();
        self.ask::<_, String, _>(self.views()?, (&lower::context(cx), surface, &view))
    }

    /// `bulk.merge`.
    pub(crate) fn merge(&mut self, cx: &Context, key: &str, items: &[String]) -> wasmtime::Result<Call> {
        self.ask::<_, upstream::Call, _>(self.bulk()?.merge, (&lower::context(cx), key, items))
    }

    /// `bulk.split`.
    pub(crate) fn split(
        &mut self,
        cx: &Context,
        key: &str,
        items: &[String],
        reply: Reply,
    ) -> wasmtime::Result<Vec<Option<Reply>>> {
        let reply: upstream::Reply = reply.convert();
        let parameters = (&lower::context(cx), key, items, &reply);
        self.ask::<_, Vec<Option<upstream::Reply>>, _>(self.bulk()?.split, parameters)
    }
}

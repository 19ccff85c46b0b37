//! The optional interfaces beside `jobs`, run natively and as the built component, which must agree; and the half of a component
//! that answers at once, for scripts.

use gatehouse_sdk::{
    Bulk, Call, Context, DirectRequest, Failure, Plan, Refusal, Reply, Response, TaskView, Views,
};
use gatehouse_testkit::{DirectMachine, Machine, Played};
use serde_json::Value;

use crate::component::{Component, agreed, broke};
use crate::convert;

impl Component {
    /// Renders a task.
    ///
    /// # Panics
    /// When the component breaks, or returns anything else than the native family.
    #[must_use]
    pub fn view<F: Views>(&self, cx: &Context, surface: &str, view: &TaskView) -> Value {
        agreed(Machine::view(self, cx, surface, view), &F::view(cx, surface, view.clone()))
    }

    /// Makes one call of several.
    ///
    /// # Panics
    /// As [`Component::view`].
    #[must_use]
    pub fn merge<F: Bulk>(&self, cx: &Context, key: &str, items: &[String]) -> Call {
        agreed(Machine::merge(self, cx, key, items), &F::merge(cx, key, items))
    }

    /// Reads the reply to a merged call.
    ///
    /// # Panics
    /// As [`Component::view`].
    #[must_use]
    pub fn split<F: Bulk>(
        &self,
        cx: &Context,
        key: &str,
        items: &[String],
        reply: &Reply,
    ) -> Vec<Option<Reply>> {
        agreed(Machine::split(self, cx, key, items, reply), &F::split(cx, key, items, reply.clone()))
    }
}

impl DirectMachine for Component {
    fn plan(&self, cx: &Context, request: &DirectRequest) -> Played<Result<Plan<Vec<u8>>, Refusal>> {
        let came =
            self.runner.plan(convert::context(cx)?, convert::direct_request(request)).map_err(broke)?;
        Ok(came.map(convert::plan).map_err(convert::refusal))
    }

    fn respond(&self, cx: &Context, state: &[u8], reply: &Reply) -> Played<Result<Response, Failure>> {
        let reply = convert::same_shape(reply);
        let came = self.runner.respond(convert::context(cx)?, state.to_vec(), reply).map_err(broke)?;
        Ok(came.map(convert::response).map_err(|failure| convert::same_shape(&failure)))
    }
}

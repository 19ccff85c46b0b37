//! The optional interfaces beside `jobs`, run natively and as the built component, which must agree.

use gatehouse_sdk::{Bulk, Call, Context, Reply, TaskView, Views};
use gatehouse_testkit::Machine;
use serde_json::Value;

use crate::component::{Component, agreed};

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

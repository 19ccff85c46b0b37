//! The optional interfaces beside `jobs`, run natively and as the built component, which must agree.

use gatehouse_sdk::{Bulk, Call, Context, Reply, TaskView, Views};
use serde_json::Value;

use super::{Component, convert};

impl Component {
    /// Renders a task.
    ///
    /// # Panics
    /// When the component breaks, or returns anything else than the native family.
    #[must_use]
    pub fn view<F: Views>(&self, cx: &Context, surface: &str, view: &TaskView) -> Value {
        let came = self
            .runner()
            .view(convert::context(cx), surface.to_owned(), convert::task_view(view))
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"));
        let came: Value = serde_json::from_str(&came).expect("the host returns JSON only");
        assert_eq!(came, F::view(cx, surface, view.clone()), "component and native family differ");
        came
    }

    /// Makes one call of several.
    ///
    /// # Panics
    /// As [`Component::view`].
    #[must_use]
    pub fn merge<F: Bulk>(&self, cx: &Context, key: &str, items: &[String]) -> Call {
        let came = self
            .runner()
            .merge(convert::context(cx), key.to_owned(), items.to_vec())
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"));
        let came = convert::call(came);
        assert_eq!(came, F::merge(cx, key, items), "component and native family differ");
        came
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
        let came = self
            .runner()
            .split(convert::context(cx), key.to_owned(), items.to_vec(), convert::same_shape(reply))
            .unwrap_or_else(|fault| panic!("the component broke: {fault}"));
        let came: Vec<Option<Reply>> = convert::same_shape(&came);
        assert_eq!(came, F::split(cx, key, items, reply.clone()), "component and native family differ");
        came
    }
}

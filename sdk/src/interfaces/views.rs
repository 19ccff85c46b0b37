//! A family's own rendering of a task on a path of its own.

use serde_json::Value;

use crate::contract::context::Context;
use crate::contract::parent::TaskView;
use crate::interfaces::jobs::Jobs;

/// A family that renders its tasks itself on a path of its own.
pub trait Views: Jobs {
    /// The body of the answer to a request for `task` on `surface`. Strings `media:<n>` and `expires:<n>` in it become
    /// links, as in the result of a task.
    fn view(cx: &Context, surface: &str, task: TaskView) -> Value;
}

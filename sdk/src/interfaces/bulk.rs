//! Many tasks, one call.

use crate::contract::call::Call;
use crate::contract::context::Context;
use crate::contract::reply::Reply;
use crate::interfaces::jobs::Jobs;

/// A family whose provider answers for many tasks at once. Calls that say [`Call::shared`] with one key, to one account,
/// become one call.
pub trait Bulk: Jobs {
    /// One call for all `items`; safe to repeat.
    fn merge(cx: &Context, key: &str, items: &[String]) -> Call;

    /// The reply to each item, in order; `None` where the answer does not mention it. Then that task makes its own
    /// call.
    fn split(cx: &Context, key: &str, items: &[String], reply: Reply) -> Vec<Option<Reply>>;
}

//! Ends that no provider causes: a cancel, and an event that no step asked for.

use gatehouse_sdk::{Event, Failure, log};

/// A cancel before anything was made.
pub(crate) fn cancelled() -> Failure {
    Failure::request("cancelled before it was sent")
}

/// An event that no step asked for. The task fails, so that it does not hang.
pub(crate) fn unexpected(event: &Event) -> Failure {
    log::error("an event came that nothing asked for", &[("event", event.name())]);
    Failure::upstream("the task was interrupted, please submit it again")
}

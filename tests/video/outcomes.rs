//! What the fault tables of the video families share: their outcomes, and how one row is judged.

use futures_util::future::join_all;
use serde_json::Value;

use super::TestGateway;
use crate::faults::{TIME_LIMIT, expect_timed_out, has_failed, verdict};

/// Completed, or failed with this `error.type` and these words in the message.
pub(super) type End = Result<(), (&'static str, &'static str)>;
/// The marker, the outcome, and how often the provider saw the creation, accepted or refused.
pub(super) type Row = (&'static str, End, usize);

pub(super) const UNAVAILABLE: End = Err(("upstream_error", "No available upstream, please retry later"));
pub(super) const FAILED: End = Err(("upstream_error", "the upstream failed to generate the video"));
pub(super) const LOST: End = Err(("upstream_error", "please submit the task again"));
pub(super) const NO_COPY: End = Err(("upstream_error", "the finished video could not be fetched"));

/// How often the provider saw a creation.
pub(super) struct Seen {
    pub(super) accepted: usize,
    pub(super) refused: usize,
}

/// The verdict of one row. What may have been accepted is never sent again.
pub(super) fn judge(
    (marker, end, times): &Row,
    task: &Value,
    is_completed: bool,
    Seen { accepted, refused }: Seen,
    secrets: &[&str],
) -> Result<(), String> {
    let is_right = match end {
        Ok(()) => is_completed,
        Err((kind, words)) => has_failed(task, kind, &[*words]),
    };
    let row = format!("{marker} (accepted {accepted} times, refused {refused} times)");
    verdict(&row, task, is_right && accepted + refused == *times && accepted <= 1, secrets)
}

/// Whether a task was completed and paid.
pub(super) fn is_paid(task: &Value) -> bool {
    task["status"] == "completed" && task["cost"].as_f64().is_some_and(|cost| cost > 0.0)
}

/// Requests whose providers never end them: they fail at the time limit, and cost nothing.
pub(super) async fn expect_time_limit(bodies: impl IntoIterator<Item = Value>) {
    let gateway = TestGateway::start_with(TIME_LIMIT).await;
    let ends = bodies.into_iter().map(async |body| gateway.finish(&body).await);
    expect_timed_out(&join_all(ends).await);
    gateway.process.expect_sound_ledger().await;
}

//! The words that providers have for the state of a job.

use crate::provider::plain_code;

/// What a provider's word for the state of a job means. Servers of one protocol write it in other letters and other words.
///
/// ```
/// use gatehouse_sdk::job::Standing;
///
/// assert_eq!(["SUCCEEDED", "Completed"].map(Standing::of), [Standing::Done; 2]);
/// assert_eq!(["in_progress", "reasoning"].map(Standing::of), [Standing::Working; 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Taken, and not begun.
    Waiting,
    /// Under way. Newer words mean this too: the host's deadline ends what never ends.
    Working,
    /// Finished.
    Done,
    /// Ended without a result.
    Failed,
    /// Stopped at the provider.
    Cancelled,
    /// The provider's own time is over.
    Expired,
    /// The provider does not know the job, or not yet.
    Missing,
}

impl Standing {
    /// The meaning of a word.
    #[must_use]
    pub fn of(word: &str) -> Self {
        match plain_code(word).as_str() {
            "pending" | "queued" | "queueing" | "queuing" | "inqueue" | "waiting" | "suspended" => {
                Self::Waiting
            }
            "succeeded" | "success" | "successful" | "succeed" | "completed" | "complete" | "done"
            | "finished" | "ready" => Self::Done,
            "failed" | "failure" | "fail" | "error" | "errored" => Self::Failed,
            "cancelled" | "canceled" | "cancel" | "aborted" => Self::Cancelled,
            "expired" | "timeout" | "timedout" => Self::Expired,
            // Not "unknown": servers between say it of a task that runs.
            "notfound" | "tasknotfound" => Self::Missing,
            _ => Self::Working,
        }
    }
}

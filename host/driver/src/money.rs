//! What is measured of money, by model: how much was held, settled and given back, and for what cause. The ledger is the truth;
//! these counters begin at zero with the process.

use gatehouse_model::{Credits, FailureKind, Task, metric};

/// What money is held for, and spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A text, or vectors.
    Text,
    /// An answer at once.
    Answer,
    /// A task.
    Task,
    /// A request that joined a task.
    Join,
}

impl Purpose {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Answer => "answer",
            Self::Task => "task",
            Self::Join => "join",
        }
    }
}

/// Why money was given back: its work ended and cost less, failed, was cancelled, or was not done in time.
const RELEASES: [&str; 4] = ["unused", "failed", "cancelled", "timeout"];

/// Counts a hold that was made.
pub(crate) fn held(model: &str, purpose: Purpose, amount: Credits) {
    count(model, "held", purpose.as_str(), amount);
}

/// Counts a hold that ended with that cost; the rest was given back.
pub(crate) fn settled(model: &str, purpose: Purpose, held: Credits, cost: Credits) {
    count(model, "settled", purpose.as_str(), cost);
    count(model, "released", "unused", Credits(held.0.saturating_sub(cost.0)));
}

/// Counts a hold of work that failed.
pub(crate) fn released(model: &str, amount: Credits) {
    count(model, "released", "failed", amount);
}

/// Counts the money of a task that ended, and of the requests that joined it.
pub(crate) fn task_ended(task: &Task) {
    let cost = task.cost.unwrap_or_default();
    match &task.failure {
        None => settled(&task.model, Purpose::Task, task.held, cost),
        Some(failure) => {
            let cause = match failure.kind {
                FailureKind::Timeout => "timeout",
                FailureKind::Cancelled => "cancelled",
                _ => "failed",
            };
            count(&task.model, "released", cause, task.held);
        }
    }
}

/// Counts what has not happened yet, for a model whose money is held for `purpose`.
pub(crate) fn begin_counting(model: &str, purpose: Purpose) {
    for movement in ["held", "settled"] {
        count(model, movement, purpose.as_str(), Credits::ZERO);
    }
    RELEASES.iter().for_each(|cause| count(model, "released", cause, Credits::ZERO));
}

fn count(model: &str, movement: &'static str, cause: &'static str, amount: Credits) {
    // Below zero nothing moved: a cost above its hold leaves no rest.
    let micro = u64::try_from(amount.0).unwrap_or_default();
    metrics::counter!(metric::MONEY, "model" => model.to_owned(), "movement" => movement, "cause" => cause)
        .increment(micro);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a label is born with its first event, which an alert on growth does not see.
    #[test]
    fn labels_are_words_of_their_own() {
        let purposes = [Purpose::Text, Purpose::Answer, Purpose::Task, Purpose::Join];
        let mut words: Vec<&str> = purposes.map(Purpose::as_str).into_iter().chain(RELEASES).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 8, "{words:?}");
    }
}

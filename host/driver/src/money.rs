//! What is measured of money, by model: how much was held, settled and given back, and for what cause. The ledger is the truth;
//! these counters begin at zero with the process.

use gatehouse_model::{Credits, FailureKind, Purpose, Task, metric};

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

/// Counts what has not happened yet to the money for texts of a model; a plugin's models are counted where it is loaded.
pub(crate) fn begin_counting_texts(model: &str) {
    for (movement, cause) in Purpose::Text.counted() {
        count(model, movement, cause, Credits::ZERO);
    }
}

fn count(model: &str, movement: &'static str, cause: &'static str, amount: Credits) {
    // Below zero nothing moved: a cost above its hold leaves no rest.
    let micro = u64::try_from(amount.0).unwrap_or_default();
    metrics::counter!(metric::MONEY, "model" => model.to_owned(), "movement" => movement, "cause" => cause)
        .increment(micro);
}

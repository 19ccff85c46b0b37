//! What the fault tables of the families share: the outcome of one row, what a client may never read, and the time limit.

use gatehouse_sandbox::MarkerInfo;
use serde_json::{Value, json};

/// The outcome of a failed task: `error.type`, and words of the message.
pub(crate) type Failed = (&'static str, &'static [&'static str]);

/// Ends a task in time, whatever its provider does.
pub(crate) const TIME_LIMIT: &str = "[tasks]\ntime_limit_s = 2\n";

/// Expects that each of a provider's faults is in one of the rows, which are prompts with markers.
pub(crate) fn expect_listed<'m, M: 'm, G: 'm>(
    markers: impl IntoIterator<Item = &'m MarkerInfo<M, G>>,
    rows: impl IntoIterator<Item = &'static str>,
) {
    let rows: Vec<&str> = rows.into_iter().map(|row| row.trim_matches(['[', ']'])).collect();
    for marker in markers {
        let is_listed = rows.iter().any(|row| row.split(':').next() == Some(marker.name));
        assert!(is_listed, "[[{}]] ({}) has no row here", marker.name, marker.effect);
    }
}

/// Expects that no row is broken.
pub(crate) async fn expect_all(rows: impl IntoIterator<Item = impl Future<Output = Result<(), String>>>) {
    none_broken(futures_util::future::join_all(rows).await);
}

/// The same of rows that were looked at one after the other.
pub(crate) fn none_broken(rows: Vec<Result<(), String>>) {
    let count = rows.len();
    let broken: Vec<String> = rows.into_iter().filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{} of {count} rows are broken:\n{}", broken.len(), broken.join("\n"));
}

/// Whether a task has failed like that, without a result, and at no cost.
pub(crate) fn has_failed(task: &Value, kind: &str, words: &[&str]) -> bool {
    let error = &task["error"];
    let message = error["message"].as_str().unwrap_or_default();
    task["status"] == "failed"
        && (&error["type"], &error["code"]) == (&json!(kind), &json!("task_failed"))
        && task["cost"] == 0.0
        && task["result"].is_null()
        && !message.is_empty()
        && words.iter().all(|word| message.contains(word))
}

/// The verdict of one row: the task is as it should be, and shows none of the `secrets`.
pub(crate) fn verdict(marker: &str, task: &Value, is_right: bool, secrets: &[&str]) -> Result<(), String> {
    let message = task["error"]["message"].as_str().unwrap_or_default();
    match secrets.iter().find(|secret| message.contains(*secret)) {
        None if is_right => Ok(()),
        None => Err(format!("  {marker}: {task}")),
        Some(secret) => Err(format!("  {marker} shows {secret:?}: {message}")),
    }
}

/// Expects that tasks whose providers never end them have failed at the time limit, and cost nothing.
pub(crate) fn expect_timed_out(tasks: &[Value]) {
    for task in tasks {
        assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
        let error = json!({"type": "timeout_error", "code": "task_failed", "message": "Task timeout"});
        assert_eq!(task["error"], error);
    }
}

//! What the fault tables of the image families share: the outcome of one row, what a client may never read, and the
//! time limit.

use gatehouse_sandbox::Settings;
use serde_json::{Value, json};

use crate::api::TestGateway;

/// The outcome of a failed task: `error.type`, and words of the message.
pub(crate) type Failed = (&'static str, &'static [&'static str]);

/// Expects that no row is broken.
pub(crate) async fn expect_all(rows: impl IntoIterator<Item = impl Future<Output = Result<(), String>>>) {
    let rows = futures_util::future::join_all(rows).await;
    let count = rows.len();
    let broken: Vec<String> = rows.into_iter().filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{} of {count} rows are broken:\n{}", broken.len(), broken.join("\n"));
}

/// Whether a task has failed like that, without a result, and at no cost.
pub(crate) fn has_failed(task: &Value, (kind, words): Failed) -> bool {
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

/// Requests whose providers never end them: they fail at the time limit, and cost nothing.
pub(crate) async fn expect_time_limit(bodies: impl IntoIterator<Item = Value>) {
    let gateway = TestGateway::start_with(Settings::default(), "[tasks]\ntime_limit_s = 2\n").await;
    let bodies: Vec<Value> = bodies.into_iter().collect();
    let ends = bodies.iter().map(|body| gateway.finish(body));
    for task in futures_util::future::join_all(ends).await {
        assert_eq!(task["status"], "failed", "{task}");
        assert_eq!(
            task["error"],
            json!({"type": "timeout_error", "code": "task_failed", "message": "Task timeout"})
        );
        assert_eq!(task["cost"], 0.0);
    }
    gateway.process.expect_sound_ledger().await;
}

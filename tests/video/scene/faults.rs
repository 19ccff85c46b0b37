//! Every fault of the simulated Veo, and the task's outcome for the client.
//!
//! Whatever the provider does, a failed task costs nothing. Its reason never shows the operator's account or a secret, and
//! never blames the client for a provider's failure. What may have been begun is never sent again.

use futures_util::future::join_all;
use gatehouse_harness::run;
use gatehouse_sandbox::Settings;
use serde_json::{Value, json};

use super::text;
use crate::video::TestGateway;

/// Completed, or failed with this `error.type` and these words in the message.
type End = Result<(), (&'static str, &'static str)>;

const UNAVAILABLE: End = Err(("upstream_error", "No available upstream, please retry later"));
const FAILED: End = Err(("upstream_error", "the upstream failed to generate the video"));
const LOST: End = Err(("upstream_error", "please submit the task again"));
const NO_COPY: End = Err(("upstream_error", "the finished video could not be fetched"));
const MODERATED: End = Err(("content_policy_violation", "content moderation: violence"));
const REFUSED: End =
    Err(("invalid_request_error", "the upstream refused the request: seed is not acceptable"));
const PRIVATE: End = Err(("invalid_request_error", "the upstream refused the request"));

/// The marker, the outcome, and how often the provider saw the submission (begun or refused).
const FAULTS: &[(&str, End, usize)] = &[
    ("[[400]]", REFUSED, 1),
    ("[[400-list]]", REFUSED, 1),
    ("[[400-private]]", PRIVATE, 1),
    ("[[blocked]]", MODERATED, 1),
    ("[[400-precondition]]", UNAVAILABLE, 1),
    ("[[401]]", UNAVAILABLE, 1),
    ("[[403]]", UNAVAILABLE, 1),
    ("[[404]]", UNAVAILABLE, 1),
    ("[[429:2]]", Ok(()), 3),
    ("[[500]]", FAILED, 1),
    ("[[503]]", FAILED, 1),
    ("[[503-html]]", FAILED, 1),
    ("[[garbage-submit]]", FAILED, 1),
    ("[[submit-cut]]", LOST, 1),
    ("[[no-name]]", FAILED, 1),
    ("[[slow:300]]", Ok(()), 1),
    ("[[poll-404:3]]", Ok(()), 1),
    ("[[poll-404:9]]", FAILED, 1),
    ("[[poll-403]]", UNAVAILABLE, 1),
    ("[[poll-429:3]]", Ok(()), 1),
    ("[[poll-500:3]]", Ok(()), 1),
    ("[[poll-500:20]]", FAILED, 1),
    ("[[poll-503:3]]", Ok(()), 1),
    ("[[malformed-json]]", Ok(()), 1),
    ("[[not-done]]", Ok(()), 1),
    ("[[hollow:2]]", Ok(()), 1),
    ("[[filtered]]", MODERATED, 1),
    ("[[filtered-some:1]]", MODERATED, 1),
    ("[[no-video]]", FAILED, 1),
    ("[[error-3]]", REFUSED, 1),
    ("[[error-3-blocked]]", MODERATED, 1),
    ("[[error-7]]", UNAVAILABLE, 1),
    ("[[error-8]]", FAILED, 1),
    ("[[error-13]]", FAILED, 1),
    ("[[mib:1]]", Ok(()), 1),
    ("[[wrong-type]]", NO_COPY, 1),
];

/// The same of videos that are fetched from the operator's bucket; without one they come inside the answer.
const DOWNLOADS: &[(&str, End, usize)] = &[
    ("[[truncated-file]]", NO_COPY, 1),
    ("[[delivery-403:2]]", Ok(()), 1),
    ("[[delivery-403:9]]", NO_COPY, 1),
    ("[[delivery-503]]", Ok(()), 1),
    ("[[foreign-link]]", FAILED, 1),
    ("[[redirect-away]]", NO_COPY, 1),
];

/// Faults that only the gateway's time limit ends.
const ENDLESS: [&str; 3] = ["[[never-ready]]", "[[submit-hang]]", "[[429]]"];

/// Words that would reveal the provider or the operator's account to a client.
const SECRETS: &[&str] =
    &["sandbox", "Bearer", "127.0.0.1", "ya29", "veo", "Veo", "google", "project", "169.254"];

#[test]
fn the_tables_list_every_fault_of_the_provider() {
    for marker in gatehouse_sandbox::veo::MARKERS {
        let is_of = |row: &str| {
            let name = row.trim_start_matches("[[").trim_end_matches("]]");
            name.split(':').next() == Some(marker.name)
        };
        let known = FAULTS.iter().chain(DOWNLOADS).map(|(row, ..)| *row).chain(ENDLESS).any(is_of);
        assert!(known, "[[{}]] ({}) has no row here", marker.name, marker.effect);
    }
}

#[test]
fn every_fault_has_its_outcome() {
    run(async {
        let gateway = TestGateway::start().await;
        check_rows(&gateway, FAULTS.iter()).await;
    });
}

#[test]
fn every_fault_has_its_outcome_with_a_bucket() {
    run(async {
        let settings = Settings { job_time: std::time::Duration::ZERO, ..Settings::default() };
        let bucket = "[plugins.settings.scene]\nstorage_uri = \"gs://films/scene/\"\n";
        let gateway = TestGateway::start_with(settings, bucket).await;
        check_rows(&gateway, FAULTS.iter().chain(DOWNLOADS)).await;
    });
}

async fn check_rows(gateway: &TestGateway, rows: impl Iterator<Item = &'static (&'static str, End, usize)>) {
    let looks = rows.map(|(marker, end, seen)| check_row(gateway, marker, end, *seen));
    let broken: Vec<String> = join_all(looks).await.into_iter().filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{} faults:\n{}", broken.len(), broken.join("\n"));
    gateway.process.expect_sound_ledger().await;
}

async fn check_row(gateway: &TestGateway, marker: &str, end: &End, seen: usize) -> Result<(), String> {
    let prompt = format!("a red kite flies {marker}");
    let task = gateway.finish(&text(json!({"prompt": prompt}))).await;
    let message = task["error"]["message"].as_str().unwrap_or_default();
    let is_right = match end {
        Ok(()) => task["status"] == "completed" && task["cost"].as_f64().is_some_and(|cost| cost > 0.0),
        Err((kind, words)) => {
            task["status"] == "failed"
                && (&task["error"]["type"], &task["error"]["code"]) == (&json!(kind), &json!("task_failed"))
                && task["cost"] == 0.0
                && message.contains(words)
        }
    };
    let record = gateway.sandbox.veo_record();
    let is_of = |body: &Value| body["instances"][0]["prompt"] == prompt.as_str();
    let begun = record.operations.iter().filter(|begun| is_of(&begun.body)).count();
    let times = begun + record.declined.iter().filter(|declined| is_of(&declined.body)).count();
    match SECRETS.iter().find(|secret| message.contains(*secret)) {
        None if is_right && times == seen && begun <= 1 => Ok(()),
        None => Err(format!("  {marker} (seen {times} times, {begun} begun): {task}")),
        Some(secret) => Err(format!("  {marker} shows {secret:?}: {message}")),
    }
}

#[test]
fn a_task_that_never_ends_fails_at_its_limit() {
    run(async {
        let settings = Settings { job_time: std::time::Duration::ZERO, ..Settings::default() };
        let gateway = TestGateway::start_with(settings, "[tasks]\ntime_limit_s = 2\n").await;
        let ends = ENDLESS.map(|marker| {
            let (gateway, body) = (&gateway, text(json!({"prompt": marker})));
            async move { gateway.finish(&body).await }
        });
        for task in join_all(ends).await {
            assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
            assert_eq!(
                task["error"],
                json!({"type": "timeout_error", "code": "task_failed", "message": "Task timeout"})
            );
        }
        gateway.process.expect_sound_ledger().await;
    });
}

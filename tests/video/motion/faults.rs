//! Every fault of the simulated DashScope, and the task's outcome for the client.
//!
//! Whatever the provider does, a failed task costs nothing. Its reason never shows the operator's account or a secret, and
//! never blames the client for a provider's failure. What may have been accepted is never sent again.

use gatehouse_harness::run;
use serde_json::{Value, json};

use super::{text26, text27};
use crate::faults::{expect_all, expect_listed};
use crate::video::TestGateway;
use crate::video::outcomes::{
    End, FAILED, LOST, NO_COPY, Row, Seen, UNAVAILABLE, expect_time_limit, is_paid, judge,
};

const MODERATED: End = Err(("content_policy_violation", "moderation"));
const INFRINGING: End = Err(("content_policy_violation", "infringement"));

/// The marker, the outcome, and how often the provider saw the creation (accepted or refused).
const FAULTS: &[Row] = &[
    ("[[401]]", UNAVAILABLE, 1),
    ("[[arrearage]]", UNAVAILABLE, 1),
    ("[[403]]", UNAVAILABLE, 1),
    ("[[model-denied]]", UNAVAILABLE, 1),
    ("[[free-tier]]", UNAVAILABLE, 1),
    ("[[404]]", UNAVAILABLE, 1),
    ("[[unknown-model]]", UNAVAILABLE, 1),
    ("[[429:2]]", Ok(()), 3),
    ("[[allocation:2]]", Ok(()), 3),
    ("[[throttling:1]]", Ok(()), 2),
    (
        "[[400]]",
        Err(("invalid_request_error", "the upstream refused the request: seed is not acceptable")),
        1,
    ),
    ("[[inspection]]", MODERATED, 1),
    ("[[inspection-snake]]", MODERATED, 1),
    ("[[infringement]]", INFRINGING, 1),
    ("[[url-refused]]", Err(("invalid_request_error", "The connection to image_urls[0] was refused.")), 1),
    ("[[file-size]]", Err(("invalid_request_error", "The file is too large.")), 1),
    ("[[500]]", FAILED, 1),
    ("[[500-timeout]]", FAILED, 1),
    ("[[503-html]]", FAILED, 1),
    ("[[garbage-submit]]", FAILED, 1),
    ("[[submit-cut]]", LOST, 1),
    ("[[no-task]]", FAILED, 1),
    ("[[slow:300]]", Ok(()), 1),
    ("[[first-poll-unknown:3]]", Ok(()), 1),
    ("[[first-poll-unknown:9]]", FAILED, 1),
    ("[[suspended]]", Ok(()), 1),
    ("[[poll-401]]", UNAVAILABLE, 1),
    ("[[poll-429:3]]", Ok(()), 1),
    ("[[poll-500:3]]", Ok(()), 1),
    ("[[poll-500:20]]", FAILED, 1),
    ("[[poll-503:3]]", Ok(()), 1),
    ("[[malformed-json]]", Ok(()), 1),
    ("[[unknown-status]]", Ok(()), 1),
    ("[[moderated]]", MODERATED, 1),
    ("[[suspected]]", INFRINGING, 1),
    ("[[unreachable]]", Err(("invalid_request_error", "could not be fetched")), 1),
    ("[[bad-format]]", Err(("invalid_request_error", "The format of the file is not supported.")), 1),
    ("[[bad-fps]]", Err(("invalid_request_error", "The frame rate of the file is not supported.")), 1),
    ("[[late-parameter]]", Err(("invalid_request_error", "seed is not acceptable")), 1),
    ("[[error]]", FAILED, 1),
    ("[[late-timeout]]", FAILED, 1),
    ("[[late-arrearage]]", UNAVAILABLE, 1),
    ("[[late-throttling]]", FAILED, 1),
    ("[[canceled]]", FAILED, 1),
    ("[[forgotten]]", FAILED, 1),
    ("[[no-video]]", FAILED, 1),
    ("[[expired-link]]", Ok(()), 1),
    ("[[dead-link]]", NO_COPY, 1),
    ("[[foreign-link]]", NO_COPY, 1),
    ("[[private-link]]", NO_COPY, 1),
    ("[[wrong-type]]", NO_COPY, 1),
    ("[[truncated-file]]", NO_COPY, 1),
    ("[[delivery-503]]", Ok(()), 1),
];

/// Faults that only the time limit ends.
const ENDLESS: [&str; 4] = ["[[queued]]", "[[never-ready]]", "[[submit-hang]]", "[[429]]"];

/// Words that would reveal the provider or the operator's account to a client.
const SECRETS: &[&str] =
    &["sandbox-key", "Bearer", "127.0.0.1", "DashScope", "dashscope", "wan2", "API-key", "169.254"];

#[test]
fn the_table_lists_every_fault_of_the_provider() {
    let rows = FAULTS.iter().map(|(row, ..)| *row).chain(ENDLESS);
    expect_listed(gatehouse_sandbox::dashscope::MARKERS, rows);
}

#[test]
fn every_fault_has_its_outcome() {
    run(async {
        let gateway = TestGateway::start().await;
        let looks =
            FAULTS.iter().flat_map(|row| [text26(json!({})), text27(json!({}))].map(|body| (row, body)));
        expect_all(looks.map(|(row, body)| check_row(&gateway, body, row))).await;
        gateway.process.expect_sound_ledger().await;
    });
}

async fn check_row(gateway: &TestGateway, mut body: Value, row: &Row) -> Result<(), String> {
    let prompt = format!("{} flies {}", body["model"].as_str().unwrap_or_default(), row.0);
    body["prompt"] = prompt.clone().into();
    let task = gateway.finish(&body).await;
    let record = gateway.sandbox.dashscope_record();
    let is_of = |body: &Value| body["input"]["prompt"] == prompt.as_str();
    let accepted = record.tasks.iter().filter(|task| is_of(&task.body)).count();
    let refused = record.declined.iter().filter(|declined| is_of(&declined.body)).count();
    judge(row, &task, is_paid(&task), Seen { accepted, refused }, SECRETS)
}

#[test]
fn a_task_that_never_ends_fails_at_its_limit() {
    run(expect_time_limit(ENDLESS.map(|marker| text27(json!({"prompt": marker})))));
}

#[test]
fn a_client_cancels_what_still_waits() {
    run(async {
        let gateway = TestGateway::start().await;
        let cancel = async |id: &str| gateway.caller.cancel(id).await;
        let running = gateway.submit(&text27(json!({"prompt": "[[never-ready]]"}))).await.task_id();
        let queued = gateway.submit(&text27(json!({"prompt": "[[queued]]"}))).await.task_id();
        for (id, status) in [(&running, "processing"), (&queued, "pending")] {
            let mut task = gateway.caller.task(id).await;
            while task["progress"] == 0 {
                task = gateway.caller.task(id).await;
            }
            assert_eq!(task["status"], status, "{task}");
        }
        // The provider has no way to stop what it has begun, so the task goes on.
        assert_eq!(cancel(&running).await.status, 409);
        assert_eq!(gateway.caller.task(&running).await["status"], "processing");
        // Refused while a poll is under way.
        let cancelled =
            || gateway.sandbox.dashscope_record().tasks.iter().filter(|task| task.cancelled).count();
        let mut last = 0;
        while cancelled() == 0 {
            last = cancel(&queued).await.status;
        }
        assert_eq!(last, 202, "its provider is asked");
        let task = gateway.caller.end_of(&queued).await;
        assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
        assert_eq!(task["error"]["type"], "cancelled", "{task}");
        assert_eq!(cancelled(), 1);
    });
}

//! Every fault of the simulated data plane, and the task's outcome for the client.
//!
//! Whatever the provider does, a failed task costs nothing. Its reason never shows the operator's account, a secret or the
//! provider's names, and never blames the client for a provider's failure. What may have been accepted is never sent again.

use gatehouse_harness::{run, until};
use gatehouse_sandbox::Target;
use gatehouse_sandbox::ark::faults::MARKERS;
use serde_json::json;

use super::text;
use crate::faults::{expect_all, expect_listed};
use crate::video::outcomes::{FAILED, LOST, NO_COPY, Row, Seen, UNAVAILABLE, judge};
use crate::video::{TestGateway, film_of};

const MODERATION: &str = "content_policy_violation";

/// The marker, the outcome, and how often the provider saw the creation.
const FAULTS: &[Row] = &[
    ("[[401]]", UNAVAILABLE, 1),
    ("[[403-overdue]]", UNAVAILABLE, 1),
    ("[[403]]", UNAVAILABLE, 1),
    ("[[404-model]]", UNAVAILABLE, 1),
    ("[[404-endpoint]]", UNAVAILABLE, 1),
    ("[[400]]", Err(("invalid_request_error", "The parameter content is not valid")), 1),
    ("[[moderated-text]]", Err((MODERATION, "the prompt was stopped by input moderation")), 1),
    ("[[moderated-image]]", Err((MODERATION, "an image was stopped by input moderation")), 1),
    ("[[moderated-face]]", Err((MODERATION, "it may show a real person")), 1),
    ("[[moderated-policy]]", Err((MODERATION, "it may violate a policy")), 1),
    ("[[moderated-video]]", Err((MODERATION, "a reference video was stopped by input moderation")), 1),
    ("[[429:2]]", Ok(()), 3),
    ("[[429-model:1]]", Ok(()), 2),
    ("[[429-quota:1]]", Ok(()), 2),
    ("[[429-overloaded:1]]", Ok(()), 2),
    ("[[429-loading:1]]", Ok(()), 2),
    ("[[500]]", FAILED, 1),
    ("[[503-html]]", FAILED, 1),
    ("[[submit-reset]]", LOST, 0),
    ("[[garbage-submit]]", FAILED, 1),
    ("[[submit-cut]]", LOST, 1),
    ("[[slow:300]]", Ok(()), 1),
    ("[[first-poll-404:3]]", Ok(()), 1),
    ("[[first-poll-404:9]]", FAILED, 1),
    ("[[poll-500:3]]", Ok(()), 1),
    ("[[poll-500:20]]", FAILED, 1),
    ("[[poll-429:3]]", Ok(()), 1),
    ("[[poll-401]]", UNAVAILABLE, 1),
    ("[[malformed-json]]", Ok(()), 1),
    ("[[unknown-status]]", Ok(()), 1),
    ("[[moderated-output]]", Err((MODERATION, "the generated video was stopped by output moderation")), 1),
    ("[[moderated-output-policy]]", Err((MODERATION, "it may violate a policy")), 1),
    ("[[moderated-audio]]", Err((MODERATION, "the generated audio was stopped by output moderation")), 1),
    ("[[error]]", FAILED, 1),
    ("[[expired]]", Err(("upstream_error", "did not finish the video in time")), 1),
    ("[[cancelled]]", Err(("upstream_error", "was cancelled at the upstream")), 1),
    ("[[no-last-frame]]", Ok(()), 1),
    ("[[dead-frame]]", Ok(()), 1),
    ("[[dead-link]]", NO_COPY, 1),
    ("[[foreign-link]]", NO_COPY, 1),
    ("[[private-link]]", NO_COPY, 1),
    ("[[wrong-type]]", NO_COPY, 1),
    ("[[delivery-503]]", Ok(()), 1),
];

/// Faults that only the time limit ends, and those of the control plane.
const OTHERS: [&str; 5] = ["never-ready", "always-queued", "submit-hang", "no-plan", "reject"];

/// Words that would reveal the provider or the operator's account to a client.
const SECRETS: &[&str] = &[
    "sandbox-key",
    "Bearer",
    "127.0.0.1",
    "doubao",
    "seedance",
    "volc",
    "2100000001",
    "Request id",
    "169.254",
];

#[test]
fn the_table_lists_every_fault_of_the_provider() {
    let all = MARKERS.iter().filter(|marker| !OTHERS.contains(&marker.name));
    expect_listed(all, FAULTS.iter().map(|(row, ..)| *row));
    assert!(MARKERS.iter().any(|marker| marker.group == Target::Ending));
}

#[test]
fn every_fault_has_its_outcome() {
    run(async {
        let gateway = TestGateway::start().await;
        expect_all(FAULTS.iter().map(|row| check_row(&gateway, row))).await;
        gateway.process.expect_sound_ledger().await;
    });
}

async fn check_row(gateway: &TestGateway, row: &Row) -> Result<(), String> {
    let prompt = format!("a red kite {}", row.0);
    let task = gateway
        .finish(&text(json!({"prompt": prompt, "resolution": "480p", "return_last_frame": true})))
        .await;
    let is_completed =
        task["status"] == "completed" && film_of(&task).await.milliseconds == 5000 && task["cost"] == 20.0;
    let record = gateway.sandbox.ark_record();
    let accepted = record.submits.iter().filter(|submit| submit.prompt == prompt).count();
    let refused = record.declined.iter().filter(|declined| declined.prompt == prompt).count();
    // Results are links to the gateway itself: secrets are looked for in what it says.
    judge(row, &task, is_completed, Seen { accepted, refused }, SECRETS)
}

#[test]
fn a_queued_video_is_cancelled_at_the_provider_and_a_running_one_goes_on() {
    run(async {
        let gateway = TestGateway::start().await;
        let start = async |prompt: &str, wanted: &str| {
            let id = gateway.submit(&text(json!({"prompt": prompt}))).await.task_id();
            until(wanted, async || gateway.caller.task(&id).await["status"] == wanted).await;
            id
        };
        let cancel = async |id: &str| gateway.caller.cancel(id).await.status;
        let queued = start("a kite [[always-queued]]", "pending").await;
        until("cancelled", async || {
            cancel(&queued).await;
            gateway.caller.task(&queued).await["status"] == "failed"
        })
        .await;
        assert_eq!(gateway.caller.task(&queued).await["cost"], 0.0);
        assert!(super::seen(&gateway, "a kite [[always-queued]]").cancelled);
        let running = start("a kite [[never-ready]]", "processing").await;
        assert_eq!(cancel(&running).await, 409);
        assert_eq!(gateway.caller.task(&running).await["status"], "processing");
        assert!(!super::seen(&gateway, "a kite [[never-ready]]").cancelled);
    });
}

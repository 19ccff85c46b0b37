//! Every fault of the simulated provider, and the task's outcome for the client, through the whole gateway.
//!
//! Whatever the provider does, a failed task costs nothing. Its reason never shows the operator's account or
//! a secret, and never blames the client for a provider's failure.

use gatehouse_harness::{run, send_to};
use serde_json::{Value, json};

use crate::api::{TestGateway, expect_time_limit, request};
use crate::faults::{Failed, expect_all, expect_listed, has_failed, verdict};

/// Completed, or failed with this `error.type` and these words in the message.
type End = Result<(), Failed>;

const FAULTS: &[(&str, End)] = &[
    ("[[moderated-input]]", Err(("content_policy_violation", &["moderat"]))),
    ("[[moderated-output]]", Err(("content_policy_violation", &["moderat"]))),
    ("[[error]]", Err(("upstream_error", &[]))),
    ("[[402]]", Err(("upstream_error", &["No available upstream"]))),
    ("[[403]]", Err(("upstream_error", &["No available upstream"]))),
    ("[[422]]", Err(("invalid_request_error", &["prompt"]))),
    ("[[500]]", Err(("upstream_error", &[]))),
    ("[[503-html]]", Err(("upstream_error", &[]))),
    ("[[garbage-submit]]", Err(("upstream_error", &[]))),
    ("[[submit-cut]]", Err(("upstream_error", &[]))),
    ("[[foreign-poll]]", Err(("upstream_error", &[]))),
    ("[[429:2]]", Ok(())),
    ("[[slow:50]]", Ok(())),
    ("[[first-poll-404]]", Ok(())),
    ("[[first-poll-404:3]]", Ok(())),
    ("[[poll-404]]", Err(("upstream_error", &[]))),
    ("[[poll-500:2]]", Ok(())),
    ("[[malformed-json]]", Ok(())),
    ("[[unknown-status]]", Ok(())),
    ("[[expired-link]]", Ok(())),
    ("[[dead-link]]", Err(("upstream_error", &[]))),
    ("[[foreign-link]]", Err(("upstream_error", &[]))),
    ("[[private-link]]", Err(("upstream_error", &[]))),
    ("[[wrong-type]]", Err(("upstream_error", &[]))),
    ("[[truncated-image]]", Err(("upstream_error", &[]))),
    ("[[delivery-503]]", Ok(())),
];

/// Words that would reveal the operator's account to a client.
const SECRETS: &[&str] = &["sandbox-key", "x-key", "127.0.0.1", "credits", "Not authenticated", "169.254"];

/// Faults that only the time limit ends.
const ENDLESS: [&str; 3] = ["[[never-ready]]", "[[submit-hang]]", "[[429]]"];

#[test]
fn the_table_lists_every_fault_of_the_provider() {
    expect_listed(gatehouse_sandbox::context::MARKERS, FAULTS.iter().map(|(row, _)| *row).chain(ENDLESS));
}

#[test]
fn every_fault_has_its_outcome() {
    run(async {
        let gateway = TestGateway::start().await;
        expect_all(FAULTS.iter().map(|(marker, end)| check_row(&gateway, marker, end))).await;
        gateway.process.expect_sound_ledger().await;
    });
}

async fn check_row(gateway: &TestGateway, marker: &str, end: &End) -> Result<(), String> {
    let task = gateway.finish(&request(json!({"prompt": format!("a red kite {marker}")}))).await;
    let is_right = match end {
        Ok(()) => task["status"] == "completed" && task["cost"] == 4.0,
        Err((kind, words)) => has_failed(&task, kind, words),
    };
    verdict(marker, &task, is_right, SECRETS)
}

#[test]
fn a_job_that_never_ends_fails_at_its_limit_and_is_refunded() {
    run(expect_time_limit(ENDLESS.map(|marker| request(json!({"prompt": marker})))));
}

#[test]
fn a_failed_job_costs_nothing_and_a_completed_one_its_price() {
    run(async {
        let gateway = TestGateway::start().await;
        let before = gateway.process.account("acme").await;
        gateway.finish(&request(json!({}))).await;
        gateway.finish(&request(json!({"model": "ctx-max"}))).await;
        gateway.finish(&request(json!({"prompt": "[[error]]"}))).await;
        gateway.finish(&request(json!({"n": 2}))).await;
        let after = gateway.process.account("acme").await;
        let micro = |account: &Value, field: &str| account[field].as_i64().expect("micro-credits");
        assert_eq!(micro(&before, "available") - micro(&after, "available"), 12_000_000);
        assert_eq!((micro(&after, "reserved"), micro(&after, "spent")), (0, 12_000_000));
    });
}

#[test]
fn the_copy_outlives_the_providers_link() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&request(json!({}))).await;
        let link = task["result"]["images"][0]["url"][0].as_str().expect("a link").to_owned();
        let TestGateway { process, sandbox, .. } = gateway;
        sandbox.stop().await;
        assert_eq!(send_to(&link, &[]).await.status, 200);
        drop(process);
    });
}

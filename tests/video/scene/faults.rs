//! Every fault of the simulated Veo, and the task's outcome for the client.
//!
//! Whatever the provider does, a failed task costs nothing. Its reason never shows the operator's account or a secret, and
//! never blames the client for a provider's failure. What may have been begun is never sent again.

use gatehouse_harness::run;
use serde_json::{Value, json};

use super::text;
use crate::faults::{expect_all, expect_listed};
use crate::video::TestGateway;
use crate::video::outcomes::{
    End, FAILED, LOST, NO_COPY, Row, Seen, UNAVAILABLE, expect_time_limit, is_paid, judge,
};

const MODERATED: End = Err(("content_policy_violation", "content moderation: violence"));
const REFUSED: End =
    Err(("invalid_request_error", "the upstream refused the request: seed is not acceptable"));
const PRIVATE: End = Err(("invalid_request_error", "the upstream refused the request"));

/// The marker, the outcome, and how often the provider saw the submission (begun or refused).
const FAULTS: &[Row] = &[
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
const DOWNLOADS: &[Row] = &[
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
    let rows = FAULTS.iter().chain(DOWNLOADS).map(|(row, ..)| *row).chain(ENDLESS);
    expect_listed(gatehouse_sandbox::veo::MARKERS, rows);
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
        let bucket = "[plugins.settings.scene]\nstorage_uri = \"gs://films/scene/\"\n";
        let gateway = TestGateway::start_with(bucket).await;
        check_rows(&gateway, FAULTS.iter().chain(DOWNLOADS)).await;
    });
}

async fn check_rows(gateway: &TestGateway, rows: impl Iterator<Item = &'static Row>) {
    expect_all(rows.map(|row| check_row(gateway, row))).await;
    gateway.process.expect_sound_ledger().await;
}

async fn check_row(gateway: &TestGateway, row: &Row) -> Result<(), String> {
    let prompt = format!("a red kite flies {}", row.0);
    let task = gateway.finish(&text(json!({"prompt": prompt}))).await;
    let record = gateway.sandbox.veo_record();
    let is_of = |body: &Value| body["instances"][0]["prompt"] == prompt.as_str();
    let accepted = record.operations.iter().filter(|begun| is_of(&begun.body)).count();
    let refused = record.declined.iter().filter(|declined| is_of(&declined.body)).count();
    judge(row, &task, is_paid(&task), Seen { accepted, refused }, SECRETS)
}

#[test]
fn a_task_that_never_ends_fails_at_its_limit() {
    run(expect_time_limit(ENDLESS.map(|marker| text(json!({"prompt": marker})))));
}

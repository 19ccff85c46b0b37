//! Every fault of the simulated image API, and the task's outcome for the client, through the whole gateway.
//!
//! Whatever the provider does, a failed task costs nothing. Its reason never shows the operator's account or
//! a secret, and never blames the client for a provider's failure.

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::api::{TestGateway, expect_time_limit, imagine_request};
use crate::faults::{Failed, expect_all, expect_listed, has_failed, verdict};

/// Completed with so many of three images, or failed with this `error.type` and these words in the message.
type End = Result<usize, Failed>;

const MODERATED: End = Err(("content_policy_violation", &["moderation"]));
/// The operator's account, in whatever words the provider refuses it.
const UNAVAILABLE: End = Err(("upstream_error", &["No available upstream"]));
const FAILED: End = Err(("upstream_error", &["failed to generate"]));
const UNFETCHED: End = Err(("upstream_error", &["could not be fetched"]));

const FAULTS: &[(&str, End)] = &[
    ("[[400-key]]", UNAVAILABLE),
    ("[[401]]", UNAVAILABLE),
    ("[[403]]", UNAVAILABLE),
    ("[[403-credits]]", UNAVAILABLE),
    ("[[429-credits]]", UNAVAILABLE),
    ("[[400-prompt]]", Err(("invalid_request_error", &["refused the request", "Prompt length"]))),
    ("[[400-nested]]", Err(("invalid_request_error", &["refused the request", "style of prompt"]))),
    ("[[400-fetch]]", Err(("invalid_request_error", &["refused the request", "image"]))),
    ("[[403-content]]", MODERATED),
    ("[[moderated]]", MODERATED),
    ("[[moderated-old]]", MODERATED),
    ("[[blocked-input]]", MODERATED),
    ("[[filtered-all]]", MODERATED),
    ("[[filtered:3]]", MODERATED),
    ("[[filtered:2]]", Ok(1)),
    ("[[filtered:1]]", Ok(2)),
    ("[[filtered:0]]", Ok(3)),
    ("[[empty]]", FAILED),
    ("[[404]]", FAILED),
    ("[[422]]", FAILED),
    ("[[500]]", FAILED),
    ("[[502-html]]", FAILED),
    ("[[503]]", FAILED),
    ("[[garbage]]", FAILED),
    ("[[cut]]", Err(("upstream_error", &["answer was lost"]))),
    ("[[429:2]]", Ok(3)),
    ("[[slow:50]]", Ok(3)),
    ("[[b64]]", Ok(3)),
    ("[[b64-head]]", Ok(3)),
    ("[[one-dead-link]]", Ok(2)),
    ("[[dead-link]]", UNFETCHED),
    ("[[foreign-link]]", UNFETCHED),
    ("[[private-link]]", UNFETCHED),
    ("[[wrong-type]]", UNFETCHED),
    ("[[truncated-image]]", UNFETCHED),
    ("[[file-503]]", Ok(3)),
];

/// Words that would reveal the operator's account, or the provider, to a client.
const SECRETS: &[&str] =
    &["sandbox-key", "127.0.0.1", "redit", "API key", "team", "Team", "x.ai", "grok", "<html>", "169.254"];

/// Faults that only the time limit ends.
const ENDLESS: [&str; 2] = ["[[hang]]", "[[429]]"];

#[test]
fn the_table_lists_every_fault_of_the_provider() {
    expect_listed(gatehouse_sandbox::imagine::MARKERS, FAULTS.iter().map(|(row, _)| *row).chain(ENDLESS));
}

#[test]
fn every_fault_has_its_outcome() {
    run(async {
        let gateway = TestGateway::start().await;
        let before = gateway.process.account("acme").await;
        expect_all(FAULTS.iter().map(|(marker, end)| check_row(&gateway, marker, end))).await;
        // Two credits an image, for those that were handed over.
        let images: usize = FAULTS.iter().filter_map(|(_, end)| end.as_ref().ok()).sum();
        let after = gateway.process.account("acme").await;
        let micro = |account: &Value, field: &str| account[field].as_u64().expect("micro-credits");
        let cost = 2_000_000 * images as u64;
        assert_eq!(micro(&before, "available") - micro(&after, "available"), cost);
        assert_eq!((micro(&after, "reserved"), micro(&after, "spent")), (0, cost));
        gateway.process.expect_sound_ledger().await;
    });
}

async fn check_row(gateway: &TestGateway, marker: &str, end: &End) -> Result<(), String> {
    let body = imagine_request(json!({"prompt": format!("a red kite {marker}"), "n": 3}));
    let task = gateway.finish(&body).await;
    let is_right = match end {
        Ok(images) => {
            let links = task["result"]["images"][0]["url"].as_array().map_or(0, Vec::len);
            task["status"] == "completed" && task["cost"] == 2.0 * *images as f64 && links == *images
        }
        Err((kind, words)) => has_failed(&task, kind, words),
    };
    verdict(marker, &task, is_right, SECRETS)
}

#[test]
fn a_call_that_never_ends_fails_at_its_limit_and_is_refunded() {
    run(expect_time_limit(ENDLESS.map(|marker| imagine_request(json!({"prompt": marker})))));
}

#[test]
fn a_call_slower_than_the_provider_may_be_is_lost_and_never_repeated() {
    run(async {
        let limit = "[providers.xai]\ntotal_timeout_ms = 200\n";
        let gateway = TestGateway::start_with(limit).await;
        let task = gateway.finish(&imagine_request(json!({"prompt": "[[hang]]"}))).await;
        let message = "the upstream's answer was lost, please submit the task again";
        assert_eq!(
            task["error"],
            json!({"type": "upstream_error", "code": "task_failed", "message": message}),
            "{task}"
        );
        assert_eq!(task["cost"], 0.0);
        assert_eq!(gateway.sandbox.imagine_record().count, 1);
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn calls_that_were_not_accepted_are_sent_again_and_billed_once() {
    run(async {
        let gateway = TestGateway::start().await;
        let task = gateway.finish(&imagine_request(json!({"prompt": "[[429:3]]", "n": 2}))).await;
        assert!(task["status"] == "completed" && task["cost"] == 4.0, "{task}");
        let calls = gateway.sandbox.imagine_record().calls;
        let statuses: Vec<_> = calls.iter().map(|call| call.status).collect();
        assert_eq!(statuses, [Some(429), Some(429), Some(429), Some(200)]);
        assert!(calls.iter().all(|call| call.body == calls[0].body));
    });
}

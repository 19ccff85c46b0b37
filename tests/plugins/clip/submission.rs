//! The answers to the submission: it is sent once, and again only when it certainly was not accepted.

use gatehouse_sdk::{Blame, Replay, Reply, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::clip::{FAILED, TASK, accepted, error, play, sent, taken};
use crate::tasks::{UNAVAILABLE, is_never_sent_twice, is_sent_for_five_minutes, seconds, sent_again};

#[test]
fn an_accepted_submission_is_pending() {
    play(&taken(json!({})).expect_stage(Stage::Pending).expect_progress(5));
    let once = accepted(json!({})).start().expect_call(|call| assert_eq!(call.replay, Replay::Once));
    play(&once.expect_stage(Stage::Submitted));
}

fn ends(status: u16, body: Value, blame: Blame, message: &str) {
    play(&sent(json!({})).reply(status, body).expect_fail(blame, message));
}

#[test]
fn the_operators_account_is_never_the_clients_fault() {
    for (status, code) in [
        (401, "AuthenticationError"),
        (403, "AccountOverdueError"),
        (403, "AccessDenied"),
        (404, "InvalidEndpointOrModel.NotFound"),
        (404, "ModelNotOpen"),
    ] {
        ends(status, error(code, "the account 2100 is in arrears"), Blame::Account, UNAVAILABLE);
    }
    ends(401, json!({}), Blame::Account, UNAVAILABLE);
    ends(402, json!({}), Blame::Account, UNAVAILABLE);
}

#[test]
fn the_request_is_the_clients() {
    let message = "the parameter resolution 4k is not valid for clip-2.0";
    let said = "the parameter resolution 4k is not valid for doubao-seedance-2-0-260128.";
    ends(400, error("InvalidParameter", said), Blame::Request, message);
    ends(400, error("MissingParameter", "content is missing"), Blame::Request, "content is missing");
    let mut located = error("InvalidParameter", "expected at least 300 px");
    located["error"]["param"] = json!("content[1].image_url.url");
    let message = "expected at least 300 px (at content[1].image_url.url)";
    ends(400, located, Blame::Request, message);
    let unknown = "the specified asset asset-1 is not found";
    ends(400, error("InvalidParameter", unknown), Blame::Request, unknown);
}

#[test]
fn moderation_names_what_was_stopped() {
    for (code, message) in [
        ("InputTextSensitiveContentDetected", "the prompt was stopped by input moderation"),
        ("InputImageSensitiveContentDetected", "an image was stopped by input moderation"),
        (
            "InputImageSensitiveContentDetected.PrivacyInformation",
            "an image was stopped by input moderation: it may show a real person",
        ),
        (
            "InputVideoSensitiveContentDetected.PolicyViolation",
            "a reference video was stopped by input moderation: it may violate a policy, such as a copyright",
        ),
    ] {
        ends(400, error(code, "in words of its own"), Blame::Moderation, message);
    }
}

/// A queue that these enter holds the task and its money until the deadline, and a client would read whose account it is.
#[test]
fn what_waiting_does_not_mend_ends_the_task() {
    for (status, code, message) in [
        (429, "SetLimitExceeded", "Your account 2100000001 has reached the inference limit"),
        (429, "QuotaExceeded", "The free trial quota of account 2100000001 is used up"),
        (400, "InvalidSubscription", "Account 2100000001: see https://console.volcengine.com/ark"),
        (403, "AccountOverdueError", "The account 2100000001 has an overdue balance"),
        (404, "InvalidEndpoint.ClosedEndpoint", "The endpoint ep-1 is closed"),
    ] {
        ends(status, error(code, message), Blame::Account, UNAVAILABLE);
    }
    for code in ["ContentSecurityDetectionError", "SomethingNew"] {
        ends(400, error(code, "account 2100000001"), Blame::Upstream, FAILED);
    }
}

#[test]
fn the_providers_faults_are_its_own() {
    ends(500, error("InternalServiceError", "shard 7 burns"), Blame::Upstream, FAILED);
    ends(503, json!({}), Blame::Upstream, FAILED);
    ends(302, json!({}), Blame::Upstream, FAILED);
    ends(404, json!({}), Blame::Upstream, FAILED);
    ends(200, json!({}), Blame::Upstream, FAILED);
    ends(200, json!({"id": ""}), Blame::Upstream, FAILED);
    ends(200, json!({"id": "../../files"}), Blame::Upstream, FAILED);
    for (status, html) in [(400, "<html>"), (502, "<html>bad gateway</html>"), (200, "{\"id\": ")] {
        play(&sent(json!({})).reply_whole(Reply::raw(status, html)).expect_fail(Blame::Upstream, FAILED));
    }
}

#[test]
fn a_lost_answer_is_never_sent_again() {
    is_never_sent_twice(|| sent(json!({})), play);
}

/// Turned away, and sent again after `wait` seconds.
fn busy(script: Script, code: &str, wait: u64) -> Script {
    let waits = script.reply(429, error(code, "slow down")).expect_stage(Stage::Pending);
    sent_again(waits, wait).expect_stage(Stage::Pending)
}

#[test]
fn too_many_requests_keep_it_queued_until_the_deadline() {
    let codes = [
        "RateLimitExceeded.EndpointRPMExceeded",
        "ModelAccountRpmRateLimitExceeded",
        "QuotaExceeded",
        "ServerOverloaded",
        "ModelLoadingError",
    ];
    let mut script = sent(json!({}));
    for (code, wait) in codes.into_iter().zip([2, 4, 8, 16, 30]) {
        script = busy(script, code, wait);
    }
    for _ in 0..60 {
        script = busy(script, "", 30);
    }
    play(&script.reply(200, json!({"id": TASK})).expect_wait(seconds(2)));
}

#[test]
fn an_unreachable_provider_is_retried_for_five_minutes() {
    is_sent_for_five_minutes(sent(json!({})), play);
}

#[test]
fn a_waiting_submission_can_be_cancelled() {
    let cancelled = "cancelled before it was sent";
    let resting = sent(json!({})).reply(429, json!({})).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, cancelled));
    play(&accepted(json!({})).cancel().expect_fail(Blame::Request, cancelled));
    // The outcome of the sent call is unknown: the task continues.
    play(&sent(json!({})).cancel().expect_wait(seconds(1800)));
}

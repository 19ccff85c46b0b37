//! The answers to the submission: it is sent once, and again only when it certainly was not accepted.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Reply, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::context_image::{POLLING_URL, play, sent, taken};

const FAILED: &str = "the upstream failed to generate the image";
const UNAVAILABLE: &str = "No available upstream, please retry later";
const LOST: &str = "the upstream's answer was lost, please submit the task again";

fn seconds(wait: u64) -> impl Fn(&Duration) {
    move |came| assert_eq!(*came, Duration::from_secs(wait))
}

#[test]
fn an_accepted_submission_is_pending() {
    play(&taken().expect_stage(Stage::Pending).expect_progress(0));
}

#[test]
fn answers_that_end_the_task() {
    let end = |status: u16, body: Value, blame: Blame, message: &str| {
        play(&sent().reply(status, body).expect_fail(blame, message));
    };
    // The operator's account, in whatever words.
    end(402, json!({"detail": "Insufficient credits"}), Blame::Account, UNAVAILABLE);
    let key = "Not authenticated - Invalid Authentication";
    end(403, json!({"detail": key}), Blame::Account, UNAVAILABLE);
    end(401, json!({}), Blame::Account, UNAVAILABLE);
    end(422, json!({"detail": "Invalid API key format"}), Blame::Account, UNAVAILABLE);
    end(429, json!({"detail": "Insufficient credits"}), Blame::Account, UNAVAILABLE);
    // The request.
    let detail =
        json!([{"loc": ["body", "safety_tolerance"], "msg": "Input should be at most 6", "input": 9}]);
    end(422, json!({"detail": detail}), Blame::Request, "`safety_tolerance`: Input should be at most 6");
    end(400, json!({"detail": "Unsupported image"}), Blame::Request, "Unsupported image");
    end(400, json!({"detail": "Account 7 has none"}), Blame::Request, "the upstream answered HTTP 400");
    end(400, json!({}), Blame::Request, "the upstream answered HTTP 400");
    // The provider.
    end(500, json!({"detail": "boom"}), Blame::Upstream, FAILED);
    end(503, json!({}), Blame::Upstream, FAILED);
    end(302, json!({}), Blame::Upstream, FAILED);
    end(404, json!({"detail": "Not Found"}), Blame::Upstream, FAILED);
    end(200, json!({}), Blame::Upstream, FAILED);
    end(
        200,
        json!({"id": "5f0c", "polling_url": "//x.example/v1/get_result?id=5f0c"}),
        Blame::Upstream,
        FAILED,
    );
    let html = Reply::raw(502, "<html>bad gateway</html>");
    play(&sent().reply_whole(html).expect_fail(Blame::Upstream, FAILED));
    let broken = Reply::raw(200, "{\"id\": ");
    play(&sent().reply_whole(broken).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn never_repeats_a_submission_after_a_lost_answer() {
    for outage in [Outage::Timeout, Outage::Broken, Outage::TooLarge] {
        play(&sent().outage(outage).expect_fail(Blame::Upstream, LOST));
    }
    play(&sent().outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

/// Turned away with 429, and sent again after `wait` seconds.
fn busy(script: Script, wait: u64) -> Script {
    script
        .reply(429, json!({"detail": "too many tasks"}))
        .expect_wait(seconds(wait))
        .expect_stage(Stage::Pending)
        .timer()
        .expect_call(|call| assert_eq!(call.method, "POST"))
        .expect_stage(Stage::Pending)
}

#[test]
fn too_many_tasks_keep_it_queued_until_the_deadline() {
    let mut script = sent();
    for wait in [2, 4, 8, 16] {
        script = busy(script, wait);
    }
    // Half an hour of 30 s rests: the host's deadline ends it, never the family.
    for _ in 0..60 {
        script = busy(script, 30);
    }
    play(&script.reply(200, json!({"id": "5f0c", "polling_url": POLLING_URL})).expect_wait(seconds(2)));
}

fn unreachable(script: Script, wait: u64) -> Script {
    script
        .outage(Outage::Unreachable)
        .expect_wait(seconds(wait))
        .timer()
        .expect_call(|call| assert_eq!(call.method, "POST"))
}

#[test]
fn retries_an_unreachable_provider_for_five_minutes() {
    let mut script = sent();
    for wait in [2, 4, 8, 16] {
        script = unreachable(script, wait);
    }
    for _ in 0..9 {
        script = unreachable(script, 30);
    }
    // 2 + 4 + 8 + 16 + 9 * 30 = 300 seconds since the first outage.
    play(&script.outage(Outage::Unreachable).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn any_answer_restarts_the_five_minutes() {
    let mut script = sent();
    for wait in [2, 4, 8, 16] {
        script = unreachable(script, wait);
    }
    for _ in 0..8 {
        script = unreachable(script, 30);
    }
    script = busy(script, 30);
    play(&unreachable(script, 30));
}

#[test]
fn cancels_a_waiting_submission() {
    let resting = sent().reply(429, json!({})).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, "cancelled before it was sent"));
    // The outcome of the sent call is unknown: the task continues.
    play(&sent().cancel().expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(1800))));
}

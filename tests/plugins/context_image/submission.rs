//! The answers to the submission: it is sent once, and again only when it certainly was not accepted.

use gatehouse_sdk::{Blame, Reply, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::context_image::{POLLING_URL, play, sent, taken};
use crate::tasks::{
    UNAVAILABLE, is_never_sent_twice, is_sent_for_five_minutes, seconds, sent_again, unreachable,
};

const FAILED: &str = "the upstream failed to generate the image";

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
    is_never_sent_twice(sent, play);
}

/// Turned away with 429, and sent again after `wait` seconds.
fn busy(script: Script, wait: u64) -> Script {
    let waits = script.reply(429, json!({"detail": "too many tasks"})).expect_stage(Stage::Pending);
    sent_again(waits, wait).expect_stage(Stage::Pending)
}

#[test]
fn too_many_tasks_keep_it_queued_until_the_deadline() {
    // Half an hour of 30 s rests: the host's deadline ends it, never the family.
    let script = [2, 4, 8, 16].into_iter().chain([30; 60]).fold(sent(), busy);
    play(&script.reply(200, json!({"id": "5f0c", "polling_url": POLLING_URL})).expect_wait(seconds(2)));
}

#[test]
fn retries_an_unreachable_provider_for_five_minutes() {
    is_sent_for_five_minutes(sent(), play);
}

#[test]
fn any_answer_restarts_the_five_minutes() {
    let script = unreachable(sent(), [2, 4, 8, 16].into_iter().chain([30; 8]));
    play(&unreachable(busy(script, 30), [30]));
}

#[test]
fn cancels_a_waiting_submission() {
    let resting = sent().reply(429, json!({})).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, "cancelled before it was sent"));
    // The outcome of the sent call is unknown: the task continues.
    play(&sent().cancel().expect_wait(seconds(1800)));
}

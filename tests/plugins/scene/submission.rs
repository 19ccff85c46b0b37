//! The answers to the submission: it is sent once, and again only when it certainly was not accepted.

use gatehouse_sdk::{Blame, Reply, Stage};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::scene::{FAILED, OPERATION, play, sent, taken, text};
use crate::tasks::{UNAVAILABLE, is_never_sent_twice, is_sent_for_five_minutes, seconds, sent_again};

fn error(status: u16, name: &str, message: &str) -> Value {
    json!({"error": {"code": status, "status": name, "message": message}})
}

fn begun() -> Script {
    sent(text(json!({})))
}

#[test]
fn an_accepted_submission_is_processed() {
    play(&taken(text(json!({}))).expect_stage(Stage::Processing).expect_progress(10));
}

#[test]
fn answers_that_end_the_task() {
    let end = |status: u16, body: Value, blame: Blame, message: &str| {
        play(&begun().reply(status, body).expect_fail(blame, message));
    };
    for (status, name) in [
        (400, "FAILED_PRECONDITION"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (402, ""),
    ] {
        end(status, error(status, name, "project p"), Blame::Account, UNAVAILABLE);
    }
    let invalid = error(400, "INVALID_ARGUMENT", "parameters.durationSeconds must be 8");
    let shown = "the upstream refused the request: duration must be 8";
    end(400, json!([invalid]), Blame::Request, shown);
    end(400, invalid, Blame::Request, shown);
    let private = error(400, "INVALID_ARGUMENT", "Project p cannot use veo-3.1-generate-001");
    end(400, private, Blame::Request, "the upstream refused the request");
    let blocked = error(400, "INVALID_ARGUMENT", "It violates the guidelines. Support codes: 61493863");
    let moderated = "the request or the generated video was stopped by content moderation: violence";
    end(400, blocked, Blame::Moderation, moderated);
    for (status, body) in [
        (500, error(500, "INTERNAL", "boom")),
        (503, error(503, "UNAVAILABLE", "x")),
        (504, json!({})),
        (302, json!({})),
        (400, json!({})),
        (200, json!({})),
        (200, json!({"name": 5})),
        (200, json!({"name": "../operations/x"})),
        (200, json!({"name": "/models/x/operations/y"})),
    ] {
        end(status, body, Blame::Upstream, FAILED);
    }
    play(&begun().reply_whole(Reply::raw(503, "<html></html>")).expect_fail(Blame::Upstream, FAILED));
    play(&begun().reply_whole(Reply::raw(200, "{\"name\": ")).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn never_repeats_a_submission_after_a_lost_answer() {
    is_never_sent_twice(begun, play);
}

#[test]
fn throttled_submissions_are_sent_again() {
    let mut script = begun();
    for wait in [2, 4, 8, 16, 30, 30] {
        script = sent_again(script.reply(429, error(429, "RESOURCE_EXHAUSTED", "quota")), wait);
    }
    play(&script.expect_stage(Stage::Pending).reply(200, json!({"name": OPERATION})).expect_wait(|_| ()));
}

#[test]
fn retries_an_unreachable_provider_for_five_minutes() {
    is_sent_for_five_minutes(begun(), play);
}

#[test]
fn cancels_a_waiting_submission() {
    let resting = begun().reply(429, json!({})).expect_wait(|_| ());
    play(&resting.cancel().expect_fail(Blame::Request, "cancelled before it was started"));
    // The outcome of the sent call is unknown: the task continues.
    play(&begun().cancel().expect_wait(seconds(1800)));
}

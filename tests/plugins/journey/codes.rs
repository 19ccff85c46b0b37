//! The answers to a submission: it is sent once, and again only when the provider certainly did not take it. Every code
//! has a row in the crate's own table; here is what follows from each.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Reply, Stage, Submission};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{ID, TASK, about, finished, grid, remote, sent, taken};

const UNAVAILABLE: &str = "No available upstream";

fn imagine() -> Script {
    sent(Submission::new("journey.imagine", json!({"prompt": "a red kite"})))
}

fn upscale() -> Script {
    sent(about("journey.upscale", json!({"task_id": TASK, "index": 3}), grid()))
}

fn code(code: i64, description: &str) -> Value {
    json!({"code": code, "description": description, "result": null, "properties": null})
}

#[test]
fn accepted_and_queued_jobs_are_polled() {
    for answer in [
        taken(),
        json!({"code": 22, "description": "queued", "result": ID, "properties": {"numberOfQueues": 4}}),
    ] {
        let script = imagine()
            .reply(200, answer)
            .expect_view(|view| assert_eq!(view.private["id"], ID))
            .expect_stage(Stage::Pending)
            .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(2)));
        play(&script);
    }
}

/// The same change was made before: the answer names its task, whose record says how far it is.
#[test]
fn a_duplicate_is_the_task_that_did_it_first() {
    let duplicate = json!({"code": 21, "description": "exists", "result": ID,
        "properties": {"status": "SUCCESS", "imageUrl": "https://cdn.discordapp.com/u.png"}});
    let script = upscale()
        .reply(200, duplicate)
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, finished(json!({})))
        .expect_done(|outcome| assert_eq!(outcome.products.len(), 1));
    play(&script);
}

/// The server did not say that it waits; its record does.
#[test]
fn a_dialog_in_the_record_is_finished_too() {
    let script = upscale()
        .reply(200, taken())
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, remote("MODAL", Value::Null))
        .expect_call(|call| assert_eq!(call.json_body(), json!({"taskId": ID, "prompt": ""})))
        .reply(200, taken())
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, remote("MODAL", Value::Null))
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, finished(json!({})))
        .expect_done(|_| ());
    play(&script);
}

#[test]
fn answers_that_end_the_task() {
    let gone = "the upstream no longer knows the task that this one follows up";
    let no_account = "\u{65e0}\u{53ef}\u{7528}\u{7684}\u{8d26}\u{53f7}\u{5b9e}\u{4f8b}";
    for (script, status, body, blame, message) in [
        (
            upscale(),
            404,
            code(3, "\u{5173}\u{8054}\u{4efb}\u{52a1}\u{4e0d}\u{5b58}\u{5728}"),
            Blame::Upstream,
            gone,
        ),
        (imagine(), 200, code(3, no_account), Blame::Account, UNAVAILABLE),
        (upscale(), 200, code(3, no_account), Blame::Account, UNAVAILABLE),
        (imagine(), 200, code(4, "prompt is too long"), Blame::Request, "prompt is too long"),
        (imagine(), 200, code(4, "quota_not_enough"), Blame::Account, UNAVAILABLE),
        (imagine(), 200, code(9, "quota_not_enough"), Blame::Account, UNAVAILABLE),
        (imagine(), 200, code(9, "[Internal Server Error]"), Blame::Upstream, "[Internal Server Error]"),
        (
            imagine(),
            200,
            json!({"code": 24, "description": "x", "properties": {"promptEn": "a", "bannedWord": "b"}}),
            Blame::Moderation,
            "Banned prompt detected",
        ),
        (
            imagine(),
            200,
            json!({"success": false, "code": -1, "message": "bind", "timestamp": 1}),
            Blame::Upstream,
            "the upstream could not read the request",
        ),
        (imagine(), 401, json!({}), Blame::Account, UNAVAILABLE),
        (imagine(), 402, json!({"error": "pay"}), Blame::Account, UNAVAILABLE),
        (imagine(), 403, json!({}), Blame::Account, UNAVAILABLE),
        (imagine(), 500, json!({}), Blame::Upstream, UNAVAILABLE),
        (imagine(), 200, json!({"code": 1, "result": null}), Blame::Upstream, UNAVAILABLE),
    ] {
        play(&script.reply(status, body).expect_fail(blame, message));
    }
    play(&imagine().reply_whole(Reply::raw(200, "<html>")).expect_fail(Blame::Upstream, UNAVAILABLE));
    play(&imagine().reply_whole(Reply::raw(401, "")).expect_fail(Blame::Account, UNAVAILABLE));
    for outage in [Outage::Timeout, Outage::Broken, Outage::TooLarge, Outage::Refused] {
        play(&imagine().outage(outage).expect_fail(Blame::Upstream, UNAVAILABLE));
    }
}

#[test]
fn a_job_that_was_certainly_not_taken_is_sent_again_for_a_minute() {
    let full = "\u{63d0}\u{4ea4}\u{5931}\u{8d25}\u{ff0c}\u{961f}\u{5217}\u{5df2}\u{6ee1}\u{ff0c}\u{8bf7}\u{7a0d}\u{540e}\u{91cd}\u{8bd5}";
    let busy = |script: Script, round: usize| match round % 4 {
        0 => script.reply(200, code(23, "full")),
        1 => script.reply(200, code(9, full)),
        2 => script.reply(429, json!({})),
        _ => script.outage(Outage::Unreachable),
    };
    let mut script = imagine();
    for (round, wait) in [2, 4, 8, 16, 30].into_iter().enumerate() {
        script = busy(script, round)
            .expect_wait(crate::tasks::seconds(wait))
            .expect_stage(Stage::Pending)
            .timer()
            .expect_call(|call| assert_eq!(call.json_body(), json!({"prompt": "a red kite"})));
    }
    play(&busy(script, 1).expect_fail(Blame::Upstream, UNAVAILABLE));

    let script = busy(imagine(), 0).expect_wait(|_| ()).timer().expect_call(|_| ());
    play(&script.reply(200, taken()).expect_wait(|_| ()));
    let cancelled = busy(imagine(), 0).expect_wait(|_| ()).cancel();
    play(&cancelled.expect_fail(Blame::Request, "cancelled before it was sent"));
}

//! Polls: every status and every odd record of the provider's servers.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Reply, Stage, Submission};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{ID, finished, polled, remote, sent};
use crate::tasks::{asked_again, lost_forty_times, seconds, unreadable_eight_times};

const UNAVAILABLE: &str = "No available upstream";

/// The answer is "not yet", and the family asks again.
fn again(script: Script, status: u16, body: Value) -> Script {
    asked_again(script.reply(status, body))
}

#[test]
fn every_status_has_its_stage_and_progress() {
    let tell = |record: Value, stage: Stage, progress: u8| {
        play(&polled().reply(200, record).expect_wait(|_| ()).expect_stage(stage).expect_progress(progress));
    };
    tell(remote("NOT_START", Value::Null), Stage::Pending, 0);
    tell(remote("", Value::Null), Stage::Pending, 0);
    tell(remote("SUBMITTED", json!("0%")), Stage::Processing, 0);
    tell(remote("IN_PROGRESS", json!("35%")), Stage::Processing, 35);
    tell(remote("IN_PROGRESS", json!("Waiting to start")), Stage::Processing, 0);
    tell(remote("IN_PROGRESS", Value::Null), Stage::Processing, 0);
    tell(remote("IN_PROGRESS", json!("100%")), Stage::Processing, 99);
    tell(remote("in_progress", json!(62)), Stage::Processing, 62);
    tell(remote("PAUSED", json!("62")), Stage::Processing, 62);
    let mut fresh = remote("", Value::Null);
    fresh["status"] = Value::Null;
    tell(fresh, Stage::Pending, 0);
    tell(json!({"id": "1754200000000123"}), Stage::Pending, 0);
    tell(json!({"status": "IN_PROGRESS", "progress": "5%"}), Stage::Processing, 5);
}

/// Without it a client reads `pending` at 99 per cent while the pictures are copied.
#[test]
fn finished_work_is_no_longer_pending() {
    let finished = polled().reply(200, finished(json!({})));
    play(&finished.expect_done(|_| ()).expect_stage(Stage::Processing).expect_progress(99));
}

#[test]
fn each_new_status_is_shown_once() {
    let script = polled()
        .reply(200, remote("SUBMITTED", Value::Null))
        .expect_view(|view| {
            assert_eq!((&view.public, &view.private["status"]), (&Value::Null, &json!("SUBMITTED")));
        })
        .timer()
        .expect_call(|_| ())
        .reply(200, remote("IN_PROGRESS", json!("5%")))
        .expect_view(|view| assert_eq!(view.private["status"], "IN_PROGRESS"))
        .timer()
        .expect_call(|_| ());
    play(&script);
    let unchanged = again(polled(), 200, remote("IN_PROGRESS", json!("5%")));
    play(
        &unchanged
            .reply(200, remote("SUBMITTED", Value::Null))
            .expect_stage(Stage::Processing)
            .expect_wait(|_| ()),
    );
}

#[test]
fn progress_never_falls() {
    let script = again(polled(), 200, remote("IN_PROGRESS", json!("60%")));
    let script = again(script, 200, remote("IN_PROGRESS", json!("")));
    let script = again(script, 200, remote("SUBMITTED", json!("0%")));
    play(&script.reply(200, remote("IN_PROGRESS", json!("31%"))).expect_wait(|_| ()).expect_progress(60));
}

#[test]
fn polls_less_often_over_time() {
    for (elapsed, expected) in [(2, 2), (16, 2), (80, 10), (240, 30), (1700, 30)] {
        let script = polled()
            .later(Duration::from_secs(elapsed - 2))
            .reply(200, remote("IN_PROGRESS", json!("5%")))
            .expect_wait(seconds(expected));
        play(&script);
    }
}

#[test]
fn every_reason_of_a_failure_has_its_words() {
    for (reason, blame, message) in [
        (
            json!("\u{53ef}\u{80fd}\u{5305}\u{542b}\u{654f}\u{611f}\u{8bcd}"),
            Blame::Moderation,
            "Banned prompt detected",
        ),
        (json!("[Banned prompt detected] word"), Blame::Moderation, "Banned prompt detected"),
        (json!("\u{4efb}\u{52a1}\u{8d85}\u{65f6}"), Blame::Upstream, "Task timeout"),
        (json!("\u{6267}\u{884c}\u{8d85}\u{65f6} 5 \u{5206}\u{949f}"), Blame::Upstream, "Task timeout"),
        (json!("\u{4efb}\u{52a1}\u{63d0}\u{4ea4}\u{8d85}\u{65f6}"), Blame::Upstream, "Task timeout"),
        (json!("[Invalid parameter] --xyz"), Blame::Request, "[Invalid parameter] --xyz"),
        (json!("[Invalid link] no picture"), Blame::Request, "[Invalid link] no picture"),
        (json!("[Image denied] no"), Blame::Moderation, "[Image denied] no"),
        (json!("[Internal Server Error]"), Blame::Upstream, "[Internal Server Error]"),
        (
            json!("Request cancelled due to output filters"),
            Blame::Moderation,
            "Request cancelled due to output filters",
        ),
        (json!("Failed to process your command"), Blame::Upstream, "Failed to process your command"),
        (json!("Account blocked"), Blame::Upstream, UNAVAILABLE),
        (Value::Null, Blame::Upstream, "the upstream failed to finish the task"),
        (json!(""), Blame::Upstream, "the upstream failed to finish the task"),
    ] {
        let mut record = remote("FAILURE", json!(""));
        record["failReason"] = reason;
        play(&polled().reply(200, record).expect_fail(blame, message));
    }
    let cancelled = polled().reply(200, remote("CANCEL", Value::Null));
    play(&cancelled.expect_fail(Blame::Upstream, "the upstream cancelled the task"));
}

#[test]
fn an_unknown_task_is_asked_for_five_times_more() {
    let empty: [fn() -> Reply; 6] = [
        || Reply::raw(200, ""),
        || Reply::raw(204, ""),
        || Reply::raw(200, "null"),
        || Reply::new(200, &json!({})),
        || Reply::new(404, &json!({})),
        || Reply::new(200, &json!({"code": 4, "description": "task_no_found", "result": null})),
    ];
    for reply in empty {
        let mut script = polled();
        for _ in 0..5 {
            script = script.reply_whole(reply()).expect_wait(|_| ()).timer().expect_call(|_| ());
        }
        play(&script.reply_whole(reply()).expect_fail(Blame::Upstream, UNAVAILABLE));
    }
    let mut script = polled();
    for _ in 0..5 {
        script = again(script, 200, Value::Null);
    }
    script = again(script, 200, remote("IN_PROGRESS", json!("5%")));
    play(&again(script, 200, Value::Null).reply(200, finished(json!({}))).expect_done(|_| ()));
}

#[test]
fn unreadable_answers_are_asked_again_eight_times() {
    let script = unreadable_eight_times(polled(), |script, round| match round % 5 {
        0 => script.reply_whole(Reply::raw(200, "<html>")),
        1 => script.reply(200, finished(json!({"imageUrl": null}))),
        2 => script.reply(502, json!({})),
        3 => script.reply(200, json!([])),
        _ => script.outage(Outage::TooLarge),
    });
    play(&script.reply(500, json!({})).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn lost_polls_and_429_are_asked_again_until_the_deadline() {
    let script = lost_forty_times(polled(), &json!({}));
    play(&script.reply(200, finished(json!({}))).expect_done(|_| ()));
}

#[test]
fn an_account_that_is_refused_ends_the_task() {
    for status in [401, 402, 403] {
        play(&polled().reply(status, json!({})).expect_fail(Blame::Account, UNAVAILABLE));
    }
    play(&polled().outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn polls_again_three_times_after_a_lost_picture() {
    let mut script = polled().reply(200, finished(json!({}))).expect_done(|_| ());
    for wait in [2, 4, 8] {
        script = script
            .lost("the server answered 403")
            .expect_wait(seconds(wait))
            .expect_progress(99)
            .timer()
            .expect_call(|_| ())
            .reply(200, finished(json!({})))
            .expect_done(|_| ());
    }
    let gone = "the finished result could not be fetched from the upstream";
    play(&script.lost("the server answered 403").expect_fail(Blame::Upstream, gone));
}

#[test]
fn a_running_task_cannot_be_cancelled() {
    let script = again(polled(), 200, remote("IN_PROGRESS", json!("5%")))
        .reply(200, remote("IN_PROGRESS", json!("6%")))
        .expect_wait(|_| ())
        .cancel()
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, finished(json!({})))
        .expect_done(|_| ());
    play(&script);
}

/// Without it pictures that were paid are lost for the form of an answer, and an account without money is not told.
#[test]
fn answers_are_read_in_every_form() {
    let asked = || sent(Submission::new("journey.imagine", json!({"prompt": "a red kite"})));
    for body in [
        json!({"code": "1", "description": 5, "result": ID, "properties": []}),
        json!({"code": 1, "result": {"taskId": ID}, "message": {}}),
        json!({"code": 22, "result": {"id": 1_754_200_000_000_123_i64}, "error": null}),
    ] {
        play(&asked().reply(200, body).expect_wait(|_| ()));
    }
    for (status, body, blame) in [
        (400, json!({"code": "insufficient_user_quota", "message": "x"}), Blame::Account),
        (400, json!({"code": "quota_not_enough", "message": "user 7: quota_not_enough"}), Blame::Account),
        (400, json!({"error": {"code": "insufficient_quota", "message": "user 7"}}), Blame::Account),
        (200, json!({"error": "quota_not_enough: user 7"}), Blame::Account),
        (200, json!({"code": [], "description": "x"}), Blame::Upstream),
    ] {
        play(&asked().reply(status, body).expect_fail_with(move |ending| {
            assert_eq!(
                (ending.failure.blame, ending.failure.message.starts_with(UNAVAILABLE)),
                (blame, true)
            );
        }));
    }
    let listed = json!([finished(json!({"buttons": "none", "properties": 5, "description": []}))]);
    play(&polled().reply(200, listed).expect_done(|_| ()));
    for body in [json!([]), json!([1, 2]), json!("SUCCESS")] {
        play(&again(polled(), 200, body));
    }
    // Other servers' words for an end, and for how far it is.
    for word in ["success", "Succeeded", "COMPLETED", " FINISHED "] {
        play(&polled().reply(200, finished(json!({"status": word}))).expect_done(|_| ()));
    }
    for (word, message) in [("failed", "the upstream failed to finish the task"), ("TIMEOUT", "Task timeout")]
    {
        let ended = json!({"id": ID, "status": word});
        play(&polled().reply(200, ended).expect_fail(Blame::Upstream, message));
    }
    let refused = json!({"id": ID, "status": "TIMEOUT", "failReason": "[Image denied] no"});
    play(&polled().reply(200, refused).expect_fail(Blame::Moderation, "[Image denied] no"));
    for (progress, expected) in [(json!("45%"), 45), (json!(0.45), 45), (json!(45.0), 45), (json!(null), 0)] {
        let running = json!({"id": ID, "status": "IN_PROGRESS", "progress": progress});
        play(&polled().reply(200, running).expect_wait(|_| ()).expect_progress(expected));
    }
}

//! Polls: how each answer of the provider ends, and the progress.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Replay, Reply, Stage, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::motion::{FAILED, ID, VIDEO, play, polled, sent, taken};
use crate::over;
use crate::tasks::{UNAVAILABLE, asked_again, lost_forty_times, seconds, unreadable_eight_times};

fn output(status: &str, more: Value) -> Value {
    let output = json!({"task_id": ID, "task_status": status, "submit_time": "2026-06-30 18:07:20.235"});
    json!({"request_id": "c6b9", "output": over(output, more)})
}

fn status(word: &str) -> Value {
    output(word, json!({}))
}

fn ready() -> Value {
    output("SUCCEEDED", json!({"video_url": VIDEO, "orig_prompt": "a red kite"}))
}

/// The answer is "not yet", and the family asks again.
fn again(script: Script, status: u16, body: Value) -> Script {
    asked_again(script.reply(status, body))
}

#[test]
fn polls_the_task() {
    let script = taken().timer().expect_call(|call| {
        assert_eq!(call.provider, "dashscope");
        assert_eq!(call.target, Target::from(format!("/api/v1/tasks/{ID}")));
        assert_eq!((call.replay, call.header_value("x-dashscope-async")), (Replay::Safe, None));
    });
    play(&script);
}

#[test]
fn completes_with_the_video() {
    let script = polled()
        .reply(200, ready())
        .expect_done(|outcome| {
            assert_eq!(outcome.public, json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]}));
            assert_eq!(outcome.private, json!({"id": ID}));
            assert_eq!(outcome.products.len(), 1);
            assert_eq!(outcome.products[0].source, VIDEO);
            assert_eq!(outcome.products[0].mime.as_deref(), Some("video/mp4"));
            assert_eq!(outcome.settle, None);
        })
        .expect_stage(Stage::Processing);
    play(&script);
}

#[test]
fn progress_is_made_of_status_and_age() {
    let waiting = |word: &str| {
        play(
            &polled()
                .reply(200, status(word))
                .expect_wait(|_| ())
                .expect_stage(Stage::Pending)
                .expect_progress(5),
        );
    };
    waiting("PENDING");
    waiting("SUSPENDED");
    // 150 seconds are usual; the first sight of its work begins the count.
    let working = |seconds: u64, expected: u8| {
        let script = again(polled(), 200, status("RUNNING"))
            .later(Duration::from_secs(seconds))
            .reply(200, status("RUNNING"))
            .expect_wait(|_| ())
            .expect_stage(Stage::Processing)
            .expect_progress(expected);
        play(&script);
    };
    working(0, 11);
    working(28, 27);
    working(148, 95);
    working(1500, 95);
    // Whatever newer words mean.
    play(&polled().reply(200, status("PREPARING")).expect_wait(|_| ()).expect_progress(10));
}

#[test]
fn progress_and_stage_never_fall() {
    for word in ["PENDING", "UNKNOWN"] {
        let script = again(polled(), 200, status("RUNNING")).later(Duration::from_secs(28));
        let script = script.reply(200, status("RUNNING")).expect_wait(|_| ()).expect_progress(27).timer();
        let script = script.expect_call(|_| ()).reply(200, status(word)).expect_wait(|_| ());
        play(&script.expect_progress(27).expect_stage(Stage::Processing));
    }
}

#[test]
fn failures_come_with_status_200() {
    let end = |code: &str, message: &str, blame: Blame, expected: &str| {
        let body = output("FAILED", json!({"code": code, "message": message}));
        play(&polled().reply(200, body).expect_fail(blame, expected));
    };
    let moderated = "the request or the generated video was stopped by content moderation";
    end("DataInspectionFailed", "x", Blame::Moderation, moderated);
    let infringing = "the request or the generated video was stopped: suspected infringement of rights";
    end("IPInfringementSuspect", "x", Blame::Moderation, infringing);
    let unreachable = "dependency unavailable: an image, video or sound of the request could not be fetched";
    end("InvalidParameter.DataInspection", "x", Blame::Request, unreachable);
    for code in
        ["InvalidFile.Size", "InvalidFile.Duration", "InvalidFile.Format", "InvalidFile.FPS", "InvalidURL"]
    {
        end(code, "the file is odd", Blame::Request, "the upstream refused the request: the file is odd");
    }
    end("Arrearage", "x", Blame::Account, UNAVAILABLE);
    for code in ["InternalError", "InternalError.Timeout", "InternalError.Algo.X", "Throttling", ""] {
        end(code, "boom", Blame::Upstream, FAILED);
    }
    play(&polled().reply(200, status("FAILED")).expect_fail(Blame::Upstream, FAILED));
    // Without the other spellings a task and its money would be held up to its deadline.
    for word in ["CANCELED", "CANCELLED", "canceled", "failed", "ERROR", "EXPIRED"] {
        play(&polled().reply(200, status(word)).expect_fail(Blame::Upstream, FAILED));
    }
    let numbered = output("FAILED", json!({"code": 500, "message": null}));
    play(&polled().reply(200, numbered).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn a_refused_account_ends_the_task() {
    for (code, body) in [
        (401, json!({"code": "InvalidApiKey", "message": "x"})),
        (403, json!({})),
        (400, json!({"code": "Arrearage"})),
    ] {
        play(&polled().reply(code, body).expect_fail(Blame::Account, UNAVAILABLE));
    }
    play(&polled().outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn polls_an_unknown_task_five_times_more() {
    for (code, body) in [(200, status("UNKNOWN")), (404, json!({}))] {
        let script = || (0..5).fold(polled(), |script, _| again(script, code, body.clone()));
        play(&script().reply(200, ready()).expect_done(|_| ()));
        play(&script().reply(code, body.clone()).expect_fail(Blame::Upstream, FAILED));
    }
}

#[test]
fn polls_eight_times_more_after_unreadable_answers() {
    let html = || Reply::raw(200, "<html>");
    let eight = || {
        unreadable_eight_times(polled(), |script, round| match round % 4 {
            0 => script.reply_whole(html()),
            1 => script.reply(200, status("SUCCEEDED")),
            2 => script.reply(500, json!({"code": "InternalError"})),
            _ => script.outage(Outage::TooLarge),
        })
    };
    play(&eight().reply_whole(html()).expect_fail(Blame::Upstream, FAILED));
    // A clear answer begins the count again.
    let mut script = again(eight(), 200, status("RUNNING"));
    for _ in 0..8 {
        script = again(script, 503, json!({}));
    }
    play(&script.reply(200, ready()).expect_done(|_| ()));
}

#[test]
fn lost_polls_and_429_are_asked_again_until_the_deadline() {
    let script = lost_forty_times(polled(), &json!({"code": "Throttling.RateQuota"}));
    play(&script.reply(200, ready()).expect_done(|_| ()));
}

#[test]
fn polls_for_three_new_links_after_a_lost_video() {
    let mut script = polled().reply(200, ready()).expect_done(|_| ());
    for wait in [2, 4, 8] {
        script = script
            .lost("the server answered 403")
            .expect_wait(seconds(wait))
            .timer()
            .expect_call(|_| ())
            .reply(200, ready())
            .expect_done(|_| ());
    }
    let gone = "the finished video could not be fetched from the upstream";
    play(&script.lost("the server answered 403").expect_fail(Blame::Upstream, gone));
}

#[test]
fn a_task_that_waits_is_cancelled_at_the_provider() {
    let asked = |script: Script| {
        script.cancel().expect_call(|call| {
            assert_eq!(call.method, "POST");
            assert_eq!(call.target, Target::from(format!("/api/v1/tasks/{ID}/cancel")));
        })
    };
    let agreed = asked(taken()).reply(200, json!({"request_id": "1"}));
    play(&agreed.expect_fail(Blame::Request, "cancelled before it was started"));
    // It was begun in the meantime.
    let begun = asked(taken()).reply(400, json!({"code": "UnsupportedOperation", "message": "not PENDING"}));
    play(&begun.expect_call(|call| assert_eq!(call.method, "GET")).reply(200, ready()).expect_done(|_| ()));
    let lost = asked(taken()).outage(Outage::Timeout).expect_wait(|_| ()).timer();
    play(&lost.expect_call(|call| assert_eq!(call.method, "GET")).reply(200, ready()).expect_done(|_| ()));
    let late = taken().deadline().expect_call(|call| assert_eq!(call.method, "POST"));
    play(&late);
}

#[test]
fn a_task_that_is_worked_on_cannot_be_cancelled() {
    let working = polled().reply(200, status("RUNNING")).expect_wait(|_| ());
    // The host goes on with the wait that is under way.
    let script = working.later(Duration::from_secs(1)).cancel().expect_wait(|_| ());
    play(&script.timer().expect_call(|_| ()).reply(200, ready()).expect_done(|_| ()));
}

/// Without it a video that was paid is lost for the type of something beside it.
#[test]
fn answers_are_read_in_every_form() {
    for beside in
        [json!({"code": 7, "message": []}), json!({"submit_time": 5, "task_id": 7}), json!({"usage": {}})]
    {
        let body = output("SUCCEEDED", over(json!({"video_url": VIDEO}), beside));
        play(&polled().reply(200, body).expect_done(|outcome| assert_eq!(outcome.products[0].source, VIDEO)));
    }
    let twice = format!(
        r#"{{"output":{{"task_status":"RUNNING","task_status":"SUCCEEDED","video_url":null,"video_url":"{VIDEO}"}}}}"#
    );
    play(&polled().reply_whole(Reply::raw(200, twice)).expect_done(|_| ()));
    for (body, blame, message) in [
        (json!({"output": [], "code": "Arrearage", "message": "account 7"}), Blame::Account, UNAVAILABLE),
        (
            json!({"output": null, "error": "x", "code": "DataInspectionFailed"}),
            Blame::Moderation,
            "the request or the generated video was stopped by content moderation",
        ),
        (
            json!({"error": {"code": "InvalidParameter", "message": "bad"}}),
            Blame::Request,
            "the upstream refused the request: bad",
        ),
    ] {
        play(&sent().reply(200, body).expect_fail(blame, message));
    }
    // Other words for the end, other places and forms of the link.
    for (word, fields, source) in [
        ("Success", json!({"video_url": VIDEO}), VIDEO),
        ("completed ", json!({"video_url": format!(" {VIDEO}\n")}), VIDEO),
        ("SUCCEEDED", json!({"results": {"video_url": VIDEO}}), VIDEO),
        ("SUCCEEDED", json!({"video_url": null, "results": [{"url": VIDEO}]}), VIDEO),
        ("SUCCEEDED", json!({"video_url": "none", "results": {"video_url": "", "url": VIDEO}}), VIDEO),
        ("SUCCEEDED", json!({"video_url": "//e.example/a b.mp4"}), "https://e.example/a%20b.mp4"),
        ("SUCCEEDED", json!({"video_url": "blob:7"}), "blob:7"),
    ] {
        let done = polled().reply(200, output(word, fields));
        play(&done.expect_done(move |outcome| assert_eq!(outcome.products[0].source, source)));
    }
    // An error with a status of success, or in the place of the one result.
    let moderated = "the request or the generated video was stopped by content moderation";
    let result = json!({"results": [{"code": "DataInspectionFailed", "message": "x"}]});
    for (body, blame, message) in [
        (json!({"code": "Arrearage", "message": "account 7"}), Blame::Account, UNAVAILABLE),
        (json!({"code": 401, "message": "key 7"}), Blame::Account, UNAVAILABLE),
        (json!({"error": {"code": "DataInspectionFailed"}}), Blame::Moderation, moderated),
        (output("SUCCEEDED", result), Blame::Moderation, moderated),
    ] {
        play(&polled().reply(200, body).expect_fail(blame, message));
    }
    for body in [json!({"code": "429", "message": "slow"}), json!({"code": "Throttling"})] {
        let script = (0..12).fold(polled(), |script, _| again(script, 200, body.clone()));
        play(&script.reply(200, ready()).expect_done(|_| ()));
    }
    for body in [
        json!({"output": "x"}),
        json!({"output": {"task_status": 5.5, "video_url": []}}),
        json!([]),
        // A code of no failure: the link is yet to come.
        output("SUCCEEDED", json!({"results": [{"code": 200, "message": "ok"}]})),
    ] {
        play(&again(polled(), 200, body));
    }
}

//! Polls: how each answer of the provider ends, and what progress shows.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Replay, Reply, Stage, Target};
use serde_json::{Value, json};

use crate::clip::{
    FAILED, FRAME, TASK, TASKS, VIDEO, error, over, play, polled, sent, succeeded, taken, task,
};
use crate::tasks::{UNAVAILABLE, asked_again, lost_forty_times, unreadable_eight_times};

#[test]
fn the_poll_names_the_task() {
    let script = taken(json!({})).timer().expect_call(|call| {
        assert_eq!(call.target, Target::from(format!("{TASKS}/{TASK}")));
        assert_eq!((call.provider.as_str(), call.replay), ("ark", Replay::Safe));
    });
    play(&script);
}

#[test]
fn the_result_is_the_video() {
    for fields in [json!({}), json!({"return_last_frame": false})] {
        let script = polled(fields).reply(200, succeeded()).expect_done(|outcome| {
            let videos = json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]});
            assert_eq!(outcome.public, videos);
            assert_eq!(outcome.private["id"], TASK);
            assert_eq!(outcome.private["seed"], 1276);
            assert_eq!(outcome.products.len(), 1);
            assert_eq!(outcome.products[0].source, VIDEO);
            assert_eq!(outcome.products[0].mime.as_deref(), Some("video/mp4"));
            assert_eq!(outcome.settle, None);
        });
        play(&script);
    }
}

#[test]
fn the_last_frame_comes_when_asked_for_and_there() {
    let asked = || polled(json!({"return_last_frame": true}));
    let with = asked().reply(200, succeeded()).expect_done(|outcome| {
        assert_eq!(outcome.public["last_frame_url"], "media:1");
        assert_eq!(outcome.products[1].source, FRAME);
    });
    play(&with);
    let missing = over(succeeded(), json!({"content": {"video_url": VIDEO}}));
    let without = asked().reply(200, missing).expect_done(|outcome| {
        assert_eq!(outcome.public["last_frame_url"], Value::Null);
        assert_eq!(outcome.products.len(), 1);
    });
    play(&without);
}

#[test]
fn a_result_without_a_video_is_asked_for_again() {
    for content in [json!({}), json!({"video_url": null}), json!({"video_url": "gs://bucket/a.mp4"})] {
        let answer = over(succeeded(), json!({"content": content}));
        play(&asked_again(polled(json!({})).reply(200, answer)).reply(200, succeeded()).expect_done(|_| ()));
    }
}

#[test]
fn progress_is_an_estimate_that_never_falls() {
    let tell = |status: &'static str, after: u64, stage: Stage, progress: u8| {
        let script = polled(json!({})).later(Duration::from_secs(after)).reply(200, task(status));
        play(&script.expect_wait(|_| ()).expect_stage(stage).expect_progress(progress));
    };
    tell("queued", 0, Stage::Pending, 5);
    tell("queued", 600, Stage::Pending, 5);
    tell("running", 0, Stage::Processing, 11);
    tell("running", 73, Stage::Processing, 52);
    tell("running", 148, Stage::Processing, 95);
    tell("running", 1700, Stage::Processing, 95);
    // A status of the future is never the end.
    tell("polishing", 73, Stage::Processing, 52);
    let back = polled(json!({})).later(Duration::from_secs(73)).reply(200, task("running"));
    let back = asked_again(back).reply(200, task("queued")).expect_wait(|_| ());
    play(&back.expect_stage(Stage::Processing).expect_progress(52));
}

fn fails(answer: Value, blame: Blame, message: &str) {
    play(&polled(json!({})).reply(200, answer).expect_fail(blame, message));
}

fn failed_with(code: &str) -> Value {
    over(task("failed"), json!({"error": {"code": code, "message": "in words of its own"}}))
}

#[test]
fn a_failed_task_says_why() {
    let output = "the generated video was stopped by output moderation";
    fails(failed_with("OutputVideoSensitiveContentDetected"), Blame::Moderation, output);
    let policy = format!("{output}: it may violate a policy, such as a copyright");
    fails(failed_with("OutputVideoSensitiveContentDetected.PolicyViolation"), Blame::Moderation, &policy);
    let audio = "the generated audio was stopped by output moderation";
    fails(failed_with("OutputAudioSensitiveContentDetected"), Blame::Moderation, audio);
    fails(failed_with("InvalidParameter"), Blame::Request, "in words of its own");
    fails(failed_with("InternalServiceError"), Blame::Upstream, FAILED);
    fails(failed_with("ServerOverloaded"), Blame::Upstream, FAILED);
    fails(failed_with("AccountOverdueError"), Blame::Account, UNAVAILABLE);
    fails(task("failed"), Blame::Upstream, FAILED);
    fails(task("expired"), Blame::Upstream, "the upstream did not finish the video in time");
    // Without the other spellings a task and its money would be held up to its deadline.
    for word in ["cancelled", "canceled", "CANCELLED"] {
        fails(task(word), Blame::Upstream, "the video was cancelled at the upstream");
    }
    fails(task("FAILED"), Blame::Upstream, FAILED);
    let mut numbered = task("failed");
    numbered["error"] = json!({"code": 500, "message": null});
    numbered["content"] = json!(null);
    numbered["seed"] = json!("7");
    fails(numbered, Blame::Upstream, FAILED);
}

#[test]
fn the_operators_account_ends_it() {
    for status in [401, 403] {
        let answer = error("AuthenticationError", "the key is wrong");
        play(&polled(json!({})).reply(status, answer).expect_fail(Blame::Account, UNAVAILABLE));
    }
    play(&polled(json!({})).outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn an_unknown_task_is_asked_for_five_times_more() {
    let missing = || error("ResourceNotFound", "no such task");
    let mut script = polled(json!({}));
    for _ in 0..5 {
        script = asked_again(script.reply(404, missing()));
    }
    play(&script.reply(404, missing()).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn unreadable_answers_are_asked_again_eight_times() {
    let script = unreadable_eight_times(polled(json!({})), |script, round| match round % 4 {
        0 => script.reply_whole(Reply::raw(200, "<html>")),
        1 => script.reply(200, json!({"id": TASK})),
        2 => script.reply(500, error("InternalServiceError", "boom")),
        _ => script.outage(Outage::TooLarge),
    });
    play(&script.reply_whole(Reply::raw(200, "<html>")).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn lost_polls_and_429_go_on_until_the_deadline() {
    let script = lost_forty_times(polled(json!({})), &error("RateLimitExceeded", "slow down"));
    play(&script.reply(200, succeeded()).expect_done(|_| ()));
}

#[test]
fn a_lost_video_is_fetched_by_three_new_links() {
    let mut script = polled(json!({})).reply(200, succeeded()).expect_done(|_| ());
    for _ in 0..3 {
        script =
            asked_again(script.lost("the server answered 403")).reply(200, succeeded()).expect_done(|_| ());
    }
    let gone = "the finished video could not be fetched from the upstream";
    play(&script.lost("the server answered 403").expect_fail(Blame::Upstream, gone));
}

#[test]
fn what_is_queued_is_stopped_and_what_runs_is_not() {
    let asked = || taken(json!({})).cancel().expect_call(|call| assert_eq!(call.method, "GET"));
    let stop = || {
        asked().reply(200, task("queued")).expect_call(|call| {
            assert_eq!((call.method.as_str(), call.replay), ("DELETE", Replay::Safe));
            assert_eq!(call.target, Target::from(format!("{TASKS}/{TASK}")));
        })
    };
    play(&stop().reply(200, json!({})).expect_fail(Blame::Request, "cancelled while it was queued"));
    let too_late = error("InvalidAction.RunningTaskDeletion", "the task runs");
    play(&asked_again(stop().reply(409, too_late)).reply(200, succeeded()).expect_done(|_| ()));
    play(&asked_again(stop().outage(Outage::Timeout)).reply(200, succeeded()).expect_done(|_| ()));
    // It is not known to be queued any more: nothing is deleted.
    play(&asked_again(asked().reply(200, task("running"))).reply(200, succeeded()).expect_done(|_| ()));
    play(&asked_again(asked().outage(Outage::Timeout)).reply(200, task("queued")).expect_wait(|_| ()));
    play(&asked_again(asked().reply(500, json!({}))).reply(200, task("queued")).expect_wait(|_| ()));
    let running = asked_again(polled(json!({})).reply(200, task("running"))).reply(200, task("running"));
    play(&running.expect_wait(|_| ()).cancel().expect_wait(|wait| assert!(!wait.is_zero())));
    let over = taken(json!({})).deadline().expect_call(|call| assert_eq!(call.method, "DELETE"));
    play(&over);
}

/// Without it a video that was billed is deleted, and its client refunded.
#[test]
fn a_cancel_delivers_what_has_finished_since_the_last_poll() {
    let queued = asked_again(polled(json!({})).reply(200, task("queued"))).reply(200, task("queued"));
    for script in [taken(json!({})), queued.expect_wait(|_| ())] {
        let asked = script.cancel().expect_call(|call| {
            assert_eq!((call.method.as_str(), call.replay), ("GET", Replay::Safe));
            assert_eq!(call.target, Target::from(format!("{TASKS}/{TASK}")));
        });
        play(&asked.reply(200, succeeded()).expect_done(|outcome| {
            assert_eq!(outcome.products[0].source, VIDEO);
        }));
    }
    let failed = taken(json!({})).cancel().expect_call(|call| assert_eq!(call.method, "GET"));
    play(&failed.reply(200, task("failed")).expect_fail(Blame::Upstream, FAILED));
}

/// Without it a video that was paid is lost for the type of something beside it, or an account without money is not told.
#[test]
fn answers_are_read_in_every_form() {
    for body in [json!({"id": 77}), json!({"id": TASK, "error": null, "status": 5})] {
        play(&sent(json!({})).reply(200, body).expect_wait(|_| ()));
    }
    for (body, blame, message) in [
        (error("AccountOverdueError", "Account 2100 has an overdue bill."), Blame::Account, UNAVAILABLE),
        (
            error("InputTextSensitiveContentDetected", "no"),
            Blame::Moderation,
            "the prompt was stopped by input moderation",
        ),
        (
            json!({"error": {"code": "InvalidParameter", "message": "bad", "param": 5}}),
            Blame::Request,
            "bad (at 5)",
        ),
        (json!({"id": null}), Blame::Upstream, FAILED),
        (json!([]), Blame::Upstream, FAILED),
    ] {
        play(&sent(json!({})).reply(200, body).expect_fail(blame, message));
    }
    for beside in [
        json!({"model": 5, "error": "", "usage": [], "seed": "x"}),
        json!({"error": {}, "content": {"video_url": VIDEO, "last_frame_url": 5}}),
        json!({"content": {"video_url": VIDEO, "last_frame_url": {"url": "x"}, "more": null}}),
    ] {
        let body = over(succeeded(), beside);
        play(&polled(json!({})).reply(200, body).expect_done(|outcome| {
            assert_eq!(outcome.products[0].source, VIDEO);
        }));
    }
    let failed = over(
        task("failed"),
        json!({"error": {"Code": "OutputVideoSensitiveContentDetected", "code": null, "param": []}}),
    );
    let message = "the generated video was stopped by output moderation";
    play(&polled(json!({})).reply(200, failed).expect_fail(Blame::Moderation, message));
    for (body, source) in [
        (over(succeeded(), json!({"status": "Completed"})), VIDEO),
        (
            over(succeeded(), json!({"content": {"video_url": "//e.example/a b.mp4"}})),
            "https://e.example/a%20b.mp4",
        ),
    ] {
        let done = polled(json!({})).reply(200, body);
        play(&done.expect_done(move |outcome| assert_eq!(outcome.products[0].source, source)));
    }
    // An error with a status of success.
    for (code, blame, message) in [
        (json!("AccountOverdueError"), Blame::Account, UNAVAILABLE),
        (json!(401), Blame::Account, UNAVAILABLE),
        (json!("OutputVideoSensitiveContentDetected"), Blame::Moderation, message),
    ] {
        let body = json!({"error": {"code": code, "message": "account 2100000001"}});
        play(&polled(json!({})).reply(200, body).expect_fail(blame, message));
    }
    // Neither ends a task that runs.
    for unclear in [json!({"error": {"code": "429", "message": "slow"}}), task("unknown")] {
        let script =
            (0..12).fold(polled(json!({})), |script, _| asked_again(script.reply(200, unclear.clone())));
        play(&script.reply(200, succeeded()).expect_done(|_| ()));
    }
    for body in [json!({"status": null}), json!([]), json!("succeeded")] {
        play(&asked_again(polled(json!({})).reply(200, body)));
    }
}

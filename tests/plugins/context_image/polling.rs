//! Polls, line by line of the outcome table: how each answer of the provider ends.

use std::time::Duration;

use gatehouse_sdk::{Blame, Outage, Replay, Reply, Stage, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::context_image::{POLLING_URL, SAMPLE, accepted, play, polled, taken};
use crate::tasks::{UNAVAILABLE, asked_again, lost_forty_times, seconds, unreadable_eight_times};

const FAILED: &str = "the upstream failed to generate the image";

fn ready() -> Value {
    let result = json!({"sample": SAMPLE, "prompt": "a red kite", "seed": 42, "duration": 5.8});
    json!({"id": "5f0c", "status": "Ready", "result": result, "progress": null, "details": null})
}

fn status(word: &str) -> Value {
    json!({"id": "5f0c", "status": word, "result": null, "progress": null, "details": null})
}

/// The answer is "not yet", and the family asks again.
fn again(script: Script, status: u16, body: Value) -> Script {
    asked_again(script.reply(status, body))
}

#[test]
fn polls_the_url_of_the_provider() {
    let script = taken().timer().expect_call(|call| {
        assert_eq!(call.provider, "bfl");
        assert_eq!(call.target, Target::Url(POLLING_URL.to_owned()));
        assert_eq!(call.replay, Replay::Safe);
    });
    play(&script);
}

#[test]
fn completes_with_the_image() {
    for (format, mime) in [("png", "image/png"), ("jpeg", "image/jpeg"), ("webp", "image/webp")] {
        let script = accepted(json!({"output_format": format}))
            .start()
            .expect_call(|_| ())
            .reply(200, json!({"id": "5f0c", "polling_url": POLLING_URL}))
            .expect_wait(|_| ())
            .timer()
            .expect_call(|_| ())
            .reply(200, ready())
            .expect_done(move |outcome| {
                let image = json!({"images": [{"url": ["media:0"], "expires_at": "expires:0"}]});
                assert_eq!(outcome.public, image);
                assert_eq!(outcome.private, json!({"id": "5f0c", "seed": 42}));
                assert_eq!(outcome.products.len(), 1);
                assert_eq!(outcome.products[0].source, SAMPLE);
                assert_eq!(outcome.products[0].mime.as_deref(), Some(mime));
                assert_eq!(outcome.settle, None);
            });
        play(&script);
    }
}

#[test]
fn reports_progress() {
    let tell = |body: Value, after: u64, expected: u8| {
        let script = polled()
            .later(Duration::from_secs(after))
            .reply(200, body)
            .expect_wait(|_| ())
            .expect_stage(Stage::Processing)
            .expect_progress(expected);
        play(&script);
    };
    let with = |progress: Value| {
        let mut body = status("Pending");
        body["progress"] = progress;
        body
    };
    tell(with(json!(0)), 0, 0);
    tell(with(json!(0.404)), 0, 40);
    tell(with(json!(0.405)), 0, 41);
    tell(with(json!(1)), 0, 99);
    tell(with(json!(-3)), 0, 0);
    // No number: two of ten seconds were spent before the first poll.
    tell(with(Value::Null), 0, 19);
    tell(with(json!("half")), 3, 47);
    tell(with(Value::Null), 8, 95);
    tell(with(Value::Null), 600, 95);
    // A status of newer endpoints, or an unknown one: the task runs until the host's deadline.
    tell(status("Reasoning"), 0, 19);
}

#[test]
fn progress_never_falls() {
    let mut half = status("Pending");
    half["progress"] = json!(0.6);
    let script = again(polled(), 200, half).reply(200, status("Pending")).expect_wait(|_| ());
    play(&script.expect_progress(60));
}

#[test]
fn polls_less_often_over_time() {
    let waits = |elapsed: u64, expected: u64| {
        let script = polled()
            .later(Duration::from_secs(elapsed - 2))
            .reply(200, status("Pending"))
            .expect_wait(seconds(expected));
        play(&script);
    };
    waits(2, 2);
    waits(16, 2);
    waits(80, 10);
    waits(240, 30);
    waits(1700, 30);
}

#[test]
fn moderation_names_input_or_output() {
    let end = |body: Value, message: &str| {
        play(&polled().reply(200, body).expect_fail(Blame::Moderation, message));
    };
    end(status("Request Moderated"), "the prompt or a reference image was stopped by input moderation");
    end(status("Content Moderated"), "the generated image was stopped by output moderation");
    let mut reasons = status("Content Moderated");
    reasons["details"] = json!({"Moderation Reasons": ["Derivative Works Filter", "Violence", 3]});
    end(reasons, "the generated image was stopped by output moderation: Derivative Works Filter, Violence");
}

#[test]
fn answers_that_end_the_task() {
    let end = |code: u16, body: Value, message: &str| {
        play(&polled().reply(code, body).expect_fail(Blame::Upstream, message));
    };
    // Without the other spellings a task and its money would be held up to its deadline.
    for word in ["Error", "Failed", "failed", "ERROR", "Cancelled", "Expired"] {
        end(200, status(word), FAILED);
    }
    let mut explained = status("Error");
    explained["details"] = json!({"secret": "cluster 7 is on fire"});
    end(200, explained, FAILED);
    for (code, detail) in [(402, "Insufficient credits"), (403, "Not authenticated")] {
        play(&polled().reply(code, json!({"detail": detail})).expect_fail(Blame::Account, UNAVAILABLE));
    }
    play(&polled().outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
}

#[test]
fn polls_an_unknown_task_five_times_more() {
    for (code, body) in [
        (404, status("Task not found")),
        (200, status("Task not found")),
        (404, json!({"detail": "Not Found"})),
    ] {
        let mut script = polled();
        for _ in 0..5 {
            script = again(script, code, body.clone());
        }
        play(&script.reply(code, body).expect_fail(Blame::Upstream, FAILED));
    }
    let mut script = polled();
    for _ in 0..5 {
        script = again(script, 404, status("Task not found"));
    }
    play(&script.reply(200, ready()).expect_done(|_| ()));
}

#[test]
fn polls_eight_times_more_after_unreadable_answers() {
    let html = || Reply::raw(200, "<html>");
    let missing = json!({"id": "5f0c", "status": "Ready", "result": {}});
    let script = unreadable_eight_times(polled(), |script, round| match round % 4 {
        0 => script.reply_whole(html()),
        1 => script.reply(200, missing.clone()),
        2 => script.reply(500, json!({"detail": "boom"})),
        _ => script.outage(Outage::TooLarge),
    });
    play(&script.reply_whole(html()).expect_fail(Blame::Upstream, FAILED));
}

#[test]
fn a_clear_answer_resets_the_count() {
    let mut script = polled();
    for _ in 0..8 {
        script = again(script, 503, json!({}));
    }
    script = again(script, 200, status("Pending"));
    for _ in 0..8 {
        script = again(script, 503, json!({}));
    }
    play(&script.reply(200, ready()).expect_done(|_| ()));
}

#[test]
fn lost_polls_and_429_are_asked_again_until_the_deadline() {
    let busy = json!({"error": "rate", "message": "slow down", "retry_after": 1});
    let script = lost_forty_times(polled(), &busy);
    play(&script.reply(200, ready()).expect_done(|_| ()));
}

#[test]
fn polls_for_three_new_links_after_a_lost_image() {
    let mut script = polled().reply(200, ready()).expect_done(|_| ());
    for wait in [2, 4, 8] {
        let mut fresh = ready();
        fresh["result"]["sample"] = json!(format!("{SAMPLE}&fresh={wait}"));
        let source = format!("{SAMPLE}&fresh={wait}");
        script = script
            .lost("the server answered 403")
            .expect_wait(seconds(wait))
            .timer()
            .expect_call(|_| ())
            .reply(200, fresh)
            .expect_done(move |outcome| assert_eq!(outcome.products[0].source, source));
    }
    let gone = "the finished image could not be fetched from the upstream";
    play(&script.lost("the server answered 403").expect_fail(Blame::Upstream, gone));
}

#[test]
fn a_running_task_cannot_be_cancelled() {
    let script = taken()
        .later(Duration::from_secs(1))
        .cancel()
        // The host goes on with the wait that is under way.
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, ready())
        .expect_done(|_| ());
    play(&script);
    play(&taken().later(Duration::from_secs(60)).cancel().expect_wait(|_| ()).timer().expect_call(|_| ()));
}

/// Without it a picture that was paid is lost for the form of something beside it.
#[test]
fn answers_are_read_in_every_form() {
    let asked = || accepted(json!({})).start().expect_call(|_| ());
    for body in [
        json!({"id": 7, "polling_url": POLLING_URL}),
        json!({"id": "5f0c", "polling_url": POLLING_URL, "cost": "free", "input_mp": {}}),
        // Sent again, it would be paid twice.
        json!({"id": "5f0c", "polling_url": POLLING_URL, "code": 429}),
    ] {
        play(&again(asked(), 200, body));
    }
    let path = |call: &gatehouse_sdk::Call| assert_eq!(call.target, Target::from("/v1/get_result?id=5f0c"));
    for body in [
        json!({"id": "5f0c", "status": "Pending"}),
        json!({"id": "5f0c", "polling_url": "/v1/get_result?id=5f0c"}),
    ] {
        play(&asked().reply(200, body).expect_wait(|_| ()).timer().expect_call(path));
    }
    for (body, blame, message) in [
        (json!({"detail": "Insufficient credits"}), Blame::Account, UNAVAILABLE),
        (json!({"error": {"code": 402, "message": "account 7"}}), Blame::Account, UNAVAILABLE),
        (json!({"code": "401", "message": "key 7"}), Blame::Account, UNAVAILABLE),
        (json!({"code": 429, "message": "Your package has expired"}), Blame::Account, UNAVAILABLE),
        (json!({"id": "../x"}), Blame::Upstream, FAILED),
        (json!({"id": "5f0c", "polling_url": "ftp://x"}), Blame::Upstream, FAILED),
        (json!({"status": "Pending"}), Blame::Upstream, FAILED),
    ] {
        play(&asked().reply(200, body).expect_fail(blame, message));
    }
    let mut odd = ready();
    odd["progress"] = json!("all");
    odd["result"]["seed"] = json!("42");
    odd["result"]["duration"] = json!({});
    odd["code"] = json!(404);
    play(&polled().reply(200, odd).expect_done(|outcome| assert_eq!(outcome.products[0].source, SAMPLE)));
    for (progress, expected) in [
        (json!("0.5"), 50),
        (json!(50), 50),
        (json!("45%"), 45),
        (json!(1.0), 99),
        (json!(1), 99),
        (json!("1"), 99),
        (json!("1.0"), 99),
    ] {
        let mut running = status("Pending");
        running["progress"] = progress;
        play(&polled().reply(200, running).expect_wait(|_| ()).expect_progress(expected));
    }
    for (word, sample, source) in [
        ("READY ", SAMPLE, SAMPLE),
        ("succeeded", SAMPLE, SAMPLE),
        ("Ready", "//e.example/a b.png", "https://e.example/a%20b.png"),
        ("Ready", "data:image/png;base64,AAAA", "data:image/png;base64,AAAA"),
        ("Ready", "blob:7", "blob:7"),
    ] {
        let mut body = ready();
        (body["status"], body["result"]["sample"]) = (json!(word), json!(sample));
        let done = polled().reply(200, body);
        play(&done.expect_done(move |outcome| assert_eq!(outcome.products[0].source, source)));
    }
    // Neither ends a task that runs.
    for unclear in [json!({"code": 429, "message": "slow"}), status("unknown")] {
        let script = (0..12).fold(polled(), |script, _| again(script, 200, unclear.clone()));
        play(&script.reply(200, ready()).expect_done(|_| ()));
    }
    // The status of a record is clearer than a code beside it.
    let stopped = "the generated image was stopped by output moderation";
    for (body, blame, message) in [
        (json!({"status": "Content Moderated", "code": 403}), Blame::Moderation, stopped),
        (json!({"status": "Error", "error": {"code": 429}}), Blame::Upstream, FAILED),
        (json!({"code": 429, "message": "Insufficient credits"}), Blame::Account, UNAVAILABLE),
    ] {
        play(&polled().reply(200, body).expect_fail(blame, message));
    }
    let mut moderated = status("content_moderated");
    moderated["details"] = json!({"Moderation Reasons": ["Flux account 77", 5, "Derivative Works Filter"]});
    let message = "the generated image was stopped by output moderation: Derivative Works Filter";
    play(&polled().reply(200, moderated).expect_fail(Blame::Moderation, message));
    for body in [json!({"status": null}), json!({"status": 5}), json!([]), json!("Ready")] {
        play(&again(polled(), 200, body));
    }
}

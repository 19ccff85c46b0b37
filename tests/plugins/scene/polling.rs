//! Polls and downloads: how each answer of the provider ends, and the progress.

use std::time::Duration;

use gatehouse_sdk::{Blame, Body, Outage, Reading, Replay, Reply, Stage, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::scene::{FAILED, FAST, OPERATION, done, play, polled, taken, text};
use crate::tasks::{UNAVAILABLE, seconds};

const BLOB: &str = "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV";
const NOT_FETCHED: &str = "the finished video could not be fetched from the upstream";

fn one() -> Script {
    polled(text(json!({})))
}

fn inline(count: usize) -> Value {
    json!({"raiMediaFilteredCount": 0, "videos": vec![json!({"bytesBase64Encoded": BLOB, "mimeType": "video/mp4"}); count]})
}

fn again(script: Script) -> Script {
    script.expect_wait(|_| ()).timer().expect_call(|_| ())
}

#[test]
fn polls_the_operation() {
    play(&taken(text(json!({}))).timer().expect_call(|call| {
        let path = "/publishers/google/models/veo-3.1-fast-generate-001:fetchPredictOperation";
        assert_eq!((call.method.as_str(), &call.target), ("POST", &Target::from(path)));
        assert_eq!(call.json_body(), json!({"operationName": OPERATION}));
        assert_eq!((call.replay, call.reading), (Replay::Safe, Reading::Cut));
    }));
}

#[test]
fn completes_with_the_videos_of_the_answer() {
    let script = one().reply(200, done(inline(1))).expect_done(|outcome| {
        assert_eq!(outcome.public, json!({"videos": [{"url": ["media:0"], "expires_at": "expires:0"}]}));
        assert_eq!((outcome.products.len(), outcome.products[0].source.as_str()), (1, BLOB));
        assert_eq!(
            (outcome.products[0].mime.as_deref(), &outcome.products[0].edit),
            (Some("video/mp4"), &None)
        );
        assert_eq!(outcome.settle, None);
        let kept = json!({
            "model": FAST, "uri": null, "milliseconds": 8000, "hidden_milliseconds": 0,
            "videos": 1, "aspect": "16:9", "resolution": "720p", "audio": false, "people": "allow_adult",
        });
        assert_eq!(outcome.private, kept);
    });
    play(&script.expect_stage(Stage::Processing));
    let four = polled(text(json!({"n": 4}))).reply(200, done(inline(4))).expect_done(|outcome| {
        assert_eq!((outcome.products.len(), &outcome.settle), (4, &None));
        assert_eq!(outcome.public["videos"][3], json!({"url": ["media:3"], "expires_at": "expires:3"}));
    });
    play(&four);
    // More than were asked for.
    play(&one().reply(200, done(inline(2))).expect_done(|outcome| assert_eq!(outcome.products.len(), 1)));
}

#[test]
fn what_the_filters_took_is_not_paid_for() {
    let mut some = inline(1);
    some["raiMediaFilteredCount"] = json!(2);
    some["raiMediaFilteredReasons"] = json!(["x. Support codes: 56562880"]);
    play(&polled(text(json!({"n": 3, "duration": 6}))).reply(200, done(some)).expect_done(|outcome| {
        let settle = outcome.settle.as_ref().expect("less");
        assert_eq!((settle.lines[0].quantity, outcome.products.len()), (6, 1));
        assert_eq!(settle.lines[0].keys, ["scene-3.1-fast-official@720p", FAST]);
    }));
    let moderated = "the request or the generated video was stopped by content moderation: violence";
    let all = json!({"raiMediaFilteredCount": 1, "raiMediaFilteredReasons": ["x. Support codes: 56562880"]});
    play(&one().reply(200, done(all)).expect_fail(Blame::Moderation, moderated));
    for nothing in
        [json!({}), json!({"videos": null, "raiMediaFilteredCount": null, "raiMediaFilteredReasons": null})]
    {
        play(&one().reply(200, done(nothing)).expect_fail(Blame::Upstream, FAILED));
    }
}

#[test]
fn progress_is_made_of_age() {
    let working = |seconds: u64, body: Value, expected: u8| {
        let script = taken(text(json!({}))).timer().expect_call(|_| ()).later(Duration::from_secs(seconds));
        play(
            &script
                .reply(200, body)
                .expect_wait(|_| ())
                .expect_stage(Stage::Processing)
                .expect_progress(expected),
        );
    };
    working(0, json!({"name": OPERATION}), 11);
    working(43, json!({"name": OPERATION, "done": false, "metadata": {}}), 52);
    working(1000, json!({"name": OPERATION}), 95);
}

#[test]
fn failures_inside_an_operation() {
    let end = |code: i64, message: &str, blame: Blame, expected: &str| {
        let body = json!({"name": OPERATION, "done": true, "error": {"code": code, "message": message}});
        play(&one().reply(200, body).expect_fail(blame, expected));
    };
    end(3, "sampleCount is odd", Blame::Request, "the upstream refused the request: sample_count is odd");
    let moderated = "the request or the generated video was stopped by content moderation: a child";
    end(3, "no. Support codes: 58061214", Blame::Moderation, moderated);
    for code in [7, 9, 13] {
        end(code, "no. Support codes: 58061214", Blame::Moderation, moderated);
    }
    end(7, "project", Blame::Account, UNAVAILABLE);
    for code in [4, 8, 13, 14, 99] {
        end(code, "x", Blame::Upstream, FAILED);
    }
}

#[test]
fn unclear_answers_are_polled_again() {
    let mut script = one();
    for round in 0..8 {
        script = again(match round % 4 {
            0 => script.reply(500, json!({"error": {"code": 500, "status": "INTERNAL"}})),
            1 => script.reply_whole(Reply::raw(503, "<html></html>")),
            2 => script.reply_whole(Reply::raw(200, "{\"name\":")),
            _ => script.reply(200, json!({"name": OPERATION, "done": true})),
        });
    }
    play(&script.reply(200, json!({})).expect_fail(Blame::Upstream, FAILED));
    let mut script = one();
    for outage in [Outage::Timeout, Outage::Broken, Outage::Unreachable].into_iter().cycle().take(20) {
        script = again(script.outage(outage));
    }
    play(&script.reply(200, done(inline(1))).expect_done(|_| ()));
    play(&one().outage(Outage::Refused).expect_fail(Blame::Upstream, UNAVAILABLE));
    let mut script = one();
    for _ in 0..5 {
        script = again(script.reply(404, json!({})));
    }
    play(&script.reply(404, json!({})).expect_fail(Blame::Upstream, FAILED));
    play(&again(one().reply(429, json!({}))).reply(403, json!({})).expect_fail(Blame::Account, UNAVAILABLE));
}

#[test]
fn an_operation_cannot_be_stopped() {
    play(&one().cancel().expect_wait(|_| ()));
    play(&taken(text(json!({}))).cancel().expect_wait(seconds(2)));
}

#[test]
fn a_lost_copy_is_polled_for_again() {
    let mut script = one();
    for _ in 0..3 {
        script = again(script.reply(200, done(inline(1))).expect_done(|_| ()).lost("gone"));
    }
    play(
        &script
            .reply(200, done(inline(1)))
            .expect_done(|_| ())
            .lost("gone")
            .expect_fail(Blame::Upstream, NOT_FETCHED),
    );
}

fn blob() -> Reply {
    Reply { body: Body::Blob(BLOB.to_owned()), ..Reply::raw(200, "") }
}

fn kept(video: Value) -> Script {
    one().reply(200, done(json!({"videos": [video]})))
}

#[test]
fn videos_that_the_provider_keeps_are_fetched_with_credentials() {
    let uri = "gs://bucket/a b/sample_0.mp4";
    let asked = kept(json!({"gcsUri": uri, "mimeType": "video/mp4"})).expect_call(|call| {
        let url = "https://storage.googleapis.com/storage/v1/b/bucket/o/a%20b%2Fsample_0.mp4?alt=media";
        assert_eq!((call.method.as_str(), &call.target), ("GET", &Target::from(url)));
        assert_eq!((call.replay, call.reading, call.credentials), (Replay::Safe, Reading::Saved, true));
    });
    play(&asked.reply_whole(blob()).expect_done(move |outcome| {
        assert_eq!((outcome.products[0].source.as_str(), &outcome.private["uri"]), (BLOB, &json!(uri)));
    }));
    // Any other address is refused: it would take the account's credentials elsewhere.
    for elsewhere in ["https://files.example/a.mp4", "", "a.mp4"] {
        play(&kept(json!({"gcsUri": elsewhere})).expect_wait(|_| ()));
    }
}

#[test]
fn a_download_has_five_tries() {
    let asked = || kept(json!({"gcsUri": "gs://b/o.mp4"})).expect_call(|_| ());
    let mut script = asked();
    for round in 0..4 {
        script = again(match round {
            0 => script.reply(403, json!({})),
            // It leads nowhere: a bucket does not redirect.
            2 => {
                script.reply_whole(Reply::new(302, &json!({})).with_header("location", "https://x.example/"))
            }
            1 => script.outage(Outage::Broken),
            _ => script.reply(503, json!({})),
        });
    }
    play(&script.reply(404, json!({})).expect_fail(Blame::Upstream, NOT_FETCHED));
    for outage in [Outage::Refused, Outage::TooLarge] {
        play(&asked().outage(outage).expect_fail(Blame::Upstream, NOT_FETCHED));
    }
    play(&asked().cancel().expect_wait(|_| ()));
}

/// Without it videos that were paid are lost for the type of something beside them, or for one of them that is missing.
#[test]
fn answers_are_read_in_every_form() {
    let videos = |videos: Value| json!({"videos": videos, "raiMediaFilteredCount": "0", "raiMediaFilteredReasons": [null]});
    let good = json!({"bytesBase64Encoded": BLOB, "mimeType": 5, "gcsUri": {}});
    for response in [videos(json!([good])), videos(good.clone()), videos(json!([good, {}, null, "x"]))] {
        for body in [
            done(response.clone()),
            json!({"name": 5, "done": "true", "error": {}, "response": response, "metadata": []}),
            json!({"name": OPERATION, "done": true, "error": "", "response": response}),
        ] {
            play(&one().reply(200, body).expect_done(|outcome| assert_eq!(outcome.products[0].source, BLOB)));
        }
    }
    let busy = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow"}});
    let script = (0..12).fold(one(), |script, _| again(script.reply(200, busy.clone())));
    play(&script.reply(200, done(videos(json!([good])))).expect_done(|_| ()));
    for error in [json!("broken"), json!({"code": "13", "message": {}}), json!([1])] {
        let body = json!({"name": OPERATION, "done": true, "error": error});
        play(&one().reply(200, body).expect_fail(Blame::Upstream, FAILED));
    }
}

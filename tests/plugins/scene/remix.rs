//! Continuations: which videos may be continued, what is sent, what the client gets of it.

use gatehouse_sdk::{Accepted, Blame, Clip, Edit, Facts, MediaKind, Parent, Status, Submission};
use gatehouse_testkit::Script;
use scene::REMIX;
use serde_json::{Value, json};

use crate::over;
use crate::scene::{FAST, OPERATION, QUALITY, done, play};

const BLOB: &str = "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV";

fn body(fields: Value) -> Value {
    over(json!({"model": "scene-3.1-fast", "prompt": "it lands"}), fields)
}

fn record(fields: Value) -> Value {
    let record = json!({
        "model": FAST, "uri": null, "milliseconds": 8000, "hidden_milliseconds": 0,
        "videos": 1, "aspect": "16:9", "resolution": "720p", "audio": false, "people": "allow_adult",
    });
    over(record, fields)
}

/// A finished video of that length that the host keeps.
fn parent(private: Value, milliseconds: u64) -> Parent {
    let film = Facts {
        milliseconds: Some(milliseconds),
        blob: Some(BLOB.to_owned()),
        ..Facts::new(MediaKind::Video, "video/mp4", 1_000_000)
    };
    let model = private["model"].as_str().expect("a model").to_owned();
    Parent {
        media: vec![film],
        affinity: Some("account-7".to_owned()),
        ..Parent::new("scene", model, private)
    }
}

fn asked(script: Script, parent: Parent, body: Value) -> Script {
    script.submit_whole(Submission { parents: vec![parent], ..Submission::new(REMIX, body) })
}

fn refused(script: Script, parent: Parent, fields: Value, field: &str, problem: &str) {
    play(&asked(script, parent, body(fields)).expect_refused(field, &format!("`{field}`: {problem}")));
}

#[test]
fn shapes_and_values_are_refused() {
    let no = |fields: Value, field: &str, problem: &str| {
        refused(Script::new(), parent(record(json!({})), 8000), fields, field, problem);
    };
    no(json!({"prompt": null}), "prompt", "expected a string, got null");
    no(json!({"prompt": ""}), "prompt", "expected a text that is not blank, got an empty string");
    no(json!({"raw": 1}), "raw", "expected true or false, got 1");
    no(json!({"aspect_ratio": "1:1"}), "aspect_ratio", "expected `16:9` or `9:16`, got the string \"1:1\"");
    let other = "expected that of the original, `16:9`, or nothing, got the string \"9:16\"";
    no(json!({"aspect_ratio": "9:16"}), "aspect_ratio", other);
    no(
        json!({"model": "scene-3.1-quality-ext"}),
        "model",
        "expected the model of the original, `scene-3.1-fast` (or `scene-3.1-fast-ext`, `scene-3.1-fast-official`), got \
         `scene-3.1-quality`",
    );
}

#[test]
fn only_finished_videos_of_the_family_are_continued() {
    for (status, word) in [
        (Status::Submitted, "submitted"),
        (Status::Pending, "pending"),
        (Status::Processing, "processing"),
        (Status::Failed, "failed"),
    ] {
        let unfinished = Parent { private: Value::Null, ..parent(record(json!({})), 8000) }.status(status);
        let problem = format!("expected a completed video, got one that is {word}");
        refused(Script::new(), unfinished, json!({}), "task_id", &problem);
    }
    let film = Parent::new("motion", "motion-2.6", json!({}));
    let problem = "expected a video of a scene-3.1 model, got a task of the model motion-2.6";
    refused(Script::new(), film, json!({}), "task_id", problem);
    let gone = Parent { media: vec![], ..parent(record(json!({})), 8000) };
    let problem = "expected a video that is still kept, got one whose link has expired";
    refused(Script::new(), gone, json!({}), "task_id", problem);
    // Some of several are gone, so nobody knows which one is the first.
    refused(Script::new(), parent(record(json!({"videos": 2})), 8000), json!({}), "task_id", problem);
    let long = parent(record(json!({})), 30_001);
    refused(Script::new(), long, json!({}), "task_id", "expected a video of at most 30 s, got one of 31 s");
    let short = parent(record(json!({})), 999);
    refused(
        Script::new(),
        short,
        json!({}),
        "task_id",
        "expected a video of at least 1 s, got one of 999 ms",
    );
}

/// The original goes out as bytes, to the account that made it.
#[test]
fn the_provider_gets_the_bytes_of_the_video() {
    let parameters = json!({
        "aspectRatio": "16:9", "resolution": "720p", "sampleCount": 1, "personGeneration": "allow_adult", "enhancePrompt": true,
        "generateAudio": false,
    });
    for (fields, of_parent, sent) in [
        (json!({}), json!({}), json!({})),
        (json!({"resolution": "4k"}), json!({}), json!({"resolution": "4k"})),
        (json!({"resolution": "1080p", "aspect_ratio": "16:9"}), json!({}), json!({"resolution": "1080p"})),
        // Of an older version, whose provider kept it for two days.
        (
            json!({}),
            json!({"dialect": "gemini", "uri": "https://x.example/f1:download", "until": 1}),
            json!({}),
        ),
        (
            json!({"raw": true}),
            json!({"audio": true, "people": "disallow", "aspect": "9:16"}),
            json!({"generateAudio": true, "personGeneration": "dont_allow", "aspectRatio": "9:16"}),
        ),
    ] {
        let expected = over(parameters.clone(), sent);
        let script =
            asked(Script::new(), parent(record(of_parent), 8000), body(fields)).expect_accepted(|_| ());
        play(&script.start().expect_call(move |call| {
            assert_eq!(call.affinity.as_deref(), Some("account-7"));
            let video = json!({"bytesBase64Encoded": format!("{BLOB}:base64"), "mimeType": "video/mp4"});
            assert_eq!(call.json_body()["instances"], json!([{"prompt": "it lands", "video": video}]));
            assert_eq!(call.json_body()["parameters"], expected);
        }));
    }
    for milliseconds in [1000, 30_000] {
        play(
            &asked(Script::new(), parent(record(json!({})), milliseconds), body(json!({})))
                .expect_accepted(|_| ()),
        );
    }
}

#[test]
fn every_name_of_the_model_is_taken() {
    for (model, names) in [
        (FAST, ["scene-3.1-fast", "scene-3.1-fast-ext", FAST]),
        (QUALITY, ["scene-3.1-quality", "scene-3.1-quality-ext", QUALITY]),
    ] {
        for name in names {
            let made = parent(record(json!({"model": model})), 8000);
            let priced = move |accepted: &Accepted<Vec<u8>>| {
                let keys = [format!("{model}@1080p"), model.to_owned()];
                assert_eq!((accepted.model.as_str(), accepted.charge.lines[0].quantity), (model, 7));
                assert_eq!(accepted.charge.lines[0].keys, keys);
            };
            let fields = body(json!({"model": name, "resolution": "1080p"}));
            play(&asked(Script::new(), made, fields).expect_accepted(priced));
        }
    }
}

/// Plays a continuation to its end; gives the beginning of its product, and its record to `check`.
fn ends(script: Script, parent: Parent, fields: Value, answer: Value, from: Option<u64>, kept: Value) {
    let fetched = answer["videos"][0].get("bytesBase64Encoded").is_none();
    let mut script = asked(script, parent, body(fields))
        .expect_accepted(|_| ())
        .start()
        .expect_call(|_| ())
        .reply(200, json!({"name": OPERATION}))
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, done(answer));
    if fetched {
        let blob = gatehouse_sdk::Body::Blob(BLOB.to_owned());
        script = script
            .expect_call(|_| ())
            .reply_whole(gatehouse_sdk::Reply { body: blob, ..gatehouse_sdk::Reply::raw(200, "") });
    }
    play(&script.expect_done(move |outcome| {
        assert_eq!(
            outcome.products[0].edit,
            from.map(|from| Edit::Clip(Clip { from_ms: from, to_ms: None }))
        );
        for (name, value) in kept.as_object().expect("an object") {
            assert_eq!(outcome.private[name], *value, "{name}");
        }
    }));
}

#[test]
fn raw_is_the_new_part_only() {
    let inline = || json!({"videos": [{"bytesBase64Encoded": BLOB}]});
    let made = |milliseconds| parent(record(json!({})), milliseconds);
    let kept =
        |milliseconds: u64, hidden: u64| json!({"milliseconds": milliseconds, "hidden_milliseconds": hidden});
    ends(Script::new(), made(8000), json!({}), inline(), None, kept(15_000, 0));
    ends(Script::new(), made(8000), json!({"raw": true}), inline(), Some(8000), kept(15_000, 8000));
    // What the client has of a raw one is 7 seconds, and that is what is sent.
    let raw = || parent(record(kept(15_000, 8000)), 7000);
    ends(Script::new(), raw(), json!({}), inline(), None, kept(14_000, 0));
    ends(Script::new(), raw(), json!({"raw": true}), inline(), Some(7000), kept(14_000, 7000));
}

#[test]
fn a_bucket_keeps_the_whole_of_a_raw_one() {
    let in_bucket = |milliseconds: u64, hidden: u64| {
        let fields =
            json!({"uri": "gs://b/0.mp4", "milliseconds": milliseconds, "hidden_milliseconds": hidden});
        parent(record(fields), milliseconds - hidden)
    };
    let answer = || json!({"videos": [{"gcsUri": "gs://b/1.mp4"}]});
    let kept = |milliseconds: u64, hidden: u64| json!({"uri": "gs://b/1.mp4", "milliseconds": milliseconds, "hidden_milliseconds": hidden});
    ends(Script::new(), in_bucket(8000, 0), json!({"raw": true}), answer(), Some(8000), kept(15_000, 8000));
    // The client has 7 seconds and gets 14, or the newest 7.
    ends(Script::new(), in_bucket(15_000, 8000), json!({}), answer(), Some(8000), kept(22_000, 8000));
    ends(
        Script::new(),
        in_bucket(15_000, 8000),
        json!({"raw": true}),
        answer(),
        Some(15_000),
        kept(22_000, 15_000),
    );
}

#[test]
fn a_new_part_that_cannot_be_cut_fails_with_the_reason() {
    let answer = json!({"videos": [{"bytesBase64Encoded": BLOB}]});
    let script = asked(Script::new(), parent(record(json!({})), 8000), body(json!({"raw": true})))
        .expect_accepted(|_| ())
        .start()
        .expect_call(|_| ())
        .reply(200, json!({"name": OPERATION}))
        .expect_wait(|_| ())
        .timer()
        .expect_call(|_| ())
        .reply(200, done(answer))
        .expect_done(|_| ())
        .lost("the result cannot be cut: it is a fragmented file");
    let message = "the new part cannot be had alone: the result cannot be cut: it is a fragmented file";
    play(&script.expect_fail(Blame::Upstream, message));
}

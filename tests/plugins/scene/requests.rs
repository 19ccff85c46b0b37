//! The specification's table of new videos: what is refused, what is sent, what it costs.

use gatehouse_sdk::{Accepted, Blame, Probe, Replay, Submission, Target};
use gatehouse_testkit::Script;
use scene::VIDEOS;
use serde_json::{Value, json};

use crate::over;
use crate::scene::{FAST, QUALITY, accepted, image, play, text};

const FIRST: &str = "https://example.com/day.png";
const LAST: &str = "https://example.com/night.jpg";

fn refused(body: Value, field: &str, problem: &str) {
    play(&Script::new().submit(VIDEOS, body).expect_refused(field, &format!("`{field}`: {problem}")));
}

#[test]
fn shapes_values_and_combinations_are_refused() {
    let frames = |more: Value| over(text(json!({"first_frame_image": FIRST})), more);
    refused(json!({"model": FAST}), "prompt", "expected a value, got nothing");
    refused(
        text(json!({"prompt": " "})),
        "prompt",
        "expected a text that is not blank, got the string \" \"",
    );
    refused(text(json!({"prompt": 7})), "prompt", "expected a string, got 7");
    refused(text(json!({"negative_prompt": []})), "negative_prompt", "expected a string, got an array of 0");
    refused(text(json!({"duration": "8"})), "duration", "expected an integer, got the string \"8\"");
    for seconds in [0, 3, 5, 7, 9, 15] {
        refused(
            text(json!({"duration": seconds})),
            "duration",
            &format!("expected 4, 6 or 8 (seconds), got {seconds}"),
        );
    }
    refused(
        text(json!({"aspect_ratio": "1:1"})),
        "aspect_ratio",
        "expected `16:9` or `9:16`, got the string \"1:1\"",
    );
    refused(text(json!({"first_frame_image": 5})), "first_frame_image", "expected a string, got 5");
    let url = "expected an http(s) URL, a base64 `data:` URI or base64, got the string \"a.png\"";
    refused(text(json!({"first_frame_image": "a.png"})), "first_frame_image", url);
    refused(frames(json!({"last_frame_image": "a.png"})), "last_frame_image", url);
    let alone = format!("expected a `first_frame_image` beside it, got only the string \"{LAST}\"");
    refused(text(json!({"last_frame_image": LAST})), "last_frame_image", &alone);
    refused(text(json!({"seed": -1})), "seed", "expected at least 0, got -1");
    refused(text(json!({"seed": 4_294_967_296_i64})), "seed", "expected at most 4294967295, got 4294967296");
    refused(
        text(json!({"generate_audio": "yes"})),
        "generate_audio",
        "expected true or false, got the string \"yes\"",
    );
    refused(
        text(json!({"person_generation": "allow_all"})),
        "person_generation",
        "expected `allow_adult` or `disallow`, got the string \"allow_all\"",
    );
    refused(
        frames(json!({"resize_mode": "fit"})),
        "resize_mode",
        "expected `pad` or `crop`, got the string \"fit\"",
    );
    let without = "not supported without an image, expected `pad` or nothing, got the string \"crop\"";
    refused(text(json!({"resize_mode": "crop"})), "resize_mode", without);
    let always = "expected true or nothing, as the prompt is always improved, got false";
    refused(text(json!({"enhance_prompt": false})), "enhance_prompt", always);
    for field in ["sample_count", "n"] {
        refused(text(json!({field: 0})), field, "expected at least 1, got 0");
        refused(text(json!({field: 5})), field, "expected at most 4, got 5");
    }
    let same = "expected the same as `sample_count`, 2, or nothing, got 3";
    refused(text(json!({"sample_count": 2, "n": 3})), "n", same);
}

/// Without it a field of a sibling model would be ignored, and a wrong film be charged.
#[test]
fn fields_of_sibling_models_count_or_are_refused() {
    for fields in [json!({"size": "9:16"}), json!({"size": "9:16", "aspect_ratio": "9:16"})] {
        sends(text(fields), over(defaults(), json!({"aspectRatio": "9:16"})));
    }
    let same =
        "expected the same as `aspect_ratio`, the string \"16:9\", or nothing, got the string \"9:16\"";
    refused(text(json!({"size": "9:16", "aspect_ratio": "16:9"})), "size", same);
    let frames =
        "not supported by this model, use `first_frame_image` and `last_frame_image`; got an array of 1";
    refused(text(json!({"image_urls": [FIRST]})), "image_urls", frames);
    refused(text(json!({"image_with_roles": [{"url": FIRST}]})), "image_with_roles", frames);
    let remix = "not supported by this model, POST /v1/videos/{task_id}/remix continues a finished video; got an array of 1";
    refused(text(json!({"video_urls": [FIRST]})), "video_urls", remix);
    let sound = "not supported by this model, `generate_audio` makes the sound; got";
    refused(text(json!({"audio_url": FIRST})), "audio_url", &format!("{sound} the string {FIRST:?}"));
    refused(text(json!({"audio_urls": [FIRST]})), "audio_urls", &format!("{sound} an array of 1"));
    sends(text(json!({"image_urls": [], "audio_url": null})), defaults());
    sends(
        text(json!({"duration": 6.0, "n": 2.0})),
        over(defaults(), json!({"durationSeconds": 6, "sampleCount": 2})),
    );
}

fn defaults() -> Value {
    json!({
        "aspectRatio": "16:9", "resolution": "720p", "durationSeconds": 8, "sampleCount": 1,
        "personGeneration": "allow_adult", "enhancePrompt": true, "generateAudio": false,
    })
}

/// The parameters of the call.
fn sends(body: Value, parameters: Value) {
    let expected = json!({"instances": [{"prompt": "a red kite"}], "parameters": parameters});
    play(
        &accepted(Script::new(), body)
            .start()
            .expect_call(move |call| assert_eq!(call.json_body(), expected)),
    );
}

#[test]
fn every_default_is_sent() {
    let nothing = json!({
        "negative_prompt": null, "duration": null, "aspect_ratio": null, "resolution": null, "first_frame_image": null,
        "last_frame_image": null, "seed": null, "generate_audio": null, "person_generation": null, "resize_mode": null,
        "enhance_prompt": null, "sample_count": null, "n": null,
    });
    sends(text(json!({})), defaults());
    sends(text(nothing), defaults());
    sends(text(json!({"unknown": 1, "enhance_prompt": true, "resize_mode": "pad"})), defaults());
    for seconds in [4, 6, 8] {
        sends(text(json!({"duration": seconds})), over(defaults(), json!({"durationSeconds": seconds})));
    }
    for (resolution, theirs) in [("720p", "720p"), ("1080p", "1080p"), ("4K", "4k"), ("4k", "4k")] {
        sends(text(json!({"resolution": resolution})), over(defaults(), json!({"resolution": theirs})));
    }
    for seed in [0_i64, 4_294_967_295] {
        sends(text(json!({"seed": seed})), over(defaults(), json!({"seed": seed})));
    }
    for field in ["sample_count", "n"] {
        sends(text(json!({field: 4})), over(defaults(), json!({"sampleCount": 4})));
    }
    let all = json!({"negative_prompt": "rain", "aspect_ratio": "9:16", "generate_audio": true,
        "person_generation": "disallow", "sample_count": 2, "n": 2});
    let sent = json!({"negativePrompt": "rain", "aspectRatio": "9:16", "generateAudio": true,
        "personGeneration": "dont_allow", "sampleCount": 2});
    sends(text(all), over(defaults(), sent));
}

#[test]
fn the_call_is_made_once_to_the_providers_model() {
    for (script, model, path) in [
        (Script::new(), FAST, "/publishers/google/models/veo-3.1-fast-generate-001:predictLongRunning"),
        (
            Script::new(),
            "scene-3.1-quality-ext",
            "/publishers/google/models/veo-3.1-generate-001:predictLongRunning",
        ),
        (
            Script::new().settings(json!({"upstream_models": {QUALITY: "veo-9"}, "storage_uri": ""})),
            QUALITY,
            "/publishers/google/models/veo-9:predictLongRunning",
        ),
    ] {
        let script =
            accepted(script, json!({"model": model, "prompt": "a kite"})).start().expect_call(move |call| {
                assert_eq!((call.provider.as_str(), call.method.as_str()), ("veo", "POST"));
                assert_eq!((&call.target, call.replay), (&Target::from(path), Replay::Once));
                assert_eq!(call.affinity, None);
            });
        play(&script);
    }
    let bucket = Script::new().settings(json!({"storage_uri": "gs://bucket/films/"}));
    play(&accepted(bucket, text(json!({}))).start().expect_call(|call| {
        assert_eq!(call.json_body()["parameters"]["storageUri"], "gs://bucket/films/");
    }));
}

#[test]
fn images_are_fetched_and_sent_as_bytes() {
    let frames = json!({"first_frame_image": "HTTPS://example.com/day.png", "last_frame_image": LAST, "resize_mode": "crop"});
    let asked = |body: Value, links: &'static [&str]| {
        accepted(Script::new(), body).start().expect_probe(move |probes| {
            assert_eq!(*probes, links.iter().map(|link| Probe::keep(*link)).collect::<Vec<_>>());
        })
    };
    let found = [Ok(image("image/png", 1, "blob:1")), Ok(image("image/jpeg", 20 << 20, "blob:2"))];
    play(&asked(text(frames.clone()), &[FIRST, LAST]).probed(found).expect_call(|call| {
        let body = call.json_body();
        assert_eq!(
            body["instances"][0]["image"],
            json!({"bytesBase64Encoded": "blob:1:base64", "mimeType": "image/png"})
        );
        let last = json!({"bytesBase64Encoded": "blob:2:base64", "mimeType": "image/jpeg"});
        assert_eq!(
            (&body["instances"][0]["lastFrame"], &body["parameters"]["resizeMode"]),
            (&last, &json!("crop"))
        );
    }));
    let one = || text(json!({"first_frame_image": FIRST}));
    play(&asked(one(), &[FIRST]).probed([Ok(image("image/png", 1, "blob:1"))]).expect_call(|call| {
        assert_eq!(call.json_body()["parameters"], over(defaults(), json!({"resizeMode": "pad"})));
        assert_eq!(call.json_body()["instances"][0].get("lastFrame"), None);
    }));
    for (facts, problem) in [
        (image("image/webp", 1, "blob:1"), "expected a JPEG or PNG image, got image/webp"),
        (
            image("image/png", (20 << 20) + 1, "blob:1"),
            "expected at most 20 MB (20971520 bytes), got 20971521 bytes",
        ),
    ] {
        let message = format!("`first_frame_image`: {problem}");
        play(&asked(one(), &[FIRST]).probed([Ok(facts)]).expect_fail(Blame::Request, &message));
    }
    let gone = "could not be fetched: the server answered 404";
    let message = format!("dependency unavailable: `last_frame_image`: {gone}");
    let found = [Ok(image("image/png", 1, "blob:1")), Err(gone)];
    play(&asked(text(frames), &[FIRST, LAST]).probed(found).expect_fail(Blame::Request, &message));
    play(&asked(one(), &[FIRST]).cancel().expect_fail(Blame::Request, "cancelled before it was started"));
}

#[test]
fn images_of_the_request_are_judged_at_once() {
    let blob = "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let submit = |mime: &str| {
        let body = text(json!({"first_frame_image": blob}));
        Script::new()
            .submit_whole(Submission { blobs: vec![image(mime, 9, blob)], ..Submission::new(VIDEOS, body) })
    };
    play(&submit("image/png").expect_accepted(|_| ()).start().expect_call(move |call| {
        let sent = &call.json_body()["instances"][0]["image"]["bytesBase64Encoded"];
        assert_eq!(*sent, json!(format!("{blob}:base64")));
    }));
    let problem = "`first_frame_image`: expected a JPEG or PNG image, got image/gif";
    play(&submit("image/gif").expect_refused("first_frame_image", problem));
    let foreign = "expected an http(s) URL, a base64 `data:` URI or base64, got a file of another request";
    refused(text(json!({"first_frame_image": blob})), "first_frame_image", foreign);
}

#[test]
fn a_second_has_a_price_by_model_resolution_and_sound() {
    for (fields, keys, seconds) in [
        (json!({}), &["scene-3.1-fast-official@720p", FAST][..], 8),
        (
            json!({"model": "scene-3.1-quality", "duration": 4, "n": 3}),
            &["scene-3.1-quality-official@720p", QUALITY],
            12,
        ),
        (
            json!({"resolution": "4K", "generate_audio": true, "duration": 6}),
            &["scene-3.1-fast-official@4k-audio", "scene-3.1-fast-official@4k", FAST],
            6,
        ),
    ] {
        let priced = move |accepted: &Accepted<Vec<u8>>| {
            let expected: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            assert_eq!(
                (&accepted.charge.lines[0].keys, accepted.charge.lines[0].quantity),
                (&expected, seconds)
            );
        };
        play(&Script::new().submit(VIDEOS, text(fields)).expect_accepted(priced));
    }
}

#[test]
fn long_texts_are_refused_where_the_state_ends() {
    let body = text(json!({"prompt": "a".repeat(62_000)}));
    let begin = "expected texts and URLs of at most 61440 bytes together (large files do not count), got ";
    let own = 62_000 + 380;
    play(&Script::new().submit(VIDEOS, body).expect_refused("", &format!("{begin}{own}")));
    play(&accepted(Script::new(), text(json!({"prompt": "a".repeat(60_000)}))));
}

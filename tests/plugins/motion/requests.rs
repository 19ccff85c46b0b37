//! Requests: what is refused, what each good one becomes, and what it costs.

use gatehouse_sdk::{Accepted, Facts, Family, MediaKind, Replay, Stage, Submission, Target};
use gatehouse_testkit::Script;
use motion::{Motion, SURFACE};
use serde_json::{Value, json};

use crate::motion::{accepted, play, text26, text27};
use crate::over;

const IMAGE: &str = "https://example.com/a.png";
const LAST: &str = "https://example.com/b.png";

fn refused(body: Value, field: &str, problem: &str) {
    play(&Script::new().submit(SURFACE, body).expect_refused(field, &crate::tasks::words(field, problem)));
}

#[test]
fn invalid_requests_are_refused() {
    let model = "expected `motion-2.6` or `motion-2.7`, got";
    refused(json!([1]), "", "expected a JSON object, got an array of 1");
    refused(json!({}), "model", &format!("{model} nothing"));
    refused(json!({"model": "motion-3"}), "model", &format!("{model} the string \"motion-3\""));
    for body in [text26(json!({"duration": "5"})), text27(json!({"duration": "5"}))] {
        refused(body, "duration", "expected an integer, got the string \"5\"");
    }
    let blank = "expected a text that is not blank, got";
    for model in ["motion-2.6", "motion-2.7"] {
        refused(json!({"model": model}), "prompt", &format!("{blank} nothing"));
        refused(json!({"model": model, "prompt": null}), "prompt", &format!("{blank} nothing"));
        refused(json!({"model": model, "prompt": "\n"}), "prompt", &format!("{blank} the string \"\\n\""));
        refused(
            json!({"model": model, "prompt": "", "image_urls": []}),
            "prompt",
            &format!("{blank} an empty string"),
        );
    }
    for seconds in [0, 4, 6, 9, 11, 14, 16, 20] {
        let message = format!("expected 5, 10 or 15 (seconds), got {seconds}");
        refused(text26(json!({"duration": seconds})), "duration", &message);
    }
    refused(text27(json!({"duration": 1})), "duration", "expected at least 2, got 1");
    refused(text27(json!({"duration": 16})), "duration", "expected at most 15, got 16");
    let ratio = "not supported with an image, whose ratio the video has; got \"3:4\"";
    refused(text26(json!({"image_urls": [IMAGE], "aspect_ratio": "3:4"})), "aspect_ratio", ratio);
    let template = "expected one image for the template `flying`, got nothing";
    refused(text26(json!({"template": "flying"})), "image_urls", template);
    let stranger = "expected an http(s) URL, a base64 `data:` URI or base64, got a file of another request";
    refused(text26(json!({"image_urls": ["blob:01ARZ3NDEKTSV4RRFFQ69G5FAV"]})), "image_urls[0]", stranger);
}

#[test]
fn fields_of_motion_27_exclude_each_other() {
    let both = |more: Value, field: &str, problem: &str| refused(text27(more), field, problem);
    let alone = |other: &str| {
        format!("expected nothing together with `{other}`, got the string \"https://example.com/a.mp3\"")
    };
    let audio = "https://example.com/a.mp3";
    let clip = "https://example.com/a.mp4";
    both(json!({"audio_url": audio, "image_urls": [IMAGE]}), "audio_url", &alone("image_urls"));
    both(
        json!({"audio_url": audio, "image_with_roles": [{"url": IMAGE}]}),
        "audio_url",
        &alone("image_with_roles"),
    );
    both(json!({"audio_url": audio, "video_urls": [clip]}), "audio_url", &alone("video_urls"));
    both(
        json!({"image_urls": [IMAGE], "image_with_roles": [{"url": IMAGE}]}),
        "image_with_roles",
        "expected nothing together with `image_urls`, got an array of 1",
    );
    both(
        json!({"image_urls": [IMAGE, LAST], "video_urls": [clip]}),
        "image_urls",
        "expected nothing together with `video_urls`, got an array of 2",
    );
    both(
        json!({"image_with_roles": [{"url": IMAGE}], "video_urls": [clip]}),
        "image_with_roles[0].role",
        "expected `last_frame` together with `video_urls`, which is the beginning, got \
         \"first_frame\"",
    );
    both(
        json!({"image_with_roles": [{"url": IMAGE, "role": "last_frame"}, {"url": LAST, "role": "last_frame"}]}),
        "image_with_roles[1].role",
        "expected another role than that of the image before, got \"last_frame\"",
    );
    both(
        json!({"image_with_roles": [{"url": IMAGE, "role": "last_frame"}]}),
        "image_with_roles[0].role",
        "expected a `first_frame`, too, or a video in `video_urls`, got \"last_frame\"",
    );
}

/// The body of the call.
fn sends(body: Value, expected: Value) {
    play(&accepted(body).start().expect_call(move |call| assert_eq!(call.json_body(), expected)));
}

#[test]
fn motion_26_sends_every_default() {
    let text = |parameters: Value| {
        json!({
            "model": "wan2.6-t2v",
            "input": {"prompt": "a red kite"},
            "parameters": over(json!({"size": "1280*720", "duration": 5}), parameters),
        })
    };
    let nothing = json!({
        "image_urls": null, "negative_prompt": null, "aspect_ratio": null, "resolution": null, "duration": null, "seed": null,
        "prompt_extend": null, "audio": null, "audio_url": null, "shot_type": null, "watermark": null, "template": null,
    });
    sends(text26(json!({})), text(json!({})));
    sends(text26(nothing), text(json!({})));
    sends(text26(json!({"unknown": {"any": "thing"}})), text(json!({})));
    for seconds in [5, 10, 15] {
        sends(text26(json!({"duration": seconds})), text(json!({"duration": seconds})));
    }
    for shots in ["single", "multi"] {
        sends(text26(json!({"shot_type": shots})), text(json!({"shot_type": shots})));
    }
    for value in [true, false] {
        let flags = json!({"prompt_extend": value, "audio": value, "watermark": value});
        sends(text26(flags.clone()), text(flags));
    }
    for seed in [0, 2_147_483_647] {
        sends(text26(json!({"seed": seed})), text(json!({"seed": seed})));
    }
    let image = |input: Value, resolution: &str| {
        json!({
            "model": "wan2.6-i2v",
            "input": over(json!({"img_url": IMAGE}), input),
            "parameters": {"resolution": resolution, "duration": 5},
        })
    };
    let model = |fields: Value| over(json!({"model": "motion-2.6", "image_urls": [IMAGE]}), fields);
    sends(model(json!({})), image(json!({}), "720P"));
    sends(model(json!({"aspect_ratio": "16:9", "resolution": "1080p"})), image(json!({}), "1080P"));
    sends(model(json!({"image_urls": ["HTTPS://example.com/a.png"]})), image(json!({}), "720P"));
    let effect = json!({"template": "dance2", "prompt": "ignored", "negative_prompt": "ignored", "shot_type": "multi"});
    sends(model(effect), image(json!({"template": "dance2"}), "720P"));
    // Whatever stands there.
    for prompt in [json!(5), json!(["a"]), json!(""), Value::Null] {
        let effect = json!({"template": "dance2", "prompt": prompt});
        sends(model(effect), image(json!({"template": "dance2"}), "720P"));
    }
    let wrong = "expected a string, got 5";
    refused(model(json!({"template": null, "prompt": 5})), "prompt", wrong);
}

#[test]
fn motion_27_sends_every_default() {
    let defaults = json!({"resolution": "1080P", "duration": 5, "prompt_extend": true, "watermark": false});
    let text = over(defaults.clone(), json!({"ratio": "16:9"}));
    let body = json!({"model": "wan2.7-t2v", "input": {"prompt": "a red kite"}, "parameters": text});
    sends(text27(json!({})), body.clone());
    sends(text27(json!({"image_urls": [], "image_with_roles": [], "video_urls": []})), body);
    let from =
        |media: Value| json!({"model": "wan2.7-i2v", "input": {"media": media}, "parameters": defaults});
    let model = |fields: Value| over(json!({"model": "motion-2.7"}), fields);
    let first = json!({"type": "first_frame", "url": IMAGE});
    let last = json!({"type": "last_frame", "url": LAST});
    sends(model(json!({"image_urls": [IMAGE], "size": "3:4"})), from(json!([first])));
    sends(model(json!({"image_urls": [IMAGE, LAST]})), from(json!([first, last])));
    sends(model(json!({"image_with_roles": [{"url": IMAGE, "role": "first_frame"}]})), from(json!([first])));
    let both = json!([{"url": IMAGE}, {"url": LAST, "role": "last_frame"}]);
    sends(model(json!({"image_with_roles": both})), from(json!([first, last])));
}

/// Without it a field of a sibling model would be ignored, and a wrong film be charged.
#[test]
fn fields_of_sibling_models_count_or_are_refused() {
    for body in [text26(json!({"size": "9:16"})), text26(json!({"size": "9:16", "aspect_ratio": "9:16"}))] {
        play(&accepted(body).start().expect_call(|call| {
            assert_eq!(call.json_body()["parameters"]["size"], "720*1280");
        }));
    }
    for body in
        [text27(json!({"aspect_ratio": "9:16"})), text27(json!({"size": "9:16", "aspect_ratio": "9:16"}))]
    {
        play(&accepted(body).start().expect_call(|call| {
            assert_eq!(call.json_body()["parameters"]["ratio"], "9:16");
        }));
    }
    let both = json!({"size": "9:16", "aspect_ratio": "4:3"});
    let same = |name: &str, ratio: &str, other: &str| {
        format!(
            "expected the same as `{name}`, the string \"{ratio}\", or nothing, got the string \"{other}\""
        )
    };
    refused(text26(both.clone()), "size", &same("aspect_ratio", "4:3", "9:16"));
    refused(text27(both), "aspect_ratio", &same("size", "9:16", "4:3"));
    let ratio = "not supported with an image, whose ratio the video has; got \"3:4\"";
    refused(text26(json!({"image_urls": [IMAGE], "size": "3:4"})), "size", ratio);
    for (field, value, advice26, advice27) in [
        ("first_frame_image", json!(IMAGE), "use `image_urls`", Some("use `image_urls`")),
        (
            "last_frame_image",
            json!(IMAGE),
            "motion-2.7 takes a last frame as the second of its `image_urls`",
            Some("use `image_urls`, whose second image is the last frame"),
        ),
        ("audio_urls", json!([IMAGE]), "use `audio_url`", Some("use `audio_url`")),
        ("image_with_roles", json!([{"url": IMAGE}]), "use `image_urls`", None),
        ("video_urls", json!([IMAGE]), "motion-2.7 continues videos", None),
    ] {
        let came =
            if value.is_array() { "an array of 1".to_owned() } else { format!("the string {IMAGE:?}") };
        let message = |advice: &str| format!("not supported by this model, {advice}; got {came}");
        refused(text26(json!({field: value})), field, &message(advice26));
        if let Some(advice) = advice27 {
            refused(text27(json!({field: value})), field, &message(advice));
        }
        for nothing in [json!(null), json!([])] {
            play(&accepted(text26(json!({field: nothing}))));
        }
    }
}

/// Without it a value that has no effect would refuse the request.
#[test]
fn the_ratio_is_ignored_with_an_image_whatever_it_is() {
    for ignored in [json!("2:1"), json!(7), json!(["x"]), json!("9:16")] {
        for field in ["size", "aspect_ratio"] {
            let body = text27(json!({"image_urls": [IMAGE], field: ignored}));
            play(&accepted(body).start().expect_call(|call| {
                assert_eq!(call.json_body()["parameters"].get("ratio"), None);
            }));
        }
    }
    let both = text27(json!({"image_urls": [IMAGE], "size": "1:1", "aspect_ratio": "9:16"}));
    play(&accepted(both));
    let wrong = "expected one of `16:9`, `9:16`, `1:1`, `4:3`, `3:4`, got the string \"2:1\"";
    refused(text27(json!({"size": "2:1", "image_urls": []})), "size", wrong);
}

#[test]
fn whole_numbers_are_integers_however_they_are_written() {
    for body in [text26(json!({"duration": 5.0, "seed": 7.0})), text27(json!({"duration": 5.0, "seed": 7.0}))]
    {
        play(&accepted(body).start().expect_call(|call| {
            let parameters = &call.json_body()["parameters"];
            assert_eq!((&parameters["duration"], &parameters["seed"]), (&json!(5), &json!(7)));
        }));
    }
    refused(text27(json!({"duration": 5.5})), "duration", "expected an integer, got 5.5");
}

#[test]
fn the_operator_chooses_the_providers_models() {
    for (body, key) in [
        (text26(json!({})), "motion-2.6-text"),
        (text26(json!({"image_urls": [IMAGE]})), "motion-2.6-image"),
        (text26(json!({"image_urls": [IMAGE], "template": "melt"})), "motion-2.6-effects"),
        (text27(json!({})), "motion-2.7-text"),
        (text27(json!({"image_urls": [IMAGE]})), "motion-2.7-image"),
    ] {
        let script = Script::new()
            .settings(json!({"upstream_models": {key: "wan9-chosen"}}))
            .submit(SURFACE, body)
            .expect_accepted(|_| ())
            .start()
            .expect_call(|call| assert_eq!(call.json_body()["model"], "wan9-chosen"));
        play(&script);
    }
}

#[test]
fn the_call_is_asynchronous_and_made_once() {
    let script = accepted(text26(json!({})))
        .start()
        .expect_call(|call| {
            assert_eq!(call.provider, "dashscope");
            let path = "/api/v1/services/aigc/video-generation/video-synthesis";
            assert_eq!((call.method.as_str(), &call.target), ("POST", &Target::from(path)));
            assert_eq!(call.header_value("x-dashscope-async"), Some("enable"));
            assert_eq!(call.replay, Replay::Once);
        })
        .expect_stage(Stage::Submitted);
    play(&script);
}

#[test]
fn a_second_has_a_price_by_model_and_resolution() {
    for (body, keys, seconds) in [
        (text26(json!({})), ["motion-2.6@720p", "motion-2.6"], 5),
        (text26(json!({"resolution": "1080p", "duration": 15})), ["motion-2.6@1080p", "motion-2.6"], 15),
        (text27(json!({})), ["motion-2.7@1080p", "motion-2.7"], 5),
        (text27(json!({"resolution": "720P", "duration": 2})), ["motion-2.7@720p", "motion-2.7"], 2),
    ] {
        let priced = move |accepted: &Accepted<Vec<u8>>| {
            assert_eq!(
                (accepted.charge.lines[0].keys.as_slice(), accepted.charge.lines[0].quantity),
                (&keys.map(str::to_owned)[..], seconds)
            );
        };
        play(&Script::new().submit(SURFACE, body).expect_accepted(priced));
    }
}

#[test]
fn long_texts_are_refused_where_the_state_ends() {
    let of = |length: usize| text26(json!({"prompt": "a".repeat(length)}));
    // As bytes of state; the defaults take their part.
    let most = 61_440 - 145;
    play(&accepted(of(most)).start().expect_call(|_| ()));
    let message =
        "expected texts and URLs of at most 61440 bytes together (large files do not count), got 61441";
    refused(of(most + 1), "", message);
}

#[test]
fn files_of_the_request_are_judged_at_once() {
    let blob = "blob:01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let submit = |body: Value, facts: Facts| {
        let facts = Facts { blob: Some(blob.to_owned()), ..facts };
        Script::new().submit_whole(Submission { blobs: vec![facts], ..Submission::new(SURFACE, body) })
    };
    let sound = |ms| Facts { milliseconds: Some(ms), ..Facts::new(MediaKind::Audio, "audio/wav", 1000) };
    let body = || text26(json!({"audio_url": blob, "audio": true}));
    let sent = move |call: &gatehouse_sdk::Call| {
        let body = call.json_body();
        assert_eq!((&body["input"]["audio_url"], body["parameters"].get("audio")), (&json!(blob), None));
    };
    play(&submit(body(), sound(5200)).expect_accepted(|_| ()).start().expect_call(sent));
    let long = "`audio_url`: expected a sound of at most `duration`, 5 s, got 5.201 s";
    play(&submit(body(), sound(5201)).expect_refused("audio_url", long));
    let picture = Facts::new(MediaKind::Image, "image/png", 1000);
    play(
        &submit(body(), picture)
            .expect_refused("audio_url", "`audio_url`: expected a sound file, got image/png"),
    );
    for mime in ["image/heic", "image/svg+xml"] {
        let kind = if mime == "image/heic" { MediaKind::Image } else { MediaKind::Other };
        let message = format!("`image_urls[0]`: expected a JPEG, PNG, BMP or WebP image, got {mime}");
        for model in ["motion-2.6", "motion-2.7"] {
            let body = json!({"model": model, "image_urls": [blob]});
            play(&submit(body, Facts::new(kind, mime, 1000)).expect_refused("image_urls[0]", &message));
        }
    }
    let clip = Facts {
        milliseconds: Some(10_001),
        width: Some(640),
        height: Some(480),
        ..Facts::new(MediaKind::Video, "video/mp4", 1000)
    };
    let body = json!({"model": "motion-2.7", "video_urls": [blob]});
    let three = Facts { milliseconds: Some(3000), ..clip.clone() };
    let continued = submit(body.clone(), three).expect_accepted(|accepted| {
        assert_eq!(accepted.charge.lines[0].quantity, 8, "what is known is held, no more");
    });
    play(&continued.start().expect_call(|call| assert_eq!(call.json_body()["parameters"]["duration"], 8)));
    let long = "`video_urls[0]`: expected a video of 2 to 10 s, got 10.001 s";
    play(&submit(body, clip).expect_refused("video_urls[0]", long));
}

#[test]
fn publishes_the_rules_in_the_schema() {
    let about = Motion::about();
    let schema = about.surfaces[0].parsed_schema();
    let models = schema["oneOf"].as_array().expect("one schema a model");
    let of = |model: &str| {
        let of_model = models.iter().find(|schema| schema["properties"]["model"]["const"] == model);
        let of_model = of_model.expect("a model's schema");
        match of_model["$ref"].as_str() {
            Some(reference) => schema.pointer(reference.trim_start_matches('#')).expect("a definition"),
            None => of_model,
        }
    };
    assert_eq!(of("motion-2.7")["properties"]["duration"]["maximum"], 15);
    assert_eq!(of("motion-2.7")["properties"]["image_urls"]["maxItems"], 2);
    assert_eq!(of("motion-2.6")["properties"]["seed"]["maximum"], 2_147_483_647);
}

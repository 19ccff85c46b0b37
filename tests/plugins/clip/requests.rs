//! Requests: what is refused, and what each field becomes for the provider. Line by line of the specification's table.

use clip::{Clip, VIDEOS};
use gatehouse_sdk::{Family, Owned, Submission, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::clip::{TASKS, accepted, body, image, play, video};

const DAY: &str = "https://example.com/day.png";
const NIGHT: &str = "https://example.com/night.png";
const MOVE: &str = "https://example.com/move.mp4";
const SONG: &str = "https://example.com/song.wav";

fn refused(fields: Value, field: &str, problem: &str) {
    play(
        &Script::new()
            .submit(VIDEOS, body(fields))
            .expect_refused(field, &crate::tasks::words(field, problem)),
    );
}

/// The fields sent upstream, over the ones every request has.
fn sends(fields: Value, expected: Value) {
    let whole = crate::over(
        json!({
            "model": "doubao-seedance-2-0-260128",
            "content": [{"type": "text", "text": "a red kite"}],
            "resolution": "720p",
            "ratio": "16:9",
            "duration": 5,
            "generate_audio": true,
            "return_last_frame": false,
            "watermark": false,
            "execution_expires_after": 3600,
        }),
        expected,
    );
    let script = accepted(fields).start().expect_call(move |call| {
        assert_eq!((call.provider.as_str(), call.target.clone()), ("ark", Target::from(TASKS)));
        assert_eq!(call.json_body(), whole);
    });
    play(&script);
}

#[test]
fn every_default_is_sent() {
    sends(json!({}), json!({}));
    let nothing = json!({
        "duration": null, "size": null, "resolution": null, "seed": null, "generate_audio": null,
        "return_last_frame": null, "tools": null, "image_urls": null, "image_with_roles": null,
        "video_urls": null, "audio_urls": null,
    });
    sends(nothing, json!({}));
    sends(
        json!({"image_urls": [], "image_with_roles": [], "video_urls": [], "audio_urls": [], "tools": []}),
        json!({}),
    );
    sends(json!({"style": "anything", "watermark": true}), json!({}));
}

#[test]
fn every_value_is_sent() {
    for duration in [4, 5, 15] {
        sends(json!({"duration": duration}), json!({"duration": duration}));
    }
    for size in ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"] {
        sends(json!({"size": size}), json!({"ratio": size}));
    }
    for resolution in ["480p", "720p", "1080p", "4k"] {
        sends(json!({"resolution": resolution}), json!({"resolution": resolution}));
    }
    for seed in [-1_i64, 0, 4_294_967_295] {
        sends(json!({"seed": seed}), json!({"seed": seed}));
    }
    sends(json!({"generate_audio": false}), json!({"generate_audio": false}));
    sends(json!({"return_last_frame": true}), json!({"return_last_frame": true}));
    sends(json!({"tools": [{"type": "web_search"}]}), json!({"tools": [{"type": "web_search"}]}));
}

/// Without it a field of a sibling model would be ignored, and a wrong film be charged.
#[test]
fn fields_of_sibling_models_count_or_are_refused() {
    sends(json!({"aspect_ratio": "9:16"}), json!({"ratio": "9:16"}));
    sends(json!({"aspect_ratio": "9:16", "size": "9:16"}), json!({"ratio": "9:16"}));
    refused(
        json!({"aspect_ratio": "9:16", "size": "1:1"}),
        "aspect_ratio",
        "expected the same as `size`, the string \"1:1\", or nothing, got the string \"9:16\"",
    );
    for (field, value, advice, came) in [
        (
            "first_frame_image",
            json!(DAY),
            "use `image_with_roles` with the role `first_frame`",
            format!("the string {DAY:?}"),
        ),
        (
            "last_frame_image",
            json!(DAY),
            "use `image_with_roles` with the role `last_frame`",
            format!("the string {DAY:?}"),
        ),
        ("audio_url", json!(SONG), "use `audio_urls`", format!("the string {SONG:?}")),
    ] {
        let message = format!("not supported by this model, {advice}; got {came}");
        refused(json!({field: value}), field, &message);
    }
    sends(json!({"duration": 6.0, "seed": 7.0}), json!({"duration": 6, "seed": 7}));
}

#[test]
fn shapes_and_ranges_are_checked() {
    refused(json!({"duration": "5"}), "duration", "expected an integer, got the string \"5\"");
    refused(json!({"duration": 5.5}), "duration", "expected an integer, got 5.5");
    refused(json!({"duration": 3}), "duration", "expected at least 4, got 3");
    refused(json!({"duration": -1}), "duration", "expected at least 4, got -1");
    refused(json!({"duration": 16}), "duration", "expected at most 15, got 16");
    let sizes = "expected one of `16:9`, `9:16`, `1:1`, `4:3`, `3:4`, `21:9`, `adaptive`";
    refused(json!({"size": "2:1"}), "size", &format!("{sizes}, got the string \"2:1\""));
    let resolutions = "expected one of `480p`, `720p`, `1080p`, `4k`";
    refused(json!({"resolution": "4K"}), "resolution", &format!("{resolutions}, got the string \"4K\""));
    refused(json!({"seed": -2}), "seed", "expected at least -1, got -2");
    refused(json!({"seed": 4_294_967_296_i64}), "seed", "expected at most 4294967295, got 4294967296");
    refused(json!({"seed": "7"}), "seed", "expected an integer, got the string \"7\"");
    refused(
        json!({"generate_audio": "true"}),
        "generate_audio",
        "expected true or false, got the string \"true\"",
    );
    refused(json!({"return_last_frame": 1}), "return_last_frame", "expected true or false, got 1");
    refused(
        json!({"tools": [{"type": "browser"}]}),
        "tools[0].type",
        "expected `web_search`, got the string \"browser\"",
    );
    refused(json!({"tools": [{}]}), "tools[0].type", "expected a value, got nothing");
    refused(json!({"image_urls": DAY}), "image_urls", &format!("expected an array, got the string {DAY:?}"));
}

#[test]
fn each_model_has_its_name_its_resolutions_and_its_prices() {
    for (model, upstream, resolutions) in [
        ("clip-2.0", "doubao-seedance-2-0-260128", &["480p", "720p", "1080p", "4k"][..]),
        ("clip-2.0-fast", "doubao-seedance-2-0-fast-260128", &["480p", "720p"]),
        ("clip-2.0-mini", "doubao-seedance-2-0-mini-260615", &["480p", "720p"]),
    ] {
        for resolution in ["480p", "720p", "1080p", "4k"] {
            let fields = json!({"model": model, "resolution": resolution, "duration": 7});
            if resolutions.contains(&resolution) {
                let script = Script::new()
                    .submit(VIDEOS, body(fields))
                    .expect_accepted(move |accepted| {
                        assert_eq!(accepted.model, model);
                        assert_eq!(
                            accepted.charge.lines[0].keys,
                            [format!("{model}@{resolution}"), model.to_owned()]
                        );
                        assert_eq!(accepted.charge.lines[0].quantity, 7);
                    })
                    .start()
                    .expect_call(move |call| assert_eq!(call.json_body()["model"], upstream));
                play(&script);
            } else {
                let message = format!("expected 480p or 720p with {model}, got {resolution}");
                refused(fields, "resolution", &message);
            }
        }
    }
    let settings = json!({"models": {"clip-2.0": "ep-20260101-abcde"}});
    let own = accepted(json!({})).settings(settings).start();
    play(&own.expect_call(|call| assert_eq!(call.json_body()["model"], "ep-20260101-abcde")));
}

/// The references sent upstream, after the hosts' look at them.
fn references(fields: Value, expected: Value) {
    let count = expected.as_array().map_or(0, Vec::len);
    let kinds: Vec<String> = expected
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| item["type"].as_str().unwrap_or_default().to_owned())
        .collect();
    let facts = kinds.iter().map(|kind| match kind.as_str() {
        "image_url" => Ok(image(800, 600)),
        "video_url" => Ok(video(1280, 720, 4000)),
        _ => Ok(crate::clip::audio(5000)),
    });
    let facts: Vec<_> = facts.collect();
    let script = accepted(fields)
        .start()
        .expect_probe(move |probes| {
            assert_eq!(probes.len(), count);
            assert!(probes.iter().all(|probe| !probe.keep));
        })
        .probed(facts)
        .expect_call(move |call| {
            let mut content = call.json_body()["content"].as_array().cloned().unwrap_or_default();
            content.retain(|item| item["type"] != "text");
            assert_eq!(json!(content), expected);
        });
    play(&script);
}

fn sent_image(url: &str, role: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}, "role": role})
}

#[test]
fn the_mode_follows_from_the_fields_present() {
    let video = json!({"type": "video_url", "video_url": {"url": MOVE}, "role": "reference_video"});
    let audio = json!({"type": "audio_url", "audio_url": {"url": SONG}, "role": "reference_audio"});
    let role = |url: &str, role: &str| json!({"url": url, "role": role});
    references(json!({"image_urls": [DAY]}), json!([sent_image(DAY, "first_frame")]));
    references(
        json!({"image_urls": [DAY, NIGHT]}),
        json!([sent_image(DAY, "reference_image"), sent_image(NIGHT, "reference_image")]),
    );
    references(
        json!({"image_urls": [DAY], "video_urls": [MOVE]}),
        json!([sent_image(DAY, "reference_image"), video]),
    );
    references(
        json!({"image_urls": [DAY], "audio_urls": [SONG]}),
        json!([sent_image(DAY, "reference_image"), audio]),
    );
    references(
        json!({"image_with_roles": [role(NIGHT, "last_frame"), role(DAY, "first_frame")]}),
        json!([sent_image(NIGHT, "last_frame"), sent_image(DAY, "first_frame")]),
    );
    references(
        json!({"image_with_roles": [role(DAY, "first_frame")]}),
        json!([sent_image(DAY, "first_frame")]),
    );
    references(
        json!({"image_with_roles": [role(DAY, "reference_image")], "audio_urls": [SONG]}),
        json!([sent_image(DAY, "reference_image"), audio]),
    );
    references(
        json!({"video_urls": [MOVE, MOVE, MOVE], "audio_urls": [SONG]}),
        json!([video, video, video, audio]),
    );
    references(json!({"prompt": null, "image_urls": [DAY]}), json!([sent_image(DAY, "first_frame")]));
    references(json!({"prompt": " ", "video_urls": [MOVE]}), json!([video]));
    let nine = vec![DAY; 9];
    references(json!({"image_urls": nine}), json!(vec![sent_image(DAY, "reference_image"); 9]));
}

#[test]
fn what_excludes_each_other_is_refused() {
    let role = |role: &str| json!({"url": DAY, "role": role});
    refused(
        json!({"image_urls": [DAY], "image_with_roles": [role("first_frame")]}),
        "image_urls",
        "cannot be combined with `image_with_roles`, got both",
    );
    for (field, url) in [("video_urls", MOVE), ("audio_urls", SONG)] {
        refused(
            json!({"image_with_roles": [role("first_frame")], field: [url]}),
            field,
            "cannot be combined with first and last frames, got both",
        );
    }
    refused(
        json!({"audio_urls": [SONG]}),
        "audio_urls",
        "expected reference images or videos beside the audio, got none",
    );
    for (roles, problem) in [
        (vec!["last_frame"], "expected a `first_frame` beside the `last_frame`, got none"),
        (
            vec!["first_frame", "first_frame"],
            "expected at most one `first_frame` and one `last_frame`, got 2 and 0",
        ),
        (
            vec!["first_frame", "last_frame", "last_frame"],
            "expected at most one `first_frame` and one `last_frame`, got 1 and 2",
        ),
        (vec!["first_frame", "reference_image"], "expected either frames or `reference_image`, got both"),
    ] {
        let images: Vec<_> = roles.into_iter().map(role).collect();
        refused(json!({"image_with_roles": images}), "image_with_roles", problem);
    }
    refused(
        json!({"image_with_roles": [{"url": DAY, "role": "middle"}]}),
        "image_with_roles[0].role",
        "expected one of `first_frame`, `last_frame`, `reference_image`, got the string \
         \"middle\"",
    );
    refused(
        json!({"image_with_roles": [{"url": DAY}]}),
        "image_with_roles[0].role",
        "expected a value, got nothing",
    );
}

#[test]
fn numbers_and_kinds_of_sources_are_limited() {
    for (field, max, url) in [("image_urls", 9, DAY), ("video_urls", 3, MOVE), ("audio_urls", 3, SONG)] {
        let message = format!("expected a length of at most {max}, got an array of {}", max + 1);
        refused(json!({field: vec![url; max + 1]}), field, &message);
    }
    let expected = "expected an http(s) URL, a base64 `data:` URI, base64 or `asset://<asset_id>`";
    for url in ["ftp://example.com/a.png", "a.png", "", "data:image/png,raw"] {
        let came = if url.is_empty() { "an empty string".to_owned() } else { format!("the string {url:?}") };
        refused(json!({"image_urls": [url]}), "image_urls[0]", &format!("{expected}, got {came}"));
        refused(
            json!({"image_with_roles": [{"url": url, "role": "first_frame"}]}),
            "image_with_roles[0].url",
            &format!("{expected}, got {came}"),
        );
    }
    refused(
        json!({"video_urls": ["data:video/mp4;base64,AAAA"]}),
        "video_urls[0]",
        "expected an http(s) URL or `asset://<asset_id>` (a video cannot be embedded), got the string \
         \"data:video/mp4;base64,AAAA\"",
    );
    refused(
        json!({"image_urls": ["blob:blob_1"]}),
        "image_urls[0]",
        "expected a file of this request, got a blob of another request",
    );
    let long = format!("https://example.com/{}", "a".repeat(36 * 1024));
    refused(
        json!({"image_urls": [long]}),
        "",
        "expected URLs and small embedded files of at most 36864 bytes together (large files do not count), got 36884",
    );
}

/// Without it the refusal is the host's, and speaks of a state.
#[test]
fn tools_count_for_the_size_of_a_request() {
    let tools = |count: usize| json!({"tools": vec![json!({"type": "web_search"}); count]});
    play(&accepted(tools(2700)).start().expect_call(|call| {
        assert_eq!(call.json_body()["tools"].as_array().map(Vec::len), Some(2700));
    }));
    let kept = json!({
        "model": "clip-2.0", "prompt": {"text": "a red kite"}, "duration": 5, "size": "16:9", "resolution": "720p",
        "seed": null, "generate_audio": true, "return_last_frame": false, "tools": tools(3000)["tools"],
        "references": [], "account": null,
    });
    let bytes = kept.to_string().len();
    let problem = format!(
        "expected texts and URLs of at most 61440 bytes together (large files do not count), got {bytes}"
    );
    refused(tools(3000), "", &problem);
}

fn asset(name: &str, asset_type: &str, account: &str) -> Owned {
    let private = json!({"kind": "asset", "asset_type": asset_type, "group_id": "group-1"});
    Owned { name: name.to_owned(), private, affinity: Some(account.to_owned()) }
}

fn with_assets(fields: Value, owned: Vec<Owned>) -> Script {
    Script::new().submit_whole(Submission { owned, ..Submission::new(VIDEOS, body(fields)) })
}

#[test]
fn assets_go_to_the_account_that_has_them_without_a_look() {
    let owned = vec![asset("asset://a1", "Image", "account-7"), asset("asset://v1", "Video", "account-7")];
    for model in ["clip-2.0", "clip-2.0-fast"] {
        let fields = json!({"model": model, "image_urls": ["asset://a1"], "video_urls": ["asset://v1"]});
        let script = with_assets(fields, owned.clone()).expect_accepted(|_| ()).start().expect_call(|call| {
            assert_eq!(call.affinity.as_deref(), Some("account-7"));
            let content = &call.json_body()["content"];
            assert_eq!(content[1], sent_image("asset://a1", "reference_image"));
            assert_eq!(content[2]["video_url"]["url"], "asset://v1");
        });
        play(&script);
    }
    let mixed = with_assets(json!({"image_urls": ["asset://a1", DAY]}), owned)
        .expect_accepted(|_| ())
        .start()
        .expect_probe(|probes| assert_eq!(probes.len(), 1))
        .probed([Ok(image(800, 600))])
        .expect_call(|call| assert_eq!(call.affinity.as_deref(), Some("account-7")));
    play(&mixed);
}

#[test]
fn assets_must_be_the_customers_own_and_fit() {
    let refuse = |fields: Value, owned: Vec<Owned>, field: &str, problem: &str| {
        play(&with_assets(fields, owned).expect_refused(field, &crate::tasks::words(field, problem)));
    };
    let one = || vec![asset("asset://a1", "Image", "account-7")];
    refuse(
        json!({"image_urls": ["asset://a2"]}),
        one(),
        "image_urls[0]",
        "expected an approved asset of yours, got the unknown asset://a2",
    );
    refuse(
        json!({"model": "clip-2.0-mini", "image_urls": ["asset://a1"]}),
        one(),
        "image_urls[0]",
        "assets work with clip-2.0 and clip-2.0-fast only, got asset://a1 with clip-2.0-mini",
    );
    refuse(
        json!({"video_urls": ["asset://a1"]}),
        one(),
        "video_urls[0]",
        "expected an asset of the type Video, got asset://a1 of Image",
    );
    refuse(
        json!({"image_urls": ["asset://a1", "asset://b1"]}),
        vec![asset("asset://a1", "Image", "account-7"), asset("asset://b1", "Image", "account-8")],
        "image_urls[1]",
        "expected assets that can be used together, got asset://b1, which is kept apart from the \
         others; please submit it again in the same group",
    );
}

#[test]
fn the_schema_publishes_the_rules() {
    let about = Clip::about();
    let schema = about.surfaces[0].parsed_schema();
    assert_eq!(schema["required"], json!(["model"]));
    let fields = &schema["properties"];
    assert_eq!((&fields["duration"]["minimum"], &fields["duration"]["maximum"]), (&json!(4), &json!(15)));
    assert_eq!(fields["image_urls"]["maxItems"], 9);
    assert_eq!(
        (&fields["video_urls"]["maxItems"], &fields["audio_urls"]["maxItems"]),
        (&json!(3), &json!(3))
    );
}

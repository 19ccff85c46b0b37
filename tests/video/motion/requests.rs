//! The specification's two tables: what is refused, and what the provider gets for what is accepted.

use gatehouse_harness::run;
use serde_json::{Value, json};

use super::{TEMPLATES, text26, text27};
use crate::video::{FilmFacts, TestGateway, film_of, with};

const IMAGE: &str = "https://example.com/a.png";

#[test]
fn the_tables_of_the_specification_hold() {
    run(async {
        let gateway = TestGateway::start().await;
        shapes_values_and_combinations_are_refused(&gateway).await;
        each_mode_of_motion_26_reaches_the_provider(&gateway).await;
        each_mode_of_motion_27_reaches_the_provider(&gateway).await;
        results_are_films_of_the_size_and_length_asked_for(&gateway).await;
        an_image_in_the_request_reaches_the_provider_as_data(&gateway).await;
    });
}

async fn shapes_values_and_combinations_are_refused(gateway: &TestGateway) {
    let image26 = |more| with(json!({"model": "motion-2.6", "image_urls": [IMAGE]}), more);
    let image27 = |more| with(json!({"model": "motion-2.7", "image_urls": [IMAGE]}), more);
    let model27 = |more| with(json!({"model": "motion-2.7"}), more);
    #[rustfmt::skip]
        let rows = [
            // motion-2.6, field by field.
            (json!({"model": "motion-2.6"}), "`prompt`: expected a text that is not blank, got nothing"),
            (json!({"model": "motion-2.6", "prompt": " "}), "`prompt`: expected a text that is not blank"),
            (text26(json!({"prompt": 7})), "`prompt`: expected a string, got 7"),
            (text26(json!({"image_urls": [IMAGE, IMAGE]})), "`image_urls`: expected a length of at most 1, got an array of 2"),
            (text26(json!({"image_urls": IMAGE})), "`image_urls`: expected an array"),
            (text26(json!({"image_urls": ["a.png"]})), "`image_urls[0]`: expected an http(s) URL"),
            (text26(json!({"negative_prompt": []})), "`negative_prompt`: expected a string"),
            (text26(json!({"aspect_ratio": "21:9"})), "`aspect_ratio`: expected one of `16:9`, `9:16`, `1:1`, `4:3`, `3:4`, got the string \"21:9\""),
            (image26(json!({"aspect_ratio": "1:1"})), "`aspect_ratio`: not supported with an image"),
            (text26(json!({"resolution": "480p"})), "`resolution`: expected `720p` or `1080p`, got the string \"480p\""),
            (text26(json!({"duration": "5"})), "`duration`: expected an integer, got the string \"5\""),
            (text26(json!({"duration": 4})), "`duration`: expected 5, 10 or 15 (seconds), got 4"),
            (text26(json!({"duration": 6})), "`duration`: expected 5, 10 or 15 (seconds), got 6"),
            (text26(json!({"duration": 20})), "`duration`: expected 5, 10 or 15 (seconds), got 20"),
            (text26(json!({"duration": 5.5})), "`duration`: expected an integer, got 5.5"),
            (text26(json!({"seed": "7"})), "`seed`: expected an integer, got the string \"7\""),
            (text26(json!({"seed": -1})), "`seed`: expected at least 0, got -1"),
            (text26(json!({"seed": 2_147_483_648_i64})), "`seed`: expected at most 2147483647"),
            (text26(json!({"prompt_extend": "true"})), "`prompt_extend`: expected true or false"),
            (text26(json!({"audio": 1})), "`audio`: expected true or false, got 1"),
            (text26(json!({"audio_url": "song"})), "`audio_url`: expected an http(s) URL"),
            (text26(json!({"shot_type": "double"})), "`shot_type`: expected `single` or `multi`"),
            (text26(json!({"watermark": "no"})), "`watermark`: expected true or false"),
            (image26(json!({"template": "fly"})), "`template`: expected one of"),
            (text26(json!({"template": "squish"})), "`image_urls`: expected one image for the template `squish`, got nothing"),
            // motion-2.7, field by field.
            (model27(json!({})), "`prompt`: expected a text that is not blank, got nothing"),
            (text27(json!({"prompt": "a".repeat(5001)})), "`prompt`: expected a length of at most 5000"),
            (image27(json!({"prompt": "a".repeat(5001)})), "`prompt`: expected a length of at most 5000"),
            (text27(json!({"negative_prompt": "a".repeat(501)})), "`negative_prompt`: expected a length of at most 500"),
            (text27(json!({"image_urls": [IMAGE, IMAGE, IMAGE]})), "`image_urls`: expected a length of at most 2, got an array of 3"),
            (text27(json!({"image_with_roles": [{"role": "first_frame"}]})), "`image_with_roles[0].url`"),
            (text27(json!({"image_with_roles": [{"url": "data:image/png;base64,AAAA"}]})), "`image_with_roles[0].url`: expected an http(s) URL"),
            (text27(json!({"image_with_roles": [{"url": IMAGE, "role": "reference_image"}]})), "`image_with_roles[0].role`: expected `first_frame` or `last_frame`"),
            (text27(json!({"image_with_roles": [{"url": IMAGE}, {"url": IMAGE}]})), "`image_with_roles[1].role`"),
            (text27(json!({"image_with_roles": [{"url": IMAGE, "role": "last_frame"}]})), "`image_with_roles[0].role`"),
            (image27(json!({"image_with_roles": [{"url": IMAGE}]})), "`image_with_roles`: expected nothing together with `image_urls`"),
            (image27(json!({"video_urls": ["https://example.com/a.mp4"]})), "`image_urls`: expected nothing together with `video_urls`"),
            (text27(json!({"video_urls": ["https://example.com/a.mp4"], "image_with_roles": [{"url": IMAGE}]})), "`image_with_roles[0].role`"),
            (text27(json!({"video_urls": "https://example.com/a.mp4"})), "`video_urls`: expected an array"),
            (text27(json!({"resolution": "720p"})), "`resolution`: expected `720P` or `1080P`, got the string \"720p\""),
            (text27(json!({"duration": "5"})), "`duration`: expected an integer, got the string \"5\""),
            (text27(json!({"duration": 1})), "`duration`: expected at least 2, got 1"),
            (text27(json!({"duration": 16})), "`duration`: expected at most 15, got 16"),
            (text27(json!({"size": "1280x720"})), "`size`: expected one of"),
            (text27(json!({"prompt_extend": 1})), "`prompt_extend`: expected true or false"),
            (text27(json!({"watermark": 1})), "`watermark`: expected true or false"),
            (text27(json!({"seed": -1})), "`seed`: expected at least 0, got -1"),
            (image27(json!({"audio_url": "https://example.com/a.mp3"})), "`audio_url`: expected nothing together with `image_urls`"),
            (text27(json!({"audio_url": "https://example.com/a.mp3", "image_with_roles": [{"url": IMAGE}]})), "`audio_url`: expected nothing together with `image_with_roles`"),
            (text27(json!({"audio_url": "https://example.com/a.mp3", "video_urls": ["https://example.com/a.mp4"]})), "`audio_url`: expected nothing together with `video_urls`"),
            (text27(json!({"audio_url": 5})), "`audio_url`: expected a string, got 5"),
        ];
    for (body, words) in &rows {
        gateway.expect_refusal(body, words).await;
    }
    assert_eq!(gateway.sandbox.dashscope_record().accepted, 0);
    assert_eq!(gateway.process.account("acme").await["spent"], 0);
}

/// Finishes a request and gives the body the provider got.
async fn sent(gateway: &TestGateway, body: &Value) -> Value {
    let task = gateway.finish(body).await;
    assert_eq!(task["status"], "completed", "{body}: {task}");
    let record = gateway.sandbox.dashscope_record();
    assert_eq!(record.declined, []);
    record.tasks.last().expect("a task").body.clone()
}

async fn each_mode_of_motion_26_reaches_the_provider(gateway: &TestGateway) {
    let image = gateway.sample("512x512.png");
    let sound = gateway.sample("5s.wav");
    let input = |more| with(json!({"prompt": "a red kite"}), more);
    let sized = |size: &str| json!({"model": "wan2.6-t2v", "input": input(json!({})), "parameters": {"size": size, "duration": 5}});
    let from_image = |input: Value, more: Value| {
        json!({
            "model": "wan2.6-i2v",
            "input": with(json!({"img_url": image}), input),
            "parameters": with(json!({"resolution": "720P", "duration": 5}), more),
        })
    };
    let image26 = |more| with(json!({"model": "motion-2.6", "image_urls": [image]}), more);
    let all = json!({
        "negative_prompt": "rain", "duration": 10, "seed": 2_147_483_647, "prompt_extend": false, "audio": false,
        "shot_type": "multi", "watermark": true,
    });
    let all_sent = json!({
        "duration": 10, "seed": 2_147_483_647, "prompt_extend": false, "audio": false, "shot_type": "multi",
        "watermark": true,
    });
    #[rustfmt::skip]
        let mut rows = vec![
            (text26(json!({})), sized("1280*720")),
            (text26(json!({"image_urls": []})), sized("1280*720")),
            (text26(json!({"duration": null, "resolution": null, "unknown": 1})), sized("1280*720")),
            (text26(all.clone()), json!({
                "model": "wan2.6-t2v", "input": input(json!({"negative_prompt": "rain"})),
                "parameters": with(json!({"size": "1280*720"}), all_sent.clone()),
            })),
            (text26(json!({"duration": 15, "audio": true, "audio_url": sound})), json!({
                "model": "wan2.6-t2v", "input": input(json!({"audio_url": sound})),
                "parameters": {"size": "1280*720", "duration": 15},
            })),
            (image26(json!({})), from_image(json!({}), json!({}))),
            (image26(json!({"prompt": "it flies", "resolution": "1080p", "aspect_ratio": "16:9"})),
                from_image(json!({"prompt": "it flies"}), json!({"resolution": "1080P"}))),
            (image26(all), from_image(json!({"negative_prompt": "rain"}), all_sent)),
        ];
    for (ratio, small, large) in [
        ("16:9", "1280*720", "1920*1080"),
        ("9:16", "720*1280", "1080*1920"),
        ("1:1", "960*960", "1440*1440"),
        ("4:3", "1088*832", "1632*1248"),
        ("3:4", "832*1088", "1248*1632"),
    ] {
        rows.push((text26(json!({"aspect_ratio": ratio, "resolution": "720p"})), sized(small)));
        rows.push((text26(json!({"aspect_ratio": ratio, "resolution": "1080p"})), sized(large)));
    }
    for template in TEMPLATES {
        let body = image26(json!({"template": template, "prompt": "ignored", "prompt_extend": true}));
        rows.push((body, from_image(json!({"template": template}), json!({}))));
    }
    for (body, expected) in rows {
        assert_eq!(sent(gateway, &body).await, expected, "{body}");
    }
}

async fn each_mode_of_motion_27_reaches_the_provider(gateway: &TestGateway) {
    let [first, last] = ["512x512.png", "640x480.png"].map(|name| gateway.sample(name));
    let clip = gateway.sample("640x480-3s.mp4");
    let song = gateway.sample("7s.mp3");
    let defaults = json!({"resolution": "1080P", "duration": 5, "prompt_extend": true, "watermark": false});
    let text = |input: Value, parameters: Value| {
        json!({
            "model": "wan2.7-t2v",
            "input": with(json!({"prompt": "a red kite"}), input),
            "parameters": with(with(defaults.clone(), json!({"ratio": "16:9"})), parameters),
        })
    };
    let from = |media: Value, parameters: Value| json!({"model": "wan2.7-i2v", "input": {"media": media}, "parameters": with(defaults.clone(), parameters)});
    let model = |more| with(json!({"model": "motion-2.7"}), more);
    let frame = |kind: &str, url: &str| json!({"type": kind, "url": url});
    #[rustfmt::skip]
        let mut rows = vec![
            (text27(json!({})), text(json!({}), json!({}))),
            (text27(json!({"prompt": "\u{fc}".repeat(5000), "negative_prompt": "\u{fc}".repeat(500)})),
                text(json!({"prompt": "\u{fc}".repeat(5000), "negative_prompt": "\u{fc}".repeat(500)}), json!({}))),
            (text27(json!({"audio_url": song})), text(json!({"audio_url": song}), json!({}))),
            (text27(json!({"duration": 2, "resolution": "720P", "prompt_extend": false, "watermark": true, "seed": 0})),
                text(json!({}), json!({"duration": 2, "resolution": "720P", "prompt_extend": false, "watermark": true, "seed": 0}))),
            (text27(json!({"duration": 15, "seed": 2_147_483_647})), text(json!({}), json!({"duration": 15, "seed": 2_147_483_647}))),
            (model(json!({"image_urls": [first], "size": "1:1"})), from(json!([frame("first_frame", &first)]), json!({}))),
            (model(json!({"image_urls": [first, last]})),
                from(json!([frame("first_frame", &first), frame("last_frame", &last)]), json!({}))),
            (model(json!({"image_with_roles": [{"url": first}]})), from(json!([frame("first_frame", &first)]), json!({}))),
            (model(json!({"image_with_roles": [{"url": last, "role": "last_frame"}, {"url": first}]})),
                from(json!([frame("last_frame", &last), frame("first_frame", &first)]), json!({}))),
            (model(json!({"video_urls": [clip, "https://example.com/ignored.mp4"]})),
                from(json!([frame("first_clip", &clip)]), json!({"duration": 8}))),
            (model(json!({"video_urls": [clip], "image_with_roles": [{"url": last, "role": "last_frame"}]})),
                from(json!([frame("first_clip", &clip), frame("last_frame", &last)]), json!({"duration": 8}))),
        ];
    for ratio in ["16:9", "9:16", "1:1", "4:3", "3:4"] {
        rows.push((text27(json!({"size": ratio})), text(json!({}), json!({"ratio": ratio}))));
    }
    for (body, expected) in rows {
        assert_eq!(sent(gateway, &body).await, expected, "{body}");
    }
}

async fn results_are_films_of_the_size_and_length_asked_for(gateway: &TestGateway) {
    let image = gateway.sample("512x512.png");
    let clip = gateway.sample("640x480-3s.mp4");
    let film = |width, height, seconds: u64, has_sound| FilmFacts {
        width,
        height,
        milliseconds: seconds * 1000,
        has_sound,
    };
    #[rustfmt::skip]
        let rows = [
            (text26(json!({})), film(1280, 720, 5, true)),
            (text26(json!({"aspect_ratio": "3:4", "resolution": "1080p", "duration": 10, "audio": false})), film(1248, 1632, 10, false)),
            (json!({"model": "motion-2.6", "image_urls": [image], "template": "melt", "duration": 15}), film(960, 960, 15, true)),
            (text27(json!({"size": "9:16", "duration": 2})), film(1080, 1920, 2, true)),
            // The length of a continuation is that of the whole.
            (json!({"model": "motion-2.7", "video_urls": [clip], "resolution": "720P", "duration": 12}), film(1108, 832, 12, true)),
        ];
    for (body, expected) in rows {
        let task = gateway.finish(&body).await;
        assert_eq!(film_of(&task).await, expected, "{body}");
        let result = &task["result"];
        assert_eq!(result["videos"].as_array().map(Vec::len), Some(1), "{task}");
        let expires = result["videos"][0]["expires_at"].as_i64().expect("seconds");
        let completed = task["completed"].as_i64().expect("seconds");
        assert!((86_390..=86_410).contains(&(expires - completed)), "{task}");
        assert_eq!((&task["progress"], &task["model"]), (&json!(100), &body["model"]));
    }
}

async fn an_image_in_the_request_reaches_the_provider_as_data(gateway: &TestGateway) {
    use base64::Engine as _;
    let file = gatehouse_harness::send_to(&gateway.sample("512x512.png"), &[]).await.body;
    let data = format!("data:image/png;base64,{}", base64::engine::general_purpose::STANDARD.encode(&file));
    let cut = json!(format!("data:image/png;{} bytes", file.len()));
    let body = json!({"model": "motion-2.6", "image_urls": [data]});
    assert_eq!(sent(gateway, &body).await["input"]["img_url"], cut);
    let body = json!({"model": "motion-2.7", "image_urls": [data, data]});
    let media = &sent(gateway, &body).await["input"]["media"];
    assert_eq!((&media[0]["url"], &media[1]["url"]), (&cut, &cut));
    // A file of another kind is known at once.
    gateway
        .expect_refusal(
            &json!({"model": "motion-2.7", "video_urls": [data]}),
            "`video_urls[0]`: expected a video",
        )
        .await;
    gateway.expect_refusal(&text26(json!({"audio_url": data})), "`audio_url`: expected a sound file").await;
}

//! The specification's table of new videos: what is refused, what the provider gets for what is accepted, what it costs.

use gatehouse_harness::{message_of, run};
use serde_json::{Value, json};

use super::text;
use crate::video::{FilmFacts, TestGateway, film_of, with};

const IMAGE: &str = "https://example.com/a.png";

#[test]
fn the_table_of_the_specification_holds() {
    run(async {
        let gateway = TestGateway::start().await;
        shapes_values_and_combinations_are_refused(&gateway).await;
        each_mode_reaches_the_provider(&gateway).await;
        results_are_films_of_the_size_and_length_asked_for(&gateway).await;
        images_that_do_not_fit_fail_the_task(&gateway).await;
        let record = gateway.sandbox.veo_record();
        assert_eq!(record.declined, []);
        assert_eq!(record.tokens, 1, "one token for all calls");
    });
}

async fn shapes_values_and_combinations_are_refused(gateway: &TestGateway) {
    let frames = |more| with(text(json!({"first_frame_image": IMAGE})), more);
    #[rustfmt::skip]
    let rows = [
        (json!({"model": "scene-3.1-fast-official"}), "`prompt`: expected a value, got nothing"),
        (text(json!({"prompt": ""})), "`prompt`: expected a text that is not blank"),
        (text(json!({"negative_prompt": 1})), "`negative_prompt`: expected a string, got 1"),
        (text(json!({"duration": "8"})), "`duration`: expected an integer, got the string \"8\""),
        (text(json!({"duration": 5})), "`duration`: expected 4, 6 or 8 (seconds), got 5"),
        (text(json!({"duration": 3})), "`duration`: expected 4, 6 or 8 (seconds), got 3"),
        (text(json!({"duration": 9})), "`duration`: expected 4, 6 or 8 (seconds), got 9"),
        (text(json!({"duration": 8.5})), "`duration`: expected an integer, got 8.5"),
        (text(json!({"aspect_ratio": "4:3"})), "`aspect_ratio`: expected `16:9` or `9:16`"),
        (text(json!({"resolution": "480p"})), "`resolution`: expected one of `720p`, `1080p`"),
        (text(json!({"first_frame_image": "kite.png"})), "`first_frame_image`: expected an http(s) URL"),
        (text(json!({"last_frame_image": IMAGE})), "`last_frame_image`: expected a `first_frame_image` beside it"),
        (frames(json!({"last_frame_image": "kite.png"})), "`last_frame_image`: expected an http(s) URL"),
        (text(json!({"seed": -1})), "`seed`: expected at least 0, got -1"),
        (text(json!({"seed": 4_294_967_296_i64})), "`seed`: expected at most 4294967295"),
        (text(json!({"seed": "7"})), "`seed`: expected an integer"),
        (text(json!({"generate_audio": "true"})), "`generate_audio`: expected true or false"),
        (text(json!({"person_generation": "dont_allow"})), "`person_generation`: expected `allow_adult` or `disallow`"),
        (frames(json!({"resize_mode": "fill"})), "`resize_mode`: expected `pad` or `crop`"),
        (text(json!({"resize_mode": "crop"})), "`resize_mode`: not supported without an image"),
        (text(json!({"enhance_prompt": false})), "`enhance_prompt`: expected true or nothing"),
        (text(json!({"sample_count": 0})), "`sample_count`: expected at least 1, got 0"),
        (text(json!({"sample_count": 5})), "`sample_count`: expected at most 4, got 5"),
        (text(json!({"n": "2"})), "`n`: expected an integer"),
        (text(json!({"n": 2, "sample_count": 1})), "`n`: expected the same as `sample_count`"),
    ];
    for (body, words) in &rows {
        gateway.expect_refusal(body, words).await;
    }
    assert_eq!(gateway.sandbox.veo_record().accepted, 0);
    assert_eq!(gateway.process.account("acme").await["spent"], 0);
}

async fn each_mode_reaches_the_provider(gateway: &TestGateway) {
    let image = gateway.sample("512x512.png");
    let other = gateway.sample("640x360.jpeg");
    let defaults = json!({
        "aspectRatio": "16:9", "resolution": "720p", "durationSeconds": 8, "sampleCount": 1,
        "personGeneration": "allow_adult", "enhancePrompt": true, "generateAudio": false,
    });
    let sent = |more: Value| with(defaults.clone(), more);
    let all = json!({
        "model": "scene-3.1-quality-official", "negative_prompt": "rain", "duration": 4, "aspect_ratio": "9:16",
        "resolution": "4K", "seed": 4_294_967_295_i64, "generate_audio": true, "person_generation": "disallow",
        "enhance_prompt": true, "sample_count": 2,
    });
    let all_sent = json!({
        "negativePrompt": "rain", "durationSeconds": 4, "aspectRatio": "9:16", "resolution": "4k",
        "seed": 4_294_967_295_i64, "generateAudio": true, "personGeneration": "dont_allow", "sampleCount": 2,
    });
    let rows = [
        (json!({}), sent(json!({})), 0),
        (
            json!({"seed": 0, "duration": 6, "n": 4}),
            sent(json!({"seed": 0, "durationSeconds": 6, "sampleCount": 4})),
            0,
        ),
        (json!({"resolution": "1080p", "duration": null}), sent(json!({"resolution": "1080p"})), 0),
        (json!({"model": "scene-3.1-quality-ext", "unknown": 1}), sent(json!({})), 0),
        (all.clone(), sent(all_sent.clone()), 0),
        (json!({"first_frame_image": image}), sent(json!({"resizeMode": "pad"})), 1),
        (
            json!({"first_frame_image": image, "last_frame_image": other, "resize_mode": "crop"}),
            sent(json!({"resizeMode": "crop"})),
            2,
        ),
        (
            with(all, json!({"first_frame_image": other})),
            sent(with(all_sent, json!({"resizeMode": "pad"}))),
            1,
        ),
    ];
    for (row, (fields, parameters, images)) in rows.into_iter().enumerate() {
        let prompt = format!("a red kite, take {row}");
        let body = with(text(json!({"prompt": prompt})), fields);
        let task = gateway.finish(&body).await;
        assert_eq!(task["status"], "completed", "{body}: {task}");
        let begun = gateway.begun(&prompt);
        assert_eq!(begun.body["parameters"], parameters, "{body}");
        let quality = body["model"].as_str().is_some_and(|model| model.contains("quality"));
        let model = if quality { "veo-3.1-generate-001" } else { "veo-3.1-fast-generate-001" };
        assert_eq!(begun.model, model);
        let instance = &begun.body["instances"][0];
        for (name, at) in [("image", 1), ("lastFrame", 2)] {
            let bytes = instance[name]["bytesBase64Encoded"].as_str();
            assert_eq!(
                bytes.is_some_and(|bytes| bytes.ends_with(" bytes")),
                images >= at,
                "{body}: {instance}"
            );
        }
        let videos = task["result"]["videos"].as_array().expect("videos");
        assert_eq!(parameters["sampleCount"], videos.len(), "{task}");
    }
}

async fn results_are_films_of_the_size_and_length_asked_for(gateway: &TestGateway) {
    let rows = [
        (json!({}), (1280, 720, 8000, false)),
        (json!({"aspect_ratio": "9:16", "duration": 4, "generate_audio": true}), (720, 1280, 4000, true)),
        (json!({"resolution": "1080p", "duration": 6}), (1920, 1080, 6000, false)),
        (json!({"resolution": "4K", "aspect_ratio": "9:16"}), (2160, 3840, 8000, false)),
    ];
    for (fields, (width, height, milliseconds, has_sound)) in rows {
        let task = gateway.finish(&text(fields.clone())).await;
        let expected = FilmFacts { width, height, milliseconds, has_sound };
        assert_eq!(film_of(&task).await, expected, "{fields}");
    }
    // The file of 4K videos is larger than what a request may embed.
    let task = gateway.finish(&text(json!({"prompt": "[[mib:40]] a large one"}))).await;
    assert_eq!(film_of(&task).await.milliseconds, 8000);
}

async fn images_that_do_not_fit_fail_the_task(gateway: &TestGateway) {
    for (sample, words) in [
        ("64x64.webp", "`first_frame_image`: expected a JPEG or PNG image, got image/webp"),
        ("not-an-image", "`first_frame_image`: expected a JPEG or PNG image"),
        ("missing", "dependency unavailable: `first_frame_image`: "),
        ("redirect-to-private", "dependency unavailable: `first_frame_image`: "),
    ] {
        let task = gateway.finish(&text(json!({"first_frame_image": gateway.sample(sample)}))).await;
        let message = message_of(&task);
        assert!(task["status"] == "failed" && task["cost"] == 0.0 && message.starts_with(words), "{task}");
        assert_eq!(task["error"]["type"], "invalid_request_error", "{task}");
    }
}

#[test]
fn a_second_costs_by_model_resolution_and_sound() {
    run(async {
        let prices = "[prices]\n\"scene-3.1-fast-official\" = \"3\"\n\"scene-3.1-fast-official@720p-audio\" = \"5\"\n\
                      \"scene-3.1-fast-official@4k\" = \"7\"\n\"scene-3.1-fast-official@4k-audio\" = \"11\"\n\
                      \"scene-3.1-quality-official\" = \"13\"\n";
        let gateway = TestGateway::start_with(prices).await;
        let mut total = 0.0;
        for (fields, cost) in [
            (json!({}), 8.0 * 3.0),
            (json!({"generate_audio": true, "duration": 6}), 6.0 * 5.0),
            (json!({"resolution": "4K", "duration": 4}), 4.0 * 7.0),
            (json!({"resolution": "4K", "generate_audio": true}), 8.0 * 11.0),
            (json!({"model": "scene-3.1-quality-official", "duration": 4, "n": 3}), 3.0 * 4.0 * 13.0),
            // Two of three were filtered, and one is paid for.
            (json!({"n": 3, "prompt": "[[filtered-some:2]]"}), 8.0 * 3.0),
            (json!({"n": 3, "prompt": "[[filtered]]"}), 0.0),
        ] {
            let task = gateway.finish(&text(fields.clone())).await;
            assert_eq!(task["cost"], cost, "{fields}: {task}");
            total += cost;
            if cost > 0.0 {
                let remix = json!({"model": "scene-3.1-fast", "prompt": "it lands"});
                if task["model"] == "scene-3.1-fast-official" && fields["generate_audio"] == true {
                    // The 7 new seconds, at the resolution asked for, with sound as the original.
                    let longer = gateway.finish_remix(super::id(&task), &remix).await;
                    assert_eq!(longer["cost"], 7.0 * 5.0, "{longer}");
                    total += 7.0 * 5.0;
                }
            }
        }
        let account = gateway.process.account("acme").await;
        assert_eq!((account["spent"].as_f64(), &account["reserved"]), (Some(total * 1e6), &json!(0)));
        gateway.process.expect_sound_ledger().await;
    });
}

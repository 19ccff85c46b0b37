//! The specification's table: what is refused, what the provider gets for what is accepted, and the film that comes.

use futures_util::future::join_all;
use gatehouse_harness::{run, send_to};
use serde_json::{Value, json};

use super::{seen, text};
use crate::video::{FilmFacts, TestGateway, film_of, with};

const IMAGE: &str = "https://example.com/a.png";
const VIDEO: &str = "https://example.com/a.mp4";
const SONG: &str = "https://example.com/a.wav";

#[test]
fn shapes_values_and_combinations_are_refused() {
    run(async {
        let gateway = TestGateway::start().await;
        let image = |more| text(with(json!({"image_urls": [IMAGE]}), more));
        let roles = |roles: &[&str]| -> Value {
            let images: Vec<_> = roles.iter().map(|role| json!({"url": IMAGE, "role": role})).collect();
            text(json!({"image_with_roles": images}))
        };
        #[rustfmt::skip]
        let rows = [
            (json!({"model": "clip-2.0"}), "`prompt`: expected a text without images and videos, got nothing"),
            (text(json!({"prompt": " "})), "`prompt`: expected a text without images and videos, got a blank one"),
            (text(json!({"prompt": 7})), "`prompt`: expected a string, got 7"),
            (text(json!({"prompt": "a".repeat(4001)})), "`prompt`: expected at most 4000 characters with clip-2.0, got 4001"),
            (text(json!({"model": "clip-2.0-fast", "prompt": "a".repeat(4001)})), "at most 4000 characters with clip-2.0-fast"),
            (text(json!({"duration": "5"})), "`duration`: expected an integer, got the string \"5\""),
            (text(json!({"duration": 5.5})), "`duration`: expected an integer, got 5.5"),
            (text(json!({"duration": 3})), "`duration`: expected at least 4, got 3"),
            (text(json!({"duration": 16})), "`duration`: expected at most 15, got 16"),
            (text(json!({"size": "2:1"})), "`size`: expected one of `16:9`, `9:16`, `1:1`, `4:3`, `3:4`, `21:9`, `adaptive`"),
            (text(json!({"resolution": "360p"})), "`resolution`: expected one of `480p`, `720p`, `1080p`, `4k`"),
            (text(json!({"model": "clip-2.0-fast", "resolution": "1080p"})), "`resolution`: expected 480p or 720p with clip-2.0-fast, got 1080p"),
            (text(json!({"model": "clip-2.0-fast", "resolution": "4k"})), "`resolution`: expected 480p or 720p with clip-2.0-fast, got 4k"),
            (text(json!({"model": "clip-2.0-mini", "resolution": "1080p"})), "`resolution`: expected 480p or 720p with clip-2.0-mini, got 1080p"),
            (text(json!({"model": "clip-2.0-mini", "resolution": "4k"})), "`resolution`: expected 480p or 720p with clip-2.0-mini, got 4k"),
            (text(json!({"seed": "7"})), "`seed`: expected an integer"),
            (text(json!({"seed": 4_294_967_296_i64})), "`seed`: expected at most 4294967295"),
            (text(json!({"generate_audio": "yes"})), "`generate_audio`: expected true or false"),
            (text(json!({"return_last_frame": 1})), "`return_last_frame`: expected true or false"),
            (text(json!({"tools": [{"type": "browser"}]})), "`tools[0].type`: expected `web_search`"),
            (text(json!({"image_urls": vec![IMAGE; 10]})), "`image_urls`: expected a length of at most 9, got an array of 10"),
            (text(json!({"video_urls": vec![VIDEO; 4]})), "`video_urls`: expected a length of at most 3, got an array of 4"),
            (image(json!({"audio_urls": vec![SONG; 4]})), "`audio_urls`: expected a length of at most 3, got an array of 4"),
            (text(json!({"image_urls": ["a.png"]})), "`image_urls[0]`: expected an http(s) URL"),
            (text(json!({"video_urls": ["data:video/mp4;base64,AAAA"]})), "`video_urls[0]`"),
            (text(json!({"audio_urls": [SONG]})), "`audio_urls`: expected reference images or videos beside the audio"),
            (image(json!({"image_with_roles": [{"url": IMAGE, "role": "first_frame"}]})), "`image_urls`: cannot be combined with `image_with_roles`"),
            (roles(&["last_frame"]), "`image_with_roles`: expected a `first_frame` beside the `last_frame`"),
            (roles(&["first_frame", "first_frame"]), "`image_with_roles`: expected at most one `first_frame`"),
            (roles(&["first_frame", "reference_image"]), "`image_with_roles`: expected either frames or `reference_image`"),
            (roles(&["middle"]), "`image_with_roles[0].role`: expected one of `first_frame`, `last_frame`, `reference_image`"),
            (with(roles(&["first_frame"]), json!({"video_urls": [VIDEO]})), "`video_urls`: cannot be combined with first and last frames"),
            (with(roles(&["first_frame", "last_frame"]), json!({"audio_urls": [SONG]})), "`audio_urls`: cannot be combined with first and last frames"),
            (text(json!({"image_urls": ["asset://asset-of-another"]})), "`image_urls[0]`: expected an approved asset of yours, got the unknown asset://asset-of-another"),
            (text(json!({"model": "clip-2.0-mini", "image_urls": ["asset://asset-1"]})), "`image_urls[0]`: assets work with clip-2.0 and clip-2.0-fast only"),
        ];
        for (body, words) in &rows {
            gateway.expect_refusal(body, words).await;
        }
        assert!(gateway.sandbox.ark_record().submits.is_empty());
        assert_eq!(gateway.process.account("acme").await["spent"], 0);
    });
}

#[test]
fn the_provider_sees_every_default_and_every_value() {
    run(async {
        let gateway = TestGateway::start().await;
        let defaults = json!({
            "model": "doubao-seedance-2-0-260128", "resolution": "720p", "ratio": "16:9", "duration": 5,
            "generate_audio": true, "return_last_frame": false, "watermark": false, "execution_expires_after": 3600,
        });
        #[rustfmt::skip]
        let rows = [
            (json!({}), json!({})),
            (json!({"model": "clip-2.0-fast"}), json!({"model": "doubao-seedance-2-0-fast-260128"})),
            (json!({"model": "clip-2.0-mini"}), json!({"model": "doubao-seedance-2-0-mini-260615"})),
            (json!({"duration": 4, "seed": 0, "size": "adaptive"}), json!({"duration": 4, "seed": 0, "ratio": "adaptive"})),
            (json!({"duration": 15, "resolution": "480p"}), json!({"duration": 15, "resolution": "480p"})),
            (json!({"generate_audio": false, "return_last_frame": true}), json!({"generate_audio": false, "return_last_frame": true})),
            (json!({"tools": [{"type": "web_search"}]}), json!({"tools": [{"type": "web_search"}]})),
            (json!({"watermark": true, "style": 7}), json!({})),
        ];
        for (number, (fields, expected)) in rows.into_iter().enumerate() {
            let prompt = format!("kite {number}");
            let task = gateway.finish(&text(with(fields, json!({"prompt": prompt})))).await;
            assert_eq!(task["status"], "completed", "{task}");
            let content = json!([{"type": "text", "text": prompt}]);
            let expected = with(with(defaults.clone(), expected), json!({"content": content}));
            assert_eq!(seen(&gateway, &prompt).body, expected);
        }
    });
}

#[test]
fn every_size_resolution_and_length_makes_its_film() {
    run(async {
        let gateway = TestGateway::start().await;
        #[rustfmt::skip]
        let rows = [
            (json!({}), (1280, 720, 5, true), 40.0),
            (json!({"size": "9:16", "duration": 4}), (720, 1280, 4, true), 32.0),
            (json!({"size": "1:1", "generate_audio": false}), (960, 960, 5, false), 40.0),
            (json!({"size": "4:3", "resolution": "480p"}), (752, 560, 5, true), 20.0),
            (json!({"size": "3:4", "resolution": "1080p"}), (1248, 1664, 5, true), 100.0),
            (json!({"size": "21:9", "resolution": "480p", "duration": 15}), (992, 432, 15, true), 60.0),
            (json!({"resolution": "4k", "duration": 4}), (3840, 2160, 4, true), 320.0),
            (json!({"model": "clip-2.0-fast"}), (1280, 720, 5, true), 30.0),
            (json!({"model": "clip-2.0-fast", "resolution": "480p"}), (864, 496, 5, true), 15.0),
            (json!({"model": "clip-2.0-mini", "duration": 10}), (1280, 720, 10, true), 40.0),
            (json!({"model": "clip-2.0-mini", "resolution": "480p"}), (864, 496, 5, true), 10.0),
        ];
        let looks = rows.into_iter().map(async |(fields, (width, height, seconds, has_sound), cost)| {
            let body = text(fields);
            let task = gateway.finish(&body).await;
            let expected = FilmFacts { width, height, milliseconds: seconds * 1000, has_sound };
            assert_eq!(film_of(&task).await, expected, "{body}");
            assert_eq!(task["cost"], cost, "{body}");
            assert!(task["result"]["videos"][0]["expires_at"].is_u64());
            assert_eq!(task["result"]["last_frame_url"], Value::Null);
        });
        join_all(looks).await;
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn the_last_frame_is_a_picture_of_the_films_size() {
    run(async {
        let gateway = TestGateway::start().await;
        let asked =
            |prompt: &str| text(json!({"return_last_frame": true, "resolution": "480p", "prompt": prompt}));
        let task = gateway.finish(&asked("a kite")).await;
        let frame = send_to(task["result"]["last_frame_url"].as_str().expect("a link"), &[]).await;
        assert_eq!((frame.status, frame.header("content-type")), (200, "image/png"));
        let size = imagesize::blob_size(&frame.body).expect("a picture");
        assert_eq!((size.width, size.height), (864, 496));
        // The provider does not always give it, and a link may be dead: the video is what counts.
        for marker in ["[[no-last-frame]]", "[[dead-frame]]"] {
            let task = gateway.finish(&asked(&format!("a kite {marker}"))).await;
            assert_eq!(film_of(&task).await.milliseconds, 5000, "{marker}");
            assert_eq!(task["result"]["last_frame_url"], Value::Null, "{marker}");
        }
    });
}

/// clip-2.0-mini's prompt has no limit. A long one is kept, so that a second try has it too.
#[test]
fn prompts_arrive_whole() {
    run(async {
        let gateway = TestGateway::start().await;
        let longest = "\u{1f3a8}\"\\\n".repeat(990);
        let endless = format!("[[429:1]] {}", "a red kite over the sea, \u{e9}t\u{e9}. ".repeat(10_000));
        assert!(endless.len() > 250_000);
        for (model, prompt) in
            [("clip-2.0", &longest), ("clip-2.0-fast", &longest), ("clip-2.0-mini", &endless)]
        {
            let image = json!([gateway.sample("800x600.png")]);
            for images in [json!([]), image] {
                let prompt = format!("{model} {} {prompt}", images.as_array().map_or(0, Vec::len));
                let body =
                    json!({"model": model, "prompt": prompt, "image_urls": images, "resolution": "480p"});
                let task = gateway.finish(&body).await;
                assert_eq!(task["status"], "completed", "{}", task["error"]);
                assert_eq!(seen(&gateway, &prompt).body["content"][0]["text"], prompt.as_str());
            }
        }
    });
}

/// The status only goes forward, and progress never falls.
#[test]
fn progress_is_monotone() {
    run(async {
        let gateway = TestGateway::start().await;
        let answer = gateway.submit(&text(json!({"prompt": "a kite [[slow:1500]]"}))).await;
        let id = answer.task_id();
        let order = ["submitted", "pending", "processing", "completed"];
        let (mut stage, mut progress, mut seen) = (0, 0, Vec::new());
        while stage < 3 {
            let task = gateway.caller.task(&id).await;
            let now = order.iter().position(|status| task["status"] == *status).expect("a status");
            let shown = task["progress"].as_u64().expect("a progress");
            assert!(now >= stage && shown >= progress, "{task}");
            (stage, progress) = (now, shown);
            seen.push(now);
        }
        seen.dedup();
        assert_eq!(progress, 100);
        assert!(seen.contains(&1) && seen.contains(&2), "{seen:?}");
    });
}

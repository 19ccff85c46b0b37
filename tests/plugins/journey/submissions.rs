//! The routes that begin with a text or with pictures: what is accepted, and the call that the provider gets.

use std::time::Duration;

use gatehouse_sdk::{Blame, Probe, Replay, Stage, Submission, Target};
use gatehouse_testkit::{Script, picture};
use serde_json::{Value, json};

use crate::journey::play;
use crate::journey::support::{PICTURE, cut, film, first_poll, sent, taken};

/// Accepted, its pictures found, and the call is out; `found` pictures of 640x480.
fn with_pictures(surface: &str, body: Value, found: usize) -> Script {
    Script::new()
        .submit(surface, body)
        .expect_accepted(|accepted| assert_eq!(accepted.model, "journey"))
        .start()
        .expect_probe(move |probes| {
            assert_eq!(probes.len(), found);
            assert!(probes.iter().all(|probe| probe.keep));
        })
        .probed((0..found).map(|number| Ok(picture(640, 480, &format!("blob:{number}")))))
}

#[test]
fn a_prompt_is_sent_with_its_flags_at_the_path_of_its_speed() {
    for (fields, path, prompt) in [
        (json!({}), "/mj-relax/mj/submit/imagine", "a red kite"),
        (json!({"speed": "relax"}), "/mj-relax/mj/submit/imagine", "a red kite"),
        (json!({"speed": "fast", "version": "8.1"}), "/mj-fast/mj/submit/imagine", "a red kite --v 8.1"),
        (json!({"speed": "turbo", "niji": true}), "/mj-turbo/mj/submit/imagine", "a red kite --niji 7"),
        (
            json!({"prompt": "a red kite --fast --ar 3:2"}),
            "/mj-fast/mj/submit/imagine",
            "a red kite --ar 3:2",
        ),
        (
            json!({"metadata": {"speed": "turbo", "chaos": "9"}}),
            "/mj-turbo/mj/submit/imagine",
            "a red kite --c 9",
        ),
        // The flags of the prompt go before a note, and what does not fit is only a note.
        (
            json!({"prompt": "a red kite --c 5 --v 7 --fast", "metadata": {"chaos": 9, "version": "6.1", "speed": "turbo", "weird": 7}}),
            "/mj-fast/mj/submit/imagine",
            "a red kite --c 5 --v 7 --w 7",
        ),
        (
            json!({"metadata": {"version": "4", "stylize": 1001, "seed": "many", "image_url": 5, "quality": 2, "hd": true}}),
            "/mj-relax/mj/submit/imagine",
            "a red kite --q 2 --hd",
        ),
        // Nor does a value of it that the body's own fields do not go with refuse the request; the others count.
        (
            json!({"draft": true, "metadata": {"version": "6.1", "chaos": 5}}),
            "/mj-relax/mj/submit/imagine",
            "a red kite --c 5 --draft",
        ),
        (
            json!({"version": "8.1", "metadata": {"niji": true}}),
            "/mj-relax/mj/submit/imagine",
            "a red kite --v 8.1",
        ),
        (
            json!({"hd": true, "metadata": {"version": "7", "niji": true}}),
            "/mj-relax/mj/submit/imagine",
            "a red kite --hd",
        ),
        (
            json!({"prompt": "a red kite --ar 3:2 --fast", "metadata": {"extra": "--ar 1:1 --turbo --exp 5"}}),
            "/mj-fast/mj/submit/imagine",
            "a red kite --ar 3:2 --exp 5",
        ),
        (json!({"metadata": "order 7"}), "/mj-relax/mj/submit/imagine", "a red kite"),
        (json!({"metadata": ["a", 5]}), "/mj-relax/mj/submit/imagine", "a red kite"),
    ] {
        let body = crate::over(json!({"prompt": "a red kite"}), fields);
        let script = Script::new()
            .submit("journey.imagine", body)
            .expect_accepted(|accepted| {
                assert_eq!(accepted.expected, Some(Duration::from_secs(60)));
                assert_eq!(accepted.stage, Stage::Submitted);
            })
            .start()
            .expect_view(|view| {
                assert_eq!(view.public, Value::Null);
                assert_eq!(
                    (&view.private["action"], &view.private["status"]),
                    (&json!("imagine"), &json!("NOT_START"))
                );
            })
            .expect_call(move |call| {
                assert_eq!(call.provider, "midjourney");
                assert_eq!(call.target, Target::Path(path.to_owned()));
                assert_eq!(call.json_body(), json!({"prompt": prompt}));
                assert_eq!((call.replay, call.affinity.as_deref()), (Replay::Once, None));
            });
        play(&script);
    }
}

#[test]
fn a_server_without_paths_of_speeds_is_an_operators_setting() {
    let script = Script::new()
        .settings(json!({"speed_prefix": false}))
        .submit("journey.imagine", json!({"prompt": "a red kite", "speed": "fast"}))
        .expect_accepted(|_| ())
        .start()
        .expect_call(|call| assert_eq!(call.target, Target::Path("/mj/submit/imagine".to_owned())));
    play(&script);
}

#[test]
fn the_provider_has_accepted_it_and_is_polled() {
    let script = sent(Submission::new("journey.imagine", json!({"prompt": "a red kite"})))
        .reply(200, taken())
        .expect_wait(|wait| assert_eq!(*wait, Duration::from_secs(2)))
        .expect_stage(Stage::Pending)
        .expect_progress(0)
        .timer()
        .expect_call(|call| {
            assert_eq!(call.target, Target::Path("/mj/task/1754200000000123/fetch".to_owned()));
            assert_eq!(call.replay, Replay::Safe);
            let shared = call.shared.as_ref().expect("a poll is shared");
            assert_eq!((shared.key.as_str(), shared.item.as_str()), ("tasks", "1754200000000123"));
        });
    play(&script);
}

#[test]
fn pictures_are_fetched_by_the_host_and_sent_as_files() {
    let two = json!([PICTURE, PICTURE]);
    for (surface, body, found, expected) in [
        (
            "journey.imagine",
            json!({"prompt": "like this", "image_urls": two}),
            2,
            json!({"prompt": "like this", "base64Array": ["blob:0", "blob:1"]}),
        ),
        (
            "journey.imagine",
            json!({"prompt": "like this", "image_url": PICTURE}),
            1,
            json!({"prompt": "like this", "base64Array": ["blob:0"]}),
        ),
        (
            "journey.blend",
            json!({"image_urls": two, "prompt": "ignored"}),
            2,
            json!({"base64Array": ["blob:0", "blob:1"], "dimensions": "SQUARE"}),
        ),
        (
            "journey.blend",
            json!({"image_urls": two, "dimensions": "portrait"}),
            2,
            json!({"base64Array": ["blob:0", "blob:1"], "dimensions": "PORTRAIT"}),
        ),
        (
            "journey.blend",
            json!({"image_urls": two, "dimensions": "PORTRAIT", "size": "16:9"}),
            2,
            json!({"base64Array": ["blob:0", "blob:1"], "dimensions": "LANDSCAPE"}),
        ),
        ("journey.describe", json!({"image_urls": two}), 1, json!({"base64": "blob:0"})),
        ("journey.describe", json!({"image_url": PICTURE}), 1, json!({"base64": "blob:0"})),
        (
            "journey.edits",
            json!({"prompt": "at night", "image_urls": [PICTURE], "stylize": 5}),
            1,
            json!({"prompt": "at night --s 5", "image": "blob:0"}),
        ),
    ] {
        let path = format!("/mj-relax/mj/submit/{}", surface.trim_start_matches("journey."));
        let script = with_pictures(surface, body, found).expect_call(move |call| {
            assert_eq!(call.target, Target::Path(path.clone()));
            assert_eq!(call.json_body(), expected);
        });
        play(&first_poll(script));
    }
}

#[test]
fn embedded_pictures_are_probed_as_what_they_are() {
    let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk".to_owned();
    for (source, probed) in [
        (base64.clone(), format!("data:image/png;base64,{base64}")),
        (base64.replacen("AAAN", "AA\r\nAN", 1), format!("data:image/png;base64,{base64}")),
        (format!("DATA:image/gif;base64,{base64}"), format!("data:image/png;base64,{base64}")),
        ("HTTPS://Pictures.example.com/A.png".to_owned(), "https://Pictures.example.com/A.png".to_owned()),
        ("blob:cut".to_owned(), "blob:cut".to_owned()),
    ] {
        let body = json!({"image_urls": [source]});
        let request = Submission { blobs: vec![cut(640, 480)], ..Submission::new("journey.describe", body) };
        let script = Script::new()
            .submit_whole(request)
            .expect_accepted(|_| ())
            .start()
            .expect_probe(move |probes| assert_eq!(probes, &vec![Probe::keep(probed.clone())]));
        play(&script);
    }
}

#[test]
fn a_picture_that_is_none_fails_the_task() {
    for (found, message) in [
        (
            Err("could not be fetched: the server answered 404"),
            "dependency unavailable: `image_urls[1]`: could not be fetched: the server answered 404",
        ),
        (Ok(film()), "`image_urls[1]`: expected a PNG, JPEG, WebP or GIF image, got video/mp4"),
        (
            Ok(gatehouse_sdk::Facts { mime: "image/avif".into(), ..picture(9, 9, "blob:1") }),
            "`image_urls[1]`: expected a PNG, JPEG, WebP or GIF image, got image/avif",
        ),
        (
            Ok(gatehouse_sdk::Facts { bytes: 12 * 1024 * 1024 + 1, ..picture(9, 9, "blob:1") }),
            "`image_urls[1]`: expected at most 12582912 bytes (12 MiB), got 12582913",
        ),
    ] {
        let script = Script::new()
            .submit("journey.blend", json!({"image_urls": [PICTURE, PICTURE]}))
            .expect_accepted(|_| ())
            .start()
            .expect_probe(|_| ())
            .probed([Ok(picture(640, 480, "blob:0")), found])
            .expect_fail(Blame::Request, message);
        play(&script);
    }
}

#[test]
fn a_job_that_was_not_sent_can_be_cancelled() {
    let script = Script::new()
        .submit("journey.imagine", json!({"prompt": "a red kite"}))
        .expect_accepted(|_| ())
        .cancel()
        .expect_fail(Blame::Request, "cancelled before it was sent");
    play(&script);
    let sent = sent(Submission::new("journey.imagine", json!({"prompt": "a red kite"})));
    play(&sent.cancel().expect_wait(|_| ()));
}

#[test]
fn films_are_made_of_pictures() {
    let plain = json!({"prompt": "natural motion", "image": "blob:0", "motion": "high", "videoType": "vid_1.1_i2v_480", "batchSize": 1});
    let with = |fields| crate::over(plain.clone(), fields);
    for (fields, found, expected) in [
        (json!({}), 1, plain.clone()),
        (json!({"prompt": "it flies"}), 1, with(json!({"prompt": "it flies"}))),
        (json!({"motion": "low", "batch_size": 4}), 1, with(json!({"motion": "low", "batchSize": 4}))),
        (json!({"batch_size": 3}), 1, plain.clone()),
        (json!({"batch_size": 0}), 1, plain.clone()),
        (json!({"video_type": "vid_1.1_i2v_720"}), 1, with(json!({"videoType": "vid_1.1_i2v_720"}))),
        (json!({"end_url": PICTURE}), 2, with(json!({"endImage": "blob:1"}))),
        (
            json!({"end_url": PICTURE, "video_type": "vid_1.1_i2v_start_end_720"}),
            2,
            with(json!({"endImage": "blob:1", "videoType": "vid_1.1_i2v_720"})),
        ),
        (
            json!({"prompt": "it flies --bs 2 --motion low --fast --video 1"}),
            1,
            with(json!({"prompt": "it flies", "batchSize": 2, "motion": "low"})),
        ),
        (
            json!({"prompt": "it flies --end HTTPS://pictures.example.com/b.png"}),
            2,
            with(json!({"prompt": "it flies", "endImage": "blob:1"})),
        ),
        (
            json!({"prompt": "it flies --bs 2", "batch_size": 4, "metadata": {"motion": "low"}}),
            1,
            with(json!({"prompt": "it flies", "batchSize": 4, "motion": "low"})),
        ),
    ] {
        let body = crate::over(json!({"image_urls": [PICTURE]}), fields);
        let script = with_pictures("journey.video", body, found).expect_call(move |call| {
            assert_eq!(call.target, Target::Path("/mj/submit/video".to_owned()), "no speed");
            assert_eq!(call.json_body(), expected);
        });
        play(&script);
    }
}

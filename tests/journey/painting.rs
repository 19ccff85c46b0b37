//! Inpainting by every file a client may have, and follow-ups of one picture that name a tile of a grid.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::run;
use image::{ImageFormat, RgbImage};
use serde_json::{Value, json};

use crate::journey::scene::{Scene, is_of, is_refused, links, picture, uri, with};

/// A white picture as data URI.
fn white(format: ImageFormat, width: u32, height: u32) -> String {
    let mut file = Cursor::new(Vec::new());
    let picture = RgbImage::from_pixel(width, height, image::Rgb([255, 255, 255]));
    picture.write_to(&mut file, format).expect("a file");
    format!("data:{};base64,{}", format.to_mime_type(), STANDARD.encode(file.into_inner()))
}

/// Without it every file but a PNG of the picture's own size would end the task for good.
#[test]
fn any_picture_says_where_to_paint() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a red kite --v 7", 2).await;
        for area in [
            white(ImageFormat::Png, 64, 64),
            white(ImageFormat::Png, 700, 300),
            white(ImageFormat::Jpeg, 512, 512),
            white(ImageFormat::WebP, 1024, 1024),
            scene.sample("64x64.png"),
            scene.sample("1280x720.jpeg"),
        ] {
            let waiting = scene.waiting(&up).await;
            scene.submit("modal", &json!({"task_id": waiting, "prompt": "a door", "mask_url": area})).await;
            let task = scene.caller.end_of(&waiting).await;
            assert_eq!(task["status"], "completed", "{task}");
            let sent = scene.latest().modal.expect("a modal")["maskBase64"].clone();
            assert_eq!((&sent["width"], &sent["height"]), (&json!(512), &json!(512)), "{sent}");
        }
    });
}

/// Without it an address that fails would end the task, or the next try would be charged once more.
#[test]
fn a_file_that_cannot_be_used_leaves_the_task_waiting() {
    run(async {
        let scene = Scene::start().await;
        let up = scene.single("a red kite --v 7", 2).await;
        let waiting = scene.waiting(&up).await;
        let task = scene.caller.task(&waiting).await;
        assert_eq!((&task["waiting_for"], task.get("result")), (&json!("modal"), None), "{task}");

        // What is embedded is judged at once.
        let gif = [&b"GIF89a\x40\0\x40\0"[..], &[0; 8000], b";"].concat();
        let gif = format!("data:image/gif;base64,{}", STANDARD.encode(gif));
        for (area, words) in [
            (gif, &["mask_url", "PNG, JPEG or WebP", "image/gif"][..]),
            (format!("data:image/png;base64,{}", STANDARD.encode("words ".repeat(40))), &["mask_url", "PNG"]),
            (
                format!("data:image/png;base64,{}", STANDARD.encode("words ".repeat(4000))),
                &["mask_url", "image"],
            ),
        ] {
            let answer = scene.post("modal", &json!({"task_id": waiting, "mask_url": area})).await;
            assert!(is_refused(&answer, words), "{} {}", answer.status, answer.text());
        }

        let before = scene.gateway.account("acme").await["spent"].clone();
        let gone = scene.sample("missing");
        for (area, words) in
            [(gone.as_str(), "could not be fetched"), (&scene.sample("7s.mp3"), "audio/mpeg")]
        {
            scene.submit("modal", &json!({"task_id": waiting, "prompt": "a door", "mask_url": area})).await;
            let view = scene.until_status(&waiting, "MODAL").await;
            let view = match view["fail_reason"].as_str() {
                Some(reason) if reason.contains(words) => view,
                _ => until_reason(&scene, &waiting, words).await,
            };
            assert_eq!(view["status"], "MODAL", "{view}");
            let task = scene.caller.task(&waiting).await;
            assert_eq!(
                (&task["status"], &task["waiting_for"]),
                (&json!("processing"), &json!("modal")),
                "{task}"
            );
            assert!(task["waiting_reason"].as_str().is_some_and(|reason| reason.contains(words)), "{task}");
        }
        let other = json!({"task_id": waiting, "prompt": "a door", "speed": "turbo"});
        let answer = scene.post("modal", &other).await;
        assert!(is_refused(&answer, &["speed", "relax"]), "{}", answer.text());
        scene.submit("modal", &json!({"task_id": waiting, "prompt": "a door"})).await;
        let task = scene.caller.end_of(&waiting).await;
        assert_eq!((&task["status"], &task["cost"]), (&json!("completed"), &json!(4)), "{task}");
        assert_eq!(task.get("waiting_for"), None);
        let account = scene.gateway.account_without_holds("acme").await;
        let spent = before.as_u64().map(|before| before + 4_000_000);
        assert_eq!(account["spent"].as_u64(), spent, "three requests, one modal step, one charge");
        scene.gateway.expect_sound_ledger().await;
    });
}

async fn until_reason(scene: &Scene, id: &str, words: &str) -> Value {
    for _ in 0..100_000 {
        let view = scene.view(id).await;
        if view["fail_reason"].as_str().is_some_and(|reason| reason.contains(words)) {
            return view;
        }
    }
    panic!("{id} does not say {words:?}");
}

/// Without it each of these would be a 400, and the upscale a request of its own with a price of its own.
#[test]
fn a_tile_of_a_grid_is_upscaled_within_the_task() {
    run(async {
        let scene = Scene::start().await;
        let grid = scene.grid("a kite --v 7").await;
        let colours = scene.latest().colours;
        for (route, more, button) in [
            ("high-variation", json!({}), "MJ::JOB::high_variation::1"),
            ("low-variation", json!({}), "MJ::JOB::low_variation::1"),
            ("zoom", json!({"zoom_ratio": 1.5}), "MJ::Outpaint::75::1"),
            ("pan", json!({"direction": "left"}), "MJ::JOB::pan_left::1"),
        ] {
            let body = with(more, &json!({"task_id": grid, "index": 3}));
            let task = scene.end(route, &body).await;
            assert_eq!((&task["status"], &task["cost"]), (&json!("completed"), &json!(4)), "{route}: {task}");
            assert!(scene.latest().custom_id.is_some_and(|id| id.starts_with(button)), "{route}");
            let view = scene.view(task["id"].as_str().expect("an id")).await;
            let action = route.replace('-', "_").to_uppercase();
            assert_eq!((&view["action"], &view["status"]), (&json!(action), &json!("SUCCESS")), "{view}");
        }
        let refused = scene.post("zoom", &json!({"task_id": grid})).await;
        assert!(is_refused(&refused, &["task_id", "index"]), "{}", refused.text());
        let newer = scene.grid("a kite --v 8.1").await;
        let refused = scene.post("pan", &json!({"task_id": newer, "index": 1, "direction": "up"})).await;
        assert!(is_refused(&refused, &["task_id", "v8.1"]), "{}", refused.text());

        let waiting = scene.submit("inpaint", &json!({"task_id": grid, "index": 2})).await;
        let view = scene.until_status(&waiting, "MODAL").await;
        let shown = view["image_urls"][0].as_str().expect("the picture to paint on");
        assert!(is_of(&picture(shown).await, colours[1]), "{view}");
        let task = scene.caller.task(&waiting).await;
        assert_eq!((links(&task).len(), &task["waiting_for"]), (1, &json!("modal")), "{task}");
        let area = uri(64, 64, [255, 255, 255]);
        scene.submit("modal", &json!({"task_id": waiting, "prompt": "a door", "mask_url": area})).await;
        let task = scene.caller.end_of(&waiting).await;
        assert_eq!((&task["status"], &task["cost"]), (&json!("completed"), &json!(4)), "{task}");
        let sent = scene.latest().modal.expect("a modal")["maskBase64"].clone();
        assert_eq!((&sent["width"], &sent["height"]), (&json!(512), &json!(512)), "{sent}");
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it `metadata` would refuse requests, and be lost.
#[test]
fn a_note_is_kept_and_returned() {
    run(async {
        let scene = Scene::start().await;
        let note = json!({"order": 7, "stylize": "much"});
        let task = scene.end("imagine", &json!({"prompt": "a kite", "metadata": note})).await;
        assert_eq!((&task["status"], &task["result"]["metadata"]), (&json!("completed"), &note), "{task}");
        let view = scene.view(task["id"].as_str().expect("an id")).await;
        assert_eq!((&view["metadata"], &view["actual_time"]), (&note, &task["actual_time"]), "{view}");
    });
}

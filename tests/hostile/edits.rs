//! Results that are a part of their source, and replies whose files are cut out: what the client downloads is decoded
//! here again, and every edit that cannot be made says why.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gatehouse_harness::{run, send_to};
use image::{ImageFormat, Rgb, RgbImage};
use serde_json::{Value, json};

use crate::hostile::scene::gateway::Scene;
use crate::hostile::scene::recorder::large_picture;

/// Four seconds with a sync sample every second, pictures and sound.
const FILM: &[u8] = include_bytes!("../../host/media/src/tests/clips/real/h264.mp4");

/// A grid of 3 x 2 pictures, each 5 x 4 pixels of a colour of its own, and one column and row more.
fn grid() -> RgbImage {
    RgbImage::from_fn(16, 9, |x, y| {
        let (column, row) = ((x / 5).min(2) as u8, (y / 4).min(1) as u8);
        Rgb([column * 100, row * 200, 7])
    })
}

fn data(mime: &str, bytes: &[u8]) -> String {
    format!("data:{mime};base64,{}", STANDARD.encode(bytes))
}

fn encoded(picture: &RgbImage) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, ImageFormat::Png).expect("a picture");
    bytes.into_inner()
}

fn done(product: &Value) -> Value {
    json!({"done": {"public": {"file": "media:0"}, "products": [product]}})
}

/// The file of a completed task, with its type.
async fn downloaded(task: &Value) -> (String, Vec<u8>) {
    assert!(task["status"] == "completed" && task["cost"] == 2.0, "{task}");
    let answer = send_to(task["result"]["file"].as_str().expect("a link"), &[]).await;
    assert_eq!(answer.status, 200);
    (answer.header("content-type").to_owned(), answer.body.to_vec())
}

/// What the plugin is told when its only product is lost.
async fn lost(scene: &Scene, product: &Value) -> String {
    // A product is fetched from the provider that was called.
    let steps = json!([{"call": {"path": "/plain"}}, done(product)]);
    let task = scene.finish(&json!({"steps": steps})).await;
    let seen = task["result"]["seen"].as_str().unwrap_or_else(|| panic!("{product}: {task}")).to_owned();
    assert!(seen.contains("Lost"), "{product}: {seen}");
    seen
}

/// The span of an MP4 file by its own head, ms.
fn milliseconds(film: &[u8]) -> u64 {
    let head = film.windows(4).position(|name| name == b"mvhd").expect("a head") + 4;
    assert_eq!(film[head], 0, "32-bit times");
    let word = |at: usize| u32::from_be_bytes(film[head + at..head + at + 4].try_into().expect("four bytes"));
    u64::from(word(16)) * 1000 / u64::from(word(12))
}

#[test]
fn a_tile_has_its_own_size_and_pixels() {
    run(async {
        let scene = Scene::start("").await;
        let source = data("image/png", &encoded(&grid()));
        for (column, row, size) in [(0, 0, (5, 4)), (1, 0, (5, 4)), (2, 1, (6, 5))] {
            let product = json!({"source": source, "tile": [column, row, 3, 2]});
            let task = scene.finish(&json!({"steps": [done(&product)]})).await;
            let (mime, bytes) = downloaded(&task).await;
            assert_eq!(mime, "image/png");
            let tile = image::load_from_memory(&bytes).expect("a picture").into_rgb8();
            assert_eq!(tile.dimensions(), size);
            let colour = Rgb([column * 100, row * 200, 7]);
            assert!(tile.pixels().all(|pixel| *pixel == colour), "column {column}, row {row}");
        }
        // The same from a URL of the provider, which is one pixel; and what cannot be cut.
        let one = format!("{}/picture", scene.trap.url());
        for (product, reason) in [
            (json!({"source": one, "tile": [0, 0, 2, 1]}), "the picture is 1 pixels wide, got 2 columns"),
            (json!({"source": source, "tile": [0, 0, 3, 200]}), "the picture is 9 pixels high, got 200 rows"),
            (json!({"source": data("video/mp4", FILM), "tile": [0, 0, 2, 2]}), "got video/mp4"),
            (json!({"source": source, "clip": [0]}), "only an MP4 file has clips, got image/png"),
            (
                json!({"source": data("image/png", &encoded(&grid())[..60]), "tile": [0, 0, 3, 2]}),
                "the picture is broken",
            ),
        ] {
            let seen = lost(&scene, &product).await;
            assert!(seen.contains("the result cannot be cut") && seen.contains(reason), "{product}: {seen}");
        }
        for (tile, reason) in [
            (
                json!([3, 0, 3, 2]),
                "the tile must lie in the grid of 3 x 2, counted from 0, got column 3, row 0",
            ),
            (json!([0, 0, 0, 2]), "a grid has at least one column and one row, got 0 x 2"),
        ] {
            let task =
                scene.finish(&json!({"steps": [done(&json!({"source": source, "tile": tile}))]})).await;
            assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
            assert!(scene.gateway.log_text().contains(reason), "{reason}");
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn a_clip_is_a_shorter_film() {
    run(async {
        let scene = Scene::start("").await;
        let source = data("video/mp4", FILM);
        assert_eq!(milliseconds(FILM), 4000);
        // From the last sync sample before its beginning.
        for (clip, length) in [(json!([1500, 2700]), 1700), (json!([2000]), 2000)] {
            let product = json!({"source": source, "mime": "video/mp4", "clip": clip});
            let task = scene.finish(&json!({"steps": [done(&product)]})).await;
            let (mime, bytes) = downloaded(&task).await;
            assert_eq!((mime.as_str(), milliseconds(&bytes)), ("video/mp4", length), "{clip}");
            assert!(bytes.len() < FILM.len(), "{clip}: {} bytes of {}", bytes.len(), FILM.len());
        }
        for (source, clip, reason) in [
            (&source, json!([9000]), "the result cannot be cut"),
            (&data("video/mp4", &FILM[..FILM.len() / 2]), json!([0, 1000]), "the result cannot be cut"),
            (&data("image/png", &encoded(&grid())), json!([0, 1000]), "only an MP4 file has clips"),
        ] {
            let seen = lost(&scene, &json!({"source": source, "clip": clip})).await;
            assert!(seen.contains(reason), "{clip}: {seen}");
        }
        let backwards = done(&json!({"source": source, "clip": [2000, 1000]}));
        let task = scene.finish(&json!({"steps": [backwards]})).await;
        assert!(task["status"] == "failed" && task["cost"] == 0.0, "{task}");
        let reason = "a clip must end after it begins, got 2000 ms to 1000 ms";
        assert!(scene.gateway.log_text().contains(reason), "{reason}");
        scene.gateway.expect_sound_ledger().await;
    });
}

#[test]
fn files_are_cut_out_of_a_reply() {
    run(async {
        let scene = Scene::start("[providers.trap]\nmax_reply_mib = 1").await;
        let read = json!({"call": {"path": "/base64", "cut-body": true}});
        let keep = json!({"done": {"public": {"file": "media:0"}, "products": [{"source": {"$blob": 0}}]}});
        let (_, file) = downloaded(&scene.finish(&json!({"steps": [read, keep]})).await).await;
        assert_eq!(file, STANDARD.decode(large_picture()).expect("base64"));
        // The plugin is told its name only, and the words around it.
        let told = scene.finish(&json!({"steps": [read]})).await;
        let seen = told["result"]["seen"].as_str().expect("what it saw");
        assert!(seen.contains("{\"b64_json\":\"blob:blob_") && seen.contains("\"words\":\"kept\""), "{seen}");
        assert!(!seen.contains(&large_picture()[100..200]), "{seen}");

        // Words are not cut: too many of them are no reply, and neither are too many files.
        for (path, told, logged) in [
            ("/words", "Outage::TooLarge", "bytes remain, at most 1048576 may"),
            ("/many-files", "Outage::TooLarge", "at most 64 files"),
            ("/plain", "reply 200", ""),
            ("/picture", "reply 200", ""),
        ] {
            let task = scene.finish(&json!({"steps": [{"call": {"path": path, "cut-body": true}}]})).await;
            let seen = task["result"]["seen"].as_str().unwrap_or_else(|| panic!("{path}: {task}"));
            assert!(seen.contains(told), "{path}: {}", &seen[..seen.len().min(2000)]);
            assert!(scene.gateway.log_text().contains(logged), "{path}: the log lacks {logged:?}");
        }
        // A file is its own task's, as any other.
        let blob = seen.split("blob:blob_").nth(1).map(|rest| format!("blob_{}", &rest[..26]));
        let theft = json!({"call": {"json": {"image": {"$file": blob.expect("a name")}}}});
        let thief = scene.finish(&json!({"steps": [theft]})).await;
        assert!(
            thief["result"]["seen"].as_str().expect("what it saw").contains("Outage::Refused"),
            "{thief}"
        );
        scene.gateway.expect_sound_ledger().await;
    });
}

//! Pictures: grids of four colours, singles that keep a tile's colour, sizes, inputs.

use crate::midjourney::TaskRecord;
use image::RgbImage;
use serde_json::json;

use super::proxy::{accepted, decoded, imagine, picture, press, recorded, shown, single, submit, uri};
use crate::tests::client::{TestSandbox, fetch};

/// Checks corners and middle of every tile.
fn check(picture: &RgbImage, task: &TaskRecord) {
    let (width, height) = task.size;
    let columns = if task.colours.len() == 1 { 1 } else { 2 };
    assert_eq!((picture.width(), picture.height()), (width * columns, height * columns));
    for (at, colour) in (0..).zip(&task.colours) {
        let (left, top) = (at % 2 * width, at / 2 * height);
        for (x, y) in
            [(0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1), (width / 2, height / 2)]
        {
            assert_eq!(picture.get_pixel(left + x, top + y).0, *colour, "tile {at} at {x},{y}");
        }
    }
}

#[tokio::test]
async fn a_grid_has_four_colours_and_a_single_keeps_its_own() {
    let test = TestSandbox::start().await;
    let grid = imagine(&test, "a red kite --ar 3:2 --v 7").await;
    let made = recorded(&test, &grid);
    let different: std::collections::BTreeSet<_> = made.colours.iter().collect();
    assert_eq!((made.colours.len(), different.len(), made.size), (4, 4, (624, 416)));
    check(&picture(&test, &grid).await, &made);
    for tile in 1..=4 {
        let upscaled = press(&test, &grid, &format!("MJ::JOB::upsample::{tile}::")).await;
        let of_tile = recorded(&test, &upscaled);
        assert_eq!((of_tile.colours.as_slice(), of_tile.size), (&made.colours[tile - 1..tile], (624, 416)));
        check(&picture(&test, &upscaled).await, &of_tile);
    }
    let large = press(&test, &single(&test, "a kite", 2).await, "MJ::JOB::upsample_v7_2x_subtle").await;
    assert_eq!(recorded(&test, &large).size, (1024, 1024));
    check(&picture(&test, &large).await, &recorded(&test, &large));
}

#[tokio::test]
async fn what_is_made_from_a_picture_is_near_its_colour() {
    let test = TestSandbox::start().await;
    let up = single(&test, "a red kite --v 7", 3).await;
    let own = recorded(&test, &up).colours[0];
    for button in [
        "MJ::JOB::low_variation",
        "MJ::JOB::high_variation",
        "MJ::Outpaint::50",
        "MJ::Outpaint::75",
        "MJ::JOB::pan_up",
    ] {
        let made = recorded(&test, &press(&test, &up, button).await);
        assert_eq!((made.colours.len(), made.colours[0]), (4, own), "{button}");
        let height = if button.ends_with("up") { 768 } else { 512 };
        assert_eq!(made.size, (512, height), "{button}");
        check(&picture(&test, &made.id).await, &made);
    }
}

#[tokio::test]
async fn results_have_one_form_or_both() {
    let test = TestSandbox::start().await;
    let plain = shown(&test, &imagine(&test, "a kite").await).await;
    assert!(plain["imageUrls"].is_null() && plain["imageUrl"].is_string());
    assert_eq!((&plain["imageWidth"], &plain["imageHeight"]), (&json!(1024), &json!(1024)));
    let id = imagine(&test, "a kite [[links]]").await;
    let both = shown(&test, &id).await;
    let colours = recorded(&test, &id).colours;
    let links = both["imageUrls"].as_array().expect("tile links");
    assert_eq!(links.len(), 4);
    for (link, colour) in links.iter().zip(colours) {
        let tile = decoded(&fetch(link["url"].as_str().expect("a link")).await);
        assert_eq!((tile.width(), tile.height(), tile.get_pixel(256, 256).0), (512, 512, colour));
        assert_eq!(fetch(link["thumbnail"].as_str().expect("a link")).await.status, 200);
    }
    let none = shown(&test, &imagine(&test, "a kite [[no-picture]]").await).await;
    assert!(none["imageUrl"].is_null() && none["status"] == "SUCCESS");
    assert_eq!(shown(&test, &imagine(&test, "a kite [[no-buttons]]").await).await["buttons"], json!([]));
}

#[tokio::test]
async fn inputs_decide_colours_and_sizes() {
    let test = TestSandbox::start().await;
    let (red, blue) = ([230, 25, 25], [25, 25, 230]);
    let pair = json!([uri(64, 64, red), uri(32, 64, blue)]);
    let blend = accepted(&test, "blend", &json!({ "base64Array": pair, "dimensions": "PORTRAIT" })).await;
    let made = recorded(&test, &blend);
    assert_eq!((made.colours[0], made.size), (red, (416, 624)));
    assert_eq!(made.body["base64Array"][1]["width"], 32);
    let edit = json!({ "prompt": "make it night", "image": uri(200, 100, blue) });
    let made = recorded(&test, &accepted(&test, "edits", &edit).await);
    assert_eq!((made.colours[0], made.size), (blue, (728, 360)));
    let described = accepted(&test, "describe", &json!({ "base64": uri(160, 90, blue) })).await;
    let text = shown(&test, &described).await;
    let prompt = text["prompt"].as_str().expect("text");
    let paragraphs: Vec<&str> = prompt.split("\n\n").collect();
    assert_eq!(paragraphs.len(), 4);
    for (number, paragraph) in (1..).zip(paragraphs) {
        assert!(paragraph.starts_with(&format!("{number}\u{fe0f}\u{20e3} ")), "{paragraph}");
        assert!(paragraph.contains("blue") && paragraph.ends_with("--ar 16:9"), "{paragraph}");
    }
    assert_eq!((&text["promptEn"], &text["properties"]["finalPrompt"]), (&text["prompt"], &text["prompt"]));
    assert!(text["imageUrl"].is_string() && text["action"] == "DESCRIBE");
    let prompted = json!({ "prompt": "like this", "base64Array": [uri(8, 8, red)] });
    let task = shown(&test, &accepted(&test, "imagine", &prompted).await).await;
    assert_eq!(task["prompt"], "like this");
    assert!(task["promptEn"].as_str().is_some_and(|text| text.starts_with("https://s.mj.run/")), "{task}");
    for (route, body) in [
        ("blend", json!({ "base64Array": [uri(8, 8, red)] })),
        ("blend", json!({ "base64Array": vec![uri(8, 8, red); 6] })),
        ("imagine", json!({ "prompt": "p", "base64Array": ["data:image/png;base64,AAAA"] })),
        ("imagine", json!({ "prompt": "p", "base64Array": ["https://nohost.invalid/x.png"] })),
        ("edits", json!({ "prompt": "p" })),
        ("edits", json!({ "image": uri(8, 8, red) })),
        ("describe", json!({})),
    ] {
        assert_eq!(submit(&test, route, &body).await["code"], 4, "{route} {body}");
    }
}

#[tokio::test]
async fn links_are_signed_and_die_after_a_day() {
    let test = TestSandbox::start().await;
    let link =
        shown(&test, &imagine(&test, "a kite").await).await["imageUrl"].as_str().expect("a link").to_owned();
    assert!(link.starts_with(&test.sandbox.midjourney().files));
    let bare = link.split('?').next().expect("a path").to_owned();
    assert_eq!((fetch(&link).await.status, fetch(&bare).await.status), (200, 404));
    test.advance(std::time::Duration::from_secs(86_399));
    assert_eq!(fetch(&link).await.status, 200);
    test.advance(std::time::Duration::from_secs(1));
    assert_eq!(fetch(&link).await.status, 404);
}

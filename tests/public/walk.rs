//! The specification, walked line by line: of each field of each family both sides of every limit, the names that are the
//! same, and the fields that another model has. Asked by `dry_run`, which judges a request as if it were meant.

use std::time::Duration;

use gatehouse_harness::{checks, run_together, with};
use serde_json::{Value, json};

use crate::public::Scene;
use crate::video::TEMPLATES;

const IMAGES: &str = "/v1/images/generations";
const VIDEOS: &str = "/v1/videos/generations";
const PICTURE: &str = "https://example.com/a.png";
const FILM: &str = "https://example.com/a.mp4";
const SOUND: &str = "https://example.com/a.mp3";
/// A PNG of one pixel.
const TINY: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// Fields over a good request, and the words of the refusal; none: it is accepted.
type Row = (Value, &'static [&'static str]);

/// The rows that do not come out so.
async fn walk(scene: &Scene, path: &str, good: Value, rows: Vec<Row>) -> Vec<String> {
    let mut broken = Vec::new();
    for (fields, words) in rows {
        let body = with(good.clone(), with(fields, json!({"dry_run": true})));
        let body = [(PICTURE, "800x600.png"), (FILM, "1280x720-4s.mp4"), (SOUND, "5s.mp3")]
            .into_iter()
            .fold(body.to_string(), |body, (address, name)| body.replace(address, &scene.sample(name)));
        let body: Value = serde_json::from_str(&body).expect("JSON");
        let answer = scene.caller.post(path, &body).await;
        let said = answer.text();
        let fits = match words {
            [] => answer.status == 200 && answer.json()["data"]["failure"].is_null(),
            words => answer.status == 400 && words.iter().all(|word| said.contains(word)),
        };
        if !fits {
            broken.push(format!("  {path} {body}\n    expected {words:?}, came {} {said}", answer.status));
        }
    }
    broken
}

fn none(broken: Vec<String>) {
    assert!(broken.is_empty(), "{} rows are broken:\n{}", broken.len(), broken.join("\n"));
}

/// Accepted values of one field.
fn accepts(field: &str, values: Vec<Value>) -> Vec<Row> {
    values.into_iter().map(|value| (json!({field: value}), &[][..])).collect()
}

/// Fields that are true or false: both are taken, and nothing else is.
fn switches(fields: &[&'static str]) -> Vec<Row> {
    let rows = |field: &&'static str| {
        let good = accepts(field, vec![json!(true), json!(false), json!(null)]);
        [good, refuses(field, vec![json!("true"), json!(1)])].concat()
    };
    fields.iter().flat_map(rows).collect()
}

/// Refused values of one field; the refusal names it.
fn refuses(field: &'static str, values: Vec<Value>) -> Vec<Row> {
    let words: &'static [&'static str] = Box::leak(Box::new([field]));
    values.into_iter().map(|value| (json!({field: value}), words)).collect()
}

/// A picture under names that no model has: refused with the right name, while other unknown fields are ignored.
fn other_names() -> Vec<Row> {
    let mut rows = refuses("image", vec![json!(PICTURE), json!({"url": PICTURE})]);
    rows.extend(refuses("imageUrls", vec![json!([PICTURE])]));
    rows.extend(refuses("Image_Url", vec![json!(PICTURE)]));
    rows.extend(accepts("image_size", vec![json!("square")]));
    rows.extend(accepts("images", vec![json!([]), json!(null)]));
    rows
}

/// The families do not disturb each other: nothing but the grids of journey is made.
#[test]
fn both_sides_of_every_limit() {
    run_together(async || Scene::start(Duration::ZERO).await, checks![images, motion, clip, scene, journey]);
}

async fn images(scene: &Scene) {
    let good = json!({"model": "imagine-1.5-gw", "prompt": "a kite"});
    let mut rows = accepts("size", ["1:1", "16:9", "9:16", "3:2", "2:3"].map(Value::from).into());
    rows.extend(refuses("size", vec![json!("4:3"), json!(""), json!(1)]));
    rows.extend(accepts("aspect_ratio", vec![json!("16:9"), json!(null)]));
    rows.extend(refuses("aspect_ratio", vec![json!("4:3"), json!(1)]));
    rows.push((json!({"size": "1:1", "aspect_ratio": "16:9"}), &["aspect_ratio", "the same as `size`"]));
    rows.extend(accepts("n", vec![json!(1), json!(10), json!(2.0), json!(null)]));
    rows.extend(refuses("n", vec![json!(0), json!(11), json!("2"), json!(1.5)]));
    rows.extend(accepts("image_urls", vec![json!([]), json!([TINY])]));
    rows.extend(refuses("image_urls", vec![json!([TINY, TINY]), json!(TINY), json!([5])]));
    rows.extend(refuses("prompt", vec![json!(""), json!(5), json!(null)]));
    rows.extend(accepts("model", vec![json!("imagine-1.5-ext"), json!(null)]));
    rows.extend(other_names());
    none(walk(scene, IMAGES, good, rows).await);
    // Wrong parameters of the context family are a receipt, and then a failure (spec).
    for (fields, words) in [
        (json!({"n": 2}), "n"),
        (json!({"width": 8}), "width"),
        (json!({"size": "5:4:3"}), "size"),
        (json!({"safety_tolerance": 7}), "safety_tolerance"),
        (json!({"image_urls": vec![PICTURE; 5]}), "image_urls"),
        (json!({"output_format": "gif"}), "output_format"),
        (json!({"image": PICTURE}), "use `image_urls`"),
        (json!({"Image_Urls": [PICTURE]}), "Image_Urls"),
    ] {
        let body = with(json!({"model": "ctx-pro", "prompt": "a kite", "dry_run": true}), fields);
        let answer = scene.caller.post(IMAGES, &body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        assert!(answer.text().contains(words), "{body}: {}", answer.text());
    }
    let good = json!({"model": "ctx-max", "prompt": "a kite"});
    let mut rows = accepts("size", ["1:1", "21:9", "9:21", "auto", "1000x900"].map(Value::from).into());
    rows.extend(accepts("safety_tolerance", vec![json!(0), json!(6), json!(2.0)]));
    rows.extend(accepts("n", vec![json!(1), json!(1.0)]));
    rows.extend(accepts("resolution", vec![json!("8k"), json!(5)]));
    rows.extend(refuses("prompt", vec![json!(null)]));
    rows.extend(refuses("model", vec![json!("ctx-mini"), json!(5)]));
    none(walk(scene, IMAGES, good, rows).await);
}

async fn motion(scene: &Scene) {
    let good = json!({"model": "motion-2.6", "prompt": "a kite"});
    let mut rows = accepts("duration", vec![json!(5), json!(10), json!(15), json!(10.0)]);
    rows.extend(refuses("duration", vec![json!(4), json!(6), json!(16), json!("5"), json!(5.5)]));
    rows.extend(accepts("resolution", vec![json!("720p"), json!("1080p")]));
    rows.extend(refuses("resolution", vec![json!("480p"), json!("720P")]));
    let ratios = || ["16:9", "9:16", "1:1", "4:3", "3:4"].map(Value::from).to_vec();
    rows.extend(["aspect_ratio", "size"].into_iter().flat_map(|field| accepts(field, ratios())));
    rows.extend(refuses("aspect_ratio", vec![json!("21:9")]));
    rows.extend(refuses("size", vec![json!("21:9")]));
    rows.extend(accepts("shot_type", vec![json!("single"), json!("multi")]));
    rows.extend(refuses("shot_type", vec![json!("double")]));
    rows.extend(refuses("template", vec![json!("squish"), json!("fly")]));
    rows.extend(refuses("image_urls", vec![json!([PICTURE, PICTURE])]));
    rows.extend(refuses("first_frame_image", vec![json!(PICTURE)]));
    rows.extend(refuses("last_frame_image", vec![json!(PICTURE)]));
    rows.extend(refuses("image_with_roles", vec![json!([{"url": PICTURE}])]));
    rows.extend(refuses("video_urls", vec![json!([FILM])]));
    rows.extend(refuses("audio_urls", vec![json!([SOUND])]));
    rows.extend([
        (json!({"aspect_ratio": "9:16", "size": "9:16"}), &[][..]),
        (json!({"aspect_ratio": "9:16", "size": "1:1"}), &["size", "aspect_ratio"]),
        (json!({"image_urls": [PICTURE], "template": "melt", "prompt": null}), &[]),
        (json!({"image_urls": [PICTURE], "template": "melt", "prompt": 5}), &[]),
        (json!({"image_urls": [PICTURE], "aspect_ratio": "9:16"}), &["aspect_ratio"]),
        (json!({"prompt": null}), &["prompt"]),
        (json!({"prompt": null, "image_urls": [PICTURE]}), &[]),
        (json!({"audio_url": SOUND, "audio": false}), &[]),
        (json!({"image_urls": [PICTURE], "template": "fly"}), &["template"]),
        (json!({"colour": "red"}), &[]),
    ]);
    rows.extend(TEMPLATES.map(|name| (json!({"image_urls": [PICTURE], "template": name}), &[][..])));
    rows.extend(switches(&["prompt_extend", "audio", "watermark"]));
    rows.extend(other_names());
    rows.extend(refuses("seed", vec![json!("7"), json!(1.5)]));
    rows.extend(refuses("negative_prompt", vec![json!(5)]));
    none(walk(scene, VIDEOS, good, rows).await);

    let good = json!({"model": "motion-2.7", "prompt": "a kite"});
    let mut rows = accepts("duration", vec![json!(2), json!(15), json!(7.0)]);
    rows.extend(refuses("duration", vec![json!(1), json!(16), json!("5"), json!(2.5)]));
    rows.extend(accepts("resolution", vec![json!("720P"), json!("1080P")]));
    rows.extend(refuses("resolution", vec![json!("1080p"), json!("480P")]));
    rows.extend(["aspect_ratio", "size"].into_iter().flat_map(|field| accepts(field, ratios())));
    rows.extend(refuses("size", vec![json!("21:9"), json!(5)]));
    rows.extend(accepts("prompt", vec![json!("k".repeat(5000))]));
    rows.extend(refuses("prompt", vec![json!("k".repeat(5001))]));
    rows.extend(accepts("negative_prompt", vec![json!("k".repeat(500))]));
    rows.extend(refuses("negative_prompt", vec![json!("k".repeat(501))]));
    rows.extend(accepts("image_urls", vec![json!([PICTURE]), json!([PICTURE, PICTURE])]));
    rows.extend(refuses("image_urls", vec![json!([PICTURE, PICTURE, PICTURE])]));
    rows.extend(refuses("first_frame_image", vec![json!(PICTURE)]));
    rows.extend(accepts("seed", vec![json!(0)]));
    rows.extend(refuses("seed", vec![json!(-1)]));
    rows.extend([
        (json!({"image_urls": [PICTURE], "size": "2:1"}), &[][..]),
        (json!({"image_urls": [PICTURE], "size": 7, "aspect_ratio": "x"}), &[]),
        (json!({"audio_url": SOUND}), &[]),
        (json!({"audio_url": SOUND, "image_urls": [PICTURE]}), &["audio_url", "image_urls"]),
        (json!({"audio_url": SOUND, "video_urls": [FILM]}), &["audio_url", "video_urls"]),
        (
            json!({"audio_url": SOUND, "image_with_roles": [{"url": PICTURE}]}),
            &["audio_url", "image_with_roles"],
        ),
        (json!({"prompt": null}), &["prompt"]),
        (json!({"prompt": null, "image_urls": [PICTURE]}), &[]),
        (json!({"prompt": null, "video_urls": [FILM, FILM]}), &[]),
        (json!({"image_with_roles": [{"url": PICTURE}]}), &[]),
        (json!({"image_with_roles": [{"url": PICTURE}, {"url": PICTURE, "role": "last_frame"}]}), &[]),
        (
            json!({"image_with_roles": [{"url": PICTURE, "role": "last_frame"}]}),
            &["image_with_roles[0].role"],
        ),
        (
            json!({"image_with_roles": [{"url": PICTURE, "role": "reference_image"}]}),
            &["image_with_roles[0].role"],
        ),
        (json!({"image_with_roles": [{"url": PICTURE}, {"url": PICTURE}]}), &["image_with_roles[1].role"]),
        (json!({"image_with_roles": [{"role": "first_frame"}]}), &["image_with_roles[0].url"]),
        (
            json!({"image_urls": [PICTURE], "image_with_roles": [{"url": PICTURE}]}),
            &["image_with_roles", "image_urls"],
        ),
    ]);
    rows.extend(switches(&["prompt_extend", "watermark"]));
    // What motion-2.6 has: another film would be made and charged.
    rows.extend(refuses("template", vec![json!("squish")]));
    rows.extend(refuses("shot_type", vec![json!("multi")]));
    rows.extend(refuses("audio", vec![json!(true)]));
    rows.extend(accepts("audio", vec![json!(false), json!(null)]));
    rows.extend(other_names());
    none(walk(scene, VIDEOS, good, rows).await);
}

async fn clip(scene: &Scene) {
    let good = json!({"model": "clip-2.0", "prompt": "a kite"});
    let mut rows = accepts("duration", vec![json!(4), json!(15), json!(5.0)]);
    rows.extend(refuses("duration", vec![json!(3), json!(16), json!("5"), json!(4.5)]));
    let sizes = || ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9", "adaptive"].map(Value::from).to_vec();
    rows.extend(["size", "aspect_ratio"].into_iter().flat_map(|field| accepts(field, sizes())));
    rows.extend(refuses("size", vec![json!("3:1")]));
    rows.extend(refuses("aspect_ratio", vec![json!("3:1")]));
    rows.extend(accepts("resolution", ["480p", "720p", "1080p", "4k"].map(Value::from).into()));
    rows.extend(accepts("prompt", vec![json!("k".repeat(4000))]));
    rows.extend(refuses("prompt", vec![json!("k".repeat(4001)), json!(null)]));
    rows.extend(accepts("image_urls", vec![json!(vec![PICTURE; 9])]));
    rows.extend(refuses("image_urls", vec![json!(vec![PICTURE; 10])]));
    rows.extend(accepts("video_urls", vec![json!(vec![FILM; 3])]));
    rows.extend(refuses("video_urls", vec![json!(vec![FILM; 4])]));
    rows.extend(refuses("audio_urls", vec![json!([SOUND])]));
    rows.extend(refuses("first_frame_image", vec![json!(PICTURE)]));
    rows.extend(refuses("audio_url", vec![json!(SOUND)]));
    rows.extend(refuses("tools", vec![json!([{"type": "browser"}])]));
    rows.extend([
        (json!({"size": "1:1", "aspect_ratio": "9:16"}), &["aspect_ratio", "size"][..]),
        (json!({"audio_urls": vec![SOUND; 3], "video_urls": [FILM]}), &[]),
        (json!({"audio_urls": vec![SOUND; 4], "video_urls": [FILM]}), &["audio_urls"]),
        (json!({"image_urls": [PICTURE], "image_with_roles": [{"url": PICTURE, "role": "first_frame"}]}), &["image_urls"]),
        (json!({"image_with_roles": [{"url": PICTURE, "role": "first_frame"}], "video_urls": [FILM]}), &["video_urls"]),
        (json!({"image_with_roles": [{"url": PICTURE}]}), &["image_with_roles[0].role"]),
        (json!({"model": "clip-2.0-fast", "resolution": "1080p"}), &["resolution"]),
        (json!({"model": "clip-2.0-mini", "prompt": "k".repeat(4001)}), &[]),
        (json!({"image_urls": ["asset://unknown"]}), &["image_urls[0]"]),
        (json!({"prompt": null, "image_urls": [PICTURE]}), &[]),
        (json!({"image_with_roles": [{"url": PICTURE, "role": "first_frame"}, {"url": PICTURE, "role": "last_frame"}]}), &[]),
        (json!({"image_with_roles": [{"url": PICTURE, "role": "last_frame"}]}), &["image_with_roles", "first_frame"]),
        (json!({"image_with_roles": [{"url": PICTURE, "role": "first_frame"}, {"url": PICTURE, "role": "reference_image"}]}), &["image_with_roles"]),
        (json!({"image_with_roles": [{"url": PICTURE, "role": "reference_image"}], "audio_urls": [SOUND]}), &[]),
        (json!({"image_with_roles": [{"url": PICTURE, "role": "first_frame"}], "audio_urls": [SOUND]}), &["audio_urls"]),
        (json!({"image_urls": [PICTURE, PICTURE], "video_urls": [FILM], "audio_urls": [SOUND]}), &[]),
        (json!({"model": "clip-2.0-fast", "resolution": "480p"}), &[]),
        (json!({"model": "clip-2.0-fast", "resolution": "4k"}), &["resolution"]),
        (json!({"model": "clip-2.0-mini", "resolution": "1080p"}), &["resolution"]),
        (json!({"model": "clip-2.0-mini", "image_urls": ["asset://a"]}), &["image_urls[0]", "clip-2.0-fast"]),
        (json!({"tools": [{"type": "web_search"}]}), &[]),
    ]);
    rows.extend(switches(&["generate_audio", "return_last_frame"]));
    rows.extend(other_names());
    rows.extend(refuses("seed", vec![json!("7"), json!(1.5)]));
    none(walk(scene, VIDEOS, good, rows).await);

    let good = json!({"assets": [{"url": PICTURE, "name": "face"}]});
    let asset = || json!({"url": PICTURE, "name": "face"});
    let mut rows = accepts("assets", vec![json!(vec![asset(); 20])]);
    rows.extend(refuses("assets", vec![json!([]), json!(vec![asset(); 21])]));
    rows.extend(accepts("asset_type", ["Image", "Video", "Audio"].map(Value::from).into()));
    rows.extend(refuses("asset_type", vec![json!("image")]));
    rows.extend(accepts("project_name", vec![json!("films"), json!("default"), json!(null)]));
    rows.extend(refuses("group_id", vec![json!("group-of-another")]));
    rows.extend([
        (json!({"group": {"name": "faces"}, "group_id": "group-1"}), &["group"][..]),
        (json!({"url": PICTURE}), &["url", "assets"]),
        (json!({"assets": null, "url": PICTURE, "name": "face"}), &[]),
        (json!({"assets": null, "url": PICTURE}), &["name"]),
        (json!({"assets": null, "name": "face"}), &["url"]),
        (json!({"assets": null}), &["assets"]),
        (json!({"assets": [{"url": PICTURE}]}), &["assets[0].name"]),
        (json!({"assets": [{"name": "face"}]}), &["assets[0].url"]),
        (json!({"assets": [{"url": "face.png", "name": "face"}]}), &["assets[0].url"]),
        (json!({"group": {"name": "faces", "description": "of friends"}}), &[]),
        (json!({"group": {"description": "of friends"}}), &["group.name"]),
        (json!({"assets": [{"url": PICTURE.replace("http", "HTTP"), "name": "face"}]}), &[]),
    ]);
    rows.extend(refuses("project_name", vec![json!(5)]));
    none(walk(scene, "/v1/clip2/private-avatar", good, rows).await);
}

async fn scene(scene: &Scene) {
    let good = json!({"model": "scene-3.1-fast-official", "prompt": "a kite"});
    let mut rows = accepts("duration", vec![json!(4), json!(6), json!(8), json!(8.0)]);
    rows.extend(refuses("duration", vec![json!(5), json!(9), json!("8")]));
    rows.extend(
        ["size", "aspect_ratio"]
            .into_iter()
            .flat_map(|field| accepts(field, vec![json!("16:9"), json!("9:16")])),
    );
    rows.extend(refuses("size", vec![json!("1:1")]));
    rows.extend(accepts("resolution", ["720p", "1080p", "4K"].map(Value::from).into()));
    rows.extend(refuses("resolution", vec![json!("480p")]));
    rows.extend(accepts("seed", vec![json!(0), json!(4_294_967_295_u64)]));
    rows.extend(refuses("seed", vec![json!(-1), json!(4_294_967_296_u64)]));
    rows.extend(accepts("person_generation", vec![json!("allow_adult"), json!("disallow")]));
    rows.extend(refuses("person_generation", vec![json!("allow_all")]));
    rows.extend(refuses("enhance_prompt", vec![json!(false)]));
    rows.extend(["sample_count", "n"].into_iter().flat_map(|field| accepts(field, vec![json!(1), json!(4)])));
    rows.extend(refuses("sample_count", vec![json!(0), json!(5)]));
    rows.extend(refuses("last_frame_image", vec![json!(PICTURE)]));
    rows.extend(refuses("image_urls", vec![json!([PICTURE])]));
    rows.extend(refuses("image_with_roles", vec![json!([{"url": PICTURE}])]));
    rows.extend(refuses("video_urls", vec![json!([FILM])]));
    rows.extend(refuses("audio_url", vec![json!(SOUND)]));
    rows.extend([
        (json!({"first_frame_image": PICTURE, "last_frame_image": PICTURE, "resize_mode": "crop"}), &[][..]),
        (json!({"resize_mode": "crop"}), &["resize_mode"]),
        (json!({"size": "16:9", "aspect_ratio": "9:16"}), &["size", "aspect_ratio"]),
        (json!({"image_urls": [], "audio_url": null}), &[]),
        (json!({"first_frame_image": PICTURE, "resize_mode": "fit"}), &["resize_mode"]),
        (json!({"model": "scene-3.1-quality-official"}), &[]),
    ]);
    rows.extend(switches(&["generate_audio"]));
    rows.extend(other_names());
    rows.extend(accepts("enhance_prompt", vec![json!(true), json!(null)]));
    rows.extend(refuses("prompt", vec![json!(null), json!(" ")]));
    rows.extend(refuses("negative_prompt", vec![json!(5)]));
    none(walk(scene, VIDEOS, good, rows).await);

    let whole = json!({"model": "scene-3.1-fast-official", "prompt": "a kite"});
    let path = format!("{VIDEOS}/{}/remix", scene.done(VIDEOS, &whole).await).replace("/generations", "");
    let good = json!({"model": "scene-3.1-fast", "prompt": "it lands"});
    let mut rows = switches(&["raw"]);
    rows.extend(accepts("model", vec![json!("scene-3.1-fast-ext"), json!("scene-3.1-fast-official")]));
    rows.extend(refuses("model", ["scene-3.1-quality", "scene-3.1-quality-ext"].map(Value::from).into()));
    rows.extend(accepts("resolution", ["720p", "1080p", "4k"].map(Value::from).into()));
    rows.extend(refuses("resolution", vec![json!("480p"), json!(720)]));
    rows.extend(accepts("aspect_ratio", vec![json!("16:9"), json!(null)]));
    rows.extend(refuses("aspect_ratio", vec![json!("1:1"), json!("9:16")]));
    rows.extend(refuses("prompt", vec![json!(null), json!("")]));
    none(walk(scene, &path, good, rows).await);
}

async fn journey(scene: &Scene) {
    let path = |route: &str| format!("/v1/journey/generations/{route}");
    let grid = scene.done(&path("imagine"), &json!({"prompt": "a kite --v 7"})).await;
    let tile = |route: &str| path(route);
    let mut broken = Vec::new();
    for route in ["high-variation", "low-variation", "zoom", "pan", "inpaint"] {
        let good = json!({"task_id": grid, "direction": "left"});
        let mut rows = accepts("index", vec![json!(1), json!(4), json!(2.0)]);
        rows.extend(refuses("index", vec![json!(0), json!(5), json!("1"), json!(null)]));
        broken.extend(walk(scene, &tile(route), good, rows).await);
    }
    let mut rows = accepts("metadata", vec![json!("a note"), json!(5), json!({"stylize": "x"}), json!([1])]);
    rows.extend(accepts("stylize", vec![json!(0), json!(1000), json!(5.0)]));
    rows.extend(refuses("stylize", vec![json!(-1), json!(1001), json!("5")]));
    rows.extend([
        (json!({"draft": true, "metadata": {"version": "6.1"}}), &[][..]),
        (json!({"version": "8.1", "metadata": {"niji": true}}), &[]),
        (json!({"draft": true, "version": "6.1"}), &["draft"]),
    ]);
    rows.extend(accepts("version", ["8.2", "8.1", "7", "6.1", "5.2", "5.1"].map(Value::from).into()));
    rows.extend(refuses("version", vec![json!("4"), json!(true)]));
    rows.extend(accepts("speed", ["relax", "fast", "turbo"].map(Value::from).into()));
    rows.extend(refuses("speed", vec![json!("slow"), json!("FAST")]));
    broken.extend(walk(scene, &path("imagine"), json!({"prompt": "a kite"}), rows).await);
    let mut rows = accepts("image_urls", vec![json!(vec![PICTURE; 4])]);
    rows.extend(refuses("image_urls", vec![json!([PICTURE]), json!(vec![PICTURE; 5]), json!(null)]));
    rows.extend(accepts("dimensions", ["SQUARE", "portrait", "LANDSCAPE"].map(Value::from).into()));
    rows.extend(refuses("dimensions", vec![json!("ROUND")]));
    let two = json!({"image_urls": [PICTURE, PICTURE]});
    broken.extend(walk(scene, &path("blend"), two, rows).await);
    for route in ["upscale", "variation"] {
        let mut rows = accepts("index", vec![json!(1), json!(4)]);
        rows.extend(refuses("index", vec![json!(0), json!(5), json!(null)]));
        broken.extend(walk(scene, &path(route), json!({"task_id": grid}), rows).await);
    }
    let mut rows = accepts("index", vec![json!(0), json!(3)]);
    rows.extend(refuses("index", vec![json!(-1), json!(4), json!(null)]));
    rows.extend(accepts("batch_size", vec![json!(1), json!(2), json!(4), json!(3)]));
    rows.extend(accepts("motion", vec![json!("low"), json!("high")]));
    rows.extend(refuses("motion", vec![json!("wild")]));
    rows.extend(accepts("animate_mode", vec![json!("manual"), json!("auto")]));
    rows.extend(accepts("prompt", vec![json!(null), json!(" "), json!("it flies")]));
    rows.extend(accepts("image_urls", vec![json!(null), json!([])]));
    rows.extend(refuses("image_urls", vec![json!([PICTURE]), json!([PICTURE, PICTURE])]));
    broken.extend(walk(scene, &path("video"), json!({"task_id": grid, "index": 0}), rows).await);
    none(broken);
}

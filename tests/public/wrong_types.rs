//! Every field of every family of pictures, videos and assets with every kind of wrong value, and with none: a mistake is refused by
//! the field's name, `null` is nothing, and nothing that costs is passed over. Asked by `dry_run`.

use std::time::Duration;

use gatehouse_harness::{run, with};
use serde_json::{Value, json};

use crate::public::Scene;

const IMAGES: &str = "/v1/images/generations";
const VIDEOS: &str = "/v1/videos/generations";

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    Link,
    Links,
    /// A text, or a number that stands for one.
    Name,
    Number,
    Object,
    Objects,
    Switch,
    Text,
    Whole,
}

use Kind::{Link, Links, Name, Number, Object, Objects, Switch, Text, Whole};

/// Values that are no such thing.
fn wrong(kind: Kind) -> Vec<Value> {
    match kind {
        Link => vec![
            json!(5),
            json!(true),
            json!(["https://e.com/a"]),
            json!({"url": "x"}),
            json!("ftp://e.com/a"),
        ],
        Links => vec![
            json!("https://e.com/a"),
            json!(5),
            json!({"0": "https://e.com/a"}),
            json!([5]),
            json!([null]),
            json!([""]),
            json!([" "]),
            json!([["https://e.com/a"]]),
            json!([{"url": "https://e.com/a"}]),
            json!(["ftp://e.com/a"]),
            json!(["data:image/png;base64,!!"]),
        ],
        Objects => vec![
            json!("x"),
            json!(5),
            json!({"url": "https://e.com/a"}),
            json!([5]),
            json!([null]),
            json!([{}]),
        ],
        Name => vec![json!(true), json!(["a"]), json!({"a": "b"}), json!("\u{e9}")],
        Number => vec![json!("1"), json!(true), json!([1]), json!({}), json!(-1), json!(1e30)],
        Object => vec![json!("x"), json!(5), json!(true), json!([{"name": "x"}]), json!({})],
        Switch => vec![json!("true"), json!(1), json!([true]), json!({})],
        Text => vec![json!(5), json!(true), json!(["a"]), json!({"a": "b"})],
        Whole => vec![json!("5"), json!(5.5), json!(-1), json!(1e30), json!(true), json!([5]), json!({})],
    }
}

/// The fields of a model beside `model`.
type Fields = &'static [(&'static str, Kind)];

const MOTION_26: Fields = &[
    ("prompt", Text),
    ("negative_prompt", Text),
    ("duration", Whole),
    ("resolution", Text),
    ("aspect_ratio", Text),
    ("size", Text),
    ("shot_type", Text),
    ("template", Text),
    ("image_urls", Links),
    ("audio_url", Link),
    ("audio", Switch),
    ("prompt_extend", Switch),
    ("watermark", Switch),
    ("seed", Whole),
];
const MOTION_27: Fields = &[
    ("prompt", Text),
    ("negative_prompt", Text),
    ("duration", Whole),
    ("resolution", Text),
    ("aspect_ratio", Text),
    ("size", Text),
    ("image_urls", Links),
    ("image_with_roles", Objects),
    ("video_urls", Links),
    ("audio_url", Link),
    ("prompt_extend", Switch),
    ("watermark", Switch),
    ("seed", Whole),
];
const CLIP: Fields = &[
    ("prompt", Text),
    ("duration", Whole),
    ("size", Text),
    ("aspect_ratio", Text),
    ("resolution", Text),
    ("image_urls", Links),
    ("image_with_roles", Objects),
    ("video_urls", Links),
    ("audio_urls", Links),
    ("tools", Objects),
    ("generate_audio", Switch),
    ("return_last_frame", Switch),
];
const SCENE: Fields = &[
    ("prompt", Text),
    ("negative_prompt", Text),
    ("duration", Whole),
    ("size", Text),
    ("aspect_ratio", Text),
    ("resolution", Text),
    ("first_frame_image", Link),
    ("last_frame_image", Link),
    ("resize_mode", Text),
    ("person_generation", Text),
    ("generate_audio", Switch),
    ("enhance_prompt", Switch),
    ("sample_count", Whole),
    ("n", Whole),
    ("seed", Whole),
];

const CONTEXT: Fields = &[
    ("prompt", Text),
    ("image_urls", Links),
    ("size", Text),
    ("aspect_ratio", Text),
    ("output_format", Text),
    ("response_format", Text),
    ("n", Whole),
    ("prompt_upsampling", Switch),
    ("safety_tolerance", Whole),
];
const IMAGINE: Fields =
    &[("prompt", Text), ("image_urls", Links), ("size", Text), ("aspect_ratio", Text), ("n", Whole)];
const AVATARS: Fields = &[
    ("group", Object),
    ("group_id", Text),
    ("project_name", Text),
    ("asset_type", Text),
    ("assets", Objects),
    ("url", Link),
    ("name", Text),
];
const JOURNEY: Fields = &[
    ("prompt", Text),
    ("image_urls", Links),
    ("size", Text),
    ("version", Name),
    ("niji", Switch),
    ("quality", Name),
    ("style", Text),
    ("stylize", Whole),
    ("chaos", Whole),
    ("weird", Whole),
    ("seed", Whole),
    ("negative_prompt", Text),
    ("tile", Switch),
    ("iw", Number),
    ("cw", Whole),
    ("sw", Whole),
    ("dw", Whole),
    ("cref", Link),
    ("sref", Link),
    ("dref", Link),
    ("raw", Switch),
    ("draft", Switch),
    ("hd", Switch),
    ("stop", Whole),
    ("extra", Text),
    ("speed", Text),
];
const BLEND: Fields = &[("image_urls", Links), ("dimensions", Text), ("size", Text), ("speed", Text)];
const DESCRIBE: Fields = &[("image_urls", Links), ("speed", Text)];
const FILM: Fields = &[
    ("image_urls", Links),
    ("index", Whole),
    ("prompt", Text),
    ("video_type", Text),
    ("end_url", Link),
    ("animate_mode", Text),
    ("motion", Text),
];

/// A good request, and its fields.
struct Row {
    path: &'static str,
    good: Value,
    fields: Fields,
}

fn rows(picture: &str) -> Vec<Row> {
    let row = |path, good, fields| Row { path, good, fields };
    let named = |model: &str| json!({"model": model, "prompt": "a kite"});
    vec![
        row(VIDEOS, named("motion-2.6"), MOTION_26),
        row(VIDEOS, named("motion-2.7"), MOTION_27),
        row(VIDEOS, named("clip-2.0"), CLIP),
        row(VIDEOS, named("clip-2.0-fast"), CLIP),
        row(VIDEOS, named("clip-2.0-mini"), CLIP),
        row(VIDEOS, named("scene-3.1-fast-official"), SCENE),
        row(VIDEOS, named("scene-3.1-quality-official"), SCENE),
        row(IMAGES, named("ctx-pro"), CONTEXT),
        row(IMAGES, named("ctx-max"), CONTEXT),
        row(IMAGES, named("imagine-1.5-gw"), IMAGINE),
        row("/v1/clip2/private-avatar", json!({"url": picture, "name": "face"}), AVATARS),
        row("/v1/journey/generations", json!({"prompt": "a kite"}), JOURNEY),
        row("/v1/journey/generations/edits", json!({"prompt": "a kite", "image_urls": [picture]}), JOURNEY),
        row("/v1/journey/generations/blend", json!({"image_urls": [picture, picture]}), BLEND),
        row("/v1/journey/generations/describe", json!({"image_urls": [picture]}), DESCRIBE),
        row("/v1/journey/generations/video", json!({"image_urls": [picture]}), FILM),
    ]
}

/// Without it a wrong value is a fault of the gateway, or something is made without what was asked for.
#[test]
fn no_wrong_value_is_passed_over() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let mut broken = Vec::new();
        for Row { path, good, fields } in rows(&scene.sample("800x600.png")) {
            let asked = with(good.clone(), json!({"dry_run": true}));
            let usual = scene.caller.post(path, &asked).await;
            assert_eq!(usual.status, 200, "{asked}: {}", usual.text());
            for (name, kind) in fields {
                let is_needed = good.get(name).is_some();
                let nothing = match kind {
                    Links | Objects if *name == "assets" => vec![Value::Null],
                    Links | Objects => vec![Value::Null, json!([])],
                    _ => vec![Value::Null],
                };
                let rows = wrong(*kind).into_iter().map(|value| (value, false));
                for (value, is_right) in rows.chain(nothing.into_iter().map(|value| (value, !is_needed))) {
                    let answer = scene.caller.post(path, &with(asked.clone(), json!({*name: value}))).await;
                    let said = answer.text();
                    // Wrong parameters of the context family are a receipt, and then a failure (spec).
                    let is_taken = answer.status == 200 && answer.json()["data"]["failure"].is_null();
                    let fits = if is_right { said == usual.text() } else { !is_taken && said.contains(name) };
                    if !matches!(answer.status, 200 | 400) || !fits {
                        broken.push(format!("  {path} {good} {name} {value}\n    {} {said}", answer.status));
                    }
                }
            }
        }
        assert!(broken.is_empty(), "{} rows are broken:\n{}", broken.len(), broken.join("\n"));
    });
}

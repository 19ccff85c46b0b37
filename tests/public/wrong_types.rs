//! Every field of every video model with every kind of wrong value, and with none: a mistake is refused by the field's name, `null`
//! is nothing, and nothing that costs is passed over. Asked by `dry_run`.

use std::time::Duration;

use gatehouse_harness::{run, with};
use serde_json::{Value, json};

use crate::public::Scene;

const VIDEOS: &str = "/v1/videos/generations";

/// What a field holds.
#[derive(Clone, Copy)]
enum Kind {
    Link,
    Links,
    Objects,
    Switch,
    Text,
    Whole,
}

use Kind::{Link, Links, Objects, Switch, Text, Whole};

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

/// Without it a wrong value is a fault of the gateway, or a film is made without what was asked for.
#[test]
fn no_wrong_value_is_passed_over() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let mut broken = Vec::new();
        for (model, fields) in [
            ("motion-2.6", MOTION_26),
            ("motion-2.7", MOTION_27),
            ("clip-2.0", CLIP),
            ("clip-2.0-fast", CLIP),
            ("clip-2.0-mini", CLIP),
            ("scene-3.1-fast-official", SCENE),
            ("scene-3.1-quality-official", SCENE),
        ] {
            let good = json!({"model": model, "prompt": "a kite", "dry_run": true});
            let usual = scene.caller.post(VIDEOS, &good).await;
            assert_eq!(usual.status, 200, "{model}: {}", usual.text());
            for (name, kind) in fields {
                let rows = wrong(*kind).into_iter().map(|value| (value, 400));
                let nothing = if *name == "prompt" { 400 } else { 200 };
                let empty = match kind {
                    Links | Objects => Some((json!([]), 200)),
                    _ => None,
                };
                for (value, status) in rows.chain([(Value::Null, nothing)]).chain(empty) {
                    let body = with(good.clone(), json!({*name: value}));
                    let answer = scene.caller.post(VIDEOS, &body).await;
                    let names_it = status == 200 || answer.text().contains(name);
                    if answer.status != status || !names_it {
                        broken.push(format!(
                            "  {body}\n    expected {status}, came {} {}",
                            answer.status,
                            answer.text()
                        ));
                    } else if status == 200 {
                        assert_eq!(answer.text(), usual.text(), "{body}: nothing changes the price");
                    }
                }
            }
        }
        assert!(broken.is_empty(), "{} rows are broken:\n{}", broken.len(), broken.join("\n"));
    });
}

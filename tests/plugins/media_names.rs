//! Media under names that a model does not know, and fields of other models, for all families of pictures and videos: refused, never
//! ignored, but where they ask for nothing.

use clip::Clip;
use context_image::ContextImage;
use gatehouse_sdk::{Context, Jobs, Refusal, Submission, UnixMs};
use imagine::Imagine;
use journey::Journey;
use motion::Motion;
use scene::Scene;
use serde_json::{Value, json};

const LINK: &str = "https://example.com/a.png";

/// What a family says to a request with a field: `None` where it takes it.
fn said<F: Jobs>(surface: &str, good: &Value, field: &str, value: Value) -> Option<String> {
    let mut body = good.clone();
    body[field] = value;
    match F::submit(&Context::at(UnixMs(1_790_000_000_000)), Submission::new(surface, body)) {
        Ok(accepted) => accepted.doomed.map(|failure| failure.message),
        Err(Refusal::Invalid { message, .. }) => Some(message),
        Err(other) => panic!("{other:?}"),
    }
}

type Say = fn(&str, &Value, &str, Value) -> Option<String>;

/// Without it a picture or a video is made from the text alone, and charged.
#[test]
fn media_under_other_names_are_refused_with_the_right_name() {
    let video = "videos.generate";
    let image = "images.generate";
    let table: [(Say, &str, Value, &str); 7] = [
        (said::<ContextImage>, image, json!({"model": "ctx-pro", "prompt": "a kite"}), "use `image_urls`"),
        (said::<Imagine>, image, json!({"prompt": "a kite"}), "use `image_urls`"),
        (said::<Motion>, video, json!({"model": "motion-2.6", "prompt": "a kite"}), "use `image_urls`"),
        (
            said::<Motion>,
            video,
            json!({"model": "motion-2.7", "prompt": "a kite"}),
            "use `image_urls` or `image_with_roles`",
        ),
        (
            said::<Scene>,
            video,
            json!({"model": "scene-3.1-fast-official", "prompt": "a kite"}),
            "use `first_frame_image` or `last_frame_image`",
        ),
        (
            said::<Clip>,
            video,
            json!({"model": "clip-2.0", "prompt": "a kite"}),
            "use `image_urls` or `image_with_roles`",
        ),
        (said::<Journey>, "journey.imagine", json!({"prompt": "a kite"}), "use `image_urls`"),
    ];
    for (say, surface, good, advice) in table {
        for (field, value) in [
            ("image", json!(LINK)),
            ("Image_Urls", json!([LINK])),
            ("imageUrls", json!([LINK])),
            ("images", json!([{"url": LINK}])),
            ("input_reference", json!({"image_url": LINK})),
            ("base64Array", json!(["data:image/png;base64,iVBORw0KGgo="])),
        ] {
            let message = say(surface, &good, field, value).unwrap_or_else(|| panic!("{good}: {field}"));
            assert!(message.starts_with(&format!("`{field}`: ")), "{good}: {message}");
            assert!(message.contains(advice) || advice.starts_with(message.as_str()), "{good}: {message}");
        }
        for (field, value) in [
            ("image_size", json!("square_hd")),
            ("images", json!([])),
            ("mask_image", Value::Null),
            ("frame_rate", json!(24)),
            ("callback_url", json!(LINK)),
            ("user", json!("u-1")),
        ] {
            assert_eq!(say(surface, &good, field, value), None, "{good}: {field}");
        }
    }
}

/// Without it a picture that the route has no use for is ignored, and another one than was meant is charged.
#[test]
fn a_picture_is_refused_where_the_route_takes_none() {
    let picture = json!({"prompt": "a kite", "image_urls": [LINK]});
    let two = json!({"image_urls": [LINK, LINK]});
    let mask = "there is no such field, a mask is for the modal request of an inpaint task";
    for (surface, good) in [
        ("journey.imagine", &picture),
        ("journey.edits", &picture),
        ("journey.describe", &picture),
        ("journey.blend", &two),
        ("journey.video", &picture),
    ] {
        assert_eq!(said::<Journey>(surface, good, "prompt", good["prompt"].clone()), None, "{surface}");
        for field in ["mask_url", "mask"] {
            let message = said::<Journey>(surface, good, field, json!(LINK));
            assert_eq!(message.as_deref(), Some(format!("`{field}`: {mask}").as_str()), "{surface}");
        }
        // A note is never a reason to refuse.
        assert_eq!(said::<Journey>(surface, good, "metadata", json!({"mask_url": LINK})), None, "{surface}");
    }
    let follow_up = json!({"task_id": "task_1"});
    for surface in
        ["upscale", "variation", "high_variation", "reroll", "zoom", "pan", "inpaint", "remix_strong"]
    {
        let surface = format!("journey.{surface}");
        for (field, value) in
            [("image_urls", json!([LINK])), ("mask_url", json!(LINK)), ("image", json!(LINK))]
        {
            let message = said::<Journey>(&surface, &follow_up, field, value).expect("a refusal");
            assert!(
                message.starts_with(&format!("`{field}`: there is no such field")),
                "{surface}: {message}"
            );
        }
    }
}

/// Without it clients that write every field they have get an error for what they did not ask for.
#[test]
fn a_field_of_another_model_may_ask_for_nothing() {
    let video = "videos.generate";
    let motion = ["first_frame_image", "last_frame_image", "audio_urls"];
    let clip = ["first_frame_image", "last_frame_image", "audio_url"];
    let scene = ["image_urls", "image_with_roles", "video_urls", "audio_url"];
    let table: [(Say, &str, Value, &[&str]); 5] = [
        (
            said::<ContextImage>,
            "images.generate",
            json!({"model": "ctx-pro", "prompt": "a kite"}),
            &["width", "height"],
        ),
        (said::<Motion>, video, json!({"model": "motion-2.6", "prompt": "a kite"}), &motion),
        (said::<Motion>, video, json!({"model": "motion-2.7", "prompt": "a kite"}), &motion),
        (said::<Scene>, video, json!({"model": "scene-3.1-fast-official", "prompt": "a kite"}), &scene),
        (said::<Clip>, video, json!({"model": "clip-2.0", "prompt": "a kite"}), &clip),
    ];
    for (say, surface, good, fields) in table {
        for field in fields {
            for nothing in [Value::Null, json!(false), json!(""), json!([]), json!({})] {
                assert_eq!(say(surface, &good, field, nothing.clone()), None, "{good}: {field} {nothing}");
            }
            for something in [json!("x"), json!(["x"]), json!(640), json!(true)] {
                let message = say(surface, &good, field, something.clone());
                assert!(message.is_some_and(|it| it.contains(field)), "{good}: {field} {something}");
            }
        }
    }
}

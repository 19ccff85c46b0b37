//! Media under names that a model does not know, fields of other models, and files in every form in which clients write them, for all
//! families of pictures and videos: a file is taken or refused by its bytes, and nothing is ignored but what asks for nothing.

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

/// A picture of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// A field, and how a file stands in it.
type MediaField = (Say, &'static str, Value, &'static str, fn(&str) -> Value);

/// Every field of every family that takes a picture.
fn places() -> [MediaField; 10] {
    let video = "videos.generate";
    let image = "images.generate";
    let list: fn(&str) -> Value = |file| json!([file]);
    let one: fn(&str) -> Value = |file| json!(file);
    let role: fn(&str) -> Value = |file| json!([{"url": file, "role": "first_frame"}]);
    [
        (said::<ContextImage>, image, json!({"model": "ctx-pro", "prompt": "a kite"}), "image_urls", list),
        (said::<Imagine>, image, json!({"prompt": "a kite"}), "image_urls", list),
        (said::<Motion>, video, json!({"model": "motion-2.6", "prompt": "a kite"}), "image_urls", list),
        (said::<Motion>, video, json!({"model": "motion-2.7", "prompt": "a kite"}), "image_urls", list),
        (
            said::<Scene>,
            video,
            json!({"model": "scene-3.1-fast-official", "prompt": "a kite"}),
            "first_frame_image",
            one,
        ),
        (said::<Clip>, video, json!({"model": "clip-2.0", "prompt": "a kite"}), "image_urls", list),
        (
            said::<Clip>,
            video,
            json!({"model": "clip-2.0-mini", "prompt": "a kite"}),
            "image_with_roles",
            role,
        ),
        (said::<Journey>, "journey.imagine", json!({"prompt": "a kite"}), "image_urls", list),
        (said::<Journey>, "journey.describe", json!({}), "image_urls", list),
        (said::<Journey>, "journey.video", json!({}), "image_urls", list),
    ]
}

/// Without it a picture is taken by one model and refused by the next, or fails its task where it could be refused at once.
#[test]
fn a_file_is_taken_in_every_form_and_judged_by_its_bytes() {
    let (bare, padding) = (PNG.trim_end_matches('='), "==");
    let broken = format!("{}\r\n{}\n", &PNG[..76], &PNG[76..]);
    let safe = PNG.replace('+', "-").replace('/', "_");
    let taken = [
        format!("data:image/png;base64,{PNG}"),
        format!("data:image/png;base64,{bare}"),
        format!("DATA:IMAGE/GIF;CHARSET=utf-8;BASE64,{safe}"),
        format!(" data:;base64, {broken}"),
        format!("data:image/png,{PNG}"),
        format!("data:image/png;name=a.png,{}", PNG.replace('+', "%2B")),
        format!("{bare}{padding}"),
        broken,
        safe,
    ];
    let (gone, svg) = (&bare[..bare.len() - 1], "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=");
    let refused = [
        (String::new(), "an empty string"),
        (" ".to_owned(), "the string"),
        ("data:image/png;base64,".to_owned(), "the string"),
        ("data:image/png;base64".to_owned(), "the string"),
        (format!("data:image/png;base64,{gone}"), "the string"),
        (gone.to_owned(), "the string"),
        (format!("data:image/png;base64,{bare}*"), "the string"),
        ("data:image/png;base64,aGVsbG8=".to_owned(), "application/octet-stream"),
        (format!("data:image/png;base64,{svg}"), "image/svg+xml"),
        (svg.to_owned(), "image/svg+xml"),
        ("data:image/png;base64,JVBERi0xLjQKJeLjz9MK".to_owned(), "application/pdf"),
        ("data:image/png;base64,AAAAGGZ0eXBhdmlmAAAAAA==".to_owned(), "image/avif"),
        ("data:image/jpeg;base64,AAAAGGZ0eXBoZWljAAAAAA==".to_owned(), "image/heic"),
        ("data:image/png;base64,SUQzBAAAAAAAAA==".to_owned(), "audio/mpeg"),
    ];
    for (say, surface, good, field, write) in places() {
        for form in &taken {
            assert_eq!(say(surface, &good, field, write(form)), None, "{good} {field}: {form}");
        }
        // A wrong parameter of the context family fails the task, so that its files are judged once they were looked at.
        let is_judged = good["model"] != "ctx-pro";
        for (form, came) in refused.iter().filter(|(_, came)| is_judged || came.contains("string")) {
            let message = say(surface, &good, field, write(form));
            let words = ["expected ", "got ", field, *came];
            let is_told = message.as_ref().is_some_and(|said| words.iter().all(|word| said.contains(word)));
            assert!(is_told, "{good} {field} {form}: {message:?}");
        }
    }
}

/// Without it an address that no reader takes for the same one goes to a provider, or is taken by one model and refused by the next.
#[test]
fn an_address_is_taken_in_one_form() {
    for (say, surface, good, field, write) in places() {
        for link in [
            LINK,
            "HTTPS://Example.com/A.png?x=1#f",
            "https://[2001:db8::1]:443/a.png",
            "https://b\u{fc}cher.example/\u{98ce}.png",
        ] {
            assert_eq!(say(surface, &good, field, write(link)), None, "{good} {field}: {link}");
        }
        for link in [
            "https://",
            "https:///a.png",
            "https://?a",
            "https://:443/a.png",
            "http:/example.com/a.png",
            "https:example.com/a.png",
            " https://example.com/a.png",
            "https://example.com/a.png\n",
            "https://example.com/a b.png",
            "https://example.com\\@127.0.0.1/a.png",
            "https:\\\\example.com\\a.png",
            "https://example.com/\0a.png",
            "//example.com/a.png",
            "example.com/a.png",
            "/etc/passwd",
            "file:///etc/passwd",
            "ftp://example.com/a.png",
            "javascript:alert(1)",
        ] {
            let message = say(surface, &good, field, write(link));
            let words = ["expected an http", "got the string", field];
            let is_told = message.as_ref().is_some_and(|said| words.iter().all(|word| said.contains(word)));
            assert!(is_told, "{good} {field} {link}: {message:?}");
        }
    }
}

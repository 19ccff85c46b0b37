//! Submissions: what is refused, and what each good field becomes.

use gatehouse_sdk::{Accepted, Family, Reading, Replay, Stage, Submission, Target};
use gatehouse_testkit::{Script, picture};
use imagine::{Imagine, SURFACE};
use serde_json::{Value, json};

use crate::imagine::{accepted, body, play};

fn refused(fields: Value, field: &str, problem: &str) {
    refused_whole(body(fields), field, problem);
}

fn refused_whole(body: Value, field: &str, problem: &str) {
    play(&Script::new().submit(SURFACE, body).expect_refused(field, &crate::tasks::words(field, problem)));
}

#[test]
fn a_body_is_an_object_with_a_prompt() {
    refused_whole(json!([1]), "", "expected a JSON object, got an array of 1");
    refused_whole(json!("imagine"), "", "expected a JSON object, got the string \"imagine\"");
    refused_whole(json!({"model": "imagine-1.5-gw"}), "prompt", "expected a value, got nothing");
    refused(json!({"prompt": null}), "prompt", "expected a string, got null");
    refused(json!({"prompt": 5}), "prompt", "expected a string, got 5");
    refused(json!({"prompt": ["a"]}), "prompt", "expected a string, got an array of 1");
    let blank = "expected a text that is not blank, got";
    refused(json!({"prompt": ""}), "prompt", &format!("{blank} an empty string"));
    refused(json!({"prompt": " \n"}), "prompt", &format!("{blank} the string \" \\n\""));
}

#[test]
fn invalid_fields_are_refused() {
    let names = "expected `imagine-1.5-gw` or `imagine-1.5-ext`";
    refused(json!({"model": "imagine-2"}), "model", &format!("{names}, got the string \"imagine-2\""));
    let sizes = "expected one of `1:1`, `16:9`, `9:16`, `3:2`, `2:3`";
    for size in ["4:3", "auto", "1024x1024", "1:1 "] {
        refused(json!({"size": size}), "size", &format!("{sizes}, got the string {size:?}"));
    }
    refused(json!({"size": ""}), "size", &format!("{sizes}, got an empty string"));
    refused(json!({"size": 1}), "size", "expected a string, got 1");

    refused(json!({"n": 0}), "n", "expected at least 1, got 0");
    refused(json!({"n": -1}), "n", "expected at least 1, got -1");
    refused(json!({"n": 11}), "n", "expected at most 10, got 11");
    refused(json!({"n": 4_294_967_297_i64}), "n", "expected at most 10, got 4294967297");
    refused(json!({"n": "1"}), "n", "expected an integer, got the string \"1\"");
    refused(json!({"n": 1.5}), "n", "expected an integer, got 1.5");
    refused(json!({"n": true}), "n", "expected an integer, got true");
    refused(json!({"n": [2]}), "n", "expected an integer, got an array of 1");
}

#[test]
fn a_reference_is_one_https_url_or_a_picture_in_a_data_uri() {
    let url = "https://e.com/a.png";
    let array = "expected an array, got";
    refused(json!({"image_urls": url}), "image_urls", &format!("{array} the string {url:?}"));
    refused(json!({"image_urls": {"url": url}}), "image_urls", &format!("{array} an object"));
    refused(json!({"image_urls": [7]}), "image_urls[0]", "expected a string, got 7");
    refused(
        json!({"image_urls": [url, url]}),
        "image_urls",
        "expected a length of at most 1, got an array of 2",
    );
    let expected = "expected an https URL, a `data:image/...;base64,` URI or base64, got";
    for source in [
        "http://e.com/a.png",
        "https://",
        "https:///a.png",
        "https://?a",
        "https://e.com/a b.png",
        "ftp://e.com/a.png",
        "kite.png",
        "data:image/png,AAAA",
        "data:image/png;base64,",
        "data:image/png;base64,A*A",
        "data:image/png;base64,aGVsb",
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJA",
    ] {
        refused(
            json!({"image_urls": [source]}),
            "image_urls[0]",
            &format!("{expected} the string {source:?}"),
        );
    }
    refused(json!({"image_urls": [""]}), "image_urls[0]", &format!("{expected} an empty string"));
    for (source, came) in [
        ("data:image/png;base64,aGVsbG8=", "application/octet-stream"),
        ("R0lGODlhAQABAIAAAAAAAP8AACwAAAAAAQABAAAC", "image/gif"),
        ("data:image/png;base64,PHN2Zy8+", "image/svg+xml"),
    ] {
        let expected = format!("expected a PNG, JPEG or WebP image, got {came}");
        refused(json!({"image_urls": [source]}), "image_urls[0]", &expected);
    }
    refused(
        json!({"image_urls": ["blob:01ARZ3NDEKTSV4RRFFQ69G5FAV"]}),
        "image_urls[0]",
        &format!("{expected} a blob of another request"),
    );
}

#[test]
fn an_embedded_file_that_is_no_picture_is_refused_at_once() {
    let refused = |facts: gatehouse_sdk::Facts, came: &str| {
        let mut request = Submission::new(SURFACE, body(json!({"image_urls": ["blob:9"]})));
        request.blobs = vec![facts];
        let message = format!("`image_urls[0]`: expected a PNG, JPEG or WebP image, got {came}");
        play(&Script::new().submit_whole(request).expect_refused("image_urls[0]", &message));
    };
    let mut facts = picture(5, 5, "blob:9");
    facts.mime = "image/gif".to_owned();
    refused(facts.clone(), "image/gif");
    facts.kind = gatehouse_sdk::MediaKind::Video;
    facts.mime = "video/mp4".to_owned();
    refused(facts, "video/mp4");
    let mut facts = picture(5, 5, "blob:9");
    facts.width = None;
    refused(facts, "image/png of unreadable size");
}

#[test]
fn refuses_what_exceeds_the_state_limit() {
    let of = |length: usize| json!({"prompt": "p".repeat(length)});
    // As bytes of state; the other fields take their part.
    let rest = 49;
    play(&accepted(of(61_440 - rest)).start().expect_call(|_| ()));
    let message = "expected at most 61440 bytes together with `image_urls` (a large image file does \
                   not count), got 61441";
    refused(of(61_441 - rest), "prompt", message);
    play(&accepted(json!({"prompt": "\u{1f3a8}".repeat(10_000)})).start().expect_call(|_| ()));
}

/// The fields sent upstream, beside the ones every text-to-image request has.
fn sends(fields: Value, expected: Value) {
    let whole = json!({"model": "grok-imagine-image", "prompt": "a red kite", "n": 1, "aspect_ratio": "1:1",
        "response_format": "url"});
    let whole = crate::over(whole, expected);
    let script = accepted(fields).start().expect_call(move |call| {
        assert_eq!(call.target, Target::from("/v1/images/generations"));
        assert_eq!(call.json_body(), whole);
    });
    play(&script);
}

#[test]
fn writes_every_field_of_the_call() {
    sends(json!({}), json!({}));
    sends(json!({"model": null, "image_urls": null, "size": null, "n": null}), json!({}));
    sends(json!({"image_urls": []}), json!({}));
    sends(json!({"resolution": "4K", "style": {"any": "thing"}, "user": 7, "seed": "x"}), json!({}));
    for size in ["1:1", "16:9", "9:16", "3:2", "2:3"] {
        sends(json!({"size": size}), json!({"aspect_ratio": size}));
    }
    for n in [1, 2, 10] {
        sends(json!({"n": n}), json!({"n": n}));
    }
    sends(json!({"prompt": "\u{51e7} \u{1f3a8} \u{430}"}), json!({"prompt": "\u{51e7} \u{1f3a8} \u{430}"}));
}

#[test]
fn both_names_and_no_name_mean_the_same() {
    let mut nameless = body(json!({"n": 7}));
    nameless.as_object_mut().expect("an object").remove("model");
    for request in [body(json!({"n": 7})), body(json!({"n": 7, "model": "imagine-1.5-ext"})), nameless] {
        let priced = |accepted: &Accepted<Vec<u8>>| {
            assert_eq!(accepted.model, "imagine-1.5-gw");
            assert_eq!(accepted.charge.lines[0].keys, ["imagine-1.5-gw"]);
            assert_eq!(accepted.charge.lines[0].quantity, 7);
            assert_eq!((accepted.stage, accepted.progress), (Stage::Submitted, 0));
        };
        let script =
            Script::new().submit(SURFACE, request).expect_accepted(priced).start().expect_call(|call| {
                assert_eq!((call.provider.as_str(), call.method.as_str()), ("xai", "POST"));
                assert_eq!((call.replay, call.timeout_ms), (Replay::Once, 300_000));
                assert!(call.headers.is_empty() && call.reading == Reading::Cut && call.credentials);
                assert_eq!(
                    (&call.json_body()["n"], &call.json_body()["model"]),
                    (&json!(7), &json!("grok-imagine-image"))
                );
            });
        play(&script);
    }
}

#[test]
fn the_upstream_model_is_the_operators_choice() {
    let model = |settings: Value, expected: &'static str| {
        let script = Script::new()
            .settings(settings)
            .submit(SURFACE, body(json!({})))
            .expect_accepted(|_| ())
            .start()
            .expect_call(move |call| assert_eq!(call.json_body()["model"], expected));
        play(&script);
    };
    model(json!({"upstream_model": "grok-imagine-image-quality"}), "grok-imagine-image-quality");
    for other in [json!({}), json!({"upstream_model": ""}), json!({"upstream_model": 2})] {
        model(other, "grok-imagine-image");
    }
}

#[test]
fn publishes_the_rules_in_the_schema() {
    let about = Imagine::about();
    assert_eq!(about.surfaces[0].default_model.as_deref(), Some("imagine-1.5-gw"));
    assert_eq!(about.models[0].aliases, ["imagine-1.5-ext"]);
    let schema = about.surfaces[0].parsed_schema();
    assert_eq!(schema["required"], json!(["prompt"]));
    let fields = &schema["properties"];
    assert_eq!((&fields["n"]["minimum"], &fields["n"]["maximum"]), (&json!(1), &json!(10)));
    assert_eq!(fields["image_urls"]["maxItems"], 1);
    assert!(fields["model"].is_object() && fields["size"].is_object());
}

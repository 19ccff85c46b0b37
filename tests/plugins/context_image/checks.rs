//! Submissions: what is refused, what is accepted only to fail, and what each good field becomes.

use context_image::{ContextImage, SURFACE};
use gatehouse_sdk::{Accepted, Family, Reading, Replay, Stage, Target};
use gatehouse_testkit::Script;
use serde_json::{Value, json};

use crate::context_image::{accepted, body, play};

fn refused(body: Value, field: &str, message: &str) {
    play(&Script::new().submit(SURFACE, body).expect_refused(field, message));
}

fn doomed(fields: Value, message: &str) {
    play(&Script::new().submit(SURFACE, body(fields)).expect_doomed(message));
}

#[test]
fn only_a_request_without_model_or_prompt_is_refused() {
    refused(json!([1]), "", "expected a JSON object, got an array of 1");
    refused(json!("ctx-pro"), "", "expected a JSON object, got the string \"ctx-pro\"");
    refused(Value::Null, "", "expected a JSON object, got null");
    refused(json!({}), "model", "`model`: expected `ctx-pro` or `ctx-max`, got nothing");
    let unknown = "`model`: expected `ctx-pro` or `ctx-max`, got the string \"ctx-ultra\"";
    refused(body(json!({"model": "ctx-ultra"})), "model", unknown);
    refused(body(json!({"model": null})), "model", "`model`: expected `ctx-pro` or `ctx-max`, got null");
    refused(body(json!({"model": 1})), "model", "`model`: expected `ctx-pro` or `ctx-max`, got 1");
    refused(json!({"model": "ctx-pro"}), "prompt", "`prompt`: expected a string, got nothing");
    refused(body(json!({"prompt": null})), "prompt", "`prompt`: expected a string, got null");
}

#[test]
fn other_invalid_fields_fail_the_task() {
    doomed(json!({"prompt": 5}), "`prompt`: expected a string, got 5");
    doomed(json!({"prompt": ""}), "`prompt`: expected a text that is not blank, got an empty string");
    doomed(json!({"prompt": " \n"}), "`prompt`: expected a text that is not blank, got the string \" \\n\"");

    doomed(
        json!({"image_urls": "https://e.com/a.png"}),
        "`image_urls`: expected an array, got the string \"https://e.com/a.png\"",
    );
    doomed(json!({"image_urls": [7]}), "`image_urls[0]`: expected a string, got 7");
    doomed(
        json!({"image_urls": vec!["https://e.com/a.png"; 5]}),
        "`image_urls`: expected a length of at most 4, got an array of 5",
    );
    doomed(
        json!({"image_urls": ["https://e.com/a.png", "kite.png"]}),
        "`image_urls[1]`: expected an http(s) URL, a base64 `data:` URI or base64, got the string \"kite.png\"",
    );
    doomed(
        json!({"image_urls": ["blob:01ARZ3NDEKTSV4RRFFQ69G5FAV"]}),
        "`image_urls[0]`: expected an http(s) URL, a base64 `data:` URI or base64, got a blob of another request",
    );

    let sizes = "expected one of 1:1, 4:3, 3:4, 16:9, 9:16, 3:2, 2:3, 21:9, 9:21, auto, \
                 or pixels such as 1024x768";
    doomed(json!({"size": "5:4"}), &format!("`size`: {sizes}, got the string \"5:4\""));
    doomed(json!({"size": "0x512"}), &format!("`size`: {sizes}, got the string \"0x512\""));
    doomed(json!({"size": ""}), &format!("`size`: {sizes}, got an empty string"));
    doomed(json!({"size": 1024}), "`size`: expected a string, got 1024");

    let formats = "expected one of `png`, `jpeg`, `webp`";
    doomed(json!({"output_format": "gif"}), &format!("`output_format`: {formats}, got the string \"gif\""));
    doomed(json!({"output_format": "PNG"}), &format!("`output_format`: {formats}, got the string \"PNG\""));
    doomed(json!({"output_format": 1}), "`output_format`: expected a string, got 1");
    doomed(
        json!({"response_format": "base64"}),
        "`response_format`: expected `url` or `b64_json`, got the string \"base64\"",
    );

    doomed(json!({"n": 0}), "`n`: expected at least 1, got 0");
    doomed(json!({"n": 2}), "`n`: expected at most 1, got 2");
    doomed(json!({"n": "1"}), "`n`: expected an integer, got the string \"1\"");
    doomed(json!({"n": 1.5}), "`n`: expected an integer, got 1.5");
    doomed(json!({"seed": "42"}), "`seed`: expected an integer, got the string \"42\"");
    doomed(json!({"seed": 0.5}), "`seed`: expected an integer, got 0.5");
    doomed(
        json!({"prompt_upsampling": "false"}),
        "`prompt_upsampling`: expected true or false, got the string \"false\"",
    );
    doomed(json!({"prompt_upsampling": 0}), "`prompt_upsampling`: expected true or false, got 0");
    doomed(json!({"safety_tolerance": -1}), "`safety_tolerance`: expected at least 0, got -1");
    doomed(json!({"safety_tolerance": 7}), "`safety_tolerance`: expected at most 6, got 7");
    doomed(json!({"safety_tolerance": "3"}), "`safety_tolerance`: expected an integer, got the string \"3\"");
    doomed(json!({"width": 1024}), "`width`: not supported by this model, use `size`; got 1024");
    doomed(
        json!({"height": "512"}),
        "`height`: not supported by this model, use `size`; got the string \"512\"",
    );
}

#[test]
fn accepts_a_long_prompt() {
    play(&accepted(json!({"prompt": "\u{1f3a8}".repeat(10_000)})).start().expect_call(|_| ()));
}

#[test]
fn refuses_what_exceeds_the_state_limit() {
    let picture = |length: usize| format!("data:image/png;base64,iVBORw0KGgoA{}", "A".repeat(length - 12));
    let of = |length: usize| json!({"prompt": "p".repeat(length), "image_urls": [picture(40_000)]});
    // As bytes of state; the picture, its head and the defaults take their part.
    let rest = 40_144;
    play(&accepted(of(61_440 - rest)).start().expect_probe(|probes| assert_eq!(probes.len(), 1)));
    doomed(
        of(61_441 - rest),
        "expected `prompt` and `image_urls` of at most 61440 bytes together (large image files do not count), \
         got 61441",
    );
    doomed(
        json!({"prompt": "\u{1}".repeat(10_000), "image_urls": [picture(2_000)]}),
        "expected `prompt` and `image_urls` of at most 61440 bytes together (large image files do not count), \
         got 62144",
    );
}

/// The fields sent upstream, beside the ones every request has.
fn sends(fields: Value, expected: Value) {
    let whole = json!({"prompt": "a red kite", "aspect_ratio": "1:1", "output_format": "png", "prompt_upsampling": false,
        "safety_tolerance": 2});
    let whole = crate::over(whole, expected);
    play(&accepted(fields).start().expect_call(move |call| assert_eq!(call.json_body(), whole)));
}

#[test]
fn writes_every_field_of_the_call() {
    sends(json!({}), json!({}));
    let nothing = json!({
        "image_urls": null, "size": null, "output_format": null, "response_format": null, "n": null,
        "seed": null, "prompt_upsampling": null, "safety_tolerance": null, "width": null, "height": null,
    });
    sends(nothing, json!({}));
    sends(json!({"image_urls": []}), json!({}));
    sends(json!({"resolution": "4K", "style": {"any": "thing"}, "user": 7}), json!({}));
    sends(json!({"n": 1, "response_format": "b64_json"}), json!({}));
    sends(json!({"response_format": "url"}), json!({}));
    for size in ["1:1", "4:3", "3:4", "16:9", "9:16", "3:2", "2:3", "21:9", "9:21"] {
        sends(json!({"size": size}), json!({"aspect_ratio": size}));
    }
    sends(json!({"size": "auto"}), json!({"aspect_ratio": "1:1"}));
    sends(json!({"size": "1920x1080"}), json!({"aspect_ratio": "16:9"}));
    for format in ["png", "jpeg", "webp"] {
        sends(json!({"output_format": format}), json!({"output_format": format}));
    }
    sends(json!({"output_format": "webp", "response_format": "b64_json"}), json!({"output_format": "webp"}));
    for seed in [0, -1, 42, i64::MAX] {
        sends(json!({"seed": seed}), json!({"seed": seed}));
    }
    sends(json!({"prompt_upsampling": true}), json!({"prompt_upsampling": true}));
    sends(json!({"prompt_upsampling": false}), json!({"prompt_upsampling": false}));
    for tolerance in [0, 6] {
        sends(json!({"safety_tolerance": tolerance}), json!({"safety_tolerance": tolerance}));
    }
}

#[test]
fn each_model_has_its_path_and_its_price() {
    for (model, path) in [("ctx-pro", "/v1/flux-kontext-pro"), ("ctx-max", "/v1/flux-kontext-max")] {
        let priced = move |accepted: &Accepted<Vec<u8>>| {
            assert_eq!(accepted.model, model);
            assert_eq!(accepted.charge.lines[0].keys, [model]);
            assert_eq!(accepted.charge.lines[0].quantity, 1);
            assert_eq!((accepted.stage, accepted.progress), (Stage::Submitted, 0));
        };
        let script = Script::new()
            .submit(SURFACE, body(json!({"model": model})))
            .expect_accepted(priced)
            .start()
            .expect_call(move |call| {
                assert_eq!(call.provider, "bfl");
                assert_eq!(call.method, "POST");
                assert_eq!(call.target, Target::from(path));
                assert_eq!(call.replay, Replay::Once);
                assert!(call.headers.is_empty() && call.reading == Reading::Whole);
            })
            .expect_stage(Stage::Submitted);
        play(&script);
    }
}

#[test]
fn publishes_the_rules_in_the_schema() {
    let about = ContextImage::about();
    let schema = about.surfaces[0].parsed_schema();
    assert_eq!(schema["required"], json!(["model", "prompt"]));
    let fields = &schema["properties"];
    assert_eq!(fields["safety_tolerance"]["minimum"], 0);
    assert_eq!(fields["safety_tolerance"]["maximum"], 6);
    assert_eq!(fields["image_urls"]["maxItems"], 4);
    assert_eq!(fields["n"]["maximum"], 1);
    assert!(fields["response_format"].is_object() && fields["size"].is_object());
    assert!(fields["width"].is_null() && fields["height"].is_null());
}

//! The context image family, row by row of the specification's table: valid and invalid values, both sides of
//! each limit.

use base64::Engine as _;
use gatehouse_harness::{run, send_to};
use serde_json::{Value, json};

use crate::api::{TestGateway, as_expected, fails_with, refused_with, request};
use crate::faults::expect_all;

/// The specification's outcome for a request.
enum Outcome {
    /// A picture of this size and type.
    Picture(u32, u32, &'static str),
    /// A receipt, then a failed task; its reason contains all these words.
    Fails(&'static [&'static str]),
    /// A 400 at once, with these words.
    Refused(&'static [&'static str]),
}

use Outcome::{Fails, Picture, Refused};

const PNG: &str = "image/png";

async fn check(gateway: &TestGateway, rows: Vec<(Value, Outcome)>) {
    expect_all(rows.iter().map(|(body, outcome)| check_row(gateway, body, outcome))).await;
}

async fn check_row(gateway: &TestGateway, body: &Value, outcome: &Outcome) -> Result<(), String> {
    match outcome {
        Refused(words) => refused_with(gateway, body, words).await,
        Fails(words) => fails_with(gateway, body, words).await,
        Picture(width, height, mime) => {
            let task = gateway.finish(body).await;
            if task["status"] != "completed" {
                return as_expected(false, body, &task.to_string());
            }
            let image = &task["result"]["images"][0];
            let file = send_to(image["url"][0].as_str().unwrap_or_default(), &[]).await;
            let size = imagesize::blob_size(&file.body).map_err(|error| format!("{body}: {error}"))?;
            let found = (size.width, size.height, file.header("content-type").to_owned());
            let ok = found == (*width as usize, *height as usize, (*mime).to_owned())
                && image["expires_at"].is_u64();
            as_expected(ok && file.status == 200, body, &format!("{found:?} {task}"))
        }
    }
}

#[test]
fn sizes() {
    run(async {
        let gateway = TestGateway::start().await;
        let wide = gateway.sample("1392x752.png");
        let mut rows: Vec<(Value, Outcome)> = [
            ("1:1", 1024, 1024),
            ("4:3", 1184, 880),
            ("3:4", 880, 1184),
            ("16:9", 1392, 752),
            ("9:16", 752, 1392),
            ("3:2", 1248, 832),
            ("2:3", 832, 1248),
            ("21:9", 1568, 672),
            ("9:21", 672, 1568),
            ("auto", 1024, 1024),
            ("1920x1080", 1392, 752),
            ("1080x1920", 752, 1392),
            ("1000x1000", 1024, 1024),
            ("800x600", 1184, 880),
            ("3000x100", 1568, 672),
            ("1x1", 1024, 1024),
        ]
        .into_iter()
        .map(|(size, width, height)| (request(json!({"size": size})), Picture(width, height, PNG)))
        .collect();
        rows.extend([
            (request(json!({})), Picture(1024, 1024, PNG)),
            (request(json!({"size": null})), Picture(1024, 1024, PNG)),
            (request(json!({"size": "auto", "image_urls": [wide]})), Picture(1392, 752, PNG)),
            (request(json!({"image_urls": [gateway.sample("1392x752.png")]})), Picture(1024, 1024, PNG)),
            (
                request(json!({"size": "3:2", "image_urls": [gateway.sample("64x64.webp")]})),
                Picture(1248, 832, PNG),
            ),
            (request(json!({"model": "ctx-max", "size": "21:9"})), Picture(1568, 672, PNG)),
            (request(json!({"resolution": "4K"})), Picture(1024, 1024, PNG)),
            (request(json!({"size": "5:4"})), Fails(&["size", "5:4", "16:9"])),
            (request(json!({"size": "0x100"})), Fails(&["size", "0x100"])),
            (request(json!({"size": "100x"})), Fails(&["size", "100x"])),
            (request(json!({"size": ""})), Fails(&["size"])),
            (request(json!({"size": 1024})), Fails(&["size", "string", "1024"])),
        ]);
        check(&gateway, rows).await;
    });
}

#[test]
fn fields() {
    run(async {
        let gateway = TestGateway::start().await;
        let square = || Picture(1024, 1024, PNG);
        let rows = vec![
            (request(json!({"output_format": "png"})), square()),
            (request(json!({"output_format": "jpeg"})), Picture(1024, 1024, "image/jpeg")),
            (request(json!({"output_format": "webp"})), Picture(1024, 1024, "image/webp")),
            (
                request(json!({"output_format": "webp", "response_format": "b64_json"})),
                Picture(1024, 1024, "image/webp"),
            ),
            (
                request(json!({"output_format": "gif"})),
                Fails(&["output_format", "gif", "png", "jpeg", "webp"]),
            ),
            (request(json!({"output_format": "PNG"})), Fails(&["output_format", "PNG"])),
            (request(json!({"output_format": 3})), Fails(&["output_format", "string"])),
            (request(json!({"response_format": "url"})), square()),
            (request(json!({"response_format": "b64_json"})), square()),
            (request(json!({"response_format": "xml"})), Fails(&["response_format", "xml", "b64_json"])),
            (request(json!({"n": 1})), square()),
            (request(json!({"n": 0})), Fails(&["n", "1", "0"])),
            (request(json!({"n": 2})), Fails(&["n", "1", "2"])),
            (request(json!({"n": "1"})), Fails(&["n", "integer", "\"1\""])),
            (request(json!({"n": 1.5})), Fails(&["n", "1.5"])),
            (request(json!({"seed": 0})), square()),
            (request(json!({"seed": -7})), square()),
            (request(json!({"seed": "7"})), Fails(&["seed", "integer", "\"7\""])),
            (request(json!({"seed": 7.5})), Fails(&["seed", "7.5"])),
            (request(json!({"prompt_upsampling": true})), square()),
            (request(json!({"prompt_upsampling": false})), square()),
            (
                request(json!({"prompt_upsampling": "false"})),
                Fails(&["prompt_upsampling", "true or false", "\"false\""]),
            ),
            (request(json!({"safety_tolerance": 0})), square()),
            (request(json!({"safety_tolerance": 6})), square()),
            (request(json!({"safety_tolerance": 7})), Fails(&["safety_tolerance", "6", "7"])),
            (request(json!({"safety_tolerance": -1})), Fails(&["safety_tolerance", "0", "-1"])),
            (request(json!({"safety_tolerance": "3"})), Fails(&["safety_tolerance", "integer", "\"3\""])),
            (request(json!({"safety_tolerance": 2.5})), Fails(&["safety_tolerance", "2.5"])),
            (request(json!({"width": 1024})), Fails(&["width", "size"])),
            (request(json!({"height": 1024})), Fails(&["height", "size"])),
            (request(json!({"width": 512, "height": 512})), Fails(&["size", "512"])),
            (request(json!({"resolution": 7, "style": "none of ours"})), square()),
            (json!({"model": "ctx-pro"}), Refused(&["prompt"])),
            (json!({"model": "ctx-pro", "prompt": null}), Refused(&["prompt"])),
            (json!({"model": "ctx-pro", "prompt": 7}), Fails(&["prompt", "string", "7"])),
            (json!({"model": 5, "prompt": "a red kite"}), Refused(&["model", "string", "5"])),
            (json!({"model": "ctx-ultra", "prompt": "a red kite"}), Refused(&["model", "ctx-ultra"])),
            (json!(["ctx-pro"]), Refused(&["object"])),
            (json!("ctx-pro"), Refused(&["object"])),
        ];
        check(&gateway, rows).await;
    });
}

#[test]
fn references() {
    run(async {
        let gateway = TestGateway::start().await;
        let urls = |sizes: &[&str]| {
            sizes.iter().map(|size| gateway.sample(&format!("{size}.png"))).collect::<Vec<_>>()
        };
        let small = send_to(&gateway.sample("64x48.png"), &[]).await.body;
        let large = send_to(&gateway.sample("1600x1200.png"), &[]).await.body;
        assert!(large.len() > 32 * 1024, "the sample must be long enough to be cut out of the request");
        let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
        let data_uri = |bytes: &[u8]| format!("data:image/png;base64,{}", encode(bytes));
        let square = || Picture(1024, 1024, PNG);
        let with = |urls: Value| request(json!({"image_urls": urls}));
        let rows = vec![
            (with(json!([])), square()),
            (with(json!(urls(&["64x64"]))), square()),
            (with(json!(urls(&["64x64", "64x65", "64x66", "64x67"]))), square()),
            (
                with(json!(urls(&["64x64", "64x65", "64x66", "64x67", "64x68"]))),
                Fails(&["image_urls", "4", "5"]),
            ),
            (with(json!([data_uri(&small)])), square()),
            (with(json!([encode(&small)])), square()),
            (with(json!([data_uri(&large)])), square()),
            (with(json!([encode(&large), data_uri(&small), gateway.sample("64x64.jpeg")])), square()),
            // Output 1024x1024 and 8 x 1,048,576 pixels of references are exactly 9 MP.
            (with(json!(urls(&["4096x2048"]))), square()),
            (with(json!(urls(&["4096x2049"]))), Fails(&["image_urls", "9"])),
            (with(json!(urls(&["2048x2048", "2048x2048"]))), square()),
            (with(json!(urls(&["2048x2048", "2048x2048", "64x64"]))), Fails(&["image_urls", "9"])),
            (with(json!("one")), Fails(&["image_urls", "array"])),
            (with(json!([7])), Fails(&["image_urls[0]", "string"])),
            (with(json!([gateway.sample("64x64.png"), ""])), Fails(&["image_urls[1]"])),
            (with(json!(["ftp://example.com/a.png"])), Fails(&["image_urls[0]"])),
            (with(json!([gateway.sample("missing")])), Fails(&["image_urls[0]", "404"])),
            (with(json!([gateway.sample("not-an-image")])), Fails(&["image_urls[0]", "image"])),
            (with(json!([gateway.sample("redirect-to-private")])), Fails(&["image_urls[0]"])),
            (with(json!([gateway.sample("redirect?n=2")])), square()),
            (with(json!([gateway.sample("huge")])), Fails(&["image_urls[0]"])),
            (with(json!(["http://169.254.169.254/latest/meta-data"])), Fails(&["image_urls[0]"])),
            (with(json!(["http://127.0.0.1:1/a.png"])), Fails(&["image_urls[0]"])),
            (with(json!(["http://no-such-host.invalid/a.png"])), Fails(&["image_urls[0]"])),
            (with(json!(["data:text/plain;base64,aGVsbG8="])), Fails(&["image_urls[0]"])),
        ];
        check(&gateway, rows).await;
    });
}

#[test]
fn the_same_seed_and_parameters_give_the_same_picture() {
    run(async {
        let gateway = TestGateway::start().await;
        let picture = async |body: Value| {
            let task = gateway.finish(&body).await;
            send_to(task["result"]["images"][0]["url"][0].as_str().expect("a link"), &[]).await.body
        };
        let first = picture(request(json!({"seed": 11}))).await;
        assert_eq!(first, picture(request(json!({"seed": 11}))).await);
        assert_ne!(first, picture(request(json!({"seed": 12}))).await);
    });
}

#[test]
fn the_providers_request_matches_the_clients() {
    run(async {
        let gateway = TestGateway::start().await;
        gateway.finish(&json!({"model": "ctx-max", "prompt": "first", "size": "9:21", "seed": 5, "safety_tolerance": 6,
            "prompt_upsampling": true, "output_format": "webp", "n": 1, "resolution": "2K"})).await;
        gateway.finish(&json!({"model": "ctx-pro", "prompt": "second"})).await;
        let truth = serde_json::to_value(gateway.sandbox.context_record()).expect("plain data");
        let sent = |prompt: &str| {
            let submits = truth["submits"].as_array().expect("a list");
            submits.iter().find(|submit| submit["prompt"] == prompt).cloned().expect("the submit arrived")["body"].clone()
        };
        let (first, second) = (sent("first"), sent("second"));
        for (field, value) in [
            ("aspect_ratio", json!("9:21")),
            ("seed", json!(5)),
            ("safety_tolerance", json!(6)),
            ("prompt_upsampling", json!(true)),
            ("output_format", json!("webp")),
        ] {
            assert_eq!(first[field], value, "{field} of {first}");
        }
        for (field, value) in [
            ("aspect_ratio", json!("1:1")),
            ("safety_tolerance", json!(2)),
            ("prompt_upsampling", json!(false)),
            ("output_format", json!("png")),
        ] {
            assert_eq!(second[field], value, "{field} of {second}");
        }
        for field in ["n", "resolution", "size", "response_format", "image_urls", "width", "height", "model"]
        {
            assert!(first.get(field).is_none(), "{field} must not reach the provider: {first}");
        }
    });
}

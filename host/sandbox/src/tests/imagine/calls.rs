//! Calls: what is accepted, what is refused with which body, and the shape of an answer.

use serde_json::{Value, json};

use super::{EDITS, GENERATIONS, data_uri, links, made, post, prompt};
use crate::tests::client::{JSON, KEY, TestSandbox, call, fetch};

const BEARER: (&str, &str) = ("authorization", "Bearer sandbox-key");

#[tokio::test]
async fn an_answer_lists_its_images_in_order() {
    let test = TestSandbox::start().await;
    let answer = made(&test, GENERATIONS, &json!({"prompt": "a kite", "n": 3})).await;
    let data = answer["data"].as_array().expect("a list");
    assert_eq!(data.len(), 3);
    for item in data {
        assert_eq!((&item["mime_type"], &item["revised_prompt"]), (&json!("image/jpeg"), &json!("")));
        let url = item["url"].as_str().expect("a link");
        let path = url.strip_prefix(&test.sandbox.imagine().files).expect("on the files origin");
        assert!(path.starts_with("/xai-imgen/xai-tmp-imgen-") && path.ends_with(".jpeg"), "{path}");
        assert!(item.get("b64_json").is_none() && item.get("respect_moderation").is_none());
    }
    assert_eq!(answer["usage"], json!({"cost_in_usd_ticks": 600_000_000}));
    assert!(answer.get("created").is_none() && answer.get("block_reason").is_none());
    let quality = json!({"prompt": "a kite", "model": "grok-imagine-image-quality"});
    let answer = made(&test, GENERATIONS, &quality).await;
    assert_eq!(answer["usage"]["cost_in_usd_ticks"], 500_000_000);
}

#[tokio::test]
async fn keys_are_bearer_tokens() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = std::time::Duration::ZERO;
        settings.keys = ["-403", "-401", "-429", "-broke", ""].map(|end| format!("{KEY}{end}")).to_vec();
    })
    .await;
    let api = test.sandbox.imagine().api.clone();
    for (header, status, code, words) in [
        (None, 401, "unauthenticated", "No API key"),
        (Some("sandbox-key"), 401, "unauthenticated", "Bearer"),
        (Some("Basic sandbox-key"), 401, "unauthenticated", "Bearer"),
        (Some("Bearer "), 401, "unauthenticated", "Bearer"),
        // Not a 401: the real provider takes it for an invalid argument.
        (Some("Bearer another-key"), 400, "invalid-argument", "Incorrect API key provided"),
        (Some("Bearer sandbox-key-401"), 401, "unauthenticated", "No API key"),
        (Some("Bearer sandbox-key-403"), 403, "permission-denied", "blocked"),
        (Some("Bearer sandbox-key-429"), 429, "resource-exhausted", "rate limit"),
        (Some("Bearer sandbox-key-broke"), 403, "permission-denied", "credits"),
    ] {
        let mut headers = vec![JSON];
        headers.extend(header.map(|value| ("authorization", value)));
        // Before the body is looked at.
        let reply = call("POST", &format!("{api}{GENERATIONS}"), &headers, "{").await.expect("a reply");
        let body = reply.json();
        assert_eq!((reply.status, &body["code"]), (status, &json!(code)), "{header:?}: {body}");
        let text = body["error"].as_str().expect("a flat error");
        assert!(text.contains(words) && !text.contains("another-key"), "{text}");
    }
}

#[tokio::test]
async fn only_json_is_read() {
    let test = TestSandbox::start().await;
    let url = format!("{}{EDITS}", test.sandbox.imagine().api);
    let form = "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n\r\na kite\r\n--b--\r\n";
    for (mime, body, status, words) in [
        (
            "multipart/form-data; boundary=b",
            form,
            415,
            "Expected request with `Content-Type: application/json`",
        ),
        ("text/plain", "{\"prompt\":\"a kite\"}", 415, "Expected request"),
        ("application/json", "{\"prompt\":", 400, "Failed to parse the request body as JSON: EOF"),
        ("application/json", "", 400, "Failed to parse the request body as JSON: EOF"),
        (
            "application/json",
            "{\"prompt\":\"a\"} x",
            400,
            "Failed to parse the request body as JSON: trailing",
        ),
        (
            "application/json; charset=utf-8",
            "[]",
            422,
            "Failed to deserialize the JSON body into the target type",
        ),
    ] {
        let reply = call("POST", &url, &[BEARER, ("content-type", mime)], body).await.expect("a reply");
        assert_eq!(reply.status, status, "{mime} {body}: {}", reply.text());
        assert!(reply.header("content-type").starts_with("text/plain"), "{mime}");
        assert!(reply.text().starts_with(words), "{}", reply.text());
    }
    let none = call("POST", &url, &[BEARER], "{\"prompt\":\"a kite\"}").await.expect("a reply");
    assert_eq!(none.status, 415);
}

#[tokio::test]
async fn types_are_checked_before_values() {
    let test = TestSandbox::start().await;
    for (fields, words) in [
        (json!({"n": "2"}), "n: invalid type: string \"2\", expected i32"),
        (json!({"n": 1.5}), "n: invalid type: floating point `1.5`, expected i32"),
        (json!({"prompt": 7}), "prompt: invalid type: integer `7`, expected a string"),
        (json!({"prompt": null}), "prompt: invalid type: null"),
        (json!({"aspect_ratio": 1}), "aspect_ratio: invalid type"),
        (json!({"response_format": ["url"]}), "response_format: invalid type"),
        (json!({"model": 5}), "model: invalid type"),
        (json!({"user": 5}), "user: invalid type"),
        (json!({"image": "https://e.com/a.png"}), "image: invalid type: string"),
        (json!({"images": {"url": "https://e.com/a.png"}}), "images: invalid type: map"),
    ] {
        let mut body = prompt("a kite");
        for (name, value) in fields.as_object().expect("fields") {
            body[name] = value.clone();
        }
        let reply = post(&test, GENERATIONS, &body).await;
        let expected = format!("Failed to deserialize the JSON body into the target type: {words}");
        assert_eq!(reply.status, 422, "{fields}: {}", reply.text());
        assert!(reply.text().starts_with(&expected), "{}", reply.text());
    }
    let reply = post(&test, GENERATIONS, &json!({"n": 1})).await;
    assert_eq!(reply.status, 422);
    assert!(reply.text().contains("missing field `prompt`"), "{}", reply.text());
}

#[tokio::test]
async fn values_are_checked_at_both_sides_of_their_limits() {
    let test = TestSandbox::start().await;
    let status = async |path: &str, name: &str, value: Value| {
        let mut body = prompt("a kite");
        body[name] = value;
        let reply = post(&test, path, &body).await;
        let body = reply.json();
        if reply.status == 400 {
            assert_eq!(body["code"], "invalid-argument", "{body}");
            assert!(body["error"].is_string(), "flat: {body}");
        }
        reply.status
    };
    for (name, value, expected) in [
        ("n", json!(0), 400),
        ("n", json!(1), 200),
        ("n", json!(10), 200),
        ("n", json!(11), 400),
        ("n", json!(null), 200),
        ("aspect_ratio", json!("1:1"), 200),
        ("aspect_ratio", json!("9:19.5"), 200),
        ("aspect_ratio", json!("auto"), 200),
        ("aspect_ratio", json!("5:4"), 400),
        ("aspect_ratio", json!("1024x1024"), 400),
        ("resolution", json!("1k"), 200),
        ("resolution", json!("4k"), 400),
        ("response_format", json!("b64_json"), 200),
        ("response_format", json!("base64"), 400),
        ("prompt", json!("  "), 400),
        ("size", json!("1024x1024"), 400),
        ("style", json!("vivid"), 400),
        ("quality", json!("high"), 400),
        ("deferred", json!(true), 400),
        ("deferred", json!(false), 200),
        ("user", json!("someone"), 200),
        ("seed", json!(7), 200),
        ("model", json!("grok-imagine-image-latest"), 200),
        ("model", json!("imagine-1.5-gw"), 404),
    ] {
        assert_eq!(status(GENERATIONS, name, value.clone()).await, expected, "{name}: {value}");
    }
    let reply = post(&test, GENERATIONS, &json!({"prompt": "a", "model": "grok-7"})).await;
    let expected = json!({"error": "The model 'grok-7' does not exist or your team has no access to it."});
    assert_eq!((reply.status, reply.json()), (404, expected));
}

#[tokio::test]
async fn an_edit_needs_a_picture() {
    let test = TestSandbox::start().await;
    let small = data_uri(&test, "64x48.webp").await;
    let edit = async |image: Value| {
        let reply = post(&test, EDITS, &json!({"prompt": "night", "image": image})).await;
        (reply.status, reply.text())
    };
    assert_eq!(edit(json!({"url": small, "type": "image_url"})).await.0, 200);
    assert_eq!(edit(json!({"url": "https://e.com/a.png"})).await.0, 200);
    for (image, words) in [
        (json!({"url": "http://e.com/a.png"}), "expected https or a data URI"),
        (json!({"url": "data:image/png;base64,AAAA"}), "Unsupported image format"),
        (json!({"url": small[..small.len() / 2]}), "image"),
        (json!({"url": small, "type": "image"}), "expected image_url"),
        (json!({"file_id": "file-7"}), "File not found"),
        (json!({}), "url or file_id"),
    ] {
        let (status, text) = edit(image.clone()).await;
        assert_eq!(status, 400, "{image}: {text}");
        assert!(text.contains(words), "{text}");
    }
    assert_eq!(post(&test, EDITS, &prompt("night")).await.status, 400);
    // A generation reads no reference.
    let answer = made(&test, GENERATIONS, &json!({"prompt": "p", "image": {"url": "nowhere"}})).await;
    assert_eq!(links(&answer).len(), 1);
}

#[tokio::test]
async fn other_paths_and_methods() {
    let test = TestSandbox::start().await;
    let api = test.sandbox.imagine().api.clone();
    for path in ["/", "/v1/images", "/v1/images/variations", "/v1/images/generations/"] {
        assert_eq!(post(&test, path, &prompt("a")).await.status, 404, "{path}");
    }
    for path in [GENERATIONS, EDITS] {
        let reply = call("GET", &format!("{api}{path}"), &[BEARER], "").await.expect("a reply");
        assert_eq!((reply.status, reply.header("allow")), (405, "POST"));
    }
    let list =
        call("GET", &format!("{api}/v1/image-generation-models"), &[BEARER], "").await.expect("a reply");
    let ids = list.json()["models"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|row| row["id"].clone())
        .collect::<Vec<_>>();
    assert_eq!(ids, ["grok-imagine-image", "grok-imagine-image-quality", "grok-imagine-image-2.0"]);
    assert_eq!(fetch(&format!("{api}/v1/image-generation-models")).await.status, 401);
}

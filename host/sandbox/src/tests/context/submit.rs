//! Submitting: keys, bodies, receipts, limits.

use serde_json::{Value, json};

use crate::tests::client::{JSON, KEY, TestSandbox, call, fetch, prompt};

const PRO: &str = "/v1/flux-kontext-pro";
const MAX: &str = "/v1/flux-kontext-max";

#[tokio::test]
async fn keys() {
    let test = TestSandbox::start().await;
    let denied = || json!({ "detail": "Not authenticated - Invalid Authentication" });
    let malformed = || json!({ "detail": "Invalid API key format" });
    let long = "k".repeat(129);
    #[rustfmt::skip]
    let table = [
        (None, 403, denied()), (Some("another-key"), 403, denied()), (Some("sandbox-key2"), 403, denied()),
        (Some(""), 422, malformed()), (Some("short"), 422, malformed()), (Some("with a blank"), 422, malformed()),
        (Some("Bearer sandbox-key"), 422, malformed()), (Some(long.as_str()), 422, malformed()),
    ];
    for (key, status, body) in table {
        let mut headers = vec![JSON];
        headers.extend(key.map(|key| ("x-key", key)));
        for (method, path) in [("POST", PRO), ("POST", MAX), ("GET", "/v1/credits")] {
            let url = test.submit_url(path);
            let reply = call(method, &url, &headers, prompt("a kite").to_string()).await.expect("a reply");
            assert_eq!((reply.status, reply.json()), (status, body.clone()), "{path} {key:?}");
        }
    }
    assert_eq!(test.sandbox.context_record().accepted, 0);
}

#[tokio::test]
async fn a_malformed_key_is_refused_at_start() {
    let settings = crate::Settings { keys: vec!["no good".to_owned()], ..Default::default() };
    let error = crate::Sandbox::start(settings).await.err().expect("refused").to_string();
    assert!(error.contains("settings.keys") && !error.contains("no good"), "{error}");
}

#[tokio::test]
async fn receipts() {
    let test = TestSandbox::start().await;
    for (path, cost) in [(PRO, 4.0), (MAX, 8.0)] {
        let headers = [("x-key", KEY), ("content-type", "application/json; charset=utf-8")];
        let body = prompt("a kite").to_string();
        let reply = call("POST", &test.submit_url(path), &headers, body).await.expect("a reply");
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
        let body = reply.json();
        let id = body["id"].as_str().expect("an id");
        assert_eq!(id.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
        let polling = format!("{}/v1/get_result?id={id}", test.sandbox.context().poll);
        let expected = json!({
            "id": id, "polling_url": polling, "cost": cost, "input_mp": 0.0, "output_mp": 1.05,
        });
        assert_eq!(body, expected);
    }
}

#[tokio::test]
async fn a_webhook_replaces_the_polling_address() {
    let test = TestSandbox::start().await;
    let body = json!({ "prompt": "a kite", "webhook_url": "https://hooks.example/k", "webhook_secret": "s" });
    let reply = test.submit(&body).await.json();
    assert_eq!(reply["webhook_url"], "https://hooks.example/k");
    assert_eq!(reply["status"], "Pending");
    assert_eq!(reply.get("polling_url"), None);
    let poll = &test.sandbox.context().poll;
    let id = reply["id"].as_str().expect("an id");
    assert_eq!(fetch(&format!("{poll}/v1/get_result?id={id}")).await.json()["status"], "Ready");
}

#[tokio::test]
async fn refuses_invalid_bodies() {
    let test = TestSandbox::start().await;
    const JSON: &str = "application/json";
    #[rustfmt::skip]
    let table = [
        (JSON, "", "missing", json!(["body"])),
        (JSON, "{\"prompt\":", "json_invalid", json!(["body", 10])),
        (JSON, "[]", "model_attributes_type", json!(["body"])),
        (JSON, "{}", "missing", json!(["body", "prompt"])),
        ("text/plain", "{\"prompt\":\"x\"}", "model_attributes_type", json!(["body"])),
        ("multipart/form-data", "x", "model_attributes_type", json!(["body"])),
        ("application/vnd.kite+json", "{\"prompt\":5}", "string_type", json!(["body", "prompt"])),
        (JSON, "{\"prompt\":\"x\",\"safety_tolerance\":9}", "less_than_equal", json!(["body", "safety_tolerance"])),
        (JSON, "{\"prompt\":\"x\",\"input_image\":\"@@\"}", "value_error", json!(["body", "input_image"])),
        (JSON, "{\"prompt\":\"x\",\"input_image_3\":\"AAAA\"}", "value_error", json!(["body", "input_image_3"])),
    ];
    for (mime, body, kind, loc) in table {
        let headers = [("x-key", KEY), ("content-type", mime)];
        let reply = call("POST", &test.submit_url(PRO), &headers, body).await.expect("a reply");
        let errors = reply.json();
        assert_eq!(reply.status, 422, "{body}");
        assert_eq!(errors["detail"].as_array().map(Vec::len), Some(1), "{errors}");
        let error = &errors["detail"][0];
        assert_eq!((&error["type"], &error["loc"]), (&json!(kind), &loc), "{body}");
    }
    assert_eq!(test.sandbox.context_record().declined.len(), 10);
}

#[tokio::test]
async fn the_example_of_the_providers_own_pages() {
    let test = TestSandbox::start().await;
    let reply = test.submit(&json!({ "prompt": "x", "safety_tolerance": 9 })).await;
    let expected = json!({ "detail": [{
        "type": "less_than_equal",
        "loc": ["body", "safety_tolerance"],
        "msg": "Input should be less than or equal to 6",
        "input": 9,
        "ctx": { "le": 6 },
    }] });
    assert_eq!(reply.json(), expected);
}

#[tokio::test]
async fn routes() {
    let test = TestSandbox::start().await;
    let addresses = test.sandbox.context().clone();
    let (submit, poll, delivery) = (&addresses.submit, &addresses.poll, &addresses.delivery);
    let id = test.submit(&prompt("a kite")).await.json()["id"].as_str().expect("an id").to_owned();
    for (method, url, status, allow) in [
        ("GET", format!("{submit}/v1/get_result?id={id}"), 404, ""),
        ("GET", format!("{submit}/v1/flux-kontext-pro"), 405, "POST"),
        ("POST", format!("{submit}/v1/credits"), 405, "GET"),
        ("POST", format!("{submit}/v1/flux-pro-1.1"), 404, ""),
        ("POST", format!("{submit}/v1/flux-kontext-pro/"), 404, ""),
        ("POST", format!("{poll}/v1/flux-kontext-pro"), 404, ""),
        ("GET", format!("{poll}/v1/credits"), 404, ""),
        ("POST", format!("{poll}/v1/get_result?id={id}"), 405, "GET"),
        ("POST", format!("{delivery}/results/x"), 405, "GET, HEAD"),
        ("GET", format!("{}/anything", addresses.record), 404, ""),
        ("POST", format!("{}/truth", addresses.record), 405, "GET"),
    ] {
        let reply = call(method, &url, &[("x-key", KEY), JSON], "{}").await.expect("a reply");
        assert_eq!((reply.status, reply.header("allow")), (status, allow), "{url}");
    }
    let absent = fetch(&format!("{submit}/v1/get_result?id={id}")).await;
    assert_eq!(absent.json(), json!({ "detail": "Not Found" }));
}

#[tokio::test]
async fn jobs_under_way_are_limited_per_account() {
    let test = TestSandbox::with(|settings| {
        settings.max_in_flight = 2;
        settings.keys = vec![KEY.to_owned(), "second-key".to_owned()];
    })
    .await;
    let submit = async |key: &str| {
        let (url, body) = (test.submit_url(PRO), prompt("a kite").to_string());
        call("POST", &url, &[("x-key", key), JSON], body).await.expect("a reply")
    };
    assert_eq!(submit(KEY).await.status, 200);
    assert_eq!(submit(KEY).await.status, 200);
    let refused = submit(KEY).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "1"));
    assert!(refused.json()["detail"].is_string());
    assert_eq!(submit("second-key").await.status, 200);
    test.advance(std::time::Duration::from_secs(2));
    assert_eq!(submit(KEY).await.status, 200);
}

#[tokio::test]
async fn submits_without_credits_are_refused() {
    let test = TestSandbox::with(|settings| {
        settings.credits = 9;
        settings.job_time = std::time::Duration::ZERO;
    })
    .await;
    let credits = async || {
        let url = test.submit_url("/v1/credits");
        call("GET", &url, &[("x-key", KEY)], "").await.expect("a reply").json()
    };
    assert_eq!(credits().await, json!({ "credits": 9 }));
    for text in ["a [[moderated-input]]", "a [[moderated-output]]", "an [[error]]", "a [[never-ready]]"] {
        assert_eq!(test.submit(&prompt(text)).await.status, 200);
    }
    assert_eq!(credits().await, json!({ "credits": 9 }));
    assert_eq!(test.submit(&prompt("one")).await.status, 200);
    assert_eq!(test.submit(&prompt("two")).await.status, 200);
    assert_eq!(credits().await, json!({ "credits": 1 }));
    let refused = test.submit(&prompt("three")).await;
    assert_eq!((refused.status, refused.json()), (402, json!({ "detail": "Insufficient credits" })));
}

#[tokio::test]
async fn megapixels_of_inputs_are_reported() {
    let test = TestSandbox::start().await;
    let samples = &test.sandbox.context().samples;
    let body = json!({
        "prompt": "both",
        "input_image": format!("{samples}/samples/2000x1000.png"),
        "input_image_2": format!("{samples}/samples/1000x1000.webp"),
    });
    let reply: Value = test.submit(&body).await.json();
    assert_eq!(reply["input_mp"], 3.0);
}

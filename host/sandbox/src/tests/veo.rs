//! The simulated Veo at the Gemini API, which needs no tokens: keys, an operation from its beginning to its file, what others
//! may not see, what is gone after two days. Vertex AI's tokens and fields are tested beside their code.

use std::time::Duration;

use serde_json::{Value, json};

use crate::tests::client::{JSON, KEY, Response, TestSandbox, call};

const MODEL: &str = "/models/veo-3.1-generate-preview:predictLongRunning";

fn kite(more: Value) -> Value {
    let mut instance = json!({"prompt": "a kite"});
    for (name, value) in more.as_object().expect("an object") {
        instance[name] = value.clone();
    }
    json!({"instances": [instance], "parameters": {"aspectRatio": "16:9"}})
}

async fn ask(test: &TestSandbox, key: &str, method: &str, path: &str, body: &str) -> Response {
    let base = &test.sandbox.veo().gemini;
    let url = if path.starts_with("http") { path.to_owned() } else { format!("{base}{path}") };
    call(method, &url, &[("x-goog-api-key", key), JSON], body).await.expect("a reply")
}

/// Begins an operation; gives its path.
async fn begun(test: &TestSandbox, body: &Value) -> String {
    let reply = ask(test, KEY, "POST", MODEL, &body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    format!("/{}", reply.json()["name"].as_str().expect("a name"))
}

/// The address of a finished operation's video.
async fn video(test: &TestSandbox, operation: &str) -> String {
    let answer = ask(test, KEY, "GET", operation, "").await.json();
    let samples = &answer["response"]["generateVideoResponse"]["generatedSamples"];
    samples[0]["video"]["uri"].as_str().unwrap_or_else(|| panic!("no video: {answer}")).to_owned()
}

#[tokio::test]
async fn what_is_refused() {
    let test = TestSandbox::start().await;
    let body = kite(json!({})).to_string();
    let seed = json!({"instances": [{"prompt": "a kite"}], "parameters": {"seed": 1}}).to_string();
    for (key, path, body, status, name) in [
        ("another-key", MODEL, body.as_str(), 401, "UNAUTHENTICATED"),
        (KEY, "/models/veo-9:predictLongRunning", &body, 404, "NOT_FOUND"),
        (KEY, MODEL, "{", 400, "INVALID_ARGUMENT"),
        (KEY, MODEL, &seed, 400, "INVALID_ARGUMENT"),
    ] {
        let reply = ask(&test, key, "POST", path, body).await;
        let error = &reply.json()["error"];
        assert_eq!(
            (reply.status, &error["code"], &error["status"]),
            (status, &json!(status), &json!(name)),
            "{body}"
        );
    }
    let url = format!("{}{MODEL}", test.sandbox.veo().gemini);
    assert_eq!(call("POST", &url, &[JSON], body.as_str()).await.expect("a reply").status, 403);
    // Vertex AI takes no key.
    let vertex = format!(
        "{}/publishers/google/models/veo-3.1-generate-001:predictLongRunning",
        test.sandbox.veo().vertex
    );
    assert_eq!(ask(&test, KEY, "POST", &vertex, &body).await.status, 401);
    let record = test.sandbox.veo_record();
    assert_eq!((record.accepted, record.declined.len()), (0, 6));
}

#[tokio::test]
async fn from_the_beginning_to_a_file_and_its_continuation() {
    let test = TestSandbox::with(|settings| {
        settings.job_time = Duration::from_secs(8);
        settings.keys.push("second-key".to_owned());
    })
    .await;
    let operation = begun(&test, &kite(json!({}))).await;
    let running = ask(&test, KEY, "GET", &operation, "").await;
    assert_eq!((running.status, running.json().get("done")), (200, None));
    test.advance(Duration::from_secs(8));
    let uri = video(&test, &operation).await;
    assert_eq!(ask(&test, "second-key", "GET", &operation, "").await.status, 404, "another account's");
    let found = ask(&test, KEY, "GET", &uri, "").await;
    let there = found.header("location").to_owned();
    assert_eq!(found.status, 302);
    assert_eq!(call("GET", &there, &[], "").await.expect("a reply").status, 403, "without the key");
    assert_eq!(ask(&test, "second-key", "GET", &there, "").await.status, 404, "another account's");
    let file = ask(&test, KEY, "GET", &there, "").await;
    assert_eq!((file.status, &file.body[4..12]), (200, &b"ftypisom"[..]));
    // Only its own account continues it, and for two days.
    let longer = kite(json!({"video": {"uri": uri}})).to_string();
    assert_eq!(ask(&test, "second-key", "POST", MODEL, &longer).await.status, 400);
    begun(&test, &kite(json!({"video": {"uri": uri}}))).await;
    test.advance(Duration::from_hours(48));
    assert_eq!(ask(&test, KEY, "POST", MODEL, &longer).await.status, 400);
    assert_eq!(ask(&test, KEY, "GET", &there, "").await.status, 404);
}

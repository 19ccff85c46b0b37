//! The simulated DashScope: keys, the asynchronous header, a task from PENDING to its file, cancels, unknown ids, samples.

use std::time::Duration;

use serde_json::{Value, json};

use crate::tests::client::{JSON, KEY, Response, TestSandbox, call, fetch};

const CREATE: &str = "/api/v1/services/aigc/video-generation/video-synthesis";
const ASYNC: (&str, &str) = ("x-dashscope-async", "enable");

fn kite(prompt: &str) -> Value {
    json!({"model": "wan2.6-t2v", "input": {"prompt": prompt}, "parameters": {"size": "832*1088", "duration": 10}})
}

async fn ask(test: &TestSandbox, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let url = format!("{}{path}", test.sandbox.dashscope().api);
    call(method, &url, headers, body).await.expect("a reply")
}

/// With the key of an account.
async fn with_key(test: &TestSandbox, key: &str, method: &str, path: &str, body: &str) -> Response {
    let bearer = format!("Bearer {key}");
    ask(test, method, path, &[("authorization", &bearer), ASYNC, JSON], body).await
}

/// Creates a task; gives its path.
async fn created(test: &TestSandbox, body: &Value) -> String {
    let reply = with_key(test, KEY, "POST", CREATE, &body.to_string()).await;
    let body = reply.json();
    assert_eq!((reply.status, &body["output"]["task_status"]), (200, &json!("PENDING")), "{body}");
    format!("/api/v1/tasks/{}", body["output"]["task_id"].as_str().expect("an id"))
}

async fn output(test: &TestSandbox, path: &str) -> Value {
    let reply = with_key(test, KEY, "GET", path, "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["output"].clone()
}

#[tokio::test]
async fn what_is_refused() {
    let test = TestSandbox::start().await;
    let body = kite("a kite").to_string();
    let bearer = ("authorization", "Bearer sandbox-key");
    let wrong = ("authorization", "Bearer another-key");
    for (headers, body, status, code) in [
        (vec![ASYNC, JSON], body.as_str(), 401, "InvalidApiKey"),
        (vec![wrong, ASYNC, JSON], &body, 401, "InvalidApiKey"),
        (vec![bearer, JSON], &body, 403, "AccessDenied"),
        (vec![bearer, ASYNC], &body, 400, "InvalidParameter"),
        (vec![bearer, ASYNC, JSON], "{", 400, "InvalidParameter"),
        (vec![bearer, ASYNC, JSON], r#"{"model":"wan9","input":{}}"#, 400, "InvalidParameter"),
        (
            vec![bearer, ASYNC, JSON],
            r#"{"model":"wan2.6-i2v","input":{"img_url":"oss://a"}}"#,
            400,
            "InvalidURL",
        ),
    ] {
        let reply = ask(&test, "POST", CREATE, &headers, body).await;
        let answer = reply.json();
        assert_eq!((reply.status, &answer["code"]), (status, &json!(code)), "{body}: {answer}");
        assert!(answer["request_id"].is_string() && answer["message"].is_string(), "{answer}");
    }
    let record = test.sandbox.dashscope_record();
    assert_eq!((record.accepted, record.declined.len()), (0, 7));
    assert_eq!(ask(&test, "GET", "/api/v1/tasks/x", &[], "").await.status, 401);
    assert_eq!(with_key(&test, KEY, "GET", "/api/v1/other", "").await.status, 404);
}

#[tokio::test]
async fn from_pending_to_the_file() {
    let test = TestSandbox::with(|settings| settings.job_time = Duration::from_secs(8)).await;
    let task = created(&test, &kite("a kite")).await;
    let first = output(&test, &task).await;
    assert_eq!(
        (&first["task_status"], &first["submit_time"]),
        (&json!("PENDING"), &json!("2026-01-01 08:00:00.000"))
    );
    test.advance(Duration::from_secs(2));
    let running = output(&test, &task).await;
    assert_eq!((&running["task_status"], running.get("video_url")), (&json!("RUNNING"), None));
    test.advance(Duration::from_secs(6));
    let reply = with_key(&test, KEY, "GET", &task, "").await.json();
    assert_eq!(reply["output"]["task_status"], "SUCCEEDED");
    let usage = json!({
        "duration": 10, "input_video_duration": 0, "output_video_duration": 10, "video_count": 1, "SR": 720, "ratio": "3:4",
    });
    assert_eq!(reply["usage"], usage);
    let link = reply["output"]["video_url"].as_str().expect("a link").to_owned();
    let file = fetch(&link).await;
    assert_eq!((file.status, file.header("content-type")), (200, "video/mp4"));
    assert_eq!(&file.body[4..12], b"ftypisom");
    // Signed, and for a day.
    assert_eq!(fetch(&link.replace("Signature=", "Signature=A")).await.status, 403);
    test.advance(Duration::from_hours(24));
    assert_eq!(fetch(&link).await.status, 403);
    assert_eq!(output(&test, &task).await["task_status"], "UNKNOWN");
}

#[tokio::test]
async fn only_what_waits_is_cancelled() {
    let test = TestSandbox::with(|settings| settings.job_time = Duration::from_secs(8)).await;
    let (waiting, running) =
        (created(&test, &kite("[[queued]]")).await, created(&test, &kite("a kite")).await);
    test.advance(Duration::from_secs(2));
    let cancel = async |task: &str| with_key(&test, KEY, "POST", &format!("{task}/cancel"), "").await;
    assert_eq!(cancel(&waiting).await.status, 200);
    let refused = cancel(&running).await;
    assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("UnsupportedOperation")));
    assert_eq!(output(&test, &waiting).await["task_status"], "CANCELED");
    assert_eq!(cancel(&waiting).await.status, 400, "not twice");
}

#[tokio::test]
async fn a_task_is_known_to_its_account_only() {
    let test = TestSandbox::with(|settings| settings.keys.push("second-key".to_owned())).await;
    let task = created(&test, &kite("a kite")).await;
    let foreign = with_key(&test, "second-key", "GET", &task, "").await;
    assert_eq!((foreign.status, &foreign.json()["output"]["task_status"]), (200, &json!("UNKNOWN")));
    assert_eq!(output(&test, &task).await["task_status"], "PENDING");
    let made_up = "/api/v1/tasks/3659aa57-0c36-4a92-a2f9-2d1f4f5c0b6e";
    assert_eq!(output(&test, made_up).await["task_status"], "UNKNOWN");
}

#[tokio::test]
async fn samples_are_films_and_sounds_of_any_length() {
    let test = TestSandbox::start().await;
    let sample = |name: &str| format!("{}/samples/{name}", test.sandbox.context().samples);
    for (name, mime, begin) in [
        ("640x480-3s.mp4", "video/mp4", &b"ftypisom"[..]),
        ("64x48-1500ms-silent.mov", "video/quicktime", b"ftypqt  "),
        ("7s.m4a", "audio/mp4", b"ftypM4A "),
        ("7s.wav", "audio/wav", b"\xa4\xb5\x01\0WAVE"),
    ] {
        let file = fetch(&sample(name)).await;
        assert_eq!((file.status, file.header("content-type")), (200, mime), "{name}");
        assert_eq!(&file.body[4..12], begin, "{name}");
        let part = call("GET", &sample(name), &[("range", "bytes=4-11")], "").await.expect("a reply");
        assert_eq!(
            (part.status, &part.body[..]),
            (206, if name == "7s.wav" { &file.body[4..12] } else { begin })
        );
    }
    let padded = fetch(&sample("640x480-3s.mp4?bytes=1000000")).await;
    assert_eq!(padded.body.len(), 1_000_000);
    assert_eq!(fetch(&sample("640x480-0s.mp4")).await.status, 404);
}

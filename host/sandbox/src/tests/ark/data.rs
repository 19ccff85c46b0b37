//! The data plane: what is refused, how a task goes on, and the files it ends with.

use std::time::Duration;

use serde_json::{Value, json};

use super::{body, created, data, text};
use crate::tests::client::{JSON, TestSandbox, call, fetch};

fn image(url: &str, role: &str) -> Value {
    json!({"type": "image_url", "image_url": {"url": url}, "role": role})
}

fn with(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

#[tokio::test]
async fn what_the_real_one_refuses_is_refused() {
    let test = TestSandbox::start().await;
    let samples = test.sandbox.ark().samples.clone();
    let sample = |name: &str| format!("{samples}/samples/{name}");
    let (day, film, song) = (sample("800x600.png"), sample("1280x720-5s.mp4"), sample("5s.wav"));
    let video =
        |url: &str| json!({"type": "video_url", "video_url": {"url": url}, "role": "reference_video"});
    let audio =
        |url: &str| json!({"type": "audio_url", "audio_url": {"url": url}, "role": "reference_audio"});
    let plain = || body(json!([text("a kite")]));
    #[rustfmt::skip]
    let rows = [
        (json!({"content": [text("a kite")]}), 400, "MissingParameter", "model"),
        (json!({"model": "doubao-seedance-2-0-260128"}), 400, "MissingParameter", "content"),
        (json!([1]), 400, "InvalidParameter", ""),
        (with(plain(), "model", json!("doubao-seedance-9")), 404, "InvalidEndpointOrModel.NotFound", ""),
        (with(plain(), "resolution", json!("360p")), 400, "InvalidParameter", "resolution"),
        (with(with(plain(), "model", json!("doubao-seedance-2-0-fast-260128")), "resolution", json!("1080p")), 400, "InvalidParameter", "resolution"),
        (with(plain(), "ratio", json!("2:1")), 400, "InvalidParameter", "ratio"),
        (with(plain(), "duration", json!("5")), 400, "InvalidParameter", "duration"),
        (with(plain(), "duration", json!(3)), 400, "InvalidParameter", "duration"),
        (with(plain(), "duration", json!(16)), 400, "InvalidParameter", "duration"),
        (with(plain(), "seed", json!(4_294_967_296_i64)), 400, "InvalidParameter", "seed"),
        (with(plain(), "execution_expires_after", json!(1800)), 400, "InvalidParameter", "execution_expires_after"),
        (with(plain(), "service_tier", json!("flex")), 400, "InvalidParameter", "service_tier"),
        (with(plain(), "camera_fixed", json!(true)), 400, "InvalidParameter", "camera_fixed"),
        (with(plain(), "frames", json!(29)), 400, "InvalidParameter", "frames"),
        (with(plain(), "output_format", json!("mov")), 400, "InvalidParameter", "output_format"),
        (with(plain(), "omni_reference_task_type", json!("edit")), 400, "InvalidParameter", "omni_reference_task_type"),
        (with(plain(), "colour", json!(null)), 400, "InvalidParameter", "colour"),
        (body(json!([image("https://nohost.invalid/x.png", "first_frame")])), 400, "InvalidParameter", "content[0].image_url.url"),
        (body(json!([])), 400, "InvalidParameter", "content"),
        (body(json!([text("a"), text("b")])), 400, "InvalidParameter", "content"),
        (body(json!([image(&day, "middle")])), 400, "InvalidParameter", "content[0].role"),
        (body(json!([image(&day, "last_frame")])), 400, "InvalidParameter", "content"),
        (body(json!([image(&day, "first_frame"), image(&day, "reference_image")])), 400, "InvalidParameter", "content"),
        (body(json!([image(&day, "first_frame"), video(&film)])), 400, "InvalidParameter", "content"),
        (body(json!([text("a"), audio(&song)])), 400, "InvalidParameter", "content"),
        (body(json!([video(&film), video(&film), video(&film), video(&film)])), 400, "InvalidParameter", "content"),
        (body(json!(vec![image(&day, "reference_image"); 10])), 400, "InvalidParameter", "content"),
        (body(json!([video("data:video/mp4;base64,AAAA")])), 400, "InvalidParameter", "content[0].video_url.url"),
        (body(json!([image("ftp://example.com/a.png", "first_frame")])), 400, "InvalidParameter", "content[0].image_url.url"),
        (body(json!([image(&sample("299x300.png"), "first_frame")])), 400, "InvalidParameter", "content[0].image_url.url"),
        (body(json!([image(&sample("300x760.png"), "first_frame")])), 400, "InvalidParameter", "content[0].image_url.url"),
        (body(json!([image(&sample("missing"), "first_frame")])), 400, "InvalidParameter", "content[0].image_url.url"),
        (body(json!([video(&sample("640x639-5s.mp4"))])), 400, "InvalidParameter", "content[0].video_url.url"),
        (body(json!([video(&sample("1280x720-1s.mp4"))])), 400, "InvalidParameter", "content[0].video_url.url"),
        (body(json!([video(&sample("1280x720-8s.mp4")), video(&sample("1280x720-8s.mp4"))])), 400, "InvalidParameter", "content"),
        (body(json!([image(&day, "reference_image"), audio(&sample("16s.wav"))])), 400, "InvalidParameter", "content[1].audio_url.url"),
        (body(json!([image("asset://asset-1", "first_frame")])), 400, "InvalidParameter", "content[0].image_url.url"),
    ];
    for (body, status, code, param) in &rows {
        let reply = data(&test, "POST", "", body).await;
        let error = reply.json()["error"].clone();
        assert_eq!(
            (reply.status, &error["code"], &error["param"]),
            (*status, &json!(code), &json!(param)),
            "{body}"
        );
        assert!(error["message"].as_str().is_some_and(|text| text.contains("Request id: ")), "{error}");
    }
    let record = test.sandbox.ark_record();
    assert_eq!((record.submits.len(), record.declined.len()), (0, rows.len()));
    // The limits from the other side.
    for good in [
        plain(),
        body(json!([text("data: a kite")])),
        body(json!([image(&day, "first_frame"), image(&day, "last_frame")])),
        body(json!([image(&sample("300x750.png"), "first_frame")])),
        body(json!(vec![image(&day, "reference_image"); 9])),
        body(json!([text("a"), video(&sample("640x640-2s.mp4")), audio(&song)])),
        with(body(json!([video(&sample("1920x1080-5s.mp4"))])), "resolution", json!("1080p")),
        with(plain(), "duration", json!(-1)),
        with(with(plain(), "output_format", json!(null)), "omni_reference_task_type", json!(null)),
    ] {
        created(&test, &good).await;
    }
}

#[tokio::test]
async fn a_key_is_needed_and_tasks_are_its_own() {
    let test =
        TestSandbox::with(|settings| settings.keys = vec!["sandbox-key".into(), "second-key".into()]).await;
    let id = created(&test, &body(json!([text("a kite")]))).await;
    let url = format!("{}/contents/generations/tasks/{id}", test.sandbox.ark().data);
    for (headers, status) in [
        (vec![], 401),
        (vec![("authorization", "Bearer foreign-key")], 401),
        (vec![("authorization", "sandbox-key")], 401),
        (vec![("authorization", "Bearer second-key")], 404),
        (vec![("authorization", "Bearer sandbox-key")], 200),
    ] {
        let headers: Vec<_> = headers.into_iter().chain([JSON]).collect();
        assert_eq!(call("GET", &url, &headers, "").await.expect("a reply").status, status, "{headers:?}");
    }
}

#[tokio::test]
async fn a_task_is_queued_then_runs_then_has_its_files() {
    let test = TestSandbox::with(|settings| settings.job_time = Duration::from_secs(8)).await;
    let request = json!({
        "model": "doubao-seedance-2-0-260128", "content": [text("a kite")], "resolution": "480p", "ratio": "1:1",
        "duration": 4, "seed": 11, "return_last_frame": true, "generate_audio": false,
    });
    let id = created(&test, &request).await;
    assert!(id.starts_with("cgt-20260101000000-"), "{id}");
    let poll = async || data(&test, "GET", &format!("/{id}"), &Value::Null).await.json();
    assert_eq!(poll().await["status"], "queued");
    test.advance(Duration::from_secs(2));
    assert_eq!(poll().await["status"], "running");
    assert_eq!(data(&test, "DELETE", &format!("/{id}"), &Value::Null).await.status, 409);
    test.advance(Duration::from_secs(6));
    let task = poll().await;
    assert_eq!(task["status"], "succeeded");
    // 640 * 640 * (24 * 4 + 1) / 1024.
    assert_eq!(task["usage"]["completion_tokens"], 38_800);
    assert_eq!(
        (&task["seed"], &task["duration"], &task["resolution"]),
        (&json!(11), &json!(4), &json!("480p"))
    );
    let link = |kind: &str| task["content"][kind].as_str().expect("a link").to_owned();
    let film = fetch(&link("video_url")).await;
    assert_eq!((film.status, film.header("content-type")), (200, "video/mp4"));
    let has = |name: &[u8]| film.body.windows(name.len()).any(|part| part == name);
    assert!(has(b"vide") && !has(b"soun"));
    let frame = fetch(&link("last_frame_url")).await;
    let size = imagesize::blob_size(&frame.body).expect("a picture");
    assert_eq!((size.width, size.height), (640, 640));
    let forged = link("video_url").replace("Signature=", "Signature=0");
    assert_eq!(fetch(&forged).await.status, 403);
    test.advance(Duration::from_mins(11));
    assert_eq!(fetch(&link("video_url")).await.status, 403);
    let list = data(&test, "GET", &format!("?filter.task_ids={id}&filter.status=succeeded"), &Value::Null)
        .await
        .json();
    assert_eq!((&list["total"], &list["items"][0]["id"]), (&json!(1), &json!(id)));
    assert_eq!(data(&test, "DELETE", &format!("/{id}"), &Value::Null).await.status, 200);
    assert_eq!(data(&test, "GET", &format!("/{id}"), &Value::Null).await.status, 404);
}

/// 5 s of 720p at 16:9, as a real task was billed.
#[tokio::test]
async fn tokens_are_counted_as_observed() {
    let test = TestSandbox::start().await;
    let id = created(&test, &with(body(json!([text("a kite")])), "ratio", json!("16:9"))).await;
    let task = data(&test, "GET", &format!("/{id}"), &Value::Null).await.json();
    assert_eq!(task["usage"]["total_tokens"], 108_900);
}

#[tokio::test]
async fn a_queued_task_is_cancelled() {
    let test = TestSandbox::start().await;
    let id = created(&test, &body(json!([text("a kite [[always-queued]]")]))).await;
    assert_eq!(data(&test, "DELETE", &format!("/{id}"), &Value::Null).await.status, 200);
    assert_eq!(data(&test, "GET", &format!("/{id}"), &Value::Null).await.json()["status"], "cancelled");
    assert!(test.sandbox.ark_record().submits[0].cancelled);
}

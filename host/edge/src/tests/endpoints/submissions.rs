//! Submissions: the receipt, the parts of a path, refusals, and bodies.

use std::io::Write as _;
use std::sync::atomic::Ordering;

use gatehouse_driver::SubmitRequest;
use gatehouse_model::{FailureKind, TaskId};
use serde_json::json;

use crate::tests::TestEdge;
use crate::tests::support::samples;

/// The task that a scripted submission makes.
const ID: &str = "task_000000000000000000000SG000";

#[tokio::test]
async fn a_submission_is_answered_with_a_receipt() {
    let edge = TestEdge::plain().await;
    let body = r#"{"model":"ctx-pro","prompt":"a cat"}"#;
    let request = edge.post("/v1/images/generations", body).replace("Host", "Idempotency-Key: abc\r\nHost");
    let reply = edge.ask(request).await;
    let receipt = format!(r#"{{"code":200,"data":[{{"status":"submitted","task_id":"{ID}"}}]}}"#);
    assert_eq!((reply.status, reply.text()), (200, receipt));
    let submitted = edge.backend.submitted.lock().unwrap();
    let SubmitRequest { surface, parent, body: sent, .. } = &submitted[0];
    assert_eq!((*surface, sent.model(), *parent), ("images.generate", Some("ctx-pro"), None));
    assert_eq!((&sent.bytes()[..], submitted[0].idempotency.as_deref()), (body.as_bytes(), Some("abc")));
}

/// Without it a client cannot tell a task of its own retry from one that it has just paid for.
#[tokio::test]
async fn a_repeated_submission_says_so() {
    let edge = TestEdge::plain().await;
    for (key, replayed) in [("again", "true"), ("first", "")] {
        let key = format!("Idempotency-Key: {key}\r\nHost");
        let reply = edge.ask(edge.post("/v1/images/generations", "{}").replace("Host", &key)).await;
        assert_eq!((reply.status, reply.header("idempotency-replayed")), (200, replayed), "{key}");
    }
}

#[tokio::test]
async fn the_path_gives_surface_model_and_parent() {
    let edge = TestEdge::plain().await;
    let (parent, journey) = (TaskId::from_bits(5), Some("journey"));
    for (path, surface, model, follows) in [
        ("/v1/videos/generations".to_owned(), "videos.generate", None, None),
        (format!("/v1/videos/{parent}/remix"), "videos.remix", None, Some(parent)),
        ("/v1/journey/generations/high-variation".to_owned(), "journey.high_variation", journey, None),
        ("/v1/journey/generations".to_owned(), "journey.imagine", journey, None),
    ] {
        assert_eq!(edge.call(&path, "{}").await.status, 200);
        let submitted = edge.backend.submitted.lock().unwrap().pop().unwrap();
        assert_eq!((submitted.surface, submitted.body.model(), submitted.parent), (surface, model, follows));
    }
    let reply = edge.call("/v1/clip2/private-avatar", "{}").await;
    let data = json!({"id": ID, "object": "clip.avatar.asset.task", "status": "processing", "progress": 10,
        "model": "ctx-pro"});
    assert_eq!(reply.json(), json!({"code": 200, "data": data}));
    let reply = edge.call("/v1/videos/task_1/remix", "{}").await;
    assert_eq!((reply.status, reply.message().as_str()), (404, "unknown video \"task_1\""));
}

#[tokio::test]
async fn a_refused_submission_says_why() {
    let edge = TestEdge::plain().await;
    for (word, status, kind, reason, param) in [
        ("field", 400, "invalid_request_error", "invalid_request", Some("n")),
        ("body", 400, "invalid_request_error", "invalid_request", None),
        ("model", 400, "invalid_request_error", "model_not_found", Some("model")),
        ("model-limit", 403, "permission_error", "model_forbidden", Some("model")),
        ("missing", 404, "not_found_error", "not_found", None),
        ("forbidden", 403, "permission_error", "forbidden", None),
        ("balance", 402, "payment_required", "insufficient_balance", None),
        ("quota", 402, "payment_required", "quota_exceeded", None),
        ("conflict", 422, "invalid_request_error", "idempotency_conflict", Some("Idempotency-Key")),
        ("key", 401, "authentication_error", "invalid_api_key", None),
        ("busy", 503, "service_unavailable", "busy", None),
        ("drain", 503, "service_unavailable", "restarting", None),
        ("disk", 503, "service_unavailable", "disk_full", None),
        ("store-full", 503, "service_unavailable", "disk_full", None),
        ("store-busy", 503, "service_unavailable", "busy", None),
        ("store-away", 503, "service_unavailable", "busy", None),
        ("store-closed", 503, "service_unavailable", "restarting", None),
        ("store", 500, "server_error", "internal_error", None),
        ("plugin", 500, "server_error", "internal_error", None),
        ("panic", 500, "server_error", "internal_error", None),
    ] {
        let reply = edge.call("/v1/images/generations", &json!({"refuse": word}).to_string()).await;
        let error = &reply.json()["error"];
        assert_eq!((reply.status, error["code"].as_u64()), (status, Some(u64::from(status))), "{word}");
        assert_eq!((&error["type"], &error["reason"]), (&json!(kind), &json!(reason)), "{word}");
        assert_eq!(error.get("param").and_then(|param| param.as_str()), param, "{word}");
        assert!(!reply.text().contains("secret"), "{reply:?}");
    }
    let reply = edge.call("/v1/journey/generations/pan", r#"{"refuse":"model"}"#).await;
    assert_eq!(reply.refusal("type"), (404, json!("not_found")));
}

#[tokio::test]
async fn a_body_must_be_json() {
    let edge = TestEdge::plain().await;
    let sound = edge.post("/v1/images/generations", "{}");
    for (request, status, expected_message) in [
        (sound.replace("application/json", "text/plain"), 415, "not \"text/plain\""),
        (sound.replace("Content-Type: application/json\r\n", ""), 415, "not none"),
        (
            sound.replace("Host", "Content-Encoding: br\r\nHost"),
            415,
            "expected one of gzip and zstd, or none, not \"br\"",
        ),
        (sound.replace("Host", "Content-Encoding: gzip\r\nHost"), 400, "no whole gzip"),
        (sound.replace("Host", "Idempotency-Key: a b\r\nHost"), 400, "Idempotency-Key"),
        (edge.post("/v1/images/generations", ""), 400, "empty"),
        (edge.post("/v1/images/generations", "{\"a\":\n nul}"), 400, "line 2 column"),
    ] {
        let reply = edge.ask(request).await;
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.message().contains(expected_message), "{reply:?}");
    }
    assert!(edge.backend.submitted.lock().unwrap().is_empty());
}

/// Agents compress what they send: without it they are told so with every request.
#[tokio::test]
async fn a_compressed_body_is_read_as_what_it_was() {
    let edge = TestEdge::with("limits = { body_mib = 1 }").await;
    let body = json!({"model": "ctx-pro", "prompt": "a kite, ".repeat(2_000)}).to_string();
    let bomb = format!("{{\"prompt\": \"{}\"}}", " ".repeat(1 << 20));
    for (encoding, body, status) in
        [("gzip", &body, 200), ("zstd", &body, 200), ("gzip", &bomb, 413), ("zstd", &bomb, 413)]
    {
        let compressed = compressed(encoding, body.as_bytes());
        let head = edge.post("/v1/images/generations", "");
        let length = format!("Content-Encoding: {encoding}\r\nContent-Length: {}", compressed.len());
        let mut request = head.replace("Content-Length: 0", &length).into_bytes();
        request.extend(compressed);
        let reply = edge.ask(request).await;
        assert_eq!(reply.status, status, "{encoding}: {reply:?}");
    }
    let submitted = std::mem::take(&mut *edge.backend.submitted.lock().unwrap());
    assert_eq!(submitted.len(), 2);
    assert!(submitted.iter().all(|job| &job.body.bytes()[..] == body.as_bytes()));
    let reply =
        edge.ask(edge.post("/v1/messages", "{}").replace("Host", "Content-Encoding: br\r\nHost")).await;
    assert_eq!((reply.status, reply.header("accept-encoding")), (415, "gzip, zstd"));
}

fn compressed(encoding: &str, bytes: &[u8]) -> Vec<u8> {
    if encoding == "zstd" {
        return zstd::encode_all(bytes, 3).unwrap();
    }
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[tokio::test]
async fn the_bytes_of_all_bodies_are_limited() {
    let edge = TestEdge::with("limits = { bodies_mib = 4 }").await;
    let held = format!("{{\"refuse\":\"hang\"{}}}", " ".repeat(900_000));
    let mut first = edge.connect().await;
    first.send(edge.post("/v1/images/generations", &held)).await;
    edge.until_submitted().await;
    let second = format!("{{{}}}", " ".repeat(300_000));
    let reply = edge.call("/v1/images/generations", &second).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
    assert_eq!(edge.call("/v1/images/generations", "{}").await.status, 200);
}

/// Without it a client that waits would poll, or hold its connection after the task has ended.
#[tokio::test]
async fn a_submission_whose_client_waits_is_answered_with_the_ended_task() {
    for (path, completes) in [
        ("/v1/images/generations", true),
        ("/v1/videos/generations", false),
        ("/v1/journey/generations", true),
        ("/v1/clip2/private-avatar", true),
    ] {
        let edge = TestEdge::plain().await;
        let mut client = edge.connect().await;
        client.send(edge.post(path, "{}").replace("Host", "Prefer: respond-async, wait=600\r\nHost")).await;
        edge.until_submitted().await;
        edge.backend.put(0x0198_0000, |task| match completes {
            true => samples::complete(task),
            false => samples::fail(task, FailureKind::Upstream, "no luck"),
        });
        let reply = client.read().await.unwrap();
        assert_eq!((reply.status, reply.header("preference-applied")), (200, "wait=60"), "{path}");
        let data = &reply.json()["data"];
        let expected = if completes { "completed" } else { "failed" };
        assert_eq!((&data["id"], &data["status"]), (&json!(ID), &json!(expected)));
    }
}

#[tokio::test]
async fn a_wait_of_no_time_is_answered_with_the_receipt_and_so_is_one_that_a_shutdown_ends() {
    let edge = TestEdge::plain().await;
    let request = edge.post("/v1/images/generations", "{}");
    let reply = edge.ask(request.replace("Host", "Prefer: wait=0\r\nHost")).await;
    assert_eq!(reply.json()["data"][0]["status"], "submitted");
    edge.backend.submitted.lock().unwrap().clear();
    let mut client = edge.connect().await;
    client.send(request.replace("Host", "Prefer: wait=60\r\nHost")).await;
    edge.until_submitted().await;
    let server = edge.server;
    let lame_duck = tokio::spawn(async move { server.lame_duck().await });
    let reply = client.read().await.unwrap();
    assert_eq!((reply.status, &reply.json()["data"][0]["status"]), (200, &json!("submitted")));
    lame_duck.abort();
}

/// Without it a client that waits would not learn which task it has paid for, where the store cannot be read at its end, or its
/// SDK would make and pay another one.
#[tokio::test]
async fn what_fails_after_the_receipt_does_not_hide_the_task() {
    for (path, format, is_answered) in [
        ("/v1/images/generations", "wrapped", true),
        ("/v1/videos/generations", "wrapped", true),
        ("/v1/clip2/private-avatar", "wrapped", false),
        ("/v1/images/generations", "bare", false),
        ("/v1/videos", "bare", false),
    ] {
        let edge = TestEdge::plain().await;
        let mut client = edge.connect().await;
        let headers = format!("X-Response-Format: {format}\r\nPrefer: wait=60\r\nHost");
        let body = r#"{"model": "ctx-pro", "prompt": "a kite"}"#;
        client.send(edge.post(path, body).replace("Host", &headers)).await;
        edge.until_submitted().await;
        edge.backend.broken.store(true, Ordering::SeqCst);
        edge.backend.put(0x0198_0000, samples::complete);
        let reply = client.read().await.unwrap();
        if is_answered {
            assert_eq!((reply.status, &reply.json()["data"][0]["task_id"]), (200, &json!(ID)), "{path}");
            assert_eq!(reply.header("preference-applied"), "wait=60");
        } else {
            assert_eq!((reply.status, reply.header("x-gateway-task-id")), (500, ID), "{path} {format}");
            assert_eq!(reply.header("x-should-retry"), "false", "{path} {format}");
        }
    }
}

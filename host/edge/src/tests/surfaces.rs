//! The endpoints as clients meet them.

use std::sync::atomic::Ordering;

use gatehouse_driver::Request;
use gatehouse_model::{FailureKind, Status, TaskId};
use serde_json::json;

use super::fake;
use crate::tests::Stand;
use crate::tests::client::Reply;

async fn ask(stand: &Stand, request: String) -> Reply {
    stand.connect().await.ask(request).await
}

#[tokio::test]
async fn a_submission_is_answered_with_a_receipt() {
    let stand = Stand::plain().await;
    let body = r#"{"model":"ctx-pro","prompt":"a cat"}"#;
    let request = stand.post("/v1/images/generations", body).replace("Host", "Idempotency-Key: abc\r\nHost");
    let reply = ask(&stand, request).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.body,
        r#"{"code":200,"data":[{"status":"submitted","task_id":"task_000000000000000000000SG000"}]}"#
    );
    let asked = stand.house.asked.lock().unwrap();
    let Request { surface, parent, body: sent, .. } = &asked[0];
    assert_eq!((*surface, sent.model(), *parent), ("images.generate", Some("ctx-pro"), None));
    assert_eq!((&sent.bytes()[..], asked[0].idempotency.as_deref()), (body.as_bytes(), Some("abc")));
}

#[tokio::test]
async fn every_answer_carries_its_request_id_three_times() {
    let stand = Stand::plain().await;
    for request in [stand.get("/v1/models", ""), stand.get("/nowhere", ""), stand.post("/v1/messages", "{}")]
    {
        let reply = ask(&stand, request).await;
        let id = reply.header("x-gateway-request-id").unwrap();
        assert!(id.starts_with("req_"), "{reply:?}");
        assert_eq!((reply.header("x-request-id"), reply.header("request-id")), (Some(id), Some(id)));
    }
}

#[tokio::test]
async fn paths_choose_surface_model_and_parent() {
    let stand = Stand::plain().await;
    let parent = TaskId::from_bits(5);
    for (path, surface, model, follows) in [
        ("/v1/videos/generations".to_owned(), "videos.generate", None, None),
        (format!("/v1/videos/{parent}/remix"), "videos.remix", None, Some(parent)),
        (
            "/v1/journey/generations/high-variation".to_owned(),
            "journey.high_variation",
            Some("journey"),
            None,
        ),
        ("/v1/journey/generations".to_owned(), "journey.imagine", Some("journey"), None),
    ] {
        assert_eq!(ask(&stand, stand.post(&path, "{}")).await.status, 200);
        let asked = stand.house.asked.lock().unwrap().pop().unwrap();
        assert_eq!((asked.surface, asked.body.model(), asked.parent), (surface, model, follows));
    }
    let reply = ask(&stand, stand.post("/v1/clip2/private-avatar", "{}")).await;
    let id = "task_000000000000000000000SG000";
    let data = json!({"id": id, "object": "clip.avatar.asset.task", "status": "processing", "progress": 10,
        "model": "ctx-pro"});
    assert_eq!(reply.json(), json!({"code": 200, "data": data}));
    let reply = ask(&stand, stand.post("/v1/videos/task_1/remix", "{}")).await;
    assert_eq!((reply.status, reply.message().as_str()), (404, "unknown task \"task_1\""));
}

#[tokio::test]
async fn a_refused_submission_says_why() {
    let stand = Stand::plain().await;
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
        ("store-busy", 503, "service_unavailable", "busy", None),
        ("store-closed", 503, "service_unavailable", "restarting", None),
        ("store", 500, "server_error", "internal_error", None),
        ("plugin", 500, "server_error", "internal_error", None),
        ("panic", 500, "server_error", "internal_error", None),
    ] {
        let reply =
            ask(&stand, stand.post("/v1/images/generations", &json!({"refuse": word}).to_string())).await;
        let error = &reply.json()["error"];
        assert_eq!((reply.status, error["code"].as_u64()), (status, Some(u64::from(status))), "{word}");
        assert_eq!((&error["type"], &error["reason"]), (&json!(kind), &json!(reason)), "{word}");
        assert_eq!(error.get("param").and_then(|param| param.as_str()), param, "{word}");
        assert!(!reply.body.contains("secret"), "{reply:?}");
    }
    let reply = ask(&stand, stand.post("/v1/journey/generations/pan", r#"{"refuse":"model"}"#)).await;
    assert_eq!((reply.status, reply.json()["error"]["type"].as_str()), (404, Some("not_found")));
}

#[tokio::test]
async fn bodies_are_json_objects_in_plain_sight() {
    let stand = Stand::plain().await;
    let sound = stand.post("/v1/images/generations", "{}");
    for (request, status, said) in [
        (sound.replace("application/json", "text/plain"), 415, "not \"text/plain\""),
        (sound.replace("Content-Type: application/json\r\n", ""), 415, "not none"),
        (sound.replace("Host", "Content-Encoding: gzip\r\nHost"), 415, "Content-Encoding"),
        (sound.replace("Host", "Idempotency-Key: a b\r\nHost"), 400, "Idempotency-Key"),
        (stand.post("/v1/images/generations", ""), 400, "empty"),
        (stand.post("/v1/images/generations", "{\"a\":\n nul}"), 400, "line 2 column"),
    ] {
        let reply = ask(&stand, request).await;
        assert_eq!(reply.status, status, "{reply:?}");
        assert!(reply.message().contains(said), "{reply:?}");
    }
    assert!(stand.house.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn all_bodies_together_are_bounded() {
    let stand = Stand::with("limits = { bodies_mib = 1 }").await;
    let held = format!("{{\"refuse\":\"hang\"{}}}", " ".repeat(900_000));
    let mut first = stand.connect().await;
    first.send(stand.post("/v1/images/generations", &held)).await;
    while stand.house.asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    let second = format!("{{{}}}", " ".repeat(300_000));
    let reply = ask(&stand, stand.post("/v1/images/generations", &second)).await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert_eq!(ask(&stand, stand.post("/v1/images/generations", "{}")).await.status, 200);
}

#[tokio::test]
async fn a_task_is_read_in_every_state() {
    let stand = Stand::with("public_url = \"https://api.example.com\"").await;
    let read = async |id: TaskId| ask(&stand, stand.get(&format!("/v1/tasks/{id}"), "")).await;
    let id = stand.house.put(1, |task| task.status = Status::Submitted);
    let text = id.to_string();
    let data = json!({"id": text, "status": "submitted", "progress": 0, "created": 1_800_000_000,
        "model": "ctx-pro", "estimated_time": 13});
    assert_eq!(read(id).await.json(), json!({"code": 200, "data": data}));
    stand.house.put(1, fake::complete);
    let links = [format!("https://api.example.com/v1/media/{text}")];
    let data = json!({"id": text, "status": "completed", "progress": 100,
        "result": {"images": [{"url": links}]}, "created": 1_800_000_000, "completed": 1_800_000_007,
        "model": "ctx-pro", "cost": 4.5, "estimated_time": 13, "actual_time": 8});
    assert_eq!(read(id).await.json(), json!({"code": 200, "data": data}));
    for (kind, word) in [
        (FailureKind::Request, "invalid_request_error"),
        (FailureKind::Moderation, "content_policy_violation"),
        (FailureKind::Upstream, "upstream_error"),
        (FailureKind::Timeout, "timeout_error"),
        (FailureKind::Cancelled, "cancelled"),
        (FailureKind::Internal, "server_error"),
    ] {
        let id = stand.house.put(2, |task| fake::fail(task, kind, "because"));
        let data = read(id).await.json()["data"].clone();
        assert_eq!(data["error"], json!({"type": word, "code": "task_failed", "message": "because"}));
        assert_eq!((&data["cost"], data.get("result")), (&json!(0), None));
    }
}

#[tokio::test]
async fn links_begin_where_the_request_went() {
    let stand = Stand::plain().await;
    let id = stand.house.put(1, fake::complete);
    let reply = ask(&stand, stand.get(&format!("/v1/tasks/{id}"), "")).await;
    let link = reply.json()["data"]["result"]["images"][0]["url"][0].clone();
    assert_eq!(link, format!("http://gate.test/v1/media/{id}"));
}

#[tokio::test]
async fn an_unknown_task_is_not_found() {
    let stand = Stand::plain().await;
    for id in ["task_1", "task_000000000000000000000SG000", "x"] {
        for request in [
            stand.get(&format!("/v1/tasks/{id}"), ""),
            stand.get(&format!("/v1/tasks/{id}"), "Prefer: wait=5\r\n"),
            stand.post(&format!("/v1/tasks/{id}/cancel"), ""),
        ] {
            let reply = ask(&stand, request).await;
            assert_eq!((reply.status, reply.message()), (404, format!("unknown task {id:?}")));
            assert_eq!(reply.header("x-should-retry"), Some("false"));
        }
        let reply = ask(&stand, stand.get(&format!("/v1/journey/{id}"), "")).await;
        assert_eq!((reply.status, reply.json()["error"]["type"].as_str()), (404, Some("not_found")));
    }
}

#[tokio::test]
async fn a_patient_reader_is_answered_at_the_end() {
    let stand = Stand::plain().await;
    let id = stand.house.put(1, |_| {});
    let mut client = stand.connect().await;
    client.send(stand.get(&format!("/v1/tasks/{id}"), "Prefer: wait=600\r\n")).await;
    stand.house.put(1, fake::complete);
    let reply = client.read().await.unwrap();
    assert_eq!(reply.header("preference-applied"), Some("wait=60"));
    assert_eq!(reply.json()["data"]["status"], "completed");
}

#[tokio::test]
async fn tasks_are_listed_and_filtered() {
    let stand = Stand::plain().await;
    let (first, second) = (stand.house.put(1, |_| {}), stand.house.put(2, fake::complete));
    let page = ask(&stand, stand.get("/v1/tasks", "")).await.json();
    assert_eq!((&page["code"], &page["has_more"]), (&json!(200), &json!(false)));
    assert_eq!(
        (&page["first_id"], &page["last_id"]),
        (&json!(second.to_string()), &json!(first.to_string()))
    );
    assert_eq!(page["data"][0]["status"], "completed");
    let request = format!("/v1/tasks?limit=1&status=completed&model=ctx-pro&after={first}");
    let page = ask(&stand, stand.get(&request, "")).await.json();
    assert_eq!((page["data"].as_array().unwrap().len(), &page["has_more"]), (1, &json!(true)));
    let filter = stand.house.filters.lock().unwrap().pop().unwrap();
    assert_eq!((filter.limit, filter.status, filter.after), (1, Some(Status::Completed), Some(first)));
    let reply = ask(&stand, stand.get("/v1/tasks?limit=many", "")).await;
    assert_eq!((reply.status, &reply.json()["error"]["param"]), (400, &json!("limit")));
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let stand = Stand::plain().await;
    let id = stand.house.put(1, |_| {});
    let cancel = stand.post(&format!("/v1/tasks/{id}/cancel"), "");
    let reply = ask(&stand, cancel.clone()).await;
    assert_eq!((reply.status, &reply.json()["data"]["error"]["type"]), (200, &json!("cancelled")));
    let reply = ask(&stand, cancel.clone()).await;
    assert_eq!((reply.status, reply.message().as_str()), (409, "the task has already ended: failed"));
    stand.house.put(1, |task| task.status = Status::Processing);
    assert_eq!(ask(&stand, cancel).await.status, 409);
}

#[tokio::test]
async fn models_are_listed_the_way_openai_clients_read_them() {
    let stand = Stand::plain().await;
    let (created, family) = (1_700_000_000, "context-image");
    let model = |id: &str| json!({"id": id, "object": "model", "created": created, "owned_by": family});
    let reply = ask(&stand, stand.get("/v1/models", "")).await;
    assert_eq!(reply.json(), json!({"object": "list", "data": [model("ctx-pro"), model("odd:name")]}));
    for path in ["/v1/models/odd:name", "/v1/models/odd%3Aname"] {
        assert_eq!(ask(&stand, stand.get(path, "")).await.json(), model("odd:name"));
    }
    let reply = ask(&stand, stand.get("/v1/models/none", "")).await;
    assert_eq!((reply.status, &reply.json()["error"]["reason"]), (404, &json!("model_not_found")));
}

#[tokio::test]
async fn tokens_are_not_counted() {
    let stand = Stand::plain().await;
    let reply = ask(&stand, stand.post("/v1/messages/count_tokens", "{}")).await;
    let id = reply.header("request-id").unwrap();
    let message = format!("counting tokens is not offered here (request id: {id})");
    let error = json!({"type": "gateway_error", "code": "not_found", "message": message,
        "details": {"error_code": "not_found"}});
    assert_eq!(reply.json(), json!({"type": "error", "error": error, "request_id": id}));
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn wrong_paths_and_methods_are_told_the_right_ones() {
    let stand = Stand::plain().await;
    for (path, right, base) in [
        ("/v1/v1/chat/completions", "http://gate.test/v1/chat/completions", "http://gate.test/v1,"),
        ("/chat/completions", "http://gate.test/v1/chat/completions", "http://gate.test/v1,"),
        ("/messages", "http://gate.test/v1/messages", "http://gate.test (request id"),
        ("/v1/v1/messages", "http://gate.test/v1/messages", "http://gate.test (request id"),
        ("/images/generations", "http://gate.test/v1/images/generations", "http://gate.test/v1,"),
    ] {
        let reply = ask(&stand, stand.post(path, "{}")).await;
        assert_eq!(reply.status, 404);
        assert!(reply.message().contains(&format!("the base URL is {base}")), "{reply:?}");
        assert!(reply.message().contains(right), "{reply:?}");
    }
    let reply = ask(&stand, stand.get("/v1/images/generations", "")).await;
    assert_eq!((reply.status, reply.header("allow")), (405, Some("POST, OPTIONS")));
}

#[tokio::test]
async fn links_need_their_signature_and_no_key() {
    let stand = Stand::plain().await;
    let get = async |target: &str, lines: &str| {
        ask(&stand, format!("GET /v1/media/{target} HTTP/1.1\r\nHost: a\r\n{lines}\r\n")).await
    };
    let good = "m_1.png?expires=9&signature=good";
    let reply = get(good, "").await;
    assert_eq!((reply.status, reply.body.as_str()), (200, "0123456789"));
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "10"),
        ("accept-ranges", "bytes"),
        ("etag", "\"m_1.png\""),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "inline; filename=\"m_1.png\""),
        ("cache-control", "private, max-age=86400, immutable"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    let reply = get(good, "Range: bytes=2-4\r\n").await;
    assert_eq!((reply.status, reply.body.as_str()), (206, "234"));
    assert_eq!(reply.header("content-range"), Some("bytes 2-4/10"));
    assert_eq!(get(good, "Range: bytes=0-\r\n").await.header("content-range"), Some("bytes 0-9/10"));
    assert_eq!(get(good, "Range: bytes=0-1,4-5\r\n").await.status, 200);
    assert_eq!(get(good, "Range: bytes=2-4\r\nIf-Range: \"other\"\r\n").await.status, 200);
    assert_eq!(get(good, "Range: bytes=2-4\r\nIf-Range: \"m_1.png\"\r\n").await.status, 206);
    let reply = get(good, "Range: bytes=99-\r\n").await;
    assert_eq!((reply.status, reply.header("content-range")), (416, Some("bytes */10")));
    let reply = get(good, "If-None-Match: \"x\", W/\"m_1.png\"\r\n").await;
    assert_eq!((reply.status, reply.header("content-length")), (304, None));
    for (target, status) in [
        ("m_1.png?expires=9&signature=bad", 404),
        ("m_1.png?expires=9", 404),
        ("m_1.png", 404),
        ("m_1.png?expires=1&signature=good", 403),
        ("broken?expires=9&signature=good", 500),
    ] {
        assert_eq!(get(target, "").await.status, status, "{target}");
    }
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    let models = stand.get("/v1/models", "");
    let length = client.ask(&models).await.body.len().to_string();
    for (request, status, length) in [
        (models.replacen("GET", "HEAD", 1), 200, length.as_str()),
        ("HEAD /v1/media/m_1.png?expires=9&signature=good HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 200, "10"),
    ] {
        client.send(request).await;
        let reply = client.read_head().await.unwrap();
        assert_eq!((reply.status, reply.header("content-length")), (status, Some(length)));
    }
    assert_eq!(client.ask(models).await.status, 200);
}

#[tokio::test]
async fn health_needs_no_key() {
    let stand = Stand::plain().await;
    for (path, ready, status) in
        [("/livez", true, 200), ("/readyz", true, 200), ("/livez", false, 200), ("/readyz", false, 503)]
    {
        stand.house.ready.store(ready, Ordering::SeqCst);
        let reply = ask(&stand, format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        assert_eq!(reply.status, status, "{path} {ready}");
    }
}

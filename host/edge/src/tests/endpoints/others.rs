//! Models, token counting, media links and health.

use std::sync::atomic::Ordering;

use gatehouse_driver::ServedRoute;
use gatehouse_model::{RouteInfo, specified_routes};
use serde_json::{Value, json};

use crate::tests::support::samples::served;
use crate::tests::{TestEdge, secs};

#[tokio::test]
async fn models_are_listed_the_way_openai_clients_read_them() {
    let edge = TestEdge::plain().await;
    let (created, family) = (1_700_000_000, "context-image");
    let model = |id: &str, modality: &str| {
        with_facts(
            json!({"id": id, "object": "model", "created": created, "owned_by": family, "kind": "image",
            "modality": modality}),
        )
    };
    let all = [model("ctx-pro", "image"), model("odd:name", "hologram"), model("film", "image")];
    assert_eq!(edge.read("/v1/models").await.json(), json!({"object": "list", "data": all}));
    for path in ["/v1/models/odd:name", "/v1/models/odd%3Aname"] {
        assert_eq!(edge.read(path).await.json(), model("odd:name", "hologram"));
    }
    // Each client reads why in its own envelope.
    assert_eq!(edge.read("/v1/models/none").await.refusal("code"), (404, json!("model_not_found")));
    let reply = edge.ask(edge.get("/v1/models/none", "anthropic-version: 2023-06-01\r\n")).await;
    assert_eq!((reply.status, &reply.json()["type"]), (404, &json!("error")));
}

/// What both shapes say of a model.
fn with_facts(mut model: Value) -> Value {
    let price = json!({"price_key": model["id"], "unit": "unit", "unit_price": 1.5});
    let facts = json!({"surfaces": ["images.generate"], "context_length": 200_000, "max_output_tokens": 64_000,
        "input_modalities": ["text", "image"], "output_modalities": ["image"], "prices": [price]});
    model.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    model
}

#[tokio::test]
async fn models_are_listed_in_pages_for_anthropics_clients() {
    let edge = TestEdge::plain().await;
    let model = |id: &str| {
        let modality = if id == "odd:name" { "hologram" } else { "image" };
        with_facts(
            json!({"type": "model", "id": id, "display_name": id, "created_at": "2023-11-14T22:13:20.999Z",
            "kind": "image", "modality": modality, "max_input_tokens": 200_000, "max_tokens": 64_000}),
        )
    };
    let page = |ids: &[&str], more: bool| {
        let data: Vec<_> = ids.iter().map(|id| model(id)).collect();
        json!({"data": data, "has_more": more, "first_id": ids.first(), "last_id": ids.last()})
    };
    let version = "anthropic-version: 2023-06-01\r\n";
    for (query, expected) in [
        ("", page(&["ctx-pro", "odd:name", "film"], false)),
        ("?limit=1", page(&["ctx-pro"], true)),
        ("?limit=1&after_id=ctx-pro", page(&["odd:name"], true)),
        ("?limit=2&after_id=ctx-pro", page(&["odd:name", "film"], false)),
        ("?after_id=film", page(&[], false)),
        ("?before_id=film", page(&["ctx-pro", "odd:name"], false)),
        ("?limit=1&before_id=film", page(&["odd:name"], true)),
        ("?limit=1&before_id=odd:name", page(&["ctx-pro"], false)),
        ("?limit=1&after_id=ctx-pro&before_id=film", page(&["odd:name"], false)),
        ("?before_id=ctx-pro&after_id=film", page(&[], false)),
    ] {
        let reply = edge.ask(edge.get(&format!("/v1/models{query}"), version)).await;
        assert_eq!(reply.json(), expected, "{query}");
    }
    let reply = edge.ask(edge.get("/v1/models?limit=0", version)).await;
    assert_eq!(reply.refusal("param"), (400, json!("limit")));
    assert_eq!(edge.ask(edge.get("/v1/models/ctx-pro", version)).await.json(), model("ctx-pro"));
}

#[tokio::test]
async fn tokens_are_not_counted() {
    let edge = TestEdge::plain().await;
    let reply = edge.call("/v1/messages/count_tokens", "{}").await;
    let id = reply.header("request-id");
    let message = format!("counting tokens is not offered here (request id: {id})");
    let error = json!({"type": "gateway_error", "code": "not_found", "message": message,
        "details": {"error_code": "not_found"}});
    assert_eq!(reply.json(), json!({"type": "error", "error": error, "request_id": id}));
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn links_need_their_signature_and_no_key() {
    let edge = TestEdge::plain().await;
    let get = async |target: &str, lines: &str| {
        edge.ask(format!("GET /v1/media/{target} HTTP/1.1\r\nHost: a\r\n{lines}\r\n")).await
    };
    // A minute after the clock of these tests.
    let good = "m_1.png?expires=1800000060&signature=good";
    let reply = get(good, "").await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "0123456789"));
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "10"),
        ("accept-ranges", "bytes"),
        ("etag", "\"m_1.png\""),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox"),
        ("content-disposition", "inline; filename=\"m_1.png\""),
        ("cache-control", "private, max-age=60, immutable"),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
    let reply = get(good, "Range: bytes=2-4\r\n").await;
    assert_eq!((reply.status, reply.text().as_str()), (206, "234"));
    assert_eq!(reply.header("content-range"), "bytes 2-4/10");
    assert_eq!(get(good, "Range: bytes=0-\r\n").await.header("content-range"), "bytes 0-9/10");
    assert_eq!(get(good, "Range: bytes=0-1,4-5\r\n").await.status, 200);
    assert_eq!(get(good, "Range: bytes=2-4\r\nIf-Range: \"other\"\r\n").await.status, 200);
    assert_eq!(get(good, "Range: bytes=2-4\r\nIf-Range: \"m_1.png\"\r\n").await.status, 206);
    let reply = get(good, "Range: bytes=99-\r\n").await;
    assert_eq!((reply.status, reply.header("content-range")), (416, "bytes */10"));
    let reply = get(good, "If-None-Match: \"x\", W/\"m_1.png\"\r\n").await;
    assert_eq!((reply.status, reply.header("content-length")), (304, ""));
    assert_eq!(reply.header("content-security-policy"), "sandbox");
    assert_eq!(reply.header("cache-control"), "private, max-age=60, immutable");
    edge.clock.advance(secs(59));
    assert_eq!(get(good, "").await.header("cache-control"), "private, max-age=1, immutable");
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

/// While families start the process lives, and a balancer and its operator read what it waits for.
#[tokio::test]
async fn families_that_start_are_named() {
    let edge = TestEdge::plain().await;
    edge.backend.starting.lock().unwrap().extend(["chat".to_owned(), "clip".to_owned()]);
    let health = async |path: &str| edge.ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
    assert_eq!(health("/livez").await.status, 200);
    let reply = health("/readyz").await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, "5"));
    assert_eq!(reply.message(), "the gateway is starting, and these families are not ready: chat, clip");
    edge.backend.starting.lock().unwrap().clear();
    assert_eq!(health("/readyz").await.status, 200);
}

#[tokio::test]
async fn health_needs_no_key() {
    let edge = TestEdge::plain().await;
    for (path, ready, status) in
        [("/livez", true, 200), ("/readyz", true, 200), ("/livez", false, 200), ("/readyz", false, 503)]
    {
        edge.backend.ready.store(ready, Ordering::SeqCst);
        let reply = edge.ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        assert_eq!(reply.status, status, "{path} {ready}");
    }
}

/// Without it a request would wait for a family that is off, or be told that a path is unknown which is about to be served.
#[tokio::test]
async fn paths_of_families_that_do_not_serve_say_why() {
    let edge = TestEdge::plain().await;
    let off = |path: &str, family: &str| ServedRoute {
        family: family.to_owned(),
        is_off: true,
        ..served(&RouteInfo { path: path.to_owned(), ..specified_routes()[0].clone() })
    };
    *edge.backend.routes.lock().unwrap() =
        [off("/v1/speech/create", "speech"), off("/v1/secret/create", "hidden")].into();
    for (path, status, message) in [
        (
            "/v1/speech/create",
            503,
            "/v1/speech/create is not served at present: the operator has switched it off",
        ),
        ("/v1/secret/create", 404, "unknown path \"/v1/secret/create\""),
        ("/v1/images/generations", 404, "unknown path \"/v1/images/generations\""),
    ] {
        let reply = edge.call(path, "{}").await;
        assert_eq!((reply.status, reply.message().as_str()), (status, message), "{path}");
    }
    // What an operator has switched off is nothing for those who have no key.
    let nameless = "POST /v1/speech/create HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(edge.ask(nameless).await.status, 401);
    *edge.backend.starting.lock().unwrap() = vec!["speech".to_owned()];
    assert_eq!(edge.call("/v1/images/generations", "{}").await.refusal("reason"), (503, json!("restarting")));
    let reply = edge.call("/v1/responses/compact", "{}").await;
    assert_eq!(reply.status, 404, "clients do without it");
}

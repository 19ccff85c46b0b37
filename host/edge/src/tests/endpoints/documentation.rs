//! The document and the page: who gets what, versions of the bodies, and the headers of the page.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

use gatehouse_model::{RequestId, UnixMs};
use serde_json::json;

use crate::errors::{Form, Refusal};
use crate::tests::TestEdge;
use crate::tests::http::errors::EVERY;

/// A request without a key.
fn open(path: &str, lines: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: gate.test\r\n{lines}\r\n")
}

#[tokio::test]
async fn the_document_is_the_present_one_and_asked_for_again_each_time() {
    let edge = TestEdge::plain().await;
    let first = edge.ask(open("/v1/openapi.json", "")).await;
    assert_eq!((first.status, first.header("content-type")), (200, "application/json"));
    assert_eq!((first.header("cache-control"), first.header("vary")), ("no-cache", "authorization"));
    let document = first.json();
    assert_eq!(document["x-gatehouse-plugins"][0]["version"], "1.0.1");
    assert!(document["paths"]["/v1/images/generations"]["post"].is_object());
    assert!(document["paths"]["/v1/videos/{task_id}/remix"].is_null(), "no family serves it");
    let etag = first.header("etag").to_owned();
    let again = edge.ask(open("/v1/openapi.json", &format!("If-None-Match: {etag}\r\n"))).await;
    assert_eq!((again.status, again.header("etag"), again.body.len()), (304, etag.as_str(), 0));
    edge.backend.version.store(2, Ordering::SeqCst);
    let other = edge.ask(open("/v1/openapi.json", &format!("If-None-Match: {etag}\r\n"))).await;
    assert_eq!((other.status, &other.json()["x-gatehouse-plugins"][0]["version"]), (200, &json!("1.0.2")));
    assert_ne!(other.header("etag"), etag);
}

#[tokio::test]
async fn a_key_sees_its_own_models_and_a_wrong_one_nothing() {
    let edge = TestEdge::plain().await;
    let models = async |request: String| {
        let document = edge.ask(request).await.json();
        document["components"]["schemas"]["context-image.images.generate"]["properties"]["model"]["enum"]
            .clone()
    };
    let all = json!(["ctx-max", "ctx-pro"]);
    assert_eq!(models(open("/v1/openapi.json", "")).await, all);
    assert_eq!(models(edge.get("/v1/openapi.json", "")).await, all);
    edge.backend.change_key(|key| key.models = vec!["ctx-pro".to_owned()]);
    assert_eq!(models(edge.get("/v1/openapi.json", "")).await, json!(["ctx-pro"]));
    let wrong = edge.ask(open("/v1/openapi.json", "Authorization: Bearer sk-none\r\n")).await;
    assert_eq!(wrong.status, 401);
}

#[tokio::test]
async fn every_operation_lists_every_status_and_has_its_own_id() {
    let edge = TestEdge::plain().await;
    let document = edge.ask(open("/v1/openapi.json", "")).await.json();
    let mut ids = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            ids.push(operation["operationId"].as_str().unwrap().to_owned());
            for row in crate::error_table() {
                let listed = operation["responses"][row.status.to_string()]["$ref"].is_string();
                assert!(listed, "{method} {path}: {}", row.status);
            }
        }
    }
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count);
    for id in ["tasks.read", "tasks.events", "images.generate", "openapi", "models.list", "media.read"] {
        assert!(ids.iter().any(|own| own == id), "{id} in {ids:?}");
    }
}

/// Were the document's statuses not those of answers, it would have a 502 of responses where a client gets a 403.
#[tokio::test]
async fn every_error_is_documented_under_the_status_of_its_answer() {
    let edge = TestEdge::plain().await;
    let document = edge.ask(open("/v1/openapi.json", "")).await.json();
    for path in ["/v1/tasks", "/v1/responses/{id}"] {
        let form = Form::of(path);
        let mut answered: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for kind in EVERY {
            let refusal = Refusal::new(kind, "why");
            let reason = refusal.parts().0.reason;
            let response = refusal.into_response(form, RequestId::from_bits(1), UnixMs(0));
            answered.entry(response.status().as_str().to_owned()).or_default().insert(reason);
        }
        for (status, reasons) in answered {
            let reference = document["paths"][path]["get"]["responses"][&status]["$ref"].as_str().unwrap();
            let described = document.pointer(reference.trim_start_matches('#')).unwrap();
            let described = described["description"].as_str().unwrap().split('.').next().unwrap();
            assert_eq!(described.split(", ").collect::<BTreeSet<_>>(), reasons, "{path} {status}");
        }
    }
}

#[tokio::test]
async fn the_page_is_strict_and_complete() {
    let edge = TestEdge::plain().await;
    let page = edge.ask(open("/docs", "")).await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").starts_with("default-src 'none'; script-src 'self';"));
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    for (name, value) in [
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(page.header(name), value);
    }
    let html = page.text();
    for part in [
        "/docs/style.css",
        "curl &quot;http://gate.test/v1/images/generations&quot;",
        "requests.post(",
        "await fetch(",
        "context-image",
        "<code>prompt</code>",
        "insufficient_balance, quota_exceeded",
    ] {
        assert!(html.contains(part), "{part}");
    }
    for part in ["<script", "style=\"", " onclick", "=\"https://", "\u{0}"] {
        assert!(!html.contains(part), "{part}");
    }
    let again = edge.ask(open("/docs", &format!("If-None-Match: {}\r\n", page.header("etag")))).await;
    assert_eq!(again.status, 304);
    let style = edge.ask(open("/docs/style.css", "")).await;
    assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(style.text().contains("light-dark("));
}

/// A client names the address that the page shows; without this each name would be another rendered page.
#[tokio::test]
async fn the_page_shows_each_address_and_is_kept_once() {
    let edge = TestEdge::plain().await;
    let page = async |host: &str| edge.ask(format!("GET /docs HTTP/1.1\r\nHost: {host}\r\n\r\n")).await;
    let (one, other) = (page("one.test").await, page("other.test").await);
    assert_ne!(one.header("etag"), other.header("etag"));
    assert!(one.text().contains("curl &quot;http://one.test/v1/images/generations&quot;"));
    assert_eq!(one.text().replace("http://one.test", "http://other.test"), other.text());
    assert_eq!(one.header("content-length"), one.body.len().to_string());
}

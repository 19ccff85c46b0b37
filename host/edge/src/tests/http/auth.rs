//! API keys: where they are read from, why they are refused, how long they are cached.

use std::sync::atomic::Ordering;

use gatehouse_harness::TestSeed;
use gatehouse_model::{ApiKey, UnixMs};

use crate::tests::{TestEdge, secs};

async fn status(edge: &TestEdge, path: &str, lines: &str) -> (u16, String) {
    let reply = edge.ask(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{lines}\r\n")).await;
    let message = if reply.status == 200 { String::new() } else { reply.message() };
    (reply.status, message)
}

#[tokio::test]
async fn a_key_is_a_bearer_token() {
    let edge = TestEdge::plain().await;
    let key = &edge.key;
    let other = ApiKey::mint(&TestSeed::counting_from(77));
    for (line, expected, expected_message) in [
        (format!("Authorization: Bearer {key}\r\n"), 200, ""),
        (format!("authorization: bearer  {key} \r\n"), 200, ""),
        (String::new(), 401, "missing API key"),
        (format!("Authorization: {key}\r\n"), 401, "expected \"Bearer"),
        ("Authorization: Basic YTpi\r\n".to_owned(), 401, "expected \"Bearer"),
        ("Authorization: Bearer \r\n".to_owned(), 401, "expected \"Bearer"),
        ("Authorization: Bearer sk-nonsense\r\n".to_owned(), 401, "invalid API key"),
        (format!("Authorization: Bearer {}\r\n", other.reveal()), 401, "invalid API key"),
        (format!("x-api-key: {key}\r\n"), 401, "missing API key"),
    ] {
        let (status, message) = status(&edge, "/v1/tasks", &line).await;
        assert!(status == expected && message.contains(expected_message), "{line:?}: {status} {message}");
        assert!(!message.contains(key.as_str()) && !message.contains("sk-nonsense"), "{message}");
    }
}

#[tokio::test]
async fn the_messages_endpoint_takes_either_header() {
    let edge = TestEdge::plain().await;
    let key = &edge.key;
    for (lines, expected) in [
        (format!("x-api-key: {key}\r\n"), 200),
        (format!("Authorization: Bearer {key}\r\n"), 200),
        (format!("Authorization: Bearer sk-other\r\nx-api-key: {key}\r\n"), 200),
        (format!("Authorization: Bearer {key}\r\nx-api-key: sk-other\r\n"), 200),
        (format!("Authorization: Basic YTpi\r\nx-api-key: {key}\r\n"), 200),
        ("x-api-key: sk-other\r\n".to_owned(), 401),
        (String::new(), 401),
    ] {
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nHost: a\r\n{lines}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
        );
        let reply = edge.ask(head).await;
        assert_eq!(reply.status, expected, "{lines}");
        if expected == 401 {
            assert_eq!(reply.json()["error"]["code"], "authentication_error");
        }
    }
}

/// Anthropic's clients send the same header to every endpoint.
#[tokio::test]
async fn the_models_are_listed_for_either_header() {
    let edge = TestEdge::plain().await;
    let key = &edge.key;
    for (line, expected) in [
        (format!("x-api-key: {key}\r\n"), 200),
        (format!("Authorization: Bearer {key}\r\n"), 200),
        (format!("x-api-key: sk-other\r\nAuthorization: Bearer {key}\r\n"), 200),
        ("x-api-key: sk-other\r\n".to_owned(), 401),
    ] {
        assert_eq!(status(&edge, "/v1/models", &line).await.0, expected, "{line:?}");
    }
}

#[tokio::test]
async fn keys_are_cached_until_any_key_changes() {
    let edge = TestEdge::plain().await;
    let good = format!("Authorization: Bearer {}\r\n", edge.key);
    let bad = format!("Authorization: Bearer {}\r\n", ApiKey::mint(&TestSeed::counting_from(77)).reveal());
    for _ in 0..3 {
        assert_eq!(status(&edge, "/v1/models", &good).await.0, 200);
        assert_eq!(status(&edge, "/v1/models", &bad).await.0, 401);
        assert_eq!(status(&edge, "/v1/models", "Authorization: Bearer sk-x\r\n").await.0, 401);
    }
    assert_eq!(edge.backend.look_ups.load(Ordering::SeqCst), 2);
    edge.backend.change_key(|key| key.revoked = Some(UnixMs(1)));
    let (status, message) = status(&edge, "/v1/models", &good).await;
    assert_eq!((status, message.as_str()), (401, "this API key has been revoked"));
}

#[tokio::test]
async fn an_expired_key_is_refused() {
    let edge = TestEdge::plain().await;
    let line = format!("Authorization: Bearer {}\r\n", edge.key);
    edge.backend.change_key(|key| key.expires = Some(UnixMs(1_800_000_001_000)));
    assert_eq!(status(&edge, "/v1/models", &line).await.0, 200);
    edge.clock.advance(secs(1));
    let (status, message) = status(&edge, "/v1/models", &line).await;
    assert_eq!((status, message.as_str()), (401, "this API key has expired"));
}

#[tokio::test]
async fn forwarded_addresses_count_behind_trusted_proxies_only() {
    for (trusted, forwarded, expected) in [
        ("[]", "", 403),
        ("[]", "X-Forwarded-For: 198.51.100.7\r\n", 403),
        ("[\"127.0.0.0/8\"]", "", 403),
        ("[\"127.0.0.0/8\"]", "X-Forwarded-For: 198.51.100.7\r\n", 200),
        ("[\"127.0.0.0/8\"]", "X-Forwarded-For: 198.51.100.7, 203.0.113.1\r\n", 403),
        ("[\"127.0.0.0/8\"]", "X-Forwarded-For: 203.0.113.1, ::ffff:198.51.100.7\r\n", 200),
    ] {
        let edge = TestEdge::with(&format!("trusted_proxies = {trusted}")).await;
        edge.backend.change_key(|key| key.networks = vec!["198.51.100.0/24".parse().unwrap()]);
        let lines = format!("Authorization: Bearer {}\r\n{forwarded}", edge.key);
        assert_eq!(status(&edge, "/v1/models", &lines).await.0, expected, "{trusted} {forwarded}");
    }
}

#[tokio::test]
async fn a_store_error_is_a_500_without_details() {
    let edge = TestEdge::plain().await;
    edge.backend.broken.store(true, Ordering::SeqCst);
    let line = format!("Authorization: Bearer {}\r\n", edge.key);
    let (status, message) = status(&edge, "/v1/models", &line).await;
    assert_eq!(status, 500);
    assert!(!message.contains("fire"), "{message}");
}

//! What every response carries, and wrong paths and methods.

use crate::tests::TestEdge;

#[tokio::test]
async fn every_answer_carries_its_request_id_three_times() {
    let edge = TestEdge::plain().await;
    for request in [edge.get("/v1/models", ""), edge.get("/nowhere", ""), edge.post("/v1/messages", "{}")] {
        let reply = edge.ask(request).await;
        let id = reply.header("x-gateway-request-id");
        assert!(id.starts_with("req_"), "{reply:?}");
        assert_eq!((reply.header("x-request-id"), reply.header("request-id")), (id, id));
    }
}

#[tokio::test]
async fn wrong_paths_and_methods_are_told_the_right_ones() {
    let edge = TestEdge::plain().await;
    for (path, right, base) in [
        ("/v1/v1/chat/completions", "http://gate.test/v1/chat/completions", "http://gate.test/v1,"),
        ("/chat/completions", "http://gate.test/v1/chat/completions", "http://gate.test/v1,"),
        ("/messages", "http://gate.test/v1/messages", "http://gate.test (request id"),
        ("/v1/v1/messages", "http://gate.test/v1/messages", "http://gate.test (request id"),
        ("/images/generations", "http://gate.test/v1/images/generations", "http://gate.test/v1,"),
    ] {
        let reply = edge.call(path, "{}").await;
        assert_eq!(reply.status, 404);
        assert!(reply.message().contains(&format!("the base URL is {base}")), "{reply:?}");
        assert!(reply.message().contains(right), "{reply:?}");
    }
    let reply = edge.read("/v1/images/generations").await;
    assert_eq!((reply.status, reply.header("allow")), (405, "POST, OPTIONS"));
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let edge = TestEdge::plain().await;
    let mut client = edge.connect().await;
    let models = edge.get("/v1/models", "");
    let length = client.ask(&models).await.body.len().to_string();
    for (request, status, length) in [
        (models.replacen("GET", "HEAD", 1), 200, length.as_str()),
        ("HEAD /v1/media/m_1.png?expires=9&signature=good HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(), 200, "10"),
    ] {
        client.send(request).await;
        let reply = client.read_head().await.unwrap();
        assert_eq!((reply.status, reply.header("content-length")), (status, length));
    }
    assert_eq!(client.ask(models).await.status, 200);
}

/// Browsers are told to use TLS where they used it, and nowhere else: an answer over plain HTTP must not shut those out that
/// have no other way.
#[tokio::test]
async fn browsers_are_told_to_use_tls_on_answers_over_tls() {
    const HSTS: &str = "strict-transport-security";
    let proxied = "trusted_proxies = [\"127.0.0.0/8\"]\nhsts_seconds = 300";
    for (settings, forwarded, expected) in [
        ("hsts_seconds = 300", "", ""),
        ("hsts_seconds = 300", "X-Forwarded-Proto: https\r\n", ""),
        ("hsts_seconds = 300\npublic_url = \"https://gate.test\"", "", ""),
        (proxied, "X-Forwarded-Proto: https\r\n", "max-age=300"),
        (proxied, "X-Forwarded-Proto: http\r\n", ""),
        (proxied, "", ""),
        ("trusted_proxies = [\"127.0.0.0/8\"]", "X-Forwarded-Proto: https\r\n", ""),
    ] {
        let edge = TestEdge::with(settings).await;
        for path in ["/v1/models", "/docs", "/nowhere"] {
            let reply = edge.ask(edge.get(path, forwarded)).await;
            assert_eq!(reply.header(HSTS), expected, "{settings} {forwarded} {path}");
        }
    }
    for (settings, expected) in [("hsts_seconds = 300", "max-age=300"), ("", "")] {
        let [_, secure] = TestEdge::both(settings).await;
        let reply = secure.client().await.ask(secure.get("/nowhere", "")).await;
        assert_eq!(reply.header(HSTS), expected, "{settings}");
    }
}

/// Without it no page can use the API, and with too much of it every page could.
#[tokio::test]
async fn pages_of_configured_origins_may_call_and_read_answers() {
    let edge = TestEdge::with("cors = { origins = [\"https://app.test\"] }").await;
    let preflight = |path: &str, origin: &str| {
        format!(
            "OPTIONS {path} HTTP/1.1\r\nHost: gate.test\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,content-type\r\n\r\n"
        )
    };
    let told =
        ["access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers"];
    let (own, names) = ("https://app.test", "authorization,content-type");
    for (path, origin, expected) in [
        ("/v1/chat/completions", own, [own, "POST, OPTIONS", names]),
        ("/v1/tasks/task_1", own, [own, "GET, HEAD, OPTIONS", names]),
        ("/v1/chat/completions", "https://other.test", ["", "", ""]),
    ] {
        let reply = edge.ask(preflight(path, origin)).await;
        assert_eq!(reply.status, 204, "{path}");
        assert_eq!(told.map(|name| reply.header(name).to_owned()), expected, "{path} {origin}");
    }
    // Errors, too: a page could not read why its request was refused.
    for request in [
        edge.get("/v1/models", "Origin: https://app.test\r\n"),
        edge.get("/v1/nothing", "Origin: https://app.test\r\n"),
    ] {
        let reply = edge.ask(request).await;
        assert_eq!((reply.header(told[0]), reply.header("vary")), ("https://app.test", "origin"));
        assert!(reply.header("access-control-expose-headers").contains("x-request-id"), "{reply:?}");
    }
    let reply = TestEdge::plain().await.ask(preflight("/v1/models", "https://app.test")).await;
    assert_eq!((reply.status, reply.header(told[0]), reply.header("vary")), (204, "", ""));
}

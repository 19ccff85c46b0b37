//! HTTP/1.1 as hostile or careless clients speak it: raw bytes in, the status (or a silent close) out.

use crate::tests::Stand;

const LIVE: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

/// Sends `bytes`, expects `status` (0: closed without an answer), and whether the connection lives on.
async fn check(bytes: &str, status: u16, lives: bool) {
    let stand = Stand::with("limits = { body_mib = 1 }").await;
    let mut client = stand.connect().await;
    client.send(bytes.replace("KEY", &stand.key)).await;
    let reply = client.read().await;
    assert_eq!(reply.as_ref().map_or(0, |reply| reply.status), status, "{bytes:?}: {reply:?}");
    if lives {
        assert_eq!(client.ask(LIVE).await.status, 200, "{bytes:?}: the connection should live");
    } else {
        assert!(client.closes().await, "{bytes:?}: the connection should close");
    }
}

#[tokio::test]
async fn plain_requests() {
    check(LIVE, 200, true).await;
    check("\r\n\r\nGET /livez HTTP/1.1\r\nHost: a\r\n\r\n", 200, true).await;
    check("GET http://a/livez HTTP/1.1\r\nHost: a\r\n\r\n", 200, true).await;
    check("GET /livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200, false).await;
    check("GET /livez HTTP/1.0\r\nHost: a\r\n\r\n", 200, false).await;
    check("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 204, true).await;
    check("OPTIONS /v1/models HTTP/1.1\r\nHost: a\r\n\r\n", 204, true).await;
}

#[tokio::test]
async fn hosts_that_are_missing_or_ambiguous() {
    check("GET /livez HTTP/1.1\r\n\r\n", 400, true).await;
    check("GET /livez HTTP/1.0\r\n\r\n", 400, false).await;
    check("GET /livez HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, true).await;
    check("GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, true).await;
    check("GET /livez HTTP/1.1\r\nHost: a b\r\n\r\n", 400, true).await;
    check("GET /livez HTTP/1.1\r\nHost: user@a\r\n\r\n", 400, true).await;
    check("GET http://b/livez HTTP/1.1\r\nHost: a\r\n\r\n", 400, true).await;
}

#[tokio::test]
async fn lengths_that_contradict_each_other() {
    let both =
        "POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    check(both, 400, false).await;
    let other =
        "POST /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n";
    check(other, 400, false).await;
    let behind = format!("{LIVE}{both}");
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    assert_eq!(client.ask(&behind).await.status, 200);
    assert_eq!(client.read().await.unwrap().status, 400);
    assert!(client.closes().await);
    for lengths in [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length: 5, 6",
        "Content-Length: -1",
        "Content-Length: 5 5",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding: identity",
    ] {
        check(&format!("POST /livez HTTP/1.1\r\nHost: a\r\n{lengths}\r\n\r\nhello"), 400, false).await;
    }
    check("POST /livez HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, false).await;
}

#[tokio::test]
async fn heads_that_are_not_heads() {
    for head in [
        "GET /livez HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nx-a: b\r\n c\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nx-a: b\0c\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: a\r\nx-a: b\rc\r\n\r\n",
        "GET  /livez HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /livez HTTP/9.9\r\nHost: a\r\n\r\n",
        "hello\r\n\r\n",
    ] {
        check(head, 400, false).await;
    }
}

#[tokio::test]
async fn methods_that_are_not_offered() {
    check("TRACE /livez HTTP/1.1\r\nHost: a\r\n\r\n", 405, true).await;
    check("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 405, true).await;
    check("POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405, true).await;
    check("BREW /livez HTTP/1.1\r\nHost: a\r\n\r\n", 405, true).await;
}

#[tokio::test]
async fn heads_that_are_too_large() {
    let lines = |count: usize, length: usize| -> String {
        (0..count).map(|line| format!("x-{line}: {}\r\n", "v".repeat(length))).collect()
    };
    for (count, length, status, lives) in [
        (63, 1, 200, true),
        (64, 1, 431, true),
        (130, 1, 431, false),
        (1, 33_000, 431, true),
        (1, 300_000, 431, false),
    ] {
        let head = format!("GET /livez HTTP/1.1\r\nHost: a\r\n{}\r\n", lines(count, length));
        check(&head, status, lives).await;
    }
    let path = "p".repeat(33_000);
    check(&format!("GET /{path} HTTP/1.1\r\nHost: a\r\n\r\n"), 431, true).await;
}

const SUBMIT: &str = "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer KEY\r\n\
                      Content-Type: application/json\r\n";

#[tokio::test]
async fn bodies_that_are_broken_or_too_large() {
    check(&format!("{SUBMIT}Content-Length: 2\r\n\r\n{{}}"), 200, true).await;
    check(&format!("{SUBMIT}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"), 200, false).await;
    check(&format!("{SUBMIT}Transfer-Encoding: chunked\r\n\r\nxyz\r\n{{}}\r\n0\r\n\r\n"), 400, false).await;
    check(&format!("{SUBMIT}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}xx0\r\n\r\n"), 400, false).await;
    check(&format!("{SUBMIT}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"), 400, false).await;
    check(&format!("{SUBMIT}Content-Length: 1048577\r\n\r\n{{"), 413, false).await;
    let chunk = format!("80001\r\n{}\r\n", " ".repeat(0x80001));
    check(&format!("{SUBMIT}Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}0\r\n\r\n"), 413, false).await;
}

#[tokio::test]
async fn a_body_is_asked_for_only_when_it_is_wanted() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    let wanted = stand
        .post("/v1/images/generations", "")
        .replace("Content-Length: 0", "Content-Length: 2\r\nExpect: 100-continue");
    client.send(wanted).await;
    client.send("{}").await;
    assert_eq!(client.read().await.unwrap().status, 200);

    let mut client = stand.connect().await;
    let head = "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\n\
                Content-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let reply = client.ask(head).await;
    assert_eq!((reply.status, reply.header("connection")), (401, Some("close")));
    assert!(client.closes().await);
}

#[tokio::test]
async fn a_refused_request_does_not_cost_the_connection() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    let keyless = "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world";
    for (request, status) in [
        (keyless.to_owned(), 401),
        (stand.post("/nowhere", "{}"), 404),
        (stand.post("/v1/images/generations", "{"), 400),
        (stand.post("/v1/images/generations", "{}").replace("application/json", "text/plain"), 415),
        (stand.post("/v1/images/generations", "{}"), 200),
    ] {
        let reply = client.ask(&request).await;
        assert_eq!((reply.status, reply.header("connection")), (status, None), "{request}");
    }
}

#[tokio::test]
async fn a_large_refused_body_does_not_destroy_its_answer() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    let body = "x".repeat(600_000);
    let head =
        format!("POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    let reply = client.ask(head + &body).await;
    assert_eq!((reply.status, reply.header("connection")), (401, Some("close")));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let stand = Stand::plain().await;
    let mut client = stand.connect().await;
    let requests = [
        LIVE.to_owned(),
        stand.post("/v1/images/generations", "{}"),
        "GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        stand.post("/v1/images/generations", r#"{"refuse":"balance"}"#),
        LIVE.to_owned(),
    ];
    client.send(requests.concat()).await;
    for status in [200, 200, 404, 402, 200] {
        assert_eq!(client.read().await.unwrap().status, status);
    }
}

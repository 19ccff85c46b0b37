//! Requests that a family answers at once: their routes, bodies whole and in pieces, refusals, and the documentation.

use gatehouse_driver::ServedRoute;
use gatehouse_model::{FormTypes, RouteInfo, RouteMethod, RouteUse, specified_routes};
use serde_json::json;

use crate::tests::TestEdge;
use crate::tests::support::samples::served;

/// An edge whose family speaks.
async fn edge() -> TestEdge {
    edge_with("").await
}

async fn edge_with(config: &str) -> TestEdge {
    let edge = TestEdge::with(config).await;
    let speak = RouteInfo {
        path: "/v1/audio/speech".to_owned(),
        surface: "audio.speech".to_owned(),
        does: RouteUse::Answer,
        ..specified_routes()[0].clone()
    };
    let voices = RouteInfo {
        method: RouteMethod::Get,
        path: "/v1/voices".to_owned(),
        surface: "voices.list".to_owned(),
        does: RouteUse::Read,
        ..speak.clone()
    };
    let with_form = |route: RouteInfo| ServedRoute { form: Some(FormTypes::default()), ..served(&route) };
    *edge.backend.routes.lock().unwrap() = [speak, voices].map(with_form).into();
    edge
}

/// Without it a client would get a sound without its type, or wait for the whole of it.
#[tokio::test]
async fn an_answer_comes_whole_or_in_pieces_with_its_type() {
    let edge = edge().await;
    let whole = edge.call("/v1/audio/speech", r#"{"input":"a"}"#).await;
    assert_eq!(whole.status, 200);
    assert_eq!(whole.body, r#"audio.speech - {"input":"a"}"#);
    assert_eq!(whole.header("content-type"), "text/html");
    assert_eq!(whole.header("content-security-policy"), "sandbox", "it may be a page");
    assert_eq!(whole.header("cache-control"), "no-store");
    let pieces = edge.call("/v1/audio/speech", r#"{"pieces":2}"#).await;
    assert_eq!(pieces.status, 200);
    assert_eq!(pieces.body, "piece 0;piece 1;");
    assert_eq!(pieces.header("content-type"), "audio/mpeg");
}

/// Without it a client could send a file only inside of JSON.
#[tokio::test]
async fn a_form_is_taken_where_the_route_takes_one() {
    let edge = edge().await;
    let form = "--B\r\nContent-Disposition: form-data; name=\"input\"\r\n\r\na\r\n--B--\r\n";
    let sent =
        |path: &str| edge.post(path, form).replace("application/json", "multipart/form-data; boundary=B");
    let taken = edge.ask(sent("/v1/audio/speech")).await;
    assert_eq!(taken.body, r#"audio.speech - {"input":"a"}"#);
    let refused = edge.ask(sent("/v1/chat/completions")).await;
    assert_eq!(refused.status, 415);
    for other in ["text/plain", "multipart/form-data"] {
        let wrong = edge.ask(edge.post("/v1/audio/speech", "a").replace("application/json", other)).await;
        let expected =
            "Content-Type: expected application/json or multipart/form-data with its boundary, not";
        assert_eq!((wrong.status, wrong.message()), (415, format!("{expected} {other:?}")));
    }
}

/// Without it a form would take a third more memory than its request is counted for.
#[tokio::test]
async fn a_form_counts_as_the_json_that_it_stands_for() {
    let edge = edge_with("limits = { body_mib = 1 }").await;
    for (kib, status) in [(700, 200), (800, 413)] {
        let file = "a".repeat(kib << 10);
        let head = "Content-Disposition: form-data; name=\"file\"; filename=\"a\"";
        let form = format!("--B\r\n{head}\r\n\r\n{file}\r\n--B--\r\n");
        let sent = edge.post("/v1/audio/speech", &form);
        let sent = sent.replace("application/json", "multipart/form-data; boundary=B");
        let answer = edge.ask(sent).await;
        assert_eq!(answer.status, status, "{kib} KiB");
        if status == 413 {
            assert!(answer.message().contains("bytes as JSON"), "{}", answer.message());
        }
    }
}

/// Without it a family would get half of a query, or a client an old list without knowing.
#[tokio::test]
async fn a_surface_that_reads_gets_the_query_and_says_how_long_its_answer_holds() {
    let edge = edge().await;
    let found = edge.read("/v1/voices?language=de&name=a%20b").await;
    let body = r#"voices.list context-image {"language":"de","name":"a b"}"#;
    assert_eq!(found.status, 200);
    assert_eq!(found.body, body);
    assert_eq!(found.header("cache-control"), "private, max-age=60");
    let told = edge.read("/v1/voices?callback_url=https%3A%2F%2Fexample.com%2F").await;
    assert_eq!(told.refusal("param"), (400, json!("callback_url")), "nothing is made");
    assert_eq!(edge.read("/v1/voices?name=a&name=b").await.refusal("param"), (400, json!("name")));
}

/// Without it a route of a family's own would have other rules than a route of the gateway.
#[tokio::test]
async fn a_route_of_a_family_has_the_rules_of_every_route() {
    let edge = edge().await;
    let wrong = edge.read("/v1/audio/speech").await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, "POST, OPTIONS"));
    let long = edge.call("/v1/v1/audio/speech", "{}").await;
    assert!(long.status == 404 && long.message().contains("this endpoint is"), "{}", long.message());
    let priced = edge.call("/v1/audio/speech", r#"{"dry_run":true}"#).await;
    assert_eq!((priced.status, priced.json()["dry_run"].clone()), (200, json!(true)));
    for (word, status, reason) in
        [("balance", 402, "insufficient_balance"), ("model-limit", 403, "model_forbidden")]
    {
        let refused = edge.call("/v1/audio/speech", &format!(r#"{{"refuse":"{word}"}}"#)).await;
        assert_eq!(refused.refusal("reason"), (status, json!(reason)));
    }
    let no_key = edge.ask("GET /v1/voices HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(no_key.status, 401);
}

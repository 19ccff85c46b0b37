//! Who may do what: every route with no token, a wrong one, the viewer's and the operator's.

use http::Method;
use serde_json::json;

use super::{Api, error};
use crate::access::Role;
use crate::http::resources::routes;
use crate::http::route::Takes;

#[tokio::test]
async fn every_route_asks_for_its_role() {
    let api = Api::start().await;
    for route in routes() {
        let path = route.path.replace("{customer}", "nobody").replace("{", "none").replace('}', "");
        let method = route.method.as_str();
        let kind = match route.takes {
            Takes::File(_) => "application/octet-stream",
            _ => "application/json",
        };
        let ask = async |token: Option<&str>| {
            let mut headers = vec![("content-type", kind)];
            headers.extend(token.map(|token| ("authorization", token)));
            api.send(method, &path, &headers, "").await.status
        };
        // Whatever an operator gets here, it is no matter of the credential.
        let by_operator = ask(Some(&api.operator)).await;
        assert!(![401, 403, 405].contains(&by_operator), "{method} {path}: {by_operator}");
        let by_viewer = ask(Some(&api.viewer)).await;
        match route.role {
            Role::Operator => assert_eq!(by_viewer, 403, "{method} {path}"),
            Role::Viewer => assert_eq!(by_viewer, by_operator, "{method} {path}"),
        }
        assert!(route.role == Role::Operator || route.method == Method::GET, "{method} {path}");
    }
}

#[tokio::test]
async fn every_route_needs_a_token() {
    for route in routes() {
        // A listener for each: only ten failures are answered in a minute.
        let api = Api::start().await;
        let (method, path) = (route.method.as_str(), route.path);
        let none = api.send(method, path, &[], "").await;
        assert_eq!(error(&none), (401, "invalid_token".to_owned(), None), "{method} {path}");
        assert_eq!(none.header("www-authenticate"), "Bearer");
        let wrong = [("authorization", "Bearer wrong")];
        assert_eq!(api.send(method, path, &wrong, "").await.status, 401, "{method} {path}");
    }
}

#[tokio::test]
async fn guesses_are_limited_and_a_valid_token_always_works() {
    let api = Api::start().await;
    for number in 0..14 {
        let wrong = [("authorization", "Bearer wrong")];
        let answer = api.send("POST", "/keys", &wrong, "").await;
        let expected = if number < 10 { 401 } else { 429 };
        assert_eq!(answer.status, expected, "{number}");
        assert_eq!(answer.header("retry-after").is_empty(), number < 10, "{number}");
    }
    // Ten lines in the audit record, and not one for each guess.
    let lines = api.get("/audit?limit=100").await;
    assert_eq!(lines["data"].as_array().map(Vec::len), Some(10), "{lines}");
    assert_eq!(lines["data"][0]["request"]["status"], 401);
}

#[tokio::test]
async fn heads_are_checked_before_anything_is_done() {
    let api = Api::start().await;
    let operator = ("authorization", api.operator.as_str());
    let typed = ("content-type", "application/json");
    let keyed = ("idempotency-key", "k");
    for (method, path, headers, body, expected) in [
        ("GET", "/nothing", &[operator][..], "", (404, "unknown_path", None)),
        ("GET", "", &[operator], "", (404, "unknown_path", None)),
        ("GET", "/", &[operator], "", (404, "unknown_path", None)),
        ("GET", "/customers/", &[operator], "", (404, "unknown_path", None)),
        ("GET", "/customers/nobody", &[operator], "", (404, "not_found", None)),
        // Of a store in a file.
        ("GET", "/fleet", &[operator], "", (404, "not_found", None)),
        ("GET", "/customers/a%2Fb", &[operator], "", (404, "not_found", None)),
        ("DELETE", "/customers", &[operator], "", (405, "method_not_allowed", None)),
        ("GET", "/customers?custommer=a", &[operator], "", (400, "invalid_request", Some("custommer"))),
        ("GET", "/customers?limit=101", &[operator], "", (400, "invalid_request", Some("limit"))),
        ("GET", "/customers?cursor=xyz", &[operator], "", (400, "invalid_cursor", Some("cursor"))),
        ("GET", "/customers/%ff", &[operator], "", (400, "invalid_request", Some("the path"))),
        ("POST", "/customers", &[operator], "{}", (415, "unsupported_media_type", Some("content-type"))),
        ("POST", "/customers", &[operator, typed], "{", (400, "invalid_request", None)),
        ("POST", "/customers", &[operator, typed], r#"{"id":"a b"}"#, (400, "invalid_request", Some("id"))),
        ("POST", "/customers", &[operator, typed], r#"{"id":7}"#, (400, "invalid_request", Some("id"))),
        ("POST", "/customers", &[operator, typed], r#"{"id":"known"}"#, (409, "conflict", None)),
        (
            "POST",
            "/customers/known/deposits",
            &[operator, typed],
            r#"{"amount_micro":1}"#,
            (400, "idempotency_key_required", Some("idempotency-key")),
        ),
        (
            "POST",
            "/customers/known/deposits",
            &[operator, typed, keyed],
            r#"{"amount_micro":0}"#,
            (400, "invalid_request", Some("amount")),
        ),
        (
            "POST",
            "/customers/known/withdrawals",
            &[operator, typed, keyed],
            r#"{"amount_micro":1}"#,
            (409, "conflict", None),
        ),
        (
            "POST",
            "/customers/known/adjustments",
            &[operator, typed, keyed],
            r#"{"amount_micro":1,"reason":" "}"#,
            (400, "invalid_request", Some("reason")),
        ),
        (
            "POST",
            "/keys",
            &[operator, typed, keyed],
            r#"{"customer":"known","name":"n","networks":["10.0.0.0/8","x"]}"#,
            (400, "invalid_request", Some("networks[1]")),
        ),
        ("POST", "/keys/none/revoke", &[operator], "x", (400, "invalid_request", None)),
        ("POST", "/keys/none/revoke", &[operator], "", (404, "not_found", None)),
    ] {
        let answer = api.send(method, path, headers, body).await;
        let (status, reason, param) = expected;
        let expected = (status, reason.to_owned(), param.map(str::to_owned));
        assert_eq!(error(&answer), expected, "{method} {path} {body}: {}", answer.text());
        assert_eq!(answer.header("allow"), if status == 405 { "GET, HEAD, POST" } else { "" }, "{path}");
    }
    // A path of words is no object's.
    for (method, path) in [("DELETE", "/plugins/check"), ("GET", "/price-books/preview")] {
        let answer = api.send(method, path, &[operator], "").await;
        assert_eq!((answer.status, answer.header("allow")), (405, "POST"), "{method} {path}");
    }
    let known = api.get("/customers/known").await;
    assert_eq!((&known["available_micro"], &known["deposited_micro"]), (&json!(0), &json!(0)));
    let rebound = [("host", "rebound.example"), operator];
    assert_eq!(error(&api.send("GET", "/customers", &rebound, "").await).1, "unknown_host");
}

#[tokio::test]
async fn a_body_has_its_size() {
    let api = Api::start().await;
    let large = format!(r#"{{"id":"{}"}}"#, "x".repeat(1 << 20));
    let headers = [("authorization", api.operator.as_str()), ("content-type", "application/json")];
    assert_eq!(error(&api.send("POST", "/customers", &headers, &large).await).1, "request_too_large");
}

/// Without it the bytes of a component are read as JSON.
#[tokio::test]
async fn a_media_type_is_the_same_in_any_case() {
    let api = Api::start().await;
    let path = format!("/plugins?sha256={}", "0".repeat(64));
    for kind in ["application/octet-stream", "Application/Octet-Stream; x=y"] {
        let answer = api.ask("POST", &path, &[("content-type", kind)], "bytes").await;
        assert!(answer.text().contains("sha256 is "), "{kind}: {}", answer.text());
    }
}

//! Each row of the specification's error table that can occur on asynchronous endpoints, and what every
//! response has: ids in the headers, one envelope, correct hints about retrying.

use gatehouse_harness::{Response, run, send};
use serde_json::json;

use crate::api::{TestGateway, request};

const JSON: (&str, &str) = ("content-type", "application/json");

fn check(answer: &Response, status: u16, kind: &str, words: &[&str]) {
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (status, &json!(status)), "{error}");
    assert_eq!(error["type"], kind, "{error}");
    let message = error["message"].as_str().expect("a message");
    assert!(words.iter().all(|word| message.contains(word)), "{words:?} in {message}");
    let id = answer.header("x-gateway-request-id");
    assert!(id.starts_with("req_"), "{id}");
    assert_eq!((answer.header("x-request-id"), answer.header("request-id")), (id, id));
    if [401, 402, 403, 404, 405, 413, 415, 422].contains(&status) {
        assert_eq!(answer.header("x-should-retry"), "false");
    }
    if [429, 503].contains(&status) {
        let seconds: u32 = answer.header("retry-after").parse().expect("seconds");
        assert!((1..=60).contains(&seconds));
    }
}

#[test]
fn every_row_of_the_table() {
    run(async {
        let gateway = TestGateway::start().await;
        let (process, caller) = (&gateway.process, &gateway.caller);
        let bearer = caller.bearer();
        let auth = ("authorization", bearer.as_str());
        let images = "/v1/images/generations";
        let body = request(json!({})).to_string();
        let at = process.public;

        let (unknown, invalid, keyless) =
            ("not_found_error", "invalid_request_error", "authentication_error");
        let (keys, text) = (&[auth, JSON][..], ("content-type", "text/plain"));
        let wrong = |credential: &'static str| [("authorization", credential), JSON];
        let long = format!("{{\"model\":\"ctx-pro\",\"prompt\":\"{}\"}}", "x".repeat(33 << 20));
        #[rustfmt::skip]
        let rows = [
            ("POST", images, keys, "{\"model\":", 400, invalid, &["JSON", "line 1"][..]),
            ("POST", images, keys, "", 400, invalid, &[]),
            ("POST", images, &[JSON], &body, 401, keyless, &["Authorization"]),
            ("POST", images, &wrong("Bearer nonsense"), &body, 401, keyless, &[]),
            ("POST", images, &wrong("Basic abc"), &body, 401, keyless, &[]),
            ("POST", images, &wrong("Bearer "), &body, 401, keyless, &[]),
            ("POST", images, &wrong("Bearer sk-000000000000000000000000000000000000000000000000"), &body, 401, keyless, &[]),
            ("GET", "/v1/tasks/task_01ARZ3NDEKTSV4RRFFQ69G5FAV", &[auth], "", 404, unknown, &["task"]),
            ("GET", "/v1/tasks/nonsense", &[auth], "", 404, unknown, &[]),
            ("GET", "/v1/nowhere", &[auth], "", 404, unknown, &[]),
            ("POST", "/v1/v1/images/generations", keys, &body, 404, unknown, &["/v1"]),
            ("POST", "/images/generations", keys, &body, 404, unknown, &["/v1"]),
            ("POST", images, &[auth, text], &body, 415, invalid, &["application/json"]),
            ("POST", images, keys, &long, 413, invalid, &["32"]),
        ];
        for (method, path, headers, body, status, kind, words) in rows {
            check(&send(at, method, path, headers, body.to_owned()).await, status, kind, words);
        }
        let wrong_method = send(at, "GET", images, &[auth], "").await;
        check(&wrong_method, 405, "invalid_request_error", &[]);
        assert!(wrong_method.header("allow").split(", ").any(|method| method == "POST"));
        let good =
            send(at, "POST", images, &[auth, ("content-type", "application/json; charset=utf-8")], body)
                .await;
        assert_eq!(good.status, 200);
        assert!(good.header("x-gateway-request-id").starts_with("req_"));
    });
}

#[test]
fn the_messages_endpoint_has_its_own_envelope() {
    run(async {
        let gateway = TestGateway::start().await;
        let bearer = gateway.caller.bearer();
        let tokens = send(
            gateway.process.public,
            "POST",
            "/v1/messages/count_tokens",
            &[("authorization", &bearer), JSON],
            "{}",
        )
        .await;
        let keyless = send(gateway.process.public, "POST", "/v1/messages", &[JSON], "{}").await;
        for (answer, status, code) in [(tokens, 404, "not_found"), (keyless, 401, "authentication_error")] {
            let body = answer.json();
            assert_eq!(
                (answer.status, &body["type"], &body["error"]["type"]),
                (status, &json!("error"), &json!("gateway_error"))
            );
            assert_eq!(body["error"]["code"], code);
            assert_eq!(body["error"]["details"]["error_code"], code);
            let (id, message) =
                (answer.header("request-id"), body["error"]["message"].as_str().expect("a message"));
            assert!(message.ends_with(&format!("(request id: {id})")), "{message}");
            assert_eq!(body["request_id"], id);
        }
    });
}

#[test]
fn a_customer_without_credit_gets_a_402_and_no_task() {
    run(async {
        let gateway = TestGateway::start().await;
        let poor = gateway.process.open_account("poor", "5").await;
        let first = poor.post("/v1/images/generations", &request(json!({"prompt": "[[never-ready]]"}))).await;
        assert_eq!(first.status, 200, "{}", first.json());
        // 4 of 5 credits are held now.
        check(
            &poor.post("/v1/images/generations", &request(json!({}))).await,
            402,
            "payment_required",
            &["balance", "4", "1"],
        );
        let limited = gateway.process.make_key("acme", &["--quota", "7"]).await;
        gateway.submit(&request(json!({}))).await;
        assert_eq!(limited.post("/v1/images/generations", &request(json!({}))).await.status, 200);
        check(
            &limited.post("/v1/images/generations", &request(json!({}))).await,
            402,
            "payment_required",
            &["quota", "4", "3"],
        );
        assert_eq!(poor.get("/v1/tasks").await.json()["data"].as_array().map(Vec::len), Some(1));
        gateway.process.expect_sound_ledger().await;
    });
}

#[test]
fn an_idempotency_key_repeats_the_response_and_charges_once() {
    run(async {
        let gateway = TestGateway::start().await;
        let send = async |token: &str, body: serde_json::Value| {
            let headers = [("idempotency-key", token)];
            gateway.caller.post_with(&headers, "/v1/images/generations", &body).await
        };
        let first = send("one", request(json!({}))).await.json();
        let again = send("one", request(json!({}))).await.json();
        assert_eq!(first, again);
        check(
            &send("one", request(json!({"seed": 1}))).await,
            422,
            "invalid_request_error",
            &["Idempotency-Key"],
        );
        assert_ne!(first, send("two", request(json!({}))).await.json());
        check(
            &send(&"x".repeat(256), request(json!({}))).await,
            400,
            "invalid_request_error",
            &["Idempotency-Key", "255"],
        );
        let tasks = gateway.caller.get("/v1/tasks").await.json();
        assert_eq!(tasks["data"].as_array().map(Vec::len), Some(2));
    });
}

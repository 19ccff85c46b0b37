//! Numbers, names and depths in which readers of JSON differ: every endpoint that reads a body takes or refuses the same, in
//! its own envelope, and none is a fault.

use std::time::Duration;

use gatehouse_harness::run;
use serde_json::{Value, json};

use crate::public::Scene;

/// Where a body goes, a good one, a field of it that is a whole number of at least one, and such a number with an exponent.
struct Endpoint {
    path: &'static str,
    good: Value,
    whole: &'static str,
    exponent: &'static str,
}

fn endpoints() -> Vec<Endpoint> {
    let images = "/v1/images/generations";
    let videos = "/v1/videos/generations";
    let messages = json!([{"role": "user", "content": "hi"}]);
    let endpoint = |path, good, whole, exponent| Endpoint { path, good, whole, exponent };
    vec![
        endpoint(
            "/v1/chat/completions",
            json!({"model": "over-chat", "messages": messages}),
            "max_tokens",
            "1E2",
        ),
        endpoint(
            "/v1/chat/completions",
            json!({"model": "over-messages", "messages": messages}),
            "max_tokens",
            "1E2",
        ),
        endpoint(
            "/v1/messages",
            json!({"model": "over-messages", "messages": messages}),
            "max_tokens",
            "1E2",
        ),
        endpoint("/v1/messages", json!({"model": "over-chat", "messages": messages}), "max_tokens", "1e2"),
        endpoint("/v1/responses", json!({"model": "over-chat", "input": "hi"}), "max_output_tokens", "1E2"),
        endpoint(
            "/v1/responses",
            json!({"model": "over-messages", "input": "hi"}),
            "max_output_tokens",
            "1e+2",
        ),
        endpoint("/v1/embeddings", json!({"model": "over-vectors", "input": "hi"}), "dimensions", "1E2"),
        endpoint(images, json!({"model": "imagine-1.5-gw", "prompt": "a kite"}), "n", "2E0"),
        endpoint(videos, json!({"model": "motion-2.7", "prompt": "a kite"}), "duration", "5E0"),
        endpoint(videos, json!({"model": "motion-2.6", "prompt": "a kite"}), "duration", "5E0"),
        endpoint(videos, json!({"model": "clip-2.0", "prompt": "a kite"}), "duration", "50E-1"),
        endpoint(videos, json!({"model": "scene-3.1-fast-official", "prompt": "a kite"}), "duration", "8E0"),
    ]
}

/// A body with one more member, as text.
fn with(good: &Value, member: &str) -> String {
    format!("{{{member},{}", &good.to_string()[1..])
}

async fn asked(scene: &Scene, path: &str, body: &str) -> (u16, String) {
    let answer =
        scene.caller.send("POST", path, &[("content-type", "application/json")], body.to_owned()).await;
    (answer.status, answer.text())
}

/// Members that no endpoint reads, and the words of the refusal.
fn unreadable() -> Vec<(String, &'static str)> {
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    vec![
        (r#""x_note":1e400"#.to_owned(), "1e400"),
        (r#""x_note":[{"a":-1E999}]"#.to_owned(), "-1E999"),
        (format!(r#""x_note":1{}"#, "0".repeat(400)), "below 1.8e308"),
        (format!(r#""x_note":{deep}"#), "at most 100 arrays and objects"),
        (r#""\ud800":1"#.to_owned(), "half of one"),
        (r#""x_note":{"a\udc00":1}"#.to_owned(), "half of one"),
        (r#""x_note":[0,{"a":1,"\u0061":1}]"#.to_owned(), "x_note[1].a: expected one value"),
        (r#""metadata":{"a":"b","a":"c"}"#.to_owned(), "metadata.a: expected one value"),
        (r#""user":"a","user":"a""#.to_owned(), "user: expected one value"),
    ]
}

/// Without it the same body is an error of the client at one endpoint, nothing at another and a fault at a third.
#[test]
fn every_endpoint_reads_the_same_json() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let mut broken = Vec::new();
        for Endpoint { path, good, whole, exponent } in endpoints() {
            let huge = format!("1{}", "0".repeat(30));
            let mut rows: Vec<(String, u16, String)> =
                unreadable().into_iter().map(|(member, words)| (member, 400, words.to_owned())).collect();
            for wrong in [huge.as_str(), "-0", "-0.0", "18446744073709551616", "1E-2", "1e400"] {
                let words = if wrong == "1e400" { "1e400" } else { whole };
                rows.push((format!("\"{whole}\":{wrong}"), 400, words.to_owned()));
            }
            rows.push((format!("\"{whole}\":{exponent}"), 200, String::new()));
            rows.push((format!("\"{whole}\":{exponent},\"{whole}\":{exponent}"), 400, whole.to_owned()));
            rows.push((format!("\"{whole}\":{exponent},\"dry_run\":true"), 400, "dry_run".to_owned()));
            for (member, status, words) in rows {
                let needed =
                    if member.contains(whole) { String::new() } else { format!("\"{whole}\":{exponent},") };
                let body = with(&good, &format!("\"dry_run\":true,{needed}{member}"));
                let (came, said) = asked(&scene, path, &body).await;
                if came != status || !said.contains(&words) {
                    let body: String = body.chars().take(300).collect();
                    broken
                        .push(format!("  {path} {body}\n    expected {status} {words}, came {came} {said}"));
                }
            }
        }
        assert!(broken.is_empty(), "{} rows are broken:\n{}", broken.len(), broken.join("\n"));
    });
}

/// Without it a conversation whose model once wrote a name twice is refused at every later turn.
#[test]
fn what_a_model_wrote_into_a_call_may_have_a_name_twice() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        for model in ["over-messages", "over-chat"] {
            let input = r#"{"path":"a","path":"b"}"#;
            let body = format!(
                r#"{{"model":"{model}","max_tokens":9,"dry_run":true,"tools":[{{"name":"f","input_schema":{{"type":"object"}}}}],
                "messages":[{{"role":"user","content":"hi"}},
                {{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_1","name":"f","input":{input}}}]}},
                {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}}]}}]}}"#
            );
            let (status, said) = asked(&scene, "/v1/messages", &body).await;
            assert_eq!(status, 200, "{model}: {said}");
        }
    });
}

/// Without it an operator's tool gets another answer than a client for the same text, or a fault.
#[test]
fn the_admin_api_and_webhooks_read_it_so_too() {
    run(async {
        let scene = Scene::start(Duration::ZERO).await;
        let operator = scene.gateway.operator();
        let headers = [("content-type", "application/json"), ("idempotency-key", "once")];
        let good = json!({"customer": "acme"});
        for (member, words) in unreadable() {
            let body = with(&good, &member);
            let answer = operator.send("POST", "/admin/v1/keys", &headers, body.clone()).await;
            assert_eq!(answer.status, 400, "{body}: {}", answer.text());
            assert!(answer.text().contains(words), "{body}: {}", answer.text());
            let body = with(&json!({"url": "https://example.com/hook"}), &member);
            let (status, said) = asked(&scene, "/v1/webhooks", &body).await;
            assert!(status == 400 && said.contains(words), "{body}: {status} {said}");
        }
    });
}

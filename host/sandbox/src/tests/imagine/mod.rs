//! The provider of the imagine family.

mod calls;
mod faults;
mod files;
mod record;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::tests::client::{JSON, KEY, Response, TestSandbox, call, fetch};

const GENERATIONS: &str = "/v1/images/generations";
const EDITS: &str = "/v1/images/edits";

/// Posts JSON with the right key; the reply, if any came.
async fn try_post(test: &TestSandbox, path: &str, body: &Value) -> Option<Response> {
    let url = format!("{}{path}", test.sandbox.imagine().api);
    let bearer = format!("Bearer {KEY}");
    call("POST", &url, &[("authorization", &bearer), JSON], body.to_string()).await
}

async fn post(test: &TestSandbox, path: &str, body: &Value) -> Response {
    try_post(test, path, body).await.expect("a reply")
}

/// The answer to a call that is accepted.
async fn made(test: &TestSandbox, path: &str, body: &Value) -> Value {
    let reply = post(test, path, body).await;
    assert_eq!(reply.status, 200, "{body}: {}", reply.text());
    reply.json()
}

/// The links of an answer.
fn links(answer: &Value) -> Vec<String> {
    let items = answer["data"].as_array().expect("a list");
    items.iter().filter_map(|item| item["url"].as_str()).map(str::to_owned).collect()
}

/// A sample picture as a `data:` URI.
async fn data_uri(test: &TestSandbox, sample: &str) -> String {
    let file = fetch(&format!("{}/samples/{sample}", test.sandbox.context().samples)).await;
    format!("data:{};base64,{}", file.header("content-type"), STANDARD.encode(&file.body))
}

fn prompt(text: &str) -> Value {
    json!({"model": "grok-imagine-image", "prompt": text})
}

//! The simulated Ark.

mod control;
mod data;

use serde_json::{Value, json};

use crate::tests::client::{JSON, KEY, Response, TestSandbox, call};

const TASKS: &str = "/contents/generations/tasks";

/// A call of the data plane with the right key.
async fn data(test: &TestSandbox, method: &str, path: &str, body: &Value) -> Response {
    let url = format!("{}{TASKS}{path}", test.sandbox.ark().data);
    let bearer = format!("Bearer {KEY}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    call(method, &url, &[("authorization", &bearer), JSON], body).await.expect("a reply")
}

/// A creation that is accepted; its id.
async fn created(test: &TestSandbox, body: &Value) -> String {
    let reply = data(test, "POST", "", body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["id"].as_str().expect("an id").to_owned()
}

/// A creation with that content.
fn body(content: Value) -> Value {
    json!({"model": "doubao-seedance-2-0-260128", "content": content})
}

fn text(prompt: &str) -> Value {
    json!({"type": "text", "text": prompt})
}

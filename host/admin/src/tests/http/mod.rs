//! `/admin/v1` over real sockets and on a real store: who may do what, lists and cursors, repeated requests, the audit
//! record, and the document.

mod access;
mod audit;
mod document;
mod edits;
mod lists;
mod money;
mod repeats;
mod webhooks;

use gatehouse_harness::{Response, send};
use serde_json::{Value, json};

use super::support::{Listener, start};

/// A listener with the customer `known`, and its two tokens.
struct Api {
    listener: Listener,
    operator: String,
    viewer: String,
}

impl Api {
    async fn start() -> Self {
        let listener = start().await;
        let bearer = |token: &crate::Token| format!("Bearer {}", token.reveal());
        let (operator, viewer) = (bearer(&listener.endpoint.token), bearer(&listener.viewer));
        Self { listener, operator, viewer }
    }

    async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let path = format!("/admin/v1{path}");
        send(self.listener.endpoint.address, method, &path, headers, body.to_owned()).await
    }

    /// As the operator.
    async fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, &[("authorization", &self.operator)], "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// As the operator, with an idempotency key.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Response {
        let headers = [
            ("authorization", self.operator.as_str()),
            ("content-type", "application/json"),
            ("idempotency-key", key),
        ];
        self.send("POST", path, &headers, &body.to_string()).await
    }

    /// The report of an examination.
    async fn examined(&self) -> Value {
        let mut run = self.get("/doctor").await;
        while run["state"] == "running" {
            run = self.get(&format!("/doctor?run={}", run["run"])).await;
        }
        run["report"].take()
    }

    async fn customer(&self, id: &str, micro: i64) {
        assert_eq!(self.post("/customers", id, &json!({"id": id})).await.status, 201);
        if micro != 0 {
            let (path, body) = (format!("/customers/{id}/deposits"), json!({"amount_micro": micro}));
            assert_eq!(self.post(&path, id, &body).await.status, 201);
        }
    }
}

/// An error's status, reason and parameter; fails where it is not in the form of all errors.
fn error(answer: &Response) -> (u16, String, Option<String>) {
    let body = answer.json();
    let error = &body["error"];
    assert_eq!(error["code"], answer.status, "{body}");
    assert_eq!(error["request_id"], answer.header("x-request-id"), "{body}");
    for field in ["type", "reason", "message"] {
        assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {body}");
    }
    let text = |field: &str| error[field].as_str().map(str::to_owned);
    (answer.status, text("reason").expect("a reason"), text("param"))
}

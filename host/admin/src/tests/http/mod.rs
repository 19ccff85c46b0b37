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

    /// As the operator, with these headers beside.
    async fn ask(&self, method: &str, path: &str, more: &[(&str, &str)], body: &str) -> Response {
        let headers = [&[("authorization", self.operator.as_str())][..], more].concat();
        self.send(method, path, &headers, body).await
    }

    /// As the operator.
    async fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, &[], "").await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    /// As the operator, with an idempotency key.
    async fn post(&self, path: &str, key: &str, body: &Value) -> Response {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        self.ask("POST", path, &headers, &body.to_string()).await
    }

    /// The same without a body.
    async fn act(&self, path: &str, key: &str) -> Response {
        self.ask("POST", path, &[("idempotency-key", key)], "").await
    }

    /// As the operator, for an object of that tag.
    async fn patch(&self, path: &str, tag: Option<&str>, patch: &Value) -> Response {
        let mut headers = vec![("content-type", "application/merge-patch+json")];
        headers.extend(tag.map(|tag| ("if-match", tag)));
        self.ask("PATCH", path, &headers, &patch.to_string()).await
    }

    /// All rows of a list, in pages of `limit`, and the last page.
    async fn all(&self, path: &str, limit: usize) -> (Vec<Value>, Value) {
        let (mut rows, mut cursor) = (Vec::new(), String::new());
        loop {
            let join = if path.contains('?') { '&' } else { '?' };
            let page = self.get(&format!("{path}{join}limit={limit}{cursor}")).await;
            let data = page["data"].as_array().expect("rows");
            // The first and the last line of a statement are no rows.
            assert!(data.len() <= limit + 2 * usize::from(path.ends_with("/statement")), "{page}");
            rows.extend(data.iter().cloned());
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return (rows, page),
            }
        }
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

    /// Makes a key. Gives its id.
    async fn key(&self, customer: &str, name: &str) -> String {
        let answer = self.post("/keys", name, &json!({"customer": customer, "name": name})).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()["key"]["id"].as_str().expect("an id").to_owned()
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

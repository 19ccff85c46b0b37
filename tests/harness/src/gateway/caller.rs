//! A key or an admin token and the address it is used at, and bodies of its requests.

use std::net::SocketAddr;

use bytes::Bytes;
use serde_json::Value;

use crate::http::{Connection, Error, Response, send, try_send};

/// A client of a gateway, with its API key, or with a token of the admin API.
#[derive(Clone)]
pub struct Caller {
    pub(super) address: SocketAddr,
    pub(super) id: String,
    pub(super) secret: String,
}

impl Caller {
    /// The same key at a gateway that listens elsewhere now.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        Self { address, ..self.clone() }
    }

    /// The key's public part; empty for a token of the admin API.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The whole key.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// The `Authorization` header.
    #[must_use]
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.secret)
    }

    /// Sends a request with the key.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Response {
        let bearer = self.bearer();
        send(self.address, method, path, &[headers, &[("authorization", &bearer)]].concat(), body).await
    }

    /// Asks for a path with the key.
    pub async fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], "").await
    }

    /// Cancels a task.
    pub async fn cancel(&self, id: &str) -> Response {
        self.send("POST", &format!("/v1/tasks/{id}/cancel"), &[], "").await
    }

    /// Posts JSON with the key.
    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string()).await
    }

    /// The same with more headers.
    pub async fn post_with(&self, headers: &[(&str, &str)], path: &str, body: &Value) -> Response {
        let headers = [headers, &[("content-type", "application/json")]].concat();
        self.send("POST", path, &headers, body.to_string()).await
    }

    /// Posts JSON with the key on a connection of its own, and reads nothing of the answer.
    pub async fn begin(&self, headers: &[(&str, &str)], path: &str, body: &Value) -> Connection {
        let bearer = self.bearer();
        let own = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let mut connection = Connection::open(self.address).await;
        connection.request("POST", path, &[headers, &own].concat(), body.to_string().as_bytes()).await;
        connection
    }

    /// Posts JSON with the key where the gateway may be gone.
    ///
    /// # Errors
    /// Where the connection fails, or no whole answer comes.
    pub async fn try_post(&self, path: &str, body: &Value) -> Result<Response, Error> {
        let bearer = self.bearer();
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        try_send(self.address, "POST", path, &headers, body.to_string().into()).await
    }

    /// Submits a task to `path`, expects its receipt, and waits for its end.
    pub async fn finish(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{body}: {}", answer.json());
        assert_eq!(answer.json()["data"][0]["status"], "submitted");
        self.end_of(&answer.task_id()).await
    }

    /// A task as the API shows it.
    pub async fn task(&self, id: &str) -> Value {
        self.task_within(id, 0).await
    }

    /// A task at its end; fails the test where it does not end.
    pub async fn end_of(&self, id: &str) -> Value {
        let mut task = Value::Null;
        for _ in 0..4 {
            task = self.task_within(id, 30).await;
            if task["status"] == "completed" || task["status"] == "failed" {
                return task;
            }
        }
        panic!("the task does not end: {task}");
    }

    async fn task_within(&self, id: &str, seconds: u32) -> Value {
        let wait = format!("wait={seconds}");
        let answer = self.send("GET", &format!("/v1/tasks/{id}"), &[("prefer", &wait)], "").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["data"].take()
    }
}

/// `error.message` of a task or of an error envelope; empty where it is missing.
#[must_use]
pub fn message_of(body: &Value) -> &str {
    body["error"]["message"].as_str().unwrap_or_default()
}

/// `body` with `more` fields, which replace those of the same name.
///
/// # Panics
/// When `more` is not an object.
#[must_use]
pub fn with(mut body: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("expected an object, got {more}") };
    more.into_iter().for_each(|(field, value)| body[field] = value);
    body
}

//! An API key and the gateway it is used at.

use std::net::SocketAddr;

use bytes::Bytes;
use serde_json::Value;

use crate::http::{Error, Response, send, try_send};

/// A client of a gateway, with its API key.
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

    /// The key's public part.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
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

    /// Posts JSON with the key.
    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string()).await
    }

    /// The same where the gateway may be gone.
    ///
    /// # Errors
    /// Where the connection fails, or no whole answer comes.
    pub async fn try_post(&self, path: &str, body: &Value) -> Result<Response, Error> {
        let bearer = self.bearer();
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        try_send(self.address, "POST", path, &headers, body.to_string().into()).await
    }
}

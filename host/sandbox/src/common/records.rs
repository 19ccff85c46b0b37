//! The listeners that serve a provider's records as JSON, so that a test can read them after it has killed the gateway.

use std::sync::Arc;

use http::{Method, Request, StatusCode};
use hyper::body::Incoming;

use crate::common::server::{Handler, HandlerResult, reply};

/// Writes the current record.
type Read = Box<dyn Fn() -> serde_json::Result<Vec<u8>> + Send + Sync>;

/// One path for each record.
#[derive(Default)]
pub(crate) struct RecordsEndpoint(Vec<(&'static str, Read)>);

impl RecordsEndpoint {
    /// The same listener with one path more.
    pub(crate) fn with(
        mut self,
        path: &'static str,
        read: impl Fn() -> serde_json::Result<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        self.0.push((path, Box::new(read)));
        self
    }
}

impl Handler for RecordsEndpoint {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let Some((_, read)) = self.0.iter().find(|(path, _)| *path == request.uri().path()) else {
            return Ok(reply(StatusCode::NOT_FOUND, "text/plain", "no such record"));
        };
        if request.method() != Method::GET {
            return Ok(reply(StatusCode::METHOD_NOT_ALLOWED, "text/plain", "method not allowed"));
        }
        let text = read().expect("a record is plain data with text keys");
        Ok(reply(StatusCode::OK, "application/json", text))
    }
}

//! The listeners that serve a provider's records as JSON, so that a test can read them after it has killed the gateway.

use std::sync::Arc;

use http::{Method, Request};
use hyper::body::Incoming;
use serde::Serialize;

use crate::common::server::{Handler, HandlerResult, reply};

/// Writes the current record.
type Write = Box<dyn Fn() -> Vec<u8> + Send + Sync>;

/// One path for each record.
pub(crate) struct RecordsEndpoint<const N: usize>(pub(crate) [(&'static str, Write); N]);

/// Writes what `read` gives.
pub(crate) fn record<T: Serialize>(read: impl Fn() -> T + Send + Sync + 'static) -> Write {
    Box::new(move || serde_json::to_vec(&read()).expect("a record is plain data with text keys"))
}

impl<const N: usize> Handler for RecordsEndpoint<N> {
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        let Some((_, write)) = self.0.iter().find(|(path, _)| *path == request.uri().path()) else {
            return Ok(reply(404, "text/plain", "no such record"));
        };
        if request.method() != Method::GET {
            return Ok(reply(405, "text/plain", "method not allowed"));
        }
        Ok(reply(200, "application/json", write()))
    }
}

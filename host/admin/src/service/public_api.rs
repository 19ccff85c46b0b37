//! The public API as an operator uses it without a listener between: prices of requests, and requests as a key. The gateway
//! that opens the public listeners implements this; the rules and errors are theirs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_driver::DryRun;
use gatehouse_model::{CustomerId, Key, ProcessLine, Recent, RequestLine};
use gatehouse_net::ServedBody;
use http::{Request, Response};

use crate::api::error::OperationError;

/// An answer that is being made.
pub type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// The public API of this process.
pub trait PublicApi: Send + Sync {
    /// What a request would cost: `target` is the path of its endpoint or its surface. Makes nothing.
    fn price(
        &self,
        target: String,
        body: Bytes,
        customer: Option<CustomerId>,
    ) -> Pending<Result<DryRun, PublicRefusal>>;

    /// Answers a request as that key, which is charged.
    fn respond(&self, key: Arc<Key>, request: Request<Bytes>) -> Pending<Response<ServedBody>>;

    /// The POST endpoints of families, in the order of the table of routes.
    fn endpoints(&self) -> Vec<PublicEndpoint>;

    /// The logs in memory.
    fn logs(&self) -> Logs;
}

/// The logs of this process.
#[derive(Clone, Debug)]
pub struct Logs {
    /// Requests of clients.
    pub requests: Arc<Recent<RequestLine>>,
    /// What the process said, its lines about requests aside.
    pub process: Arc<Recent<ProcessLine>>,
}

/// A POST endpoint of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicEndpoint {
    /// The surface that serves it.
    pub surface: &'static str,
    /// Its path; a segment in braces is a parameter.
    pub path: &'static str,
    /// Whether the body names the model; otherwise the path implies it.
    pub model_in_body: bool,
}

/// A refusal as the public API says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PublicRefusal {
    /// HTTP status.
    pub status: u16,
    /// The wrong field.
    pub param: Option<String>,
    /// For people.
    pub message: String,
}

impl From<PublicRefusal> for OperationError {
    fn from(refusal: PublicRefusal) -> Self {
        let PublicRefusal { status, param, message } = refusal;
        match status {
            503 => Self::Busy(message),
            500.. => Self::Failed(message),
            _ => Self::InvalidField { field: param.unwrap_or_default(), message },
        }
    }
}

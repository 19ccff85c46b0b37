//! The running gateway behind the operations, if there is one: the handles of its driver and of its public API. Asks nobody.
//!
//! The public API is used without a listener between: prices of requests, and requests as a key. The gateway that opens the public
//! listeners implements it; the rules and errors are theirs.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use gatehouse_driver::{Driver, DryRun};
use gatehouse_model::{CustomerId, Key, ProcessLine, Recent, RequestLine};
use gatehouse_net::ServedBody;
use gatehouse_runtime::PluginService;
use http::{Request, Response};

use crate::api::error::OperationError;

/// What runs beside the store.
pub enum Backend {
    /// A running gateway.
    Running {
        /// Its plugins.
        plugins: PluginService,
        /// Its driver, which drops cached keys when keys change.
        driver: Driver,
    },
    /// No gateway. Plugins are opened with this configuration by the operation that needs them.
    Offline(Box<gatehouse_runtime::Config>),
}

/// What of an operation only a running gateway knows or does.
pub(super) struct Gateway {
    driver: Option<Driver>,
    public: OnceLock<Arc<dyn PublicApi>>,
}

impl Gateway {
    /// Without a driver no gateway runs.
    pub(super) fn new(driver: Option<Driver>) -> Self {
        Self { driver, public: OnceLock::new() }
    }

    /// The driver, where a gateway runs.
    pub(super) fn driver(&self) -> Option<&Driver> {
        self.driver.as_ref()
    }

    /// The driver; refused for the reason `why` where no gateway runs.
    pub(super) fn running(&self, why: &str) -> Result<&Driver, OperationError> {
        self.driver().ok_or_else(|| OperationError::Refused(why.to_owned()))
    }

    /// The public API; refused before its listeners are open, and where no gateway runs.
    pub(super) fn public_api(&self) -> Result<&Arc<dyn PublicApi>, OperationError> {
        let none = || OperationError::Refused("only a running gateway has a public API; start it".to_owned());
        self.public.get().ok_or_else(none)
    }

    /// Serves requests by `public` from now on; the first one given stays.
    pub(super) fn connect(&self, public: Arc<dyn PublicApi>) {
        drop(self.public.set(public));
    }
}

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

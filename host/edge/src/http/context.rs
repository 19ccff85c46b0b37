//! What an endpoint gets: the parts of the edge that every request needs, and one request after its checks.
//! Holds no logic.

use std::sync::Arc;

use gatehouse_driver::RequestReport;
use gatehouse_model::{Clock, CustomerId, Recent, RequestId, RequestLine, Seed};
use gatehouse_net::ShutdownPhase;
use http::request::Parts;
use tokio::sync::watch;

use crate::backend::Backend;
use crate::config::Config;
use crate::documentation::Documents;
use crate::http::body::{BodyBudget, RequestBody};
use crate::limits::concurrency_limit::ConcurrencyLimit;
use crate::routing::routes::Route;
use crate::routing::table::{RouteTable, Routes};

/// What all requests share.
pub(crate) struct EdgeContext {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    /// The budget of bytes for request bodies.
    pub(crate) bodies: Arc<BodyBudget>,
    /// Streams of tasks' events that are open.
    pub(crate) task_streams: ConcurrencyLimit<CustomerId>,
    /// The routes, as they were last asked for.
    pub(crate) routes: Routes,
    /// The documentation, as it was last asked for.
    pub(crate) documents: Documents,
    pub(crate) shutdown: watch::Receiver<ShutdownPhase>,
    /// The last requests.
    pub(crate) log: Arc<Recent<RequestLine>>,
}

impl EdgeContext {
    /// The routes of this moment.
    pub(crate) fn table(&self) -> Arc<RouteTable> {
        self.routes.with(&self.backend.routes())
    }
}

/// One request whose head, route and key have been checked.
pub(crate) struct EndpointRequest<'r> {
    pub(crate) context: &'r EdgeContext,
    pub(crate) parts: &'r Parts,
    pub(crate) body: &'r mut RequestBody,
    pub(crate) route: &'r Route,
    /// The request's id.
    pub(crate) id: RequestId,
    /// The client's address, for records.
    pub(crate) client: String,
    /// The path segment in the braces of the route's pattern; empty without braces.
    pub(crate) param: &'r str,
    /// The start of every link in the response.
    pub(crate) base_url: String,
    /// For the driver to say what is left of the key's rates, and what the request holds and pays.
    pub(crate) report: RequestReport,
}

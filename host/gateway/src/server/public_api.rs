//! The public API for the admin service: its requests go to the edge without a listener between.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_admin::{Logs, Pending, PublicApi, PublicEndpoint, PublicRefusal, ServedBody};
use gatehouse_driver::DryRun;
use gatehouse_edge::LocalRequests;
use gatehouse_model::{CustomerId, Key};
use http::{Request, Response};

use crate::telemetry;

/// The edge of this process, as operators use it.
pub(super) struct LocalApi {
    pub(super) requests: LocalRequests,
    /// What links in answers begin with.
    pub(super) base_url: String,
}

impl PublicApi for LocalApi {
    fn price(
        &self,
        target: String,
        body: Bytes,
        customer: Option<CustomerId>,
    ) -> Pending<Result<DryRun, PublicRefusal>> {
        let requests = self.requests.clone();
        Box::pin(async move {
            let found = requests.price(&target, body, customer).await;
            found.map_err(|error| PublicRefusal {
                status: error.status,
                param: error.param,
                message: error.message,
            })
        })
    }

    fn respond(&self, key: Arc<Key>, request: Request<Bytes>) -> Pending<Response<ServedBody>> {
        let (requests, base_url) = (self.requests.clone(), self.base_url.clone());
        Box::pin(async move { requests.respond(key, request, base_url).await })
    }

    fn logs(&self) -> Logs {
        Logs { requests: self.requests.log(), process: telemetry::process_log() }
    }

    fn endpoints(&self) -> Vec<PublicEndpoint> {
        let rows = self.requests.routes();
        let rows = rows.into_iter().filter(|row| row.method == "POST");
        rows.map(|row| PublicEndpoint {
            surface: row.surface,
            path: row.path,
            model_in_body: row.model.is_none(),
        })
        .collect()
    }
}

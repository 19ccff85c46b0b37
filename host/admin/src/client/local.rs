//! The admin API in this process, over a store that no gateway has open: the listener's router without a listener.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use http::request::Parts;
use http_body_util::BodyExt as _;

use super::request::{ApiAnswer, ApiRefusal, ApiRequest, read_answer};
use crate::http::access::caller::{Authenticator, Claimed, Role};
use crate::http::resources;
use crate::http::router::Router;
use crate::service::AdminService;

/// The sender is on this machine.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers requests of one sender.
pub struct LocalApi(Arc<Router>);

/// The one sender, by the name that the audit record has.
struct Sender(&'static str);

impl Authenticator for Sender {
    fn authenticate(&self, _: &Parts) -> Claimed {
        Claimed::Valid { who: self.0.to_owned(), role: Role::Operator }
    }
}

impl LocalApi {
    /// Over this service, for a sender of this name.
    #[must_use]
    pub fn new(service: AdminService, who: &'static str) -> Self {
        let service = Arc::new(service);
        let clock = Arc::clone(&service.clock);
        Self(Arc::new(Router::new(resources::routes(), vec![Arc::new(Sender(who))], service, clock)))
    }

    /// Does a request.
    ///
    /// # Errors
    /// Why nothing has changed.
    pub async fn send(&self, request: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        let (parts, mut body) = request.into_http().into_parts();
        let answer = match self.0.accept(&parts, ADDRESS).await {
            Ok(accepted) => self.0.prepare(&parts, &mut body, accepted).await.await,
            Err(refused) => refused,
        };
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(|error| cut_short(&error))?.to_bytes();
        read_answer(head.status, &head.headers, &body).unwrap_or_else(|error| Err(cut_short(&error)))
    }
}

fn cut_short(error: &dyn std::fmt::Display) -> ApiRefusal {
    ApiRefusal {
        status: 500,
        reason: "internal_error".to_owned(),
        message: format!("the answer cannot be read: {error}"),
        body: serde_json::Value::Null,
    }
}

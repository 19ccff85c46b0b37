//! The admin API in this process: the listener's router without a listener. For commands, over a store that no gateway has
//! open, and for the console's pages, each for the person that looks at it.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_body_util::{BodyExt as _, Full};

use super::request::{ApiAnswer, ApiRefusal, ApiRequest, read_answer};
use crate::http::access::caller::{Authenticator, Caller, Claimed, Role};
use crate::http::resources;
use crate::http::router::Router;
use crate::service::AdminService;

/// The sender is on this machine.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers requests of one sender.
pub struct LocalApi(Arc<Router>);

/// The usual sender, by the name that the audit record has. A request with a caller of its own is that caller's; no request
/// of a socket has one.
struct Sender(&'static str);

impl Authenticator for Sender {
    fn authenticate(&self, head: &Parts) -> Claimed {
        match head.extensions.get::<Caller>() {
            Some(Caller { who, role, .. }) => Claimed::Valid { who: who.clone(), role: *role },
            None => Claimed::Valid { who: self.0.to_owned(), role: Role::Operator },
        }
    }
}

impl LocalApi {
    /// Over this service, for a sender of this name.
    #[must_use]
    pub fn new(service: impl Into<Arc<AdminService>>, who: &'static str) -> Self {
        let service = service.into();
        let clock = Arc::clone(&service.clock);
        Self(Arc::new(Router::new(resources::routes(), vec![Arc::new(Sender(who))], service, clock)))
    }

    /// Does a request.
    ///
    /// # Errors
    /// Why nothing has changed.
    pub async fn send(&self, request: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        self.answer(request.into_http(), ADDRESS).await
    }

    /// Does a request of this caller.
    ///
    /// # Errors
    /// Why nothing has changed.
    pub async fn send_as(&self, caller: Caller, request: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        let (mut request, address) = (request.into_http(), caller.address);
        request.extensions_mut().insert(caller);
        self.answer(request, address).await
    }

    async fn answer(&self, request: Request<Full<Bytes>>, address: IpAddr) -> Result<ApiAnswer, ApiRefusal> {
        let (parts, mut body) = request.into_parts();
        let answer = match self.0.accept(&parts, address).await {
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

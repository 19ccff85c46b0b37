//! The admin API in this process, over a store that no gateway has open: the listener's router without a listener.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::body::Body;
use http::{HeaderValue, Method};
use http_body_util::BodyExt as _;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::request::{ApiAnswer, ApiRefusal, ApiRequest, read_answer};
use crate::access::{Caller, Role};
use crate::http::request::precondition::IDEMPOTENCY_KEY;
use crate::http::router::{Api, Sender};
use crate::service::AdminService;

/// The sender is on this machine.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Requests at work at once; more wait. They are not counted with the listener's: one of those may wait for one of these.
const MAX_OPERATIONS: usize = 16;

/// Answers requests of this process.
#[derive(Clone)]
pub struct LocalApi {
    api: Arc<Api>,
    router: axum::Router,
    who: &'static str,
}

impl LocalApi {
    /// Over this service, for a sender of this name.
    #[must_use]
    pub fn new(service: impl Into<Arc<AdminService>>, who: &'static str) -> Self {
        let service = service.into();
        let (operations, clock) = (Arc::new(Semaphore::new(MAX_OPERATIONS)), Arc::clone(&service.clock));
        let api = Api::new(service, None, operations, clock);
        let router = api.router();
        Self { api, router, who }
    }

    /// Does a request.
    pub async fn send(&self, request: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        let caller = Caller { who: self.who.to_owned(), role: Role::Operator, address: ADDRESS };
        self.send_as(caller, request).await
    }

    /// Does a request for somebody: with their role, and their name in the audit record. One that makes something and
    /// has no idempotency key gets one: nothing in between could repeat it.
    pub async fn send_as(&self, caller: Caller, request: ApiRequest) -> Result<ApiAnswer, ApiRefusal> {
        let mut request = request.into_http().map(Body::new);
        let id = self.api.new_id();
        if request.method() == Method::POST {
            let name = HeaderValue::from_str(&id.to_string()).expect("letters and digits");
            request.headers_mut().entry(IDEMPOTENCY_KEY).or_insert(name);
        }
        request.extensions_mut().insert(Sender { id, caller });
        let answer = self.router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
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

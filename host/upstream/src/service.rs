//! Connections to a service that the operator wrote out, for a client that signs its own requests: a bucket of media or backups.
//!
//! Its host may be private, and it goes through the operator's proxy like everything else. No redirect is followed, no header
//! is added.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::Boxed;
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Incoming};
use tokio::time::Instant;
use url::Url;

use crate::client::exchange::{self, AGENT, ExchangeError, Http, Payload};
use crate::client::network::{MAX_IDLE, Network};
use crate::client::origin::Origin;
use crate::config::check;
use crate::config::settings::OutgoingRoute;

/// To resolve, connect and shake hands.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client of one service. Cheap to clone.
#[derive(Clone)]
pub struct ServiceClient {
    http: Http,
}

/// Why a service gave no answer. Every text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// Nothing was sent.
    #[error("{0}")]
    NotSent(String),
    /// Something may have been sent, then time was over.
    #[error("no answer in time")]
    Timeout,
    /// Something may have been sent, then the connection broke.
    #[error("the connection broke: {0}")]
    Broken(String),
}

impl ServiceClient {
    /// A client of the service at `endpoint`, over connections of its own.
    pub(crate) fn new(network: &Network, endpoint: &Url) -> Result<Self, String> {
        let origin = Origin::of(endpoint).ok_or_else(|| format!("expected http or https, got {endpoint}"))?;
        let private = [origin.as_private()].into();
        Ok(Self { http: network.client(private, CONNECT_TIMEOUT, MAX_IDLE) })
    }

    /// The same over connections of that route, for what needs no [`crate::Upstream`].
    pub fn on_route(route: &OutgoingRoute<'_>, endpoint: &Url) -> Result<Self, String> {
        Self::new(&check::network(route)?, endpoint)
    }

    /// Sends `request`, and waits for the head of the answer.
    pub fn send<B>(
        &self,
        request: Request<B>,
        timeout: Duration,
    ) -> Boxed<'_, Result<Response<Incoming>, ServiceError>>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        self.exchange(request.map(|body| body.map_err(io::Error::other).boxed_unsync()), timeout)
    }

    fn exchange(
        &self,
        mut request: Request<Payload>,
        timeout: Duration,
    ) -> Boxed<'_, Result<Response<Incoming>, ServiceError>> {
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        Box::pin(async move {
            let answered = exchange::send(&self.http, request, Instant::now() + timeout).await;
            answered.map_err(|error| match error {
                ExchangeError::Timeout => ServiceError::Timeout,
                ExchangeError::Broken(why) | ExchangeError::Unread(why) => ServiceError::Broken(why),
                not_sent => ServiceError::NotSent(not_sent.to_string()),
            })
        })
    }
}

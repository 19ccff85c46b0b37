//! The pages of the admin listener and the requests of its API. Never accepts a connection.
//!
//! Everything is bounded: the operations at once, and the time and the size of a body, which is read only after the
//! token was checked. An operation that has begun ends, whatever becomes of its connection.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::Clock;
use gatehouse_net::{Observed, ShutdownPhase, reached};
use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use tokio::sync::{Semaphore, watch};

use super::connections::Entry;
use super::console::ResponseBody;
use super::guarded_body::{GuardedBody, Stream};
use super::host_check::HostCheck;
use super::page_server::PageServer;
use super::security_headers;
use crate::config::Config;
use crate::http::access::caller::{Authenticator, Role};
use crate::http::access::tokens::Tokens;
use crate::http::error::Kind;
use crate::http::reply::whole;
use crate::http::resources;
use crate::http::router::Router;
use crate::service::AdminService;
use crate::session::Sessions;

/// Operations at once; more wait.
const MAX_OPERATIONS: u32 = 16;
const TEXT: &str = "text/plain; charset=utf-8";
/// What tells a stream of events, which never ends by itself, from every other answer.
const EVENTS: &str = "text/event-stream";

/// The pages of the listener that need no token.
pub struct Probes {
    /// Renders every metric in the Prometheus text form, for `/metrics`.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
    /// Whether the gateway takes new work, for `/readyz`.
    pub is_ready: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Answers every request of the listener.
pub(super) struct Handler {
    router: Arc<Router>,
    probes: Probes,
    hosts: HostCheck,
    pages: Arc<PageServer>,
    operations: Arc<Semaphore>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

impl Handler {
    pub(super) fn new(
        config: &Config,
        tokens: Tokens,
        service: Arc<AdminService>,
        probes: Probes,
        sessions: Arc<Sessions>,
        clock: Arc<dyn Clock>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        let operations = Arc::new(Semaphore::new(MAX_OPERATIONS as usize));
        let pages = Arc::new(PageServer::new(
            Arc::clone(&sessions),
            Arc::clone(&operations),
            Arc::clone(&clock),
            shutdown.clone(),
        ));
        let authenticators: Vec<Arc<dyn Authenticator>> = vec![Arc::new(tokens), sessions];
        let router = Router::new(resources::routes(), authenticators, service, clock);
        let links = Arc::clone(&pages);
        let router = Arc::new(router.with_links(links));
        let hosts = HostCheck::new(config);
        Self { router, probes, hosts, pages, operations, shutdown }
    }

    /// The pages, and the sessions that may see them.
    pub(super) fn pages(&self) -> &PageServer {
        &self.pages
    }

    /// Waits until no operation is under way.
    pub(super) async fn operations_ended(&self) {
        // The semaphore is never closed, so this can only succeed.
        let _ = self.operations.acquire_many(MAX_OPERATIONS).await;
    }

    /// Answers one request of the connection `entry`, whose other end is at `address`.
    pub(super) async fn respond(
        &self,
        request: Request<Incoming>,
        entry: &Arc<Entry>,
        address: IpAddr,
        observed: &Observed,
    ) -> Response<ResponseBody> {
        let under_way = observed.activity.begin_request();
        let (parts, mut body) = request.into_parts();
        let mut response = match self.refusal(&parts, observed) {
            Some((status, message)) if Router::owns(parts.uri.path()) => {
                let kind = if status == StatusCode::BAD_REQUEST { Kind::Invalid } else { Kind::Misdirected };
                self.router.refuse(kind, &message)
            }
            Some((status, message)) => page(status, TEXT, message),
            None if Router::owns(parts.uri.path()) => self.api(parts, &mut body, entry, address).await,
            None => self.route(&parts, &mut body, address).await,
        };
        let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == EVENTS);
        let end = self.shutdown.clone();
        // A stream without a role counts as a viewer's.
        let role = response.extensions().get::<Role>().copied().unwrap_or(Role::Viewer);
        let counted = if is_stream { entry.begin_stream(role) } else { None };
        let stream = counted.map(|counted| Stream {
            _counted: counted,
            end: Box::pin(reached(end, ShutdownPhase::LameDuck)),
        });
        if is_stream && stream.is_none() {
            let message = "too many live pages are open; this one shows its state until it is loaded again\n";
            response = page(StatusCode::SERVICE_UNAVAILABLE, TEXT, message);
        }
        security_headers::add(response.headers_mut());
        if !body.is_end_stream() {
            // Closed at once, the response would be lost with the bytes that are still to come.
            observed.flags.linger();
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if *self.shutdown.borrow() != ShutdownPhase::Serving {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response.map(|body| GuardedBody::new(body, under_way, stream).boxed_unsync())
    }

    /// Why a head is refused, whatever it asks for.
    fn refusal(&self, parts: &Parts, observed: &Observed) -> Option<(StatusCode, String)> {
        let bad = |message: &str| Some((StatusCode::BAD_REQUEST, format!("{message}\n")));
        if observed.flags.is_ambiguous() {
            return bad("Content-Length and Transfer-Encoding in one request: send one of them");
        }
        if parts.headers.get_all(AUTHORIZATION).iter().nth(1).is_some() {
            return bad("Authorization: given more than once, send it once");
        }
        self.hosts.check(parts).err()
    }

    /// A request of the API. Once its body is read it is done on a task of its own: a caller that leaves does not cut it
    /// in half.
    async fn api(
        &self,
        parts: Parts,
        body: &mut Incoming,
        entry: &Entry,
        peer: IpAddr,
    ) -> Response<ResponseBody> {
        let accepted = match self.router.accept(&parts, peer).await {
            Ok(accepted) => accepted,
            Err(refused) => return refused,
        };
        let (_under_way, role) = (entry.begin_operation(), accepted.role());
        let work = self.router.prepare(&parts, body, accepted).await;
        let permit = Arc::clone(&self.operations).acquire_owned().await;
        let done = tokio::spawn(async move {
            let _permit = permit;
            work.await
        });
        let mut response = done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "an admin request was cut short");
            self.router.refuse(Kind::Internal, "the request was cut short")
        });
        response.extensions_mut().insert(role);
        response
    }

    async fn route(&self, parts: &Parts, body: &mut Incoming, address: IpAddr) -> Response<ResponseBody> {
        let read = matches!(parts.method, Method::GET | Method::HEAD);
        match (parts.uri.path(), read) {
            ("/livez", true) => page(StatusCode::OK, TEXT, "alive\n"),
            ("/readyz", true) if (self.probes.is_ready)() => page(StatusCode::OK, TEXT, "ready\n"),
            ("/readyz", true) => page(StatusCode::SERVICE_UNAVAILABLE, TEXT, "not ready\n"),
            ("/metrics", true) => page(StatusCode::OK, "text/plain; version=0.0.4", (self.probes.metrics)()),
            ("/livez" | "/readyz" | "/metrics", _) => wrong_method("GET, HEAD"),
            (path, _) => match self.pages.respond(parts, body, address).await {
                Some(answer) => answer,
                None => page(StatusCode::NOT_FOUND, TEXT, format!("no page at {path}\n")),
            },
        }
    }
}

fn wrong_method(allowed: &'static str) -> Response<ResponseBody> {
    let mut response = page(StatusCode::METHOD_NOT_ALLOWED, TEXT, format!("allowed here: {allowed}\n"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn page(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

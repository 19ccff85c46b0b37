//! The pages of the admin listener and the requests of its API. Never accepts a connection.
//!
//! Everything is bounded: the operations at once, and the time and the size of a body, which is read only after the
//! token was checked. An operation that has begun ends, whatever becomes of its connection.
//!
//! Headers that every answer of the listener carries, whatever it is: what a page may load, who may frame it, what it
//! tells others.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::routing::get;
use gatehouse_model::Clock;
use gatehouse_net::{Observed, RequestFraming, ServedBody, ShutdownPhase, TrackedBody, reached};
use http::header::{AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::body::Incoming;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

use super::connections::{Entry, OperationOn, event_stream, watched};
use super::console::{metrics_page, plain, wrong_method};
use super::host_check::HostCheck;
use super::page_server::PageServer;
use crate::access::{Role, Tokens};
use crate::config::Config;
use crate::error::Kind;
use crate::http::router::{Api, Authentication, owns};
use crate::service::AdminService;
use crate::session::{SessionEnd, Sessions};

/// Operations at once; more wait.
const MAX_OPERATIONS: u32 = 16;
/// What tells a stream of events, which never ends by itself, from every other answer.
const EVENTS: &str = "text/event-stream";

/// Renders every metric in the Prometheus text form.
pub type MetricsPage = Box<dyn Fn() -> String + Send + Sync>;

/// The pages of the listener that need no token.
pub struct Probes {
    /// For `/metrics`.
    pub metrics: MetricsPage,
    /// Whether the gateway takes new work, for `/readyz`.
    pub is_ready: Box<dyn Fn() -> bool + Send + Sync>,
}

/// Answers every request of the listener.
pub(super) struct Handler {
    router: axum::Router,
    api: Arc<Api>,
    hosts: HostCheck,
    /// The pages, and the sessions that may see them.
    pub(super) pages: Arc<PageServer>,
    operations: Arc<Semaphore>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

/// The connection of a request, as an extension of it.
#[derive(Clone)]
struct On {
    entry: Arc<Entry>,
    address: IpAddr,
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
        let (of_pages, time) = (Arc::clone(&operations), Arc::clone(&clock));
        let pages = Arc::new(PageServer::new(Arc::clone(&sessions), of_pages, time));
        let links = Arc::clone(&pages);
        let api = Api::new(service, Some(links), Arc::clone(&operations), clock);
        let authentication = Authentication::new(Arc::clone(&api), tokens, sessions);
        let router = probe_pages(probes)
            .merge(api_pages(&api, authentication))
            .fallback_service(console_pages(Arc::clone(&pages)));
        Self { router, api, hosts: HostCheck::new(config), pages, operations, shutdown }
    }

    /// Waits until no operation is under way.
    pub(super) async fn operations_ended(&self) {
        // The semaphore is never closed, so this can only succeed.
        let _ = self.operations.acquire_many(MAX_OPERATIONS).await;
    }

    /// Answers one request of the connection `entry`, whose other end is at `address`.
    pub(super) async fn respond(
        &self,
        request: http::Request<Incoming>,
        entry: &Arc<Entry>,
        address: IpAddr,
        observed: &Observed,
    ) -> http::Response<ServedBody> {
        let under_way = observed.activity.begin_request();
        let (parts, body) = request.into_parts();
        let framing = RequestFraming::of(&parts);
        let (body, end) = TrackedBody::new(body);
        let mut response = match self.refusal(&parts, observed) {
            Some((status, message)) if owns(parts.uri.path()) => {
                let kind = if status == StatusCode::BAD_REQUEST { Kind::Invalid } else { Kind::Misdirected };
                self.api.refuse(kind, &message)
            }
            Some((status, message)) => plain(status, message),
            None => {
                let mut request = Request::from_parts(parts, Body::new(body));
                request.extensions_mut().insert(On { entry: Arc::clone(entry), address });
                let answered = self.router.clone().oneshot(request).await;
                answered.unwrap_or_else(|never| match never {})
            }
        };
        let operation = response.extensions_mut().remove::<Arc<OperationOn>>();
        let is_stream = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == EVENTS);
        if is_stream {
            // A stream without a role counts as a viewer's.
            let role = response.extensions().get::<Role>().copied().unwrap_or(Role::Viewer);
            let end = stream_end(response.extensions_mut().remove(), self.shutdown.clone());
            response = match entry.begin_stream(role) {
                Some(counted) => response.map(|body| event_stream(body, counted, end)),
                None => plain(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "too many live pages are open; this one shows its state until it is loaded again\n",
                ),
            };
        }
        add(response.headers_mut());
        let is_last = *self.shutdown.borrow() != ShutdownPhase::Serving;
        framing.end(&observed.flags, end.is_reached(), is_last, response.headers_mut());
        response.map(|body| watched(body, under_way, operation))
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
}

/// Returns once a stream of events has to end: with the session that opened it, or with the listener.
async fn stream_end(session: Option<SessionEnd>, shutdown: watch::Receiver<ShutdownPhase>) {
    let session_end = async {
        match session {
            Some(end) => end.ended().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = session_end => {}
        () = reached(shutdown, ShutdownPhase::LameDuck) => {}
    }
}

/// The pages that need no token.
fn probe_pages(probes: Probes) -> axum::Router {
    let probes = Arc::new(probes);
    let of_ready = Arc::clone(&probes);
    let ready = move || {
        let answer = match (of_ready.is_ready)() {
            true => plain(StatusCode::OK, "ready\n"),
            false => plain(StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        };
        async move { answer }
    };
    let metrics = move || {
        let answer = metrics_page((probes.metrics)());
        async move { answer }
    };
    axum::Router::new()
        .route("/livez", get(|| async { plain(StatusCode::OK, "alive\n") }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(|| async { wrong_method("GET, HEAD") })
}

/// The API behind its authentication. The connection of a request that has shown who sends it gives way to no other.
fn api_pages(api: &Arc<Api>, authentication: Arc<Authentication>) -> axum::Router {
    let admit = move |Extension(on): Extension<On>, request: Request, next: Next| {
        let authentication = Arc::clone(&authentication);
        async move {
            let (head, body) = request.into_parts();
            let (sender, end) = match authentication.sender(&head, on.address).await {
                Ok(found) => found,
                Err(answer) => return answer,
            };
            let mut request = Request::from_parts(head, body);
            let operation = Arc::new(on.entry.begin_operation());
            let role = sender.caller.role;
            request.extensions_mut().insert(sender);
            let mut response = next.run(request).await;
            let extensions = response.extensions_mut();
            extensions.insert(role);
            // It lasts until the whole answer was taken to be written.
            extensions.insert(operation);
            // A stream of events ends with its session.
            if let Some(end) = end {
                extensions.insert(end);
            }
            response
        }
    };
    api.router().layer(from_fn(admit))
}

fn console_pages(pages: Arc<PageServer>) -> axum::routing::MethodRouter {
    axum::routing::any(move |Extension(on): Extension<On>, request: Request| async move {
        let path = request.uri().path().to_owned();
        let found = pages.respond(request, &on.entry, on.address).await;
        found.unwrap_or_else(|| plain(StatusCode::NOT_FOUND, format!("no page at {path}\n")))
    })
}

/// Nothing but this origin's own files; no inline script and no inline style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; media-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// `same-origin` and not `no-referrer`: with the latter a form would be sent with `Origin: null`.
const FIXED: &[(&str, &str)] = &[
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    (
        "permissions-policy",
        "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
];

/// Adds them. An answer that has a stricter policy of its own keeps it.
pub(super) fn add(headers: &mut HeaderMap) {
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in FIXED {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

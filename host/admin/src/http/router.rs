//! The routes of `/admin/v1` as an [`axum::Router`], and the order of all checks on a request: credential
//! ([`Authentication`]), path and method (axum), role, parameters, headers, body; then its handler, and the audit of what is
//! not safe.
//!
//! The form of errors, `allow` with its spaces, entity tags and the names of unknown parameters are our own: tests hold
//! them, and axum has none of them.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, MatchedPath, OriginalUri, Path, Request};
use axum::response::Response;
use axum::routing::{MethodFilter, any, on};
use bytes::Bytes;
use gatehouse_model::{Clock, RequestId, UnixMs};
use gatehouse_tasks::{AdminIdempotency, Command};
use http::header::{AUTHORIZATION, COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::sync::Semaphore;

use super::call::{Call, Outcome};
use super::request::body::{self, MAX_JSON_BYTES, MAX_UPLOAD_BYTES};
use super::request::precondition;
use super::request::query::Query;
use super::route::{BASE, Route, Takes};
use super::{openapi, resources};
use crate::access::{Caller, Claimed, FailedAttempts, LoginLinks, Tokens};
use crate::api::error::OperationError;
use crate::audit::{AuditTrail, SentRequest, line};
use crate::error::{ApiError, Kind};
use crate::reply::Reply;
use crate::service::{AdminService, during};
use crate::session::{SessionEnd, Sessions};

const JSON: &str = "application/json";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers the requests of the API.
pub(crate) struct Api {
    routes: Vec<Route>,
    service: Arc<AdminService>,
    links: Option<Arc<dyn LoginLinks>>,
    clock: Arc<dyn Clock>,
    /// A permit for each request at work.
    operations: Arc<Semaphore>,
}

/// The sender of a request, as an extension of it. A request without it is not answered.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) id: RequestId,
    pub(crate) caller: Caller,
}

/// What the body and the headers of a request say.
struct Read {
    at: UnixMs,
    headers: HeaderMap,
    body: Bytes,
    idempotency: Option<AdminIdempotency>,
}

/// Finds out who sends a request, before any route is asked.
pub(crate) struct Authentication {
    api: Arc<Api>,
    tokens: Tokens,
    sessions: Arc<Sessions>,
    attempts: FailedAttempts,
}

/// Whether a path is the API's.
pub(crate) fn owns(path: &str) -> bool {
    path.strip_prefix(BASE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl Api {
    pub(crate) fn new(
        service: Arc<AdminService>,
        links: Option<Arc<dyn LoginLinks>>,
        operations: Arc<Semaphore>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        Arc::new(Self {
            routes: openapi::with_document(resources::routes),
            service,
            links,
            operations,
            clock,
        })
    }

    /// Its routes below [`BASE`], for requests with a [`Sender`].
    pub(crate) fn router(self: &Arc<Self>) -> axum::Router {
        let mut router = axum::Router::new();
        for (at, route) in self.routes.iter().enumerate() {
            let filter = MethodFilter::try_from(route.method.clone()).expect("a common method");
            let api = Arc::clone(self);
            let answer = move |Extension(sender): Extension<Sender>, request: Request| {
                Arc::clone(&api).answer(at, sender, request)
            };
            router = router.route(route.path, on(filter, answer));
        }
        let (no_path, no_method) = (Arc::clone(self), Arc::clone(self));
        let unknown = move |Extension(sender): Extension<Sender>, request: Request| {
            let (head, _) = request.into_parts();
            let error = ApiError::new(Kind::UnknownPath, format!("no resource at {}", whole_path(&head)));
            Arc::clone(&no_path).misses(sender, head, error)
        };
        let wrong_method =
            move |Extension(sender): Extension<Sender>, path: MatchedPath, request: Request| {
                let error = ApiError::wrong_method(&no_method.allowed(path.as_str()));
                Arc::clone(&no_method).misses(sender, request.into_parts().0, error)
            };
        let router = router.fallback(unknown.clone()).method_not_allowed_fallback(wrong_method);
        // What is nested has no path of its own that is only a slash.
        axum::Router::new().nest(BASE, router).route("/admin/v1/", any(unknown))
    }

    /// An id for a request that comes now.
    pub(crate) fn new_id(&self) -> RequestId {
        RequestId::new(self.clock.now(), self.service.seed.as_ref())
    }

    /// An error before a route was asked, in the API's form.
    pub(crate) fn refuse(&self, kind: Kind, message: &str) -> Response {
        let id = self.new_id();
        with_id(ApiError::new(kind, message.trim_end()).into_response(id), id)
    }

    /// A refusal before a handler was asked: what would have changed something leaves its line.
    async fn refused(
        &self,
        request: SentRequest<'_>,
        operation: &'static str,
        method: &Method,
        path: &str,
        error: ApiError,
    ) -> Response {
        if !is_safe(method) {
            let (status, reason) = (error.status(), error.message());
            self.audit(line(request, operation, object_of(path), status, reason, Vec::new())).await;
        }
        with_id(error.into_response(request.id), request.id)
    }

    /// The answer where no route fits.
    async fn misses(self: Arc<Self>, sender: Sender, head: Parts, error: ApiError) -> Response {
        let request = SentRequest::of(sender.id, &sender.caller);
        self.refused(request, "", &head.method, whole_path(&head), error).await
    }

    fn allowed(&self, matched: &str) -> String {
        let path = matched.strip_prefix(BASE).unwrap_or(matched);
        let methods = self.routes.iter().filter(|route| route.path == path).map(|route| &route.method);
        let word =
            |method: &Method| if *method == Method::GET { "GET, HEAD" } else { method.as_str() }.to_owned();
        methods.map(word).collect::<Vec<_>>().join(", ")
    }

    /// Answers a request of the route at `at`. Once its body is read it is done on a task of its own: a caller that leaves
    /// does not cut it in half.
    async fn answer(self: Arc<Self>, at: usize, sender: Sender, request: Request) -> Response {
        let route = &self.routes[at];
        let (mut head, body) = request.into_parts();
        let path = whole_path(&head).to_owned();
        let (query, segments) = match check(route, &mut head, &sender.caller).await {
            Ok(checked) => checked,
            Err(error) => {
                let request = SentRequest::of(sender.id, &sender.caller);
                return self.refused(request, route.operation, &head.method, &path, error).await;
            }
        };
        let trail = Arc::<AuditTrail>::default();
        let call = self.read(route, head, body, &path).await.map(|read| Call {
            service: Arc::clone(&self.service),
            links: self.links.clone(),
            caller: sender.caller.clone(),
            id: sender.id,
            at: read.at,
            query,
            headers: read.headers,
            body: read.body,
            operation: route.operation,
            path: segments,
            idempotency: read.idempotency,
            trail: Arc::clone(&trail),
        });
        // The semaphore is never closed.
        let permit = Arc::clone(&self.operations).acquire_owned().await;
        let api = Arc::clone(&self);
        let done = tokio::spawn(async move {
            let _permit = permit;
            api.work(at, call, &sender, &trail, object_of(&path)).await
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "an admin request was cut short");
            self.refuse(Kind::Internal, "the request was cut short")
        })
    }

    async fn work(
        &self,
        at: usize,
        call: Result<Call, ApiError>,
        Sender { id, caller }: &Sender,
        trail: &AuditTrail,
        object: String,
    ) -> Response {
        let route = &self.routes[at];
        let outcome: Outcome = match call {
            Ok(call) => self.handle(route, call).await,
            Err(error) => Err(error),
        };
        if !route.is_safe() {
            let (status, reason) = match &outcome {
                Ok(reply) => (reply.status(), String::new()),
                Err(error) => (error.status(), error.message().to_owned()),
            };
            let operation = route.operation;
            tracing::info!(operation, who = caller.who, status, reason, request_id = %id, "admin request");
            // A change that is in the store has its line there.
            if let Some((described, changes)) = trail.rest() {
                let changes = if status < 400 { changes } else { Vec::new() };
                let (request, object) = (SentRequest::of(*id, caller), described.unwrap_or(object));
                self.audit(line(request, operation, object, status, &reason, changes)).await;
            }
        }
        with_id(outcome.map_or_else(|error| error.into_response(*id), Reply::into_response), *id)
    }

    /// An operator sees every change that was confirmed to a client; on a full disk, what can be read.
    async fn handle(&self, route: &Route, call: Call) -> Outcome {
        match self.service.store.flush().await.map_err(OperationError::from) {
            Err(OperationError::Busy(_)) if route.is_safe() => {}
            flushed => flushed?,
        }
        let who = call.caller.who.clone();
        during(&who, route.handler.answer(call)).await
    }

    /// Reads the body, and what the headers say of it.
    async fn read(&self, route: &Route, head: Parts, body: Body, path: &str) -> Result<Read, ApiError> {
        let most = match route.takes {
            Takes::File(_) => MAX_UPLOAD_BYTES,
            Takes::Nothing | Takes::Json(_) | Takes::Patch(_) => MAX_JSON_BYTES,
        };
        let body = body::read(body, most, self.clock.as_ref()).await?;
        if matches!(route.takes, Takes::Nothing) && !body.is_empty() {
            return Err(ApiError::new(Kind::Invalid, "the body: expected none"));
        }
        let at = self.clock.now();
        let memory = |()| -> Result<AdminIdempotency, ApiError> {
            let print = precondition::fingerprint(route.operation, path, &body);
            precondition::read(&head.headers, print, at)
        };
        let idempotency = route.idempotent.then_some(()).map(memory).transpose()?;
        let mut headers = head.headers;
        // No handler needs the credential.
        headers.remove(AUTHORIZATION);
        headers.remove(COOKIE);
        Ok(Read { at, headers, body, idempotency })
    }

    /// Writes a line of its own. The request is answered even if it cannot be written: it was done, or refused, already.
    async fn audit(&self, audit: gatehouse_tasks::AuditedRequest) {
        let at = self.clock.now();
        let command = Command::Administer { change: None, audit: Box::new(audit), idempotency: None, at };
        match self.service.commands.administer(command).await {
            Ok(Ok(_)) => {}
            Ok(Err(rejection)) => tracing::error!(%rejection, "an admin request could not be recorded"),
            Err(error) => tracing::error!(%error, "an admin request could not be recorded"),
        }
    }
}

impl Authentication {
    pub(crate) fn new(api: Arc<Api>, tokens: Tokens, sessions: Arc<Sessions>) -> Arc<Self> {
        Arc::new(Self { api, tokens, sessions, attempts: FailedAttempts::default() })
    }

    /// The sender of a request from `peer`, and the end of its session where it has one.
    pub(crate) async fn sender(
        &self,
        head: &Parts,
        peer: IpAddr,
    ) -> Result<(Sender, Option<SessionEnd>), Response> {
        let id = self.api.new_id();
        let claim = match self.tokens.claim(head) {
            Ok(None) => self.sessions.claim(head),
            of_token => of_token,
        };
        let reason = match claim {
            Ok(Some(Claimed { who, role, session })) => {
                let end = session.map(|number| self.sessions.end_of(number));
                return Ok((Sender { id, caller: Caller { who, role, address: peer } }, end));
            }
            Ok(None) => "this needs a bearer token; it is in admin.json of the gateway's data folder",
            Err(why) => why,
        };
        if let Err(pause) = self.attempts.fail(peer, self.api.clock.now()) {
            // One of too many guesses leaves no line.
            return Err(with_id(ApiError::too_many_attempts(pause).into_response(id), id));
        }
        let error = ApiError::new(Kind::Unauthenticated, reason);
        let request = SentRequest { id, caller: None, address: peer };
        Err(self.api.refused(request, "", &head.method, head.uri.path(), error).await)
    }
}

/// Checks what a request says before its body: its parameters and the segments of its path.
async fn check(
    route: &Route,
    head: &mut Parts,
    caller: &Caller,
) -> Result<(Query, Vec<(String, String)>), ApiError> {
    let segments = Path::<Vec<(String, String)>>::from_request_parts(head, &()).await;
    let wrong = |_| ApiError::field("the path", "the path: expected UTF-8, percent-encoded");
    let segments = if route.path.contains('{') { segments.map_err(wrong)?.0 } else { Vec::new() };
    if caller.role < route.role {
        let message = format!("this needs the role {}, the request has the role {}", route.role, caller.role);
        return Err(ApiError::new(Kind::Forbidden, message));
    }
    let query = Query::parse(head.uri.query(), &route.query)?;
    match route.takes {
        Takes::Nothing => {}
        Takes::Json(_) => body::check_type(head, &[JSON])?,
        Takes::Patch(_) => body::check_type(head, &["application/merge-patch+json", JSON])?,
        Takes::File(_) => body::check_type(head, &[body::OCTET_STREAM, JSON])?,
    }
    Ok((query, segments))
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The whole path, also within the router that is nested below [`BASE`].
fn whole_path(head: &Parts) -> &str {
    head.extensions.get::<OriginalUri>().map_or(&head.uri, |uri| &uri.0).path()
}

/// What a request is about, from its path.
fn object_of(path: &str) -> String {
    let path = path.strip_prefix(BASE).unwrap_or(path).trim_start_matches('/');
    path.chars().take(200).collect()
}

fn with_id(mut response: Response, id: RequestId) -> Response {
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

//! The order of all checks on a request of `/admin/v1`: credential, path, method, role, parameters, headers, body; then its
//! handler, and the audit of what is not safe.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use gatehouse_model::{Clock, RequestId, Seed};
use gatehouse_tasks::{AdminIdempotency, Command};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response};
use http_body::Body;

use super::access::attempts::FailedAttempts;
use super::access::caller::{Authenticator, Caller, Claimed, LoginLinks, Role};
use super::audit::{AuditTrail, line};
use super::call::{Call, Outcome};
use super::error::{ApiError, Kind};
use super::openapi;
use super::reply::{AdminBody, Reply};
use super::request::body::{self, MAX_JSON_BYTES, MAX_UPLOAD_BYTES};
use super::request::idempotency;
use super::request::query::{Query, decoded};
use super::route::{Route, Takes};
use crate::api::error::OperationError;
use crate::service::{Actor, AdminService};

/// The rest of a request, once its body is read.
pub(crate) type Work = Pin<Box<dyn Future<Output = Response<AdminBody>> + Send>>;

/// Where the API is.
pub(crate) const BASE: &str = "/admin/v1";
const JSON: &str = "application/json";
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers the requests of the API.
pub(crate) struct Router {
    routes: Vec<Route>,
    authenticators: Vec<Arc<dyn Authenticator>>,
    attempts: FailedAttempts,
    service: Arc<AdminService>,
    links: Option<Arc<dyn LoginLinks>>,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
}

/// A request before its body is read.
pub(crate) struct Accepted {
    pub(crate) id: RequestId,
    route: usize,
    caller: Caller,
    path: Vec<(&'static str, String)>,
    query: Query,
    trail: Arc<AuditTrail>,
}

impl Accepted {
    /// What its caller may do.
    pub(crate) fn role(&self) -> Role {
        self.caller.role
    }
}

/// Why a request was refused before its body, and by whom it was sent.
struct Refused {
    error: ApiError,
    caller: Option<Caller>,
    operation: &'static str,
    /// Whether it leaves no line: one of too many guesses.
    silent: bool,
}

impl Router {
    pub(crate) fn new(
        routes: Vec<Route>,
        authenticators: Vec<Arc<dyn Authenticator>>,
        service: Arc<AdminService>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let routes = openapi::with_document(routes);
        let seed = Arc::clone(&service.seed);
        let attempts = FailedAttempts::default();
        Self { routes, authenticators, attempts, service, links: None, clock, seed }
    }

    /// The same with login links of a console.
    pub(crate) fn with_links(self, links: Arc<dyn LoginLinks>) -> Self {
        Self { links: Some(links), ..self }
    }

    /// Whether a path is the API's.
    pub(crate) fn owns(path: &str) -> bool {
        path.strip_prefix(BASE).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// An error before the router was asked, in the API's form.
    pub(crate) fn refuse(&self, kind: Kind, message: &str) -> Response<AdminBody> {
        let id = RequestId::new(self.clock.now(), self.seed.as_ref());
        with_id(ApiError::new(kind, message.trim_end()).into_response(id), id)
    }

    /// Checks the head of a request.
    ///
    /// # Errors
    /// The answer.
    pub(crate) async fn accept(&self, head: &Parts, peer: IpAddr) -> Result<Accepted, Response<AdminBody>> {
        let id = RequestId::new(self.clock.now(), self.seed.as_ref());
        match self.check(head, peer, id) {
            Ok(accepted) => Ok(accepted),
            Err(refused) => {
                if !is_safe(&head.method) && !refused.silent {
                    let object = object_of(head.uri.path());
                    let sender = (id, refused.caller.as_ref(), peer.to_string());
                    let (status, reason) = (refused.error.status(), refused.error.message());
                    let audit = line(sender, refused.operation, object, status, reason, Vec::new());
                    self.audit(audit).await;
                }
                Err(with_id(refused.error.into_response(id), id))
            }
        }
    }

    fn check(&self, head: &Parts, peer: IpAddr, id: RequestId) -> Result<Accepted, Refused> {
        let caller = self.authenticate(head, peer)?;
        let refused =
            |error, caller, operation| Refused { error, caller: Some(caller), operation, silent: false };
        let path = head.uri.path().strip_prefix(BASE).unwrap_or_default();
        let segments: Result<Vec<String>, _> = path
            .split('/')
            .skip(1)
            .map(|segment| decoded(&segment.replace('+', "%2B"), "the path"))
            .collect();
        let segments = match segments {
            Ok(segments) => segments,
            Err(error) => return Err(refused(error, caller, "")),
        };
        let fitting = self.routes.iter().enumerate();
        let mut fitting: Vec<_> =
            fitting.filter_map(|(at, route)| Some((at, route, route.matches(&segments)?))).collect();
        // A path of words is no object's, whatever its method: OpenAPI reads a document so.
        let fewest = fitting.iter().map(|(_, _, names)| names.len()).min().unwrap_or_default();
        fitting.retain(|(_, _, names)| names.len() == fewest);
        let wanted = if head.method == Method::HEAD { &Method::GET } else { &head.method };
        let found = fitting.iter().position(|(_, route, _)| route.method == *wanted);
        let Some(found) = found else {
            let error = match allowed(fitting.iter().map(|(_, route, _)| &route.method)) {
                methods if methods.is_empty() => {
                    ApiError::new(Kind::UnknownPath, format!("no resource at {}", head.uri.path()))
                }
                methods => ApiError::wrong_method(&methods),
            };
            return Err(refused(error, caller, ""));
        };
        let (at, route, path) = fitting.into_iter().nth(found).expect("a position of the list");
        if caller.role < route.role {
            let message =
                format!("this needs the role {}, the request has the role {}", route.role, caller.role);
            return Err(refused(ApiError::new(Kind::Forbidden, message), caller, route.operation));
        }
        match Query::parse(head.uri.query(), &route.query).and_then(|query| {
            check_content(route, head)?;
            Ok(query)
        }) {
            Ok(query) => Ok(Accepted { id, route: at, caller, path, query, trail: Arc::default() }),
            Err(error) => Err(refused(error, caller, route.operation)),
        }
    }

    fn authenticate(&self, head: &Parts, peer: IpAddr) -> Result<Caller, Refused> {
        let mut reason = "this needs a bearer token; it is in admin.json of the gateway's data folder";
        for authenticator in &self.authenticators {
            match authenticator.authenticate(head) {
                Claimed::Valid { who, role } => return Ok(Caller { who, role, address: peer }),
                Claimed::Nothing => {}
                Claimed::Refused(why) => {
                    reason = why;
                    break;
                }
            }
        }
        let refused = |error, silent| Refused { error, caller: None, operation: "", silent };
        match self.attempts.fail(peer, self.clock.now()) {
            Ok(()) => Err(refused(ApiError::new(Kind::Unauthenticated, reason), false)),
            Err(pause) => Err(refused(ApiError::too_many_attempts(pause), true)),
        }
    }

    /// Reads the body of an accepted request: the work that answers it. It may run on a task of its own.
    pub(crate) async fn prepare<B>(self: &Arc<Self>, head: &Parts, body: &mut B, accepted: Accepted) -> Work
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let router = Arc::clone(self);
        let call = self.call(head, body, &accepted).await;
        let object = object_of(head.uri.path());
        Box::pin(async move {
            let route = &router.routes[accepted.route];
            let outcome: Outcome = match call {
                Ok(call) => router.handle(route, call).await,
                Err(error) => Err(error),
            };
            if !route.is_safe() {
                let (status, reason) = match &outcome {
                    Ok(reply) => (reply.status(), String::new()),
                    Err(error) => (error.status(), error.message().to_owned()),
                };
                router.record(route.operation, &accepted, object, (status, &reason)).await;
            }
            let id = accepted.id;
            with_id(outcome.map_or_else(|error| error.into_response(id), Reply::into_response), id)
        })
    }

    /// An operator sees every change that was confirmed to a client; on a full disk, what can be read.
    async fn handle(&self, route: &Route, call: Call) -> Outcome {
        match self.service.flush().await {
            Err(OperationError::Busy(_)) if route.is_safe() => {}
            flushed => flushed?,
        }
        // The router writes the line itself.
        let actor = Actor::of(&call.caller).silent();
        actor.during((route.handler)(call)).await
    }

    /// Writes the line of a request whose change, if it made one, was not in the store.
    async fn record(
        &self,
        operation: &str,
        accepted: &Accepted,
        object: String,
        (status, reason): (u16, &str),
    ) {
        let Accepted { id, caller, trail, .. } = accepted;
        tracing::info!(operation, who = caller.who, status, reason, request_id = %id, "admin request");
        let sender = (*id, Some(caller), caller.address.to_string());
        let rest = trail.rest(|described, changes| {
            let changes = if status < 400 { changes } else { Vec::new() };
            line(sender, operation, described.unwrap_or(object), status, reason, changes)
        });
        if let Some(rest) = rest {
            self.audit(rest).await;
        }
    }

    async fn call<B>(&self, head: &Parts, body: &mut B, accepted: &Accepted) -> Result<Call, ApiError>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::error::Error + Send + Sync + 'static,
    {
        let route = &self.routes[accepted.route];
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
            let print = idempotency::fingerprint(route.operation, head.uri.path(), &body);
            idempotency::read(&head.headers, print, at)
        };
        let idempotency = route.idempotent.then_some(()).map(memory).transpose()?;
        let mut headers = head.headers.clone();
        // No handler needs the credential.
        headers.remove(AUTHORIZATION);
        headers.remove(http::header::COOKIE);
        Ok(Call {
            service: Arc::clone(&self.service),
            links: self.links.clone(),
            caller: accepted.caller.clone(),
            id: accepted.id,
            at,
            query: accepted.query.clone(),
            headers,
            body,
            operation: route.operation,
            path: accepted.path.clone(),
            idempotency,
            trail: Arc::clone(&accepted.trail),
        })
    }

    /// Writes a line of its own. The request is answered even if it cannot be written: it was done, or refused, already.
    async fn audit(&self, audit: gatehouse_tasks::AuditedRequest) {
        let at = self.clock.now();
        let command = Command::Administer { change: None, audit: Box::new(audit), idempotency: None, at };
        match self.service.administer(command).await {
            Ok(Ok(_)) => {}
            Ok(Err(rejection)) => tracing::error!(%rejection, "an admin request could not be recorded"),
            Err(error) => tracing::error!(%error, "an admin request could not be recorded"),
        }
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn check_content(route: &Route, head: &Parts) -> Result<(), ApiError> {
    match route.takes {
        Takes::Nothing => Ok(()),
        Takes::Json(_) => body::check_type(head, &[JSON]),
        Takes::Patch(_) => body::check_type(head, &["application/merge-patch+json", JSON]),
        Takes::File(_) => body::check_type(head, &["application/octet-stream", JSON]),
    }
}

/// What a request is about, from its path.
fn object_of(path: &str) -> String {
    let path = path.strip_prefix(BASE).unwrap_or(path).trim_start_matches('/');
    path.chars().take(200).collect()
}

fn allowed<'r>(methods: impl Iterator<Item = &'r Method>) -> String {
    let mut words = Vec::new();
    for method in methods {
        words.push(method.as_str());
        if *method == Method::GET {
            words.push("HEAD");
        }
    }
    words.join(", ")
}

fn with_id(mut response: Response<AdminBody>, id: RequestId) -> Response<AdminBody> {
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

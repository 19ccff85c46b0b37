//! The pipeline of every request: head checks, routing, authentication, the endpoint, the response's common
//! headers.
//!
//! Owns the order of these steps and what every response carries (request ids, the connection's fate, the
//! access record). Never knows an endpoint's shape (`endpoints`) or a status code of an error (`errors`).

use std::sync::Arc;

use gatehouse_driver::RequestReport;
use gatehouse_model::{Clock, CustomerId, Key, KeyId, Recent, RequestId, Seed};
use gatehouse_net::{RequestFraming, Responding, ServedBody, ShutdownPhase};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::sync::watch;

use crate::backend::Backend;
use crate::config::{Config, count};
use crate::documentation::Documents;
use crate::endpoints;
use crate::endpoints::jobs::submit_refusal;
use crate::errors::{Form, Kind, Outcome, Refusal};
use crate::http::access_log::{AccessRecord, LoggedBody};
use crate::http::auth::Auth;
use crate::http::body::{BodyBudget, RequestBody};
use crate::http::context::{EdgeContext, EndpointRequest};
use crate::http::forwarded::{self, HOP};
use crate::http::head;
use crate::http::query::quoted;
use crate::limits::concurrency_limit::ConcurrencyLimit;
use crate::limits::unread::UnreadAnswers;
use crate::rate_headers;
use crate::response::ResponseBody;
use crate::routing::routes::{Endpoint, KeyUse};
use crate::routing::table::{Lookup, RouteTable, Routes, is_never_offered};
use crate::serving::listeners::{Peer, Respond};

/// Requests that the log in memory keeps, and their bytes.
const MAX_LINES: usize = 10_000;
const MAX_LOG_BYTES: usize = 4 << 20;

/// The headers with a request's id: ours, and those that OpenAI and Anthropic clients read.
const REQUEST_ID: [HeaderName; 3] = [
    HeaderName::from_static("x-gateway-request-id"),
    HeaderName::from_static("x-request-id"),
    HeaderName::from_static("request-id"),
];

/// One for all listeners.
pub(crate) struct Pipeline {
    pub(crate) context: EdgeContext,
    auth: Auth,
    per_key: ConcurrencyLimit<KeyId>,
    per_customer: ConcurrencyLimit<CustomerId>,
    unread: UnreadAnswers,
    /// The header that has browsers use TLS only, where it is configured.
    hsts: Option<HeaderValue>,
}

impl Respond for Pipeline {
    fn answer(self: Arc<Self>, request: Request<Incoming>, peer: Arc<Peer>) -> Responding {
        Box::pin(async move { Ok(self.respond(request, &peer).await.map(ServedBody::new)) })
    }
}

impl Pipeline {
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        config: Config,
        auth: Auth,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        let context = EdgeContext {
            bodies: Arc::new(BodyBudget::new(&config.limits)),
            task_streams: ConcurrencyLimit::new(count(config.limits.task_streams_per_customer)),
            routes: Routes::default(),
            documents: Documents::default(),
            log: Arc::new(Recent::new(MAX_LINES, MAX_LOG_BYTES)),
            backend,
            config,
            clock,
            seed,
            shutdown,
        };
        let limits = &context.config.limits;
        let per_key = ConcurrencyLimit::new(count(limits.requests_per_key));
        let per_customer = ConcurrencyLimit::new(limits.requests_of_customer());
        let hsts = context.config.hsts_seconds;
        let hsts =
            (hsts > 0).then(|| HeaderValue::from_str(&format!("max-age={hsts}")).expect("digits are ASCII"));
        Self { context, auth, per_key, per_customer, unread: UnreadAnswers::default(), hsts }
    }

    /// Responds to one request. Never fails: an error is a response too.
    pub(crate) async fn respond(&self, request: Request<Incoming>, peer: &Peer) -> Response<LoggedBody> {
        let (parts, incoming) = request.into_parts();
        let clock = &*self.context.clock;
        let id = RequestId::new(clock.now(), &*self.context.seed);
        let mut record =
            AccessRecord::new(id, parts.method.clone(), &peer.observed.activity, &self.context.log);
        let mut body = RequestBody::new(incoming, &parts.headers);
        let trusted = &self.context.config.trusted_proxies;
        record.client = Some(forwarded::client(peer.address, &parts.headers, trusted));
        let origin = forwarded::origin(peer.scheme, peer.address, &parts.headers, trusted);
        let result = self.route(&parts, &origin, &mut body, peer, &mut record).await;
        record.received = body.received();
        hold_while_streamed(&result, &mut body, &mut record);
        let reusable = body.drain(clock).await;
        let of_connection = |response: &mut _, record: &mut _| {
            self.of_connection(response, &parts, &origin, peer, reusable);
            self.count_answer(response, record, peer);
        };
        self.complete(result, Form::of(parts.uri.path()), record, of_connection)
    }

    /// The end of every request, wherever it came from: a refusal becomes a response, which gets what every response has,
    /// and what `of_connection` adds; the record follows it until it has left.
    pub(super) fn complete(
        &self,
        result: Outcome,
        form: Form,
        mut record: AccessRecord,
        of_connection: impl FnOnce(&mut Response<ResponseBody>, &mut AccessRecord),
    ) -> Response<LoggedBody> {
        let id = record.id;
        let mut response = result.unwrap_or_else(|refusal| {
            if let Some(cause) = refusal.cause() {
                tracing::error!(request = %id, route = record.pattern, cause, "a request failed");
            }
            refusal.into_response(form, id, self.context.clock.now())
        });
        let now = self.context.clock.now();
        rate_headers::add(response.headers_mut(), form, &record.report.status(now), now);
        identify(&mut response, id);
        name_target(&mut response, &record.report);
        of_connection(&mut response, &mut record);
        record.status = response.status().as_u16();
        response.map(|body| LoggedBody::new(body, record))
    }

    async fn route(
        &self,
        parts: &Parts,
        origin: &forwarded::Origin,
        body: &mut RequestBody,
        peer: &Peer,
        record: &mut AccessRecord,
    ) -> Outcome {
        let authority = head::check(parts, &peer.observed.flags, &self.context.config.limits)?;
        peer.check()?;
        if parts.headers.contains_key(HOP)
            && !forwarded::is_within(peer.address.to_canonical(), &self.context.config.trusted_proxies)
        {
            // Its clients would all have its address: their limits, and the networks of their keys, would not hold.
            tracing::warn!(standby = %peer.address, "a request that a standby has sent on was refused: its address is not in server.trusted_proxies");
            return Err(Refusal::new(
                Kind::Draining,
                "this gateway does not trust the one that has sent the request on",
            ));
        }
        let base_url = self.base_url(&authority, origin);
        let (table, path) = (self.context.table(), parts.uri.path());
        let (route, param) = match table.look_up(&parts.method, path) {
            Lookup::Route(route, param) => (route, param.unwrap_or_default()),
            Lookup::OtherMethods(allowed) if parts.method == Method::OPTIONS => return Ok(options(&allowed)),
            Lookup::OtherMethods(allowed) => return Err(wrong_method(&parts.method, &allowed)),
            Lookup::UnknownPath if parts.method == Method::OPTIONS && path == "*" => {
                return Ok(options("GET, HEAD, OPTIONS, POST"));
            }
            Lookup::UnknownPath => return Err(self.no_route(&table, path, &base_url)),
        };
        record.pattern = route.pattern;
        record.surface = route.surface;
        let key = match route.endpoint.key_use() {
            KeyUse::Needed => Some(self.authenticate(route.endpoint, parts, peer, record).await?),
            KeyUse::Allowed if parts.headers.contains_key(header::AUTHORIZATION) => {
                Some(self.authenticate(route.endpoint, parts, peer, record).await?)
            }
            KeyUse::Allowed | KeyUse::Ignored => None,
        };
        // Not before its key is known: nobody else makes the operator keep a trace.
        if let (Some(_), Some(tracer)) = (&key, self.context.backend.tracer()) {
            record.trace(tracer, &parts.headers);
        }
        if let Endpoint::SwitchedOff(family) = route.endpoint {
            let refusal = self.context.backend.switched_off_path(path, family);
            return Err(refusal.map_or_else(|| self.no_route(&table, path, &base_url), submit_refusal));
        }
        if let Some(key) = &key {
            body.count_for(key);
        }
        let report = record.report.clone();
        let (id, client) = (record.id, record.client.unwrap_or(peer.address).to_string());
        let context = &self.context;
        let request = EndpointRequest { context, parts, body, route, id, client, param, base_url, report };
        endpoints::respond(request, key).await
    }

    /// The refusal of a path that nobody serves. While families start, it may be one of theirs.
    fn no_route(&self, table: &RouteTable, path: &str, base_url: &str) -> Refusal {
        let may_come = path.starts_with("/v1/") && !is_never_offered(path);
        match self.context.backend.starting() {
            Some(starting) if may_come => submit_refusal(starting),
            _ => unknown_path(table, path, base_url),
        }
    }

    async fn authenticate(
        &self,
        endpoint: Endpoint,
        parts: &Parts,
        peer: &Peer,
        record: &mut AccessRecord,
    ) -> Result<Arc<Key>, Refusal> {
        let context = &self.context;
        let x_api_key = endpoint.allows_x_api_key() || Form::of(parts.uri.path()) == Form::Messages;
        let now = context.clock.now();
        let client = record.client.unwrap_or(peer.address);
        let backend = &*context.backend;
        let outcome = self.auth.authenticate(backend, &parts.headers, x_api_key, client, now).await;
        let key = outcome.map_err(|(refusal, refused)| {
            // An operator finds out whose client still sends it.
            (record.key, record.customer) = refused;
            refusal
        })?;
        record.in_use = Some(Arc::new(peer.open.begin_use()));
        self.admit(&key, record)?;
        Ok(key)
    }

    /// Counts a request of that key and of its customer, until its response has left. A short one has left once hyper has it.
    pub(super) fn admit(&self, key: &Key, record: &mut AccessRecord) -> Result<(), Refusal> {
        (record.key, record.customer) = (Some(key.id.clone()), Some(key.customer.clone()));
        let limits = &self.context.config.limits;
        let too_many = |whose: &str, max: usize| {
            let message = format!("{whose} {max} requests under way, the most there may be at once");
            Refusal::new(Kind::RateLimited, message)
        };
        let of_key = self.per_key.try_acquire(&key.id);
        let of_key = of_key.ok_or_else(|| too_many("this API key has", count(limits.requests_per_key)))?;
        let of_customer = self.per_customer.try_acquire(&key.customer);
        let of_customer = of_customer
            .ok_or_else(|| too_many("the keys of this account have", limits.requests_of_customer()))?;
        record.permit = Some(Arc::new((of_key, of_customer)));
        Ok(())
    }

    /// What a request without a key is answered is bounded, except for files: a link to one is a credential too.
    fn count_answer(&self, response: &mut Response<ResponseBody>, record: &mut AccessRecord, peer: &Peer) {
        // A key that was refused stands in the record, too.
        if record.permit.is_some() {
            return;
        }
        if matches!(response.body(), ResponseBody::Pieces(..)) {
            record.in_use = Some(Arc::new(peer.open.begin_use()));
        } else {
            record.unread = self.unread.admit(&peer.unread, response).map(Arc::new);
        }
    }

    fn base_url(&self, authority: &Authority, origin: &forwarded::Origin) -> String {
        if let Some(url) = &self.context.config.public_url {
            return url.as_str().to_owned();
        }
        let host = origin.host.as_ref().unwrap_or(authority);
        format!("{}://{host}", origin.scheme)
    }

    /// Adds what a connection needs, whatever became of the request.
    fn of_connection(
        &self,
        response: &mut Response<ResponseBody>,
        parts: &Parts,
        origin: &forwarded::Origin,
        peer: &Peer,
        reusable: bool,
    ) {
        if parts.method == Method::HEAD {
            remove_body(response);
        }
        let headers = response.headers_mut();
        let cors = &self.context.config.cors;
        if let Some(allowed) =
            headers.get(header::ALLOW).and_then(|allowed| allowed.to_str().ok()).map(str::to_owned)
        {
            cors.answer_preflight(&parts.method, &parts.headers, &allowed, headers);
        }
        cors.mark(&parts.headers, headers);
        if let Some(value) = &self.hsts
            && origin.scheme == "https"
        {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, value.clone());
        }
        let shutdown = *self.context.shutdown.borrow();
        peer.end_request(RequestFraming::of(parts), reusable, shutdown, headers);
    }
}

/// A body is given up with its request, or with the last byte of an answer that is streamed: its plugin's instance lives as
/// long.
pub(super) fn hold_while_streamed(result: &Outcome, body: &mut RequestBody, record: &mut AccessRecord) {
    if result.as_ref().is_ok_and(|response| matches!(response.body(), ResponseBody::Stream(_))) {
        record.body = body.while_streamed();
    }
}

/// The id of the request, and what keeps a browser from guessing types.
fn identify(response: &mut Response<ResponseBody>, id: RequestId) {
    let id = HeaderValue::from_str(&id.to_string()).expect("an id is ASCII letters and digits");
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    for name in REQUEST_ID {
        headers.insert(name, id.clone());
    }
}

/// Which target of its model answered, and how many calls that took: where the model lists several. A stream whose head
/// leaves before a target has answered says neither; its line in the log does.
fn name_target(response: &mut Response<ResponseBody>, report: &RequestReport) {
    let Some((target, attempts)) = report.answered_among_targets() else { return };
    let target = target.and_then(|target| HeaderValue::from_str(&target).ok());
    let values = [("x-gateway-target", target), ("x-gateway-attempts", Some(attempts.into()))];
    for (name, value) in values.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        response.headers_mut().insert(name, value);
    }
}

/// Leaves the head alone, as `HEAD` asks for.
fn remove_body(response: &mut Response<ResponseBody>) {
    let length = http_body::Body::size_hint(response.body()).exact().unwrap_or_default();
    let has_length = !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if has_length && !response.headers().contains_key(header::CONTENT_LENGTH) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = ResponseBody::empty();
}

fn options(allowed: &str) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if let Ok(allowed) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// 405 with the methods that the path has.
pub(super) fn wrong_method(method: &Method, allowed: &str) -> Refusal {
    let message = format!("method {} is not offered here, use {allowed}", quoted(method.as_str()));
    Refusal::new(Kind::WrongMethod, message).with_header(header::ALLOW, allowed)
}

fn unknown_path(table: &RouteTable, path: &str, base: &str) -> Refusal {
    let path_quoted = quoted(path);
    let message = match table.probable_path(path) {
        // Anthropic's clients add /v1 themselves, OpenAI's do not.
        Some(right) if Form::of(&right) == Form::Messages => format!(
            "unknown path {path_quoted}: this endpoint is {base}{right}; for clients that add /v1/messages \
             themselves the base URL is {base}"
        ),
        Some(right) => format!(
            "unknown path {path_quoted}: the base URL is {base}/v1, with /v1 once; this endpoint is {base}{right}"
        ),
        None => format!("unknown path {path_quoted}"),
    };
    Refusal::new(Kind::UnknownPath, message)
}

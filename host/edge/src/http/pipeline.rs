//! One request's way through the edge: checked, routed, identified, answered, sealed.
//!
//! Owns the order of these steps and what every answer carries (request ids, connection fate, the record).
//! Never knows an endpoint's shape (`endpoints`) or a status code (`errors`).

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use gatehouse_model::{Clock, Key, KeyId, RequestId, Seed};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode, Version, header};
use hyper::body::Incoming;
use tokio::sync::{Semaphore, watch};

use crate::backend::Backend;
use crate::config::{Config, count, mib};
use crate::endpoints;
use crate::errors::{Form, Kind, Problem};
use crate::http::access_log::{Busy, Record, Recorded};
use crate::http::auth::Auth;
use crate::http::body::{self, Unread};
use crate::http::client_address;
use crate::http::head;
use crate::http::query::quoted;
use crate::http::response::Content;
use crate::http::routes::{self, Entry, Found, Route};
use crate::net::connection_limits::Tally;
use crate::net::listen::Stage;
use crate::net::transport::Signs;

/// Everything a request meets; one for all listeners.
pub(crate) struct Front<B> {
    pub(crate) backend: Arc<B>,
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seed: Arc<dyn Seed>,
    pub(crate) bodies: Arc<Semaphore>,
    pub(crate) stage: watch::Receiver<Stage>,
    auth: Auth,
    per_key: Tally<KeyId>,
}

/// The connection a request came on.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) scheme: &'static str,
    pub(crate) signs: Arc<Signs>,
    pub(crate) busy: Busy,
}

/// One request as a surface sees it.
pub(crate) struct Visit<'r> {
    pub(crate) parts: &'r Parts,
    pub(crate) body: &'r mut Unread,
    pub(crate) entry: &'static Entry,
    /// The request's id.
    pub(crate) id: RequestId,
    /// The segment the route's pattern left open.
    pub(crate) open: &'r str,
    /// What links in the answer begin with.
    pub(crate) base: String,
}

impl<B: Backend> Front<B> {
    pub(crate) fn new(
        backend: Arc<B>,
        config: Config,
        auth: Auth,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        stage: watch::Receiver<Stage>,
    ) -> Self {
        let bodies = Arc::new(body::allowance(mib(config.limits.bodies_mib)));
        let per_key = Tally::new(count(config.limits.requests_per_key));
        Self { backend, config, clock, seed, bodies, stage, auth, per_key }
    }

    /// Answers one request; never fails, a failure is an answer too.
    pub(crate) async fn answer(
        &self,
        request: Request<Incoming>,
        peer: &Peer,
    ) -> Result<Response<Recorded>, Infallible> {
        let (parts, incoming) = request.into_parts();
        let id = RequestId::new(self.clock.now(), &*self.seed);
        let mut record = Record::open(id, parts.method.clone(), &peer.busy);
        let mut body = Unread::new(incoming, &parts.headers);
        let answered = self.respond(&parts, &mut body, peer, &mut record).await;
        let mut response = answered.unwrap_or_else(|problem| {
            if let Some(cause) = problem.cause() {
                tracing::error!(request = %id, route = record.pattern, cause, "a request failed");
            }
            problem.into_response(Form::of(parts.uri.path()), id)
        });
        record.received = body.received();
        let reusable = body.drain(&*self.clock).await;
        self.seal(&mut response, &parts, peer, id, reusable);
        record.status = response.status().as_u16();
        Ok(response.map(|content| Recorded::new(content, record)))
    }

    async fn respond(
        &self,
        parts: &Parts,
        body: &mut Unread,
        peer: &Peer,
        record: &mut Record,
    ) -> Result<Response<Content>, Problem> {
        let authority = head::check(parts, &peer.signs, &self.config.limits)?;
        let base = self.base(&authority, peer);
        let (entry, open) = match routes::find(&parts.method, parts.uri.path()) {
            Found::Route(entry, open) => (entry, open.unwrap_or_default()),
            Found::OtherMethods(allowed) if parts.method == Method::OPTIONS => return Ok(options(&allowed)),
            Found::OtherMethods(allowed) => return Err(wrong_method(&parts.method, &allowed)),
            Found::Nothing if parts.method == Method::OPTIONS && parts.uri.path() == "*" => {
                return Ok(options("GET, HEAD, OPTIONS, POST"));
            }
            Found::Nothing => return Err(unknown_path(parts.uri.path(), &base)),
        };
        record.pattern = entry.pattern;
        record.surface = entry.surface;
        let key = if entry.route.is_open() {
            None
        } else {
            Some(self.identify(entry.route, parts, peer, record)?)
        };
        let visit = Visit { parts, body, entry, id: record.id, open, base };
        match key {
            Some(key) => endpoints::answer(self, visit, key).await,
            None => endpoints::answer_open(self, visit).await,
        }
    }

    fn identify(
        &self,
        route: Route,
        parts: &Parts,
        peer: &Peer,
        record: &mut Record,
    ) -> Result<Arc<Key>, Problem> {
        let client = client_address::client(peer.address, &parts.headers, &self.config.trusted_proxies);
        let either = route.is_anthropics() || Form::of(parts.uri.path()) == Form::Messages;
        let key = self.auth.identify(&*self.backend, &parts.headers, either, client, self.clock.now())?;
        record.key = Some(key.id.clone());
        record.place = Some(self.per_key.enter(&key.id).ok_or_else(|| {
            let most = self.config.limits.requests_per_key;
            let message = format!("this API key has {most} requests under way, the most it may have at once");
            Problem::new(Kind::RateLimited, message)
        })?);
        Ok(key)
    }

    fn base(&self, authority: &Authority, peer: &Peer) -> String {
        match &self.config.public_url {
            Some(url) => url.as_str().to_owned(),
            None => format!("{}://{authority}", peer.scheme),
        }
    }

    /// What every answer carries, whatever became of the request.
    fn seal(
        &self,
        response: &mut Response<Content>,
        parts: &Parts,
        peer: &Peer,
        id: RequestId,
        reusable: bool,
    ) {
        if parts.method == Method::HEAD {
            bare(response);
        }
        let id = HeaderValue::from_str(&id.to_string()).expect("an id is ASCII letters and digits");
        let headers = response.headers_mut();
        // The same id under the names OpenAI and Anthropic clients read.
        for name in ["x-gateway-request-id", "x-request-id", "request-id"] {
            headers.insert(name, id.clone());
        }
        if !reusable {
            peer.signs.linger();
        }
        let sized = parts.headers.contains_key(header::CONTENT_LENGTH);
        let framed = sized || parts.headers.contains_key(header::TRANSFER_ENCODING);
        let last = !reusable || (framed && peer.signs.is_last()) || *self.stage.borrow() != Stage::Open;
        if parts.version < Version::HTTP_2 && last {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// The head of an answer without its body, as `HEAD` asks for.
fn bare(response: &mut Response<Content>) {
    let length = http_body::Body::size_hint(response.body()).exact().unwrap_or_default();
    let carries = !matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if carries && !response.headers().contains_key(header::CONTENT_LENGTH) {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = Content::Empty;
}

fn options(allowed: &str) -> Response<Content> {
    let mut response = Response::new(Content::Empty);
    *response.status_mut() = StatusCode::NO_CONTENT;
    if let Ok(allowed) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

fn wrong_method(method: &Method, allowed: &str) -> Problem {
    let message = format!("method {} is not offered here, use {allowed}", quoted(method.as_str()));
    Problem::new(Kind::WrongMethod, message).with(header::ALLOW, allowed)
}

fn unknown_path(path: &str, base: &str) -> Problem {
    let path_quoted = quoted(path);
    let message = match routes::meant(path) {
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
    Problem::new(Kind::UnknownPath, message)
}

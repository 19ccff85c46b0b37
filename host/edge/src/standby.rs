//! The public listeners of a gateway that waits to take the place of another: a request is sent on to the one at work, whole or as a
//! stream, or refused with the moment to come again. Knows no key and no route but those of health.
//!
//! The one at work sees this gateway as a proxy: it has to trust its address to know its clients'. A header ends loops: what came from
//! another gateway is never sent on again. The sockets outlive these listeners, so that no client is refused in between.

use std::borrow::Cow;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Boxed, Clock, RequestId, Seed};
use gatehouse_net::{
    Certificates, RequestActivity, RequestFraming, Responding, ServedBody, ShutdownPhase, TrackedBody,
    reached,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;

use crate::config::{Config, Limits};
use crate::edge::{Error, certificates_of, listeners};
use crate::errors::{Form, Kind, Refusal};
use crate::http::body::holding;
use crate::http::forwarded::HOP;
use crate::http::head;
use crate::limits::open_connections::InUse;
use crate::response;
use crate::serving::listeners::{Listeners, Peer, Respond};

/// Requests that are sent on at once; further ones are refused.
const REQUESTS: usize = 4096;
/// For requests under way when the listeners end, and for a word of a gateway that is not at work any more.
const GRACE: Duration = Duration::from_secs(10);
/// A takeover takes about as long.
const AGAIN: Duration = Duration::from_secs(1);
/// Headers of one connection. `Host` becomes that of the gateway at work.
const OF_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// The gateway at work, as one that waits knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtWork {
    /// What it is called; empty where that is not known.
    pub name: String,
    /// Where its public API is reached, if requests are sent on.
    pub address: Option<String>,
}

/// Sends requests to the gateway at work.
pub trait SendOn: Send + Sync {
    /// Sends one to this address, and waits for the head of its answer; or says for the log why it got none.
    fn send(
        &self,
        address: String,
        request: Request<ServedBody>,
    ) -> Boxed<'static, Result<Response<ServedBody>, String>>;
}

/// The listeners of a gateway that waits.
pub struct StandbyEdge {
    addresses: Vec<SocketAddr>,
    sockets: Vec<std::net::TcpListener>,
    shutdown: watch::Sender<ShutdownPhase>,
    accepting: Vec<JoinHandle<()>>,
    certificates: Option<Certificates>,
    clock: Arc<dyn Clock>,
}

/// Where requests are sent on to, and how.
pub struct Forwarding {
    /// What this gateway is called, which a request that is sent on tells.
    pub name: String,
    /// The gateway at work.
    pub at_work: watch::Receiver<AtWork>,
    /// What sends them.
    pub send_on: Arc<dyn SendOn>,
}

struct Standby {
    forwarding: Forwarding,
    permits: Arc<Semaphore>,
    limits: Limits,
    clock: Arc<dyn Clock>,
    seed: Arc<dyn Seed>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

impl StandbyEdge {
    /// Binds and serves as [`crate::Edge::start`] does.
    pub fn start(
        config: &Config,
        forwarding: Forwarding,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        certificates: Option<Certificates>,
        inherited: Vec<std::net::TcpListener>,
    ) -> Result<Self, Error> {
        let certificates = certificates_of(config, certificates)?;
        let bound = listeners(config, inherited)?;
        let copies = bound.iter().map(|(_, listener)| listener.as_fd().try_clone_to_owned().map(Into::into));
        let sockets = copies.collect::<io::Result<Vec<_>>>().map_err(Error::Inherited)?;
        let (shutdown, watched) = watch::channel(ShutdownPhase::Serving);
        let service = Arc::new(Standby {
            forwarding,
            permits: Arc::new(Semaphore::new(REQUESTS)),
            limits: config.limits.clone(),
            clock: Arc::clone(&clock),
            seed,
            shutdown: watched.clone(),
        });
        let shared =
            Arc::new(Listeners::new(config, service, Arc::clone(&clock), certificates.clone(), watched));
        Ok(Self {
            addresses: bound.iter().map(|(address, _)| *address).collect(),
            sockets,
            accepting: bound
                .into_iter()
                .map(|(_, listener)| tokio::spawn(Arc::clone(&shared).accept(listener)))
                .collect(),
            shutdown,
            certificates,
            clock,
        })
    }

    /// What it serves over TLS with. A gateway may wait longer than a certificate lasts.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Stops accepting, and gives the sockets away: connections that come now wait in them. What is under way ends by itself, within
    /// a moment.
    pub async fn stop(self) -> Vec<std::net::TcpListener> {
        self.shutdown.send_replace(ShutdownPhase::Draining);
        let (shutdown, clock) = (self.shutdown, self.clock);
        // First: a listener may wait until a connection has ended.
        tokio::spawn(async move {
            clock.pause(GRACE).await;
            shutdown.send_replace(ShutdownPhase::Aborting);
        });
        for listener in self.accepting {
            let _ = listener.await;
        }
        self.sockets
    }
}

impl Respond for Standby {
    fn answer(self: Arc<Self>, request: Request<Incoming>, peer: Arc<Peer>) -> Responding {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let (form, framing) = (Form::of(parts.uri.path()), RequestFraming::of(&parts));
            let (body, end) = TrackedBody::new(body);
            let answered = self.respond(Request::from_parts(parts, body), &peer).await;
            let mut answer = answered.unwrap_or_else(|refusal| {
                let id = RequestId::new(self.clock.now(), &*self.seed);
                refusal.into_response(form, id, self.clock.now()).map(ServedBody::new)
            });
            let shutdown = *self.shutdown.borrow();
            peer.end_request(framing, end.is_reached(), shutdown, answer.headers_mut());
            Ok(answer)
        })
    }
}

impl Standby {
    async fn respond(
        &self,
        request: Request<TrackedBody>,
        peer: &Peer,
    ) -> Result<Response<ServedBody>, Refusal> {
        let mut under_way = peer.observed.activity.begin_request();
        let (mut parts, body) = request.into_parts();
        let authority = head::check(&parts, &peer.observed.flags, &self.limits)?;
        peer.check()?;
        let mut at_work = self.forwarding.at_work.clone();
        let AtWork { name, address } = at_work.borrow_and_update().clone();
        let own = match parts.uri.path() {
            "/livez" => Some(json!({ "status": "ok" })),
            "/readyz" if address.is_some() => Some(json!({ "status": "standby", "at_work": name })),
            "/readyz" => return Err(not_ready(&name)),
            _ => None,
        };
        if let Some(own) = own {
            return Ok(response::json(&own).map(ServedBody::new));
        }
        let Some(address) = address else { return Err(not_ready(&name)) };
        if parts.headers.contains_key(HOP) {
            return Err(refused("the gateway that is said to be at work waits for another one"));
        }
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return Err(refused("this gateway sends on as many requests as it may"));
        };
        let has_credential = is_asked_with_credential(&parts);
        pass_on(&mut parts.headers);
        let hop = HeaderValue::try_from(&self.forwarding.name);
        parts.headers.insert(HOP, hop.unwrap_or_else(|_| HeaderValue::from_static("gatehouse")));
        let client = peer.address.to_canonical().to_string();
        for (name, value) in [
            ("x-forwarded-for", client.as_str()),
            ("x-forwarded-proto", peer.scheme),
            ("x-forwarded-host", authority.as_str()),
        ] {
            if let Ok(value) = HeaderValue::from_str(value) {
                parts.headers.append(HeaderName::from_static(name), value);
            }
        }
        let body = ServedBody::new(body.map_err(io::Error::other));
        let answer = tokio::select! {
            biased;
            answer = self.forwarding.send_on.send(address, Request::from_parts(parts, body)) => answer,
            // One that is stopped never answers, also once another one has its place.
            () = reached(self.shutdown.clone(), ShutdownPhase::Draining) => {
                Err("this gateway takes over".to_owned())
            }
            Ok(()) = at_work.changed() => Err("another gateway has taken over".to_owned()),
        };
        let mut answer = answer.map_err(|error| {
            tracing::warn!(at_work = name, %error, "a request that was sent on got no answer");
            refused("the gateway at work does not answer; it may have taken this request, so repeat it with its Idempotency-Key")
        })?;
        pass_on(answer.headers_mut());
        // From its head on an answer that is ready waits for its client.
        under_way.set_awaiting_client(true);
        // A refusal holds neither: a client that leaves it unread is a stranger, whose connection may end for another one.
        let is_use = has_credential && answer.status().is_success();
        let passed_on = |body| PassedOn {
            body,
            under_way,
            held: is_use.then(|| Arc::new((permit, peer.open.begin_use()))),
            at_work,
            clock: Arc::clone(&self.clock),
            silence: None,
        };
        Ok(answer.map(|body| passed_on(body).boxed_unsync()))
    }
}

/// An answer of the gateway at work, and what it holds until its last byte. Once another one is at work, the former one may be stopped,
/// or its machine gone: where it says nothing for a while then, its answer ends.
struct PassedOn {
    body: ServedBody,
    under_way: RequestActivity,
    /// Its place among the requests that are sent on, and its connection in use, together with the bytes that are not written yet.
    held: Option<Arc<(OwnedSemaphorePermit, InUse)>>,
    at_work: watch::Receiver<AtWork>,
    clock: Arc<dyn Clock>,
    /// Since its last word.
    silence: Option<Boxed<'static, ()>>,
}

impl Body for PassedOn {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Self { body, under_way, held, at_work, clock, silence } = self.get_mut();
        under_way.record_progress();
        let frame = Pin::new(body).poll_frame(cx);
        // An answer that is not ready is the delay of the gateway at work, not the client's.
        under_way.set_awaiting_client(frame.is_ready());
        if frame.is_ready() {
            *silence = None;
            return frame.map_ok(|frame| match held {
                Some(held) => frame.map_data(|bytes| holding(bytes, Arc::clone(held))),
                None => frame,
            });
        }
        let silence = silence.get_or_insert_with(|| {
            let (mut at_work, clock) = (at_work.clone(), Arc::clone(clock));
            Box::pin(async move {
                match at_work.changed().await {
                    Ok(()) => clock.pause(GRACE).await,
                    Err(_) => pending().await,
                }
            })
        });
        let ended = || Some(Err(io::Error::other("another gateway has taken over")));
        silence.as_mut().poll(cx).map(|()| ended())
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether the gateway at work looks at a key, or at a signed link, before it answers well.
fn is_asked_with_credential(parts: &Parts) -> bool {
    let has = |name: &str| parts.headers.contains_key(name);
    let has_key = has("authorization") || has("x-api-key");
    let path = parts.uri.path();
    path.starts_with("/v1/media/") || (path.starts_with("/v1/") && path != "/v1/openapi.json" && has_key)
}

/// Leaves out what belongs to one connection, also what that says of itself.
fn pass_on(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in OF_CONNECTION.iter().chain(&named) {
        headers.remove(name);
    }
}

fn not_ready(at_work: &str) -> Refusal {
    let message = if at_work.is_empty() {
        "this gateway waits for another one, and is not at work".to_owned()
    } else {
        format!("this gateway is a standby; {at_work} is at work")
    };
    refused(message)
}

fn refused(message: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::new(Kind::Draining, message).with_retry_after(Some(AGAIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of one connection would change how the next one is read, or the gateway at work would be asked for by another's name.
    #[test]
    fn what_belongs_to_one_connection_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Mine"),
            ("connection", "close"),
            ("host", "a"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("authorization", "Bearer b"),
            ("x-forwarded-for", "192.0.2.1"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        pass_on(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["authorization", "x-forwarded-for"]);
    }
}

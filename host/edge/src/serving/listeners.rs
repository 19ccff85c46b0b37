//! What listeners of the public API do with connections: they are accepted within limits, and each of their requests is handed to the one
//! service behind all of them. Never looks into a request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use gatehouse_model::{Clock, metric};
use gatehouse_net::{
    AcceptedStream, Certificates, ConnectionServer, Handshakes, Observed, Protocol, RequestFraming,
    Responding, ShutdownPhase, accept, network, reached,
};
use http::{HeaderMap, Request};
use hyper::body::Incoming;
use ipnet::IpNet;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};

use crate::config::{Config, count};
use crate::errors::{Kind, Refusal};
use crate::http::forwarded;
use crate::limits::concurrency_limit::{ConcurrencyLimit, Permit};
use crate::limits::open_connections::{OpenConnection, OpenConnections, Origin};
use crate::limits::unread::UnreadOnConnection;

/// Answers the requests of every connection.
pub(crate) trait Respond: Send + Sync {
    fn answer(self: Arc<Self>, request: Request<Incoming>, peer: Arc<Peer>) -> Responding;
}

/// The connection a request came on.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    pub(crate) scheme: &'static str,
    pub(crate) observed: Observed,
    pub(crate) open: Arc<OpenConnection>,
    pub(crate) unread: UnreadOnConnection,
}

impl Peer {
    /// Its connection is one too many, and only says so.
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self.open.origin, Origin::Refused(_))
    }

    /// Refuses a request on a connection that is one too many.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.is_refused() {
            let message = "too many connections of this address or its network";
            return Err(Refusal::new(Kind::RateLimited, message));
        }
        Ok(())
    }

    /// Ends a request with this answer. It is the last of a connection that is one too many, and of any in a shutdown.
    pub(crate) fn end_request(
        &self,
        framing: RequestFraming,
        is_read: bool,
        shutdown: ShutdownPhase,
        answer: &mut HeaderMap,
    ) {
        let is_last = self.is_refused() || shutdown != ShutdownPhase::Serving;
        framing.end(&self.observed.flags, is_read, is_last, answer);
        // HTTP/2 has no header that says so.
        if self.is_refused() && !framing.is_http1() {
            self.observed.flags.end();
        }
    }
}

/// What all listeners of one edge share.
pub(crate) struct Listeners {
    service: Arc<dyn Respond>,
    clock: Arc<dyn Clock>,
    trusted_proxies: Vec<IpNet>,
    cleartext_http2: bool,
    connections: ConnectionServer,
    handshakes: Option<Handshakes>,
    shutdown: watch::Receiver<ShutdownPhase>,
    per_subnet: ConcurrencyLimit<IpAddr>,
    pub(crate) open: Arc<OpenConnections>,
    /// One for each connection beyond a limit that is told so; further ones are closed without a word.
    refusals: Arc<Semaphore>,
}

/// Of all connections, one in so many may be one that is only refused.
const SHARE_OF_REFUSALS: usize = 16;

/// Counts one open connection until it is dropped.
struct CountedConnection {
    _total: OwnedSemaphorePermit,
    _per_subnet: Option<Permit<IpAddr>>,
    _refusal: Option<OwnedSemaphorePermit>,
    gives_way: oneshot::Receiver<()>,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        metrics::gauge!(metric::CONNECTIONS).decrement(1);
    }
}

impl Listeners {
    pub(crate) fn new(
        config: &Config,
        service: Arc<dyn Respond>,
        clock: Arc<dyn Clock>,
        certificates: Option<Certificates>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        let limits = &config.limits;
        let handshakes = certificates.map(|certificates| {
            Handshakes::new(certificates, limits.of_handshakes(), Arc::clone(&clock), shutdown.clone())
        });
        Self {
            handshakes,
            per_subnet: ConcurrencyLimit::new(count(limits.connections_per_ip)),
            open: OpenConnections::new(count(limits.connections), limits.connections_of_network()),
            refusals: Arc::new(Semaphore::new(count(limits.connections).div_ceil(SHARE_OF_REFUSALS))),
            connections: ConnectionServer::new(limits.of_connections(), Arc::clone(&clock), shutdown.clone()),
            trusted_proxies: config.trusted_proxies.clone(),
            cleartext_http2: config.cleartext_http2,
            shutdown,
            service,
            clock,
        }
    }

    /// Accepts until the drain begins.
    pub(crate) async fn accept(self: Arc<Self>, listener: TcpListener) {
        while let Some((stream, peer)) = accept(&listener, &self.shutdown, &*self.clock).await {
            // While every connection is in use nothing more is accepted: the kernel's queue holds the others. A connection
            // that was accepted is served even if a shutdown begins while it waits.
            tokio::select! {
                permit = self.open.permit() => self.admit(permit, stream, peer),
                () = reached(self.shutdown.clone(), ShutdownPhase::Aborting) => return,
            }
        }
    }

    fn admit(self: &Arc<Self>, permit: OwnedSemaphorePermit, stream: TcpStream, peer: SocketAddr) {
        let ip = peer.ip().to_canonical();
        // A trusted proxy carries many clients.
        let is_proxy = forwarded::is_within(ip, &self.trusted_proxies);
        let subnet = if is_proxy { None } else { self.per_subnet.try_acquire(&forwarded::subnet(ip)) };
        let origin = if is_proxy { Origin::Proxy(ip) } else { Origin::Clients(network(ip)) };
        let is_within = is_proxy || subnet.is_some();
        let entered = is_within.then(|| self.open.enter(origin)).flatten();
        let refusal =
            if entered.is_some() { None } else { Arc::clone(&self.refusals).try_acquire_owned().ok() };
        let refused = || self.open.enter(Origin::Refused(ip));
        let entered = entered.or_else(|| refusal.as_ref().and_then(|_| refused()));
        let Some((open, gives_way)) = entered else {
            tracing::debug!(%peer, "too many connections of one address or network");
            return;
        };
        metrics::gauge!(metric::CONNECTIONS).increment(1);
        let mut counted =
            CountedConnection { _total: permit, _per_subnet: subnet, _refusal: refusal, gives_way };
        let listeners = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = listeners.serve(stream, ip, open) => {}
                _ = &mut counted.gives_way => tracing::debug!(%peer, "a connection gave way to a new one"),
            }
            drop(counted);
        });
    }

    async fn serve(&self, stream: TcpStream, ip: IpAddr, open: Arc<OpenConnection>) {
        // Responses are written whole; waiting for more bytes only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
        let Some(handshakes) = &self.handshakes else {
            let protocol = if self.cleartext_http2 { Protocol::Either } else { Protocol::Http1 };
            return self.serve_http(AcceptedStream::Left(stream), ip, open, "http", protocol).await;
        };
        match handshakes.accept(stream, ip).await {
            Ok(stream) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
                let stream = AcceptedStream::Right(Box::new(stream));
                self.serve_http(stream, ip, open, "https", protocol).await;
            }
            Err(refusal) => tracing::debug!(%refusal, "a connection was refused"),
        }
    }

    async fn serve_http(
        &self,
        stream: AcceptedStream,
        address: IpAddr,
        open: Arc<OpenConnection>,
        scheme: &'static str,
        protocol: Protocol,
    ) {
        let observed = Observed { flushes: open.flushes.clone(), ..Observed::default() };
        let unread = UnreadOnConnection::default();
        let peer = Arc::new(Peer { address, scheme, observed: observed.clone(), open, unread });
        let service = Arc::clone(&self.service);
        let respond = Box::new(move |request| Arc::clone(&service).answer(request, Arc::clone(&peer)));
        self.connections.serve(stream, observed, protocol, respond).await;
    }
}

//! Accepting connections within limits, and TLS. Hands every accepted stream to `connection`; never looks
//! into a request.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::metric;
use gatehouse_net::{
    AcceptedStream, Certificates, ConnectionServer, Handshakes, Observed, Protocol, Responding, ServedBody,
    ShutdownPhase, network, reached,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};

use crate::config::count;
use crate::http::client_address;
use crate::http::pipeline::{Peer, Pipeline};
use crate::http::unread::UnreadOnConnection;
use crate::net::concurrency_limit::{ConcurrencyLimit, Permit};
use crate::net::open_connections::{OpenConnection, OpenConnections, Origin};

/// The time until the next accept after one that failed, mostly for want of descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What all listeners of one edge share.
pub(crate) struct Listeners {
    pipeline: Arc<Pipeline>,
    connections: ConnectionServer,
    handshakes: Option<Handshakes>,
    shutdown: watch::Receiver<ShutdownPhase>,
    per_subnet: ConcurrencyLimit<IpAddr>,
    pub(crate) open: Arc<OpenConnections>,
}

/// Counts one open connection until it is dropped.
struct CountedConnection {
    _total: OwnedSemaphorePermit,
    _per_subnet: Option<Permit<IpAddr>>,
    gives_way: oneshot::Receiver<()>,
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        metrics::gauge!(metric::CONNECTIONS).decrement(1);
    }
}

impl Listeners {
    pub(crate) fn new(
        pipeline: Arc<Pipeline>,
        certificates: Option<Certificates>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        let (limits, clock) = (&pipeline.context.config.limits, Arc::clone(&pipeline.context.clock));
        let handshakes = certificates.map(|certificates| {
            Handshakes::new(certificates, limits.of_handshakes(), Arc::clone(&clock), shutdown.clone())
        });
        Self {
            handshakes,
            per_subnet: ConcurrencyLimit::new(count(limits.connections_per_ip)),
            open: OpenConnections::new(count(limits.connections), limits.connections_of_network()),
            connections: ConnectionServer::new(limits.of_connections(), clock, shutdown.clone()),
            shutdown,
            pipeline,
        }
    }

    /// Accepts until the drain begins.
    pub(crate) async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = reached(self.shutdown.clone(), ShutdownPhase::Draining) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                // While every connection is in use nothing more is accepted: the kernel's queue holds the others. A
                // connection that was accepted is served even if a shutdown begins while it waits.
                Ok((stream, peer)) => tokio::select! {
                    permit = self.open.permit() => self.admit(permit, stream, peer),
                    () = reached(self.shutdown.clone(), ShutdownPhase::Aborting) => return,
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.pipeline.context.clock.pause(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, permit: OwnedSemaphorePermit, stream: TcpStream, peer: SocketAddr) {
        let ip = peer.ip().to_canonical();
        // A trusted proxy carries many clients.
        let trusted = &self.pipeline.context.config.trusted_proxies;
        let is_proxy = client_address::is_within(ip, trusted);
        let per_subnet = if is_proxy {
            None
        } else {
            let Some(permit) = self.per_subnet.try_acquire(&client_address::subnet(ip)) else {
                tracing::debug!(%peer, "too many connections of one address");
                return;
            };
            Some(permit)
        };
        let origin = if is_proxy { Origin::Proxy(ip) } else { Origin::Clients(network(ip)) };
        let Some((open, gives_way)) = self.open.enter(origin) else {
            tracing::debug!(%peer, "too many connections of one network, all of them in use");
            return;
        };
        metrics::gauge!(metric::CONNECTIONS).increment(1);
        let mut counted = CountedConnection { _total: permit, _per_subnet: per_subnet, gives_way };
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
            let either = self.pipeline.context.config.cleartext_http2;
            let protocol = if either { Protocol::Either } else { Protocol::Http1 };
            return self.serve_http(stream, (ip, open), "http", protocol).await;
        };
        match handshakes.accept(stream, ip).await {
            Ok(stream) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
                self.serve_http(stream, (ip, open), "https", protocol).await;
            }
            Err(refusal) => tracing::debug!(%refusal, "a connection was refused"),
        }
    }

    async fn serve_http(
        &self,
        stream: impl Into<AcceptedStream>,
        (address, open): (IpAddr, Arc<OpenConnection>),
        scheme: &'static str,
        protocol: Protocol,
    ) {
        let observed = Observed { flushes: open.flushes.clone(), ..Observed::default() };
        let unread = UnreadOnConnection::default();
        let peer = Arc::new(Peer { address, scheme, observed: observed.clone(), open, unread });
        let pipeline = Arc::clone(&self.pipeline);
        let respond = Box::new(move |request| -> Responding {
            let (pipeline, peer) = (Arc::clone(&pipeline), Arc::clone(&peer));
            Box::pin(async move { Ok(pipeline.respond(request, &peer).await.map(ServedBody::new)) })
        });
        self.connections.serve(stream, observed, protocol, respond).await;
    }
}

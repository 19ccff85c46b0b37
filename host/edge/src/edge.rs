//! The public listeners as a whole: binds, accepts within limits, moves through the phases of a shutdown. Hands every accepted
//! stream to the server of connections; never looks into a request.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, Pepper, Seed, metric};
use gatehouse_net::{
    AcceptedStream, Certificates, ConnectionServer, Handshakes, Observed, Protocol, Responding, ServedBody,
    ShutdownPhase, TlsError, accept, network, reached,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinHandle;

use crate::backend::Backend;
use crate::config::{Config, count};
use crate::http::auth::Auth;
use crate::http::forwarded;
use crate::limits::concurrency_limit::{ConcurrencyLimit, Permit};
use crate::limits::open_connections::{OpenConnection, OpenConnections, Origin};
use crate::limits::unread::UnreadOnConnection;
use crate::serving::local::LocalRequests;
use crate::serving::pipeline::{Peer, Pipeline};

/// Why the edge cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address cannot be listened on.
    #[error("server.listen {address}: {source}")]
    Bind {
        /// As configured.
        address: SocketAddr,
        /// The system's error; its kind tells an address in use from one that is not ours.
        source: io::Error,
    },
    /// A socket that was handed over cannot be listened on.
    #[error("a listening socket that was handed over: {0}")]
    Inherited(io::Error),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The public listeners, serving. Dropping it stops new connections; [`Edge::drain`] also ends the old ones.
pub struct Edge {
    addresses: Vec<SocketAddr>,
    certificates: Option<Certificates>,
    shutdown: watch::Sender<ShutdownPhase>,
    accepting: Vec<JoinHandle<()>>,
    lame_duck: Duration,
    permits: Arc<Semaphore>,
    connections: u32,
    clock: Arc<dyn Clock>,
    pipeline: Arc<Pipeline>,
}

impl Edge {
    /// Binds every configured address and serves at once; with `inherited`, serves those sockets and binds
    /// none.
    ///
    /// `certificates` wins over the files of the configuration; without either the listeners speak cleartext.
    ///
    /// # Errors
    /// [`Error`] naming the setting that cannot be used; nothing is left listening.
    pub fn start(
        config: Config,
        driver: gatehouse_driver::Driver,
        pepper: Pepper,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        certificates: Option<Certificates>,
        inherited: Vec<std::net::TcpListener>,
    ) -> gatehouse_model::Boxed<'static, Result<Self, Error>> {
        Box::pin(Self::serve(config, Arc::new(driver), pepper, clock, seed, certificates, inherited))
    }

    pub(crate) async fn serve(
        config: Config,
        backend: Arc<dyn Backend>,
        pepper: Pepper,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        certificates: Option<Certificates>,
        inherited: Vec<std::net::TcpListener>,
    ) -> Result<Self, Error> {
        let certificates = match (certificates, &config.tls) {
            (Some(given), _) => Some(given),
            (None, Some(files)) => Some(Certificates::from_files(files.files())?),
            (None, None) => None,
        };
        let listeners = if inherited.is_empty() { bind(&config.listen)? } else { adopt(inherited)? };
        let addresses = listeners.iter().map(|(address, _)| *address).collect();
        let (shutdown, watched) = watch::channel(ShutdownPhase::Serving);
        let connections = u32::try_from(count(config.limits.connections).min(Semaphore::MAX_PERMITS));
        let lame_duck = Duration::from_millis(u64::from(config.lame_duck_ms));
        let auth = Auth::new(pepper);
        let time = Arc::clone(&clock);
        let pipeline = Arc::new(Pipeline::new(backend, config, auth, time, seed, watched.clone()));
        let shared = Arc::new(Listeners::new(Arc::clone(&pipeline), certificates.clone(), watched));
        let accept = |(_, listener)| tokio::spawn(Arc::clone(&shared).accept(listener));
        let accepting = listeners.into_iter().map(accept).collect();
        let permits = Arc::clone(shared.open.permits());
        Ok(Self {
            addresses,
            certificates,
            shutdown,
            accepting,
            lame_duck,
            permits,
            connections: connections.unwrap_or(u32::MAX),
            clock,
            pipeline,
        })
    }

    /// Where it listens, in the order of the configuration, with the ports the system chose.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Requests of this process itself, which come over no listener.
    #[must_use]
    pub fn local(&self) -> LocalRequests {
        LocalRequests::new(Arc::clone(&self.pipeline))
    }

    /// Bytes of request bodies that are held.
    #[cfg(test)]
    pub(crate) fn body_bytes(&self) -> usize {
        self.pipeline.context.bodies.held()
    }

    /// The certificate in use, to reload it.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The lame duck phase, for the configured time: `/readyz` refuses, every response ends its connection,
    /// connections and requests are still accepted. So load balancers move away before anything is refused.
    pub async fn lame_duck(&self) {
        self.shutdown.send_replace(ShutdownPhase::LameDuck);
        self.clock.pause(self.lame_duck).await;
    }

    /// Stops accepting, lets requests under way finish for at most `grace`, then drops what is left.
    pub async fn drain(mut self, grace: Duration) {
        self.shutdown.send_replace(ShutdownPhase::Draining);
        let accepting = std::mem::take(&mut self.accepting);
        let end = async {
            // Accepting ends first: the last accepted connection must hold its permit before permits are
            // counted.
            for listener in accepting {
                let _ = listener.await;
            }
            self.all_closed().await;
        };
        tokio::select! {
            biased;
            () = end => return,
            () = self.clock.pause(grace) => {}
        }
        let left = self.connections as usize - self.permits.available_permits();
        tracing::warn!(connections = left, "dropping connections whose requests did not end in time");
        self.shutdown.send_replace(ShutdownPhase::Aborting);
        self.all_closed().await;
    }

    /// Waits until every connection's permit is free.
    async fn all_closed(&self) {
        // The semaphore is never closed, so this can only succeed.
        let _ = self.permits.acquire_many(self.connections).await;
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.shutdown.send_replace(ShutdownPhase::Aborting);
    }
}

/// Sockets opened by a service manager, which keeps them open when this process ends.
fn adopt(sockets: Vec<std::net::TcpListener>) -> Result<Vec<(SocketAddr, TcpListener)>, Error> {
    let adopted = sockets.into_iter().map(|socket| {
        socket.set_nonblocking(true)?;
        let listener = TcpListener::from_std(socket)?;
        Ok((listener.local_addr()?, listener))
    });
    adopted.collect::<io::Result<_>>().map_err(Error::Inherited)
}

fn bind(addresses: &[SocketAddr]) -> Result<Vec<(SocketAddr, TcpListener)>, Error> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let wrong = |source| Error::Bind { address, source };
        let listener = gatehouse_net::listen(address).map_err(wrong)?;
        listeners.push((listener.local_addr().map_err(wrong)?, listener));
    }
    Ok(listeners)
}

/// What all listeners of one edge share.
struct Listeners {
    pipeline: Arc<Pipeline>,
    connections: ConnectionServer,
    handshakes: Option<Handshakes>,
    shutdown: watch::Receiver<ShutdownPhase>,
    per_subnet: ConcurrencyLimit<IpAddr>,
    open: Arc<OpenConnections>,
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
            refusals: Arc::new(Semaphore::new(count(limits.connections).div_ceil(SHARE_OF_REFUSALS))),
            connections: ConnectionServer::new(limits.of_connections(), clock, shutdown.clone()),
            shutdown,
            pipeline,
        }
    }

    /// Accepts until the drain begins.
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let clock = &*self.pipeline.context.clock;
        while let Some((stream, peer)) = accept(&listener, &self.shutdown, clock).await {
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
        let is_proxy = forwarded::is_within(ip, &self.pipeline.context.config.trusted_proxies);
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
            let either = self.pipeline.context.config.cleartext_http2;
            let protocol = if either { Protocol::Either } else { Protocol::Http1 };
            return self.serve_http(stream, ip, open, "http", protocol).await;
        };
        match handshakes.accept(stream, ip).await {
            Ok(stream) => {
                let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
                self.serve_http(stream, ip, open, "https", protocol).await;
            }
            Err(refusal) => tracing::debug!(%refusal, "a connection was refused"),
        }
    }

    async fn serve_http(
        &self,
        stream: impl Into<AcceptedStream>,
        address: IpAddr,
        open: Arc<OpenConnection>,
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

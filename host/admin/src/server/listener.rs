//! An address that is listened on: its certificates, accepting connections, and their end. And the admin listener of a running
//! gateway, which is one of them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::Clock;
use gatehouse_net::{
    AcceptedStream, Certificates, ConnectionLimits, ConnectionServer, HandshakeLimits, Handshakes, Observed,
    Protocol, Responding, ShutdownPhase, accept, listen,
};
use http::Request;
use hyper::body::Incoming;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connections::{Connections, Entry};
use super::console::Console;
use super::handler::{Handler, Probes};
use crate::access::Tokens;
use crate::config::Config;
use crate::oidc::IdentityProvider;
use crate::service::AdminService;
use crate::session::Sessions;

/// Streams of events at once, beside the connections.
const MAX_STREAMS: usize = 32;

/// The admin listener of a running gateway. Dropping it ends every connection.
pub struct AdminServer {
    listening: Listening,
    handler: Arc<Handler>,
    clock: Arc<dyn Clock>,
}

impl AdminServer {
    /// Binds the address of `config` and serves until [`AdminServer::stop`]. `limits` and `handshakes` are those of the public
    /// listeners.
    ///
    /// # Errors
    /// The address cannot be bound, or a certificate file cannot be used (as a [`gatehouse_net::TlsError`] inside).
    pub fn start(
        config: &Config,
        limits: ConnectionLimits,
        handshakes: HandshakeLimits,
        tokens: Tokens,
        service: Arc<AdminService>,
        probes: Probes,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let bound = Bound::new(config)?;
        let (time, seed) = (Arc::clone(&clock), Arc::clone(&service.seed));
        let sessions = Arc::new(Sessions::new(bound.address, bound.certificates.is_some(), time, seed));
        let (time, phase) = (Arc::clone(&clock), bound.shutdown.subscribe());
        let handler = Arc::new(Handler::new(config, tokens, service, probes, sessions, time, phase));
        let answerer = Arc::clone(&handler);
        let answer: Answer = Box::new(move |request, entry, address, observed| {
            let (handler, entry, observed) = (Arc::clone(&answerer), Arc::clone(entry), observed.clone());
            Box::pin(async move { Ok(handler.respond(request, &entry, address, &observed).await) })
        });
        let connections = Connections::new(config.connections.get() as usize, MAX_STREAMS);
        // No connection waits: at the limit of the connections the oldest one gives way.
        let (most, time) = (usize::MAX, Arc::clone(&clock));
        let listening = bound.serve(limits, handshakes, connections, most, time, answer);
        Ok(Self { listening, handler, clock })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening.address
    }

    /// Its certificates, to be read again; none where it speaks plain HTTP.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.listening.certificates.as_ref()
    }

    /// The sessions of people, and their login links.
    #[must_use]
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.handler.pages.sessions
    }

    /// Users of this identity provider may log in from now on; the first one given stays.
    pub fn log_in_at(&self, provider: IdentityProvider) {
        drop(self.handler.pages.provider.set(provider));
    }

    /// Serves these pages from now on; the first ones given stay.
    pub fn show(&self, console: Console) {
        drop(self.handler.pages.console.set(console));
    }

    /// Stops listening and lets operations under way end, for at most `grace`; then drops what is left.
    pub async fn stop(mut self, grace: Duration) {
        self.listening.shutdown.send_replace(ShutdownPhase::Draining);
        let end = async {
            self.listening.closed().await;
            self.handler.operations_ended().await;
        };
        tokio::select! {
            biased;
            () = end => return,
            () = self.clock.pause(grace) => {}
        }
        tracing::warn!("dropping admin connections and operations that did not end in time");
        self.listening.shutdown.send_replace(ShutdownPhase::Aborting);
        if !self.listening.serving.is_finished() {
            self.listening.closed().await;
        }
    }
}

/// Answers one request of a connection, whose other end is at that address.
pub(super) type Answer =
    Box<dyn Fn(Request<Incoming>, &Arc<Entry>, IpAddr, &Observed) -> Responding + Send + Sync>;

/// An address that is bound, and not served yet.
pub(super) struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    certificates: Option<Certificates>,
    shutdown: watch::Sender<ShutdownPhase>,
}

/// An address that is served. Dropping it ends every connection.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    pub(super) shutdown: watch::Sender<ShutdownPhase>,
    certificates: Option<Certificates>,
    serving: JoinHandle<()>,
}

/// What every connection needs.
struct Shared {
    answer: Answer,
    connections: Arc<Connections>,
    server: ConnectionServer,
    handshakes: Option<Handshakes>,
    clock: Arc<dyn Clock>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

impl Bound {
    /// Reads the certificates of `config` and binds its address.
    pub(super) fn new(config: &Config) -> io::Result<Self> {
        let certificates = config.tls.as_ref().map(|tls| Certificates::from_files(tls.files())).transpose();
        let certificates = certificates.map_err(io::Error::other)?;
        let listener = listen(config.listen)?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, certificates, shutdown: watch::Sender::new(ShutdownPhase::Serving) })
    }

    /// Accepts connections, `most` at once; more wait.
    pub(super) fn serve(
        self,
        limits: ConnectionLimits,
        handshakes: HandshakeLimits,
        connections: Arc<Connections>,
        most: usize,
        clock: Arc<dyn Clock>,
        answer: Answer,
    ) -> Listening {
        let Self { listener, address, certificates, shutdown } = self;
        let watched = shutdown.subscribe();
        let shared = Arc::new(Shared {
            answer,
            connections,
            server: ConnectionServer::new(limits, Arc::clone(&clock), watched.clone()),
            handshakes: certificates.clone().map(|certificates| {
                Handshakes::new(certificates, handshakes, Arc::clone(&clock), watched.clone())
            }),
            clock,
            shutdown: watched,
        });
        let serving = tokio::spawn(shared.accept(listener, most));
        Listening { address, shutdown, certificates, serving }
    }
}

impl Listening {
    /// Returns once every connection has ended.
    pub(super) async fn closed(&mut self) {
        if let Err(error) = (&mut self.serving).await {
            tracing::error!(%error, "the admin listener failed");
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.shutdown.send_replace(ShutdownPhase::Aborting);
    }
}

impl Shared {
    /// Accepts until the drain begins; ends with the last connection.
    async fn accept(self: Arc<Self>, listener: TcpListener, most: usize) {
        let mut serving = JoinSet::new();
        while let Some((stream, peer)) = accept(&listener, &self.shutdown, &*self.clock).await {
            drop(serving.spawn(Arc::clone(&self).serve(stream, peer.ip())));
            while serving.try_join_next().is_some() {}
            if serving.len() >= most {
                serving.join_next().await;
            }
        }
        drop(listener);
        while serving.join_next().await.is_some() {}
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, address: IpAddr) {
        let Some((entry, gives_way)) = self.connections.enter() else {
            tracing::warn!("an admin connection was refused: every open one carries an operation");
            return;
        };
        let (observed, entry) = (Observed::default(), Arc::new(entry));
        let (shared, of_requests) = (Arc::clone(&self), observed.clone());
        let respond = Box::new(move |request| (shared.answer)(request, &entry, address, &of_requests));
        let serving = async {
            let Some(handshakes) = &self.handshakes else {
                let stream = AcceptedStream::Left(stream);
                return self.server.serve(stream, observed, Protocol::Http1, respond).await;
            };
            match handshakes.accept(stream, address).await {
                Ok(stream) => {
                    let stream = AcceptedStream::Right(Box::new(stream));
                    self.server.serve(stream, observed, Protocol::Http1, respond).await;
                }
                Err(refusal) => tracing::info!(%address, %refusal, "an admin connection was refused"),
            }
        };
        tokio::select! {
            () = serving => {}
            _ = gives_way => tracing::debug!("the oldest admin connection gave way to a new one"),
        }
    }
}

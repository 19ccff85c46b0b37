//! Accepting connections on the admin listener, and its end.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Boxed, Clock};
use gatehouse_net::{
    Certificates, ConnectionLimits, ConnectionServer, HandshakeLimits, Handshakes, Observed, Protocol,
    Responding, ShutdownPhase, accept, listen,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connections::Connections;
use super::console::Console;
use super::handler::{Handler, Probes};
use crate::access::Tokens;
use crate::config::Config;
use crate::oidc::IdentityProvider;
use crate::service::AdminService;
use crate::session::Sessions;

/// Streams of events at once, beside the connections.
const MAX_STREAMS: usize = 32;

/// A running listener. Dropping it ends every connection.
pub struct AdminServer {
    address: SocketAddr,
    shutdown: watch::Sender<ShutdownPhase>,
    serving: JoinHandle<()>,
    handler: Arc<Handler>,
    clock: Arc<dyn Clock>,
    certificates: Option<Certificates>,
}

/// What every connection needs.
struct Shared {
    handler: Arc<Handler>,
    connections: Arc<Connections>,
    server: ConnectionServer,
    handshakes: Option<Handshakes>,
    clock: Arc<dyn Clock>,
    shutdown: watch::Receiver<ShutdownPhase>,
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
    ) -> Boxed<'_, io::Result<Self>> {
        Box::pin(async move {
            let certificates =
                config.tls.as_ref().map(|tls| Certificates::from_files(tls.files())).transpose();
            let certificates = certificates.map_err(io::Error::other)?;
            let listener = listen(config.listen)?;
            let address = listener.local_addr()?;
            let (shutdown, watched) = watch::channel(ShutdownPhase::Serving);
            let (time, seed) = (Arc::clone(&clock), Arc::clone(&service.seed));
            let sessions = Arc::new(Sessions::new(address, certificates.is_some(), time, seed));
            let (time, phase) = (Arc::clone(&clock), watched.clone());
            let handler = Arc::new(Handler::new(config, tokens, service, probes, sessions, time, phase));
            let shared = Arc::new(Shared {
                handler: Arc::clone(&handler),
                connections: Connections::new(config.connections.get() as usize, MAX_STREAMS),
                server: ConnectionServer::new(limits, Arc::clone(&clock), watched.clone()),
                handshakes: certificates.clone().map(|certificates| {
                    Handshakes::new(certificates, handshakes, Arc::clone(&clock), watched.clone())
                }),
                clock: Arc::clone(&clock),
                shutdown: watched,
            });
            let serving = tokio::spawn(shared.accept(listener));
            Ok(Self { address, shutdown, serving, handler, clock, certificates })
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its certificates, to be read again; none where it speaks plain HTTP.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The sessions of people, and their login links.
    #[must_use]
    pub fn sessions(&self) -> &Arc<Sessions> {
        self.handler.pages().sessions()
    }

    /// Users of this identity provider may log in from now on; the first one given stays.
    pub fn log_in_at(&self, provider: IdentityProvider) {
        self.handler.pages().log_in_at(provider);
    }

    /// Serves these pages from now on; the first ones given stay.
    pub fn show(&self, console: Console) {
        self.handler.pages().show(console);
    }

    /// Stops listening and lets operations under way end, for at most `grace`; then drops what is left.
    pub async fn stop(mut self, grace: Duration) {
        self.shutdown.send_replace(ShutdownPhase::Draining);
        let end = async {
            closed(&mut self.serving).await;
            self.handler.operations_ended().await;
        };
        tokio::select! {
            biased;
            () = end => return,
            () = self.clock.pause(grace) => {}
        }
        tracing::warn!("dropping admin connections and operations that did not end in time");
        self.shutdown.send_replace(ShutdownPhase::Aborting);
        if !self.serving.is_finished() {
            closed(&mut self.serving).await;
        }
    }
}

/// Returns once every connection has ended.
async fn closed(serving: &mut JoinHandle<()>) {
    if let Err(error) = serving.await {
        tracing::error!(%error, "the admin listener failed");
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        self.shutdown.send_replace(ShutdownPhase::Aborting);
    }
}

impl Shared {
    /// Accepts until the drain begins; ends with the last connection.
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut serving = JoinSet::new();
        while let Some((stream, peer)) = accept(&listener, &self.shutdown, &*self.clock).await {
            drop(serving.spawn(Arc::clone(&self).serve(stream, peer.ip())));
            while serving.try_join_next().is_some() {}
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
        let (handler, of_requests) = (Arc::clone(&self.handler), observed.clone());
        let respond = Box::new(move |request| -> Responding {
            let (handler, entry, observed) = (Arc::clone(&handler), Arc::clone(&entry), of_requests.clone());
            Box::pin(async move { Ok(handler.respond(request, &entry, address, &observed).await) })
        });
        let serving = async {
            let Some(handshakes) = &self.handshakes else {
                return self.server.serve(stream, observed, Protocol::Http1, respond).await;
            };
            match handshakes.accept(stream, address).await {
                Ok(stream) => self.server.serve(stream, observed, Protocol::Http1, respond).await,
                Err(refusal) => tracing::info!(%address, %refusal, "an admin connection was refused"),
            }
        };
        tokio::select! {
            () = serving => {}
            _ = gives_way => tracing::debug!("the oldest admin connection gave way to a new one"),
        }
    }
}

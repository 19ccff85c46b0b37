//! The admin listener of a start that waits, such as for its database: `/livez` answers, `/readyz` says what is waited for, `/standby`
//! whether that is the place of another gateway, `/metrics` is there, and there is nothing else yet. So a supervisor lets the process live,
//! no traffic comes, and operators see it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use gatehouse_model::Clock;
use gatehouse_net::{
    Certificates, ConnectionLimits, ConnectionServer, HandshakeLimits, Handshakes, Observed, Protocol,
    Responding, ShutdownPhase, accept, listen,
};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http_body_util::BodyExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::connections::GuardedBody;
use super::console::plain;
use super::handler;
use super::handler::PROMETHEUS_TEXT;
use super::host_check::HostCheck;
use crate::config::Config;

/// Answers with 200 while the place of another gateway is waited for.
pub const STANDBY: &str = "/standby";
/// Connections at once; more wait.
const CONNECTIONS: usize = 32;

/// What a start waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// In words.
    pub reason: String,
    /// Whether it is the place of another gateway: there is nothing wrong then.
    pub is_standby: bool,
}

/// Renders every metric in the Prometheus text form.
pub type MetricsPage = Box<dyn Fn() -> String + Send + Sync>;

/// A running listener. Dropping it ends every connection.
pub struct WaitingServer {
    address: SocketAddr,
    shutdown: watch::Sender<ShutdownPhase>,
    serving: JoinHandle<()>,
}

struct Shared {
    hosts: HostCheck,
    waiting: watch::Receiver<Waiting>,
    metrics: MetricsPage,
    server: ConnectionServer,
    handshakes: Option<Handshakes>,
    clock: Arc<dyn Clock>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

impl WaitingServer {
    /// Binds the address of `config`. `waiting` is what is waited for at each moment.
    pub fn start(
        config: &Config,
        limits: ConnectionLimits,
        handshakes: HandshakeLimits,
        waiting: watch::Receiver<Waiting>,
        metrics: MetricsPage,
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let certificates = config.tls.as_ref().map(|tls| Certificates::from_files(tls.files())).transpose();
        let certificates = certificates.map_err(io::Error::other)?;
        let listener = listen(config.listen)?;
        let address = listener.local_addr()?;
        let (shutdown, watched) = watch::channel(ShutdownPhase::Serving);
        let shared = Shared {
            hosts: HostCheck::new(config),
            waiting,
            metrics,
            server: ConnectionServer::new(limits, Arc::clone(&clock), watched.clone()),
            handshakes: certificates.map(|certificates| {
                Handshakes::new(certificates, handshakes, Arc::clone(&clock), watched.clone())
            }),
            clock,
            shutdown: watched,
        };
        let serving = tokio::spawn(Arc::new(shared).accept(listener));
        Ok(Self { address, shutdown, serving })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it; its address is free afterwards.
    pub async fn stop(mut self) {
        self.shutdown.send_replace(ShutdownPhase::Aborting);
        if let Err(error) = (&mut self.serving).await {
            tracing::error!(%error, "the admin listener failed");
        }
    }
}

impl Drop for WaitingServer {
    fn drop(&mut self) {
        self.shutdown.send_replace(ShutdownPhase::Aborting);
    }
}

impl Shared {
    async fn accept(self: Arc<Self>, listener: TcpListener) {
        let mut serving = JoinSet::new();
        while let Some((stream, peer)) = accept(&listener, &self.shutdown, &*self.clock).await {
            drop(serving.spawn(Arc::clone(&self).serve(stream, peer.ip())));
            while serving.try_join_next().is_some() {}
            if serving.len() >= CONNECTIONS {
                serving.join_next().await;
            }
        }
        drop(listener);
        while serving.join_next().await.is_some() {}
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, address: IpAddr) {
        let observed = Observed::default();
        let (shared, of_requests) = (Arc::clone(&self), observed.clone());
        let respond = Box::new(move |request: http::Request<_>| -> Responding {
            let under_way = of_requests.activity.begin_request();
            let (head, _) = request.into_parts();
            let mut response = match shared.hosts.check(&head) {
                Ok(()) => shared.answer(head.uri.path()),
                Err((status, message)) => plain(status, message),
            };
            handler::add(response.headers_mut());
            let response = response.map(|body| GuardedBody::new(body, under_way, None).boxed_unsync());
            Box::pin(async move { Ok(response) })
        });
        let Some(handshakes) = &self.handshakes else {
            return self.server.serve(stream, observed, Protocol::Http1, respond).await;
        };
        match handshakes.accept(stream, address).await {
            Ok(stream) => self.server.serve(stream, observed, Protocol::Http1, respond).await,
            Err(refusal) => tracing::info!(%address, %refusal, "an admin connection was refused"),
        }
    }

    fn answer(&self, path: &str) -> axum::response::Response {
        let Waiting { reason, is_standby } = &*self.waiting.borrow();
        match path {
            "/livez" => plain(StatusCode::OK, "alive\n"),
            "/metrics" => {
                let mut response = plain(StatusCode::OK, (self.metrics)());
                response.headers_mut().insert(CONTENT_TYPE, PROMETHEUS_TEXT);
                response
            }
            "/readyz" => plain(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")),
            STANDBY if *is_standby => plain(StatusCode::OK, format!("{reason}\n")),
            _ => plain(StatusCode::SERVICE_UNAVAILABLE, format!("the gateway starts: {reason}\n")),
        }
    }
}

//! The admin listener of a start that waits, such as for its database: `/livez` answers, `/readyz` says what is waited for, `/standby`
//! whether that is the place of another gateway, `/metrics` is there, and there is nothing else yet. So a supervisor lets the process live,
//! no traffic comes, and operators see it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use gatehouse_model::Clock;
use gatehouse_net::{ConnectionLimits, HandshakeLimits, RequestFraming, ShutdownPhase};
use http::StatusCode;
use http::request::Parts;
use http_body::Body as _;
use tokio::sync::watch;

use super::connections::{Connections, watched};
use super::console::{metrics_page, plain};
use super::handler;
use super::handler::MetricsPage;
use super::host_check::HostCheck;
use super::listener::{Answer, Bound, Listening};
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

/// A running listener. Dropping it ends every connection.
pub struct WaitingServer(Listening);

/// What it answers with.
struct Pages {
    hosts: HostCheck,
    waiting: watch::Receiver<Waiting>,
    metrics: MetricsPage,
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
        let pages = Pages { hosts: HostCheck::new(config), waiting, metrics };
        let answer: Answer = Box::new(move |request, _, _, observed| {
            let under_way = observed.activity.begin_request();
            let (head, body) = request.into_parts();
            let mut response = pages.answer(&head);
            handler::add(response.headers_mut());
            let (framing, is_read) = (RequestFraming::of(&head), body.is_end_stream());
            framing.end(&observed.flags, is_read, false, response.headers_mut());
            let response = response.map(|body| watched(body, under_way, None));
            Box::pin(async move { Ok(response) })
        });
        // So many are never open when one more is accepted: none gives way.
        let connections = Connections::new(CONNECTIONS, 0);
        let bound = Bound::new(config)?;
        Ok(Self(bound.serve(limits, handshakes, connections, CONNECTIONS, clock, answer)))
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address
    }

    /// Ends it; its address is free afterwards.
    pub async fn stop(mut self) {
        self.0.shutdown.send_replace(ShutdownPhase::Aborting);
        self.0.closed().await;
    }
}

impl Pages {
    fn answer(&self, head: &Parts) -> axum::response::Response {
        if let Err((status, message)) = self.hosts.check(head) {
            return plain(status, message);
        }
        let Waiting { reason, is_standby } = &*self.waiting.borrow();
        match head.uri.path() {
            "/livez" => plain(StatusCode::OK, "alive\n"),
            "/metrics" => metrics_page((self.metrics)()),
            "/readyz" => plain(StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")),
            STANDBY if *is_standby => plain(StatusCode::OK, format!("{reason}\n")),
            _ => plain(StatusCode::SERVICE_UNAVAILABLE, format!("the gateway starts: {reason}\n")),
        }
    }
}

//! One connection: its protocol, its service, and its end (idle, shutdown, or by itself). Never accepts (see
//! `listen`) and never looks into a request (see `http/pipeline`).

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::Clock;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::config::{Limits, count, kib, seconds};
use crate::http::pipeline::{Peer, Pipeline};
use crate::net::activity::Activity;
use crate::net::shutdown::{ShutdownPhase, reached};
use crate::net::transport::{ConnectionFlags, Transport};

/// In a shutdown, how long a connection that has just been made, or was just used, may take to send a
/// request.
const LAST_REQUEST: Duration = Duration::from_secs(1);
/// Interval of keep-alive pings to a silent HTTP/2 peer.
const PING: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
    Either,
}

/// Serves connections, each to its end.
pub(crate) struct ConnectionServer {
    pub(crate) pipeline: Arc<Pipeline>,
    shutdown: watch::Receiver<ShutdownPhase>,
    http: Builder<TokioExecutor>,
}

impl ConnectionServer {
    pub(crate) fn new(pipeline: Arc<Pipeline>, shutdown: watch::Receiver<ShutdownPhase>) -> Self {
        let http = builder(&pipeline.context.config.limits);
        Self { pipeline, shutdown, http }
    }

    pub(crate) async fn serve<IO>(&self, io: IO, ip: IpAddr, scheme: &'static str, protocol: Protocol)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (limits, clock) = (&self.pipeline.context.config.limits, &self.pipeline.context.clock);
        let (flags, activity) = (Arc::new(ConnectionFlags::default()), Activity::default());
        let head = (protocol != Protocol::Http2).then(|| seconds(limits.head_seconds));
        let write = seconds(limits.write_seconds);
        let transport = Transport::new(io, Arc::clone(clock), Arc::clone(&flags), head, write);
        let peer = Peer { address: ip, scheme, flags: Arc::clone(&flags), activity: activity.clone() };
        let pipeline = Arc::clone(&self.pipeline);
        let service = service_fn(move |request| {
            let (pipeline, peer) = (Arc::clone(&pipeline), peer.clone());
            async move { pipeline.respond(request, &peer).await }
        });
        let http = match protocol {
            Protocol::Http1 => self.http.clone().http1_only(),
            Protocol::Http2 => self.http.clone().http2_only(),
            Protocol::Either => self.http.clone(),
        };
        let connection = std::pin::pin!(http.serve_connection(TokioIo::new(transport), service));
        let state = ConnectionState { flags, activity, has_goaway: protocol == Protocol::Http2 };
        if let Err(error) = self.run(connection, &state).await {
            tracing::debug!(%error, "a connection broke");
        }
    }

    /// Runs a connection to its own end, or to the end set by the idle limit or a shutdown.
    async fn run<C: GracefulConnection>(
        &self,
        mut connection: Pin<&mut C>,
        state: &ConnectionState,
    ) -> Result<(), C::Error> {
        let (limits, clock) = (&self.pipeline.context.config.limits, &*self.pipeline.context.clock);
        tokio::select! {
            result = connection.as_mut() => return result,
            () = state.idle_for(clock, seconds(limits.idle_seconds)) => {}
            () = reached(self.shutdown.clone(), ShutdownPhase::LameDuck) => {
                if let Some(result) = self.run_lame_duck(connection.as_mut(), state).await {
                    return result;
                }
            }
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            result = connection.as_mut() => result,
            // A peer that neither closes nor sends a request is not waited for.
            () = state.idle_for(clock, seconds(limits.head_seconds)) => Ok(()),
            () = reached(self.shutdown.clone(), ShutdownPhase::Aborting) => Ok(()),
        }
    }

    /// Runs a connection through a shutdown until it may be closed without losing a request. Returns its
    /// result if it ended by itself.
    ///
    /// Told to shut down between two requests, hyper closes an HTTP/1 connection at once, even if the next
    /// request is half here or on its way. So hyper is told only once nothing has come for a while. Responses
    /// sent meanwhile carry `Connection: close`.
    async fn run_lame_duck<C: GracefulConnection>(
        &self,
        mut connection: Pin<&mut C>,
        state: &ConnectionState,
    ) -> Option<Result<(), C::Error>> {
        let before = state.activity.progress();
        if state.has_goaway && before > 0 {
            connection.as_mut().graceful_shutdown();
        }
        tokio::select! {
            result = connection.as_mut() => return Some(result),
            () = reached(self.shutdown.clone(), ShutdownPhase::Draining) => {}
        }
        if before > 0 && state.activity.progress() == before && state.is_idle() {
            return None;
        }
        tokio::select! {
            result = connection.as_mut() => Some(result),
            () = state.idle_for(&*self.pipeline.context.clock, LAST_REQUEST) => None,
            () = reached(self.shutdown.clone(), ShutdownPhase::Aborting) => Some(Ok(())),
        }
    }
}

/// What is known of a connection outside hyper.
struct ConnectionState {
    flags: Arc<ConnectionFlags>,
    activity: Activity,
    /// HTTP/2 can end a connection without losing a request: its GOAWAY frame names the last one.
    has_goaway: bool,
}

impl ConnectionState {
    fn is_idle(&self) -> bool {
        self.activity.is_idle() && !self.flags.is_mid_head()
    }

    /// Ends once the connection was idle at two looks `span` apart, with no progress in between.
    async fn idle_for(&self, clock: &dyn Clock, span: Duration) {
        let mut seen = self.activity.progress();
        loop {
            clock.pause(span).await;
            let progress = self.activity.progress();
            if self.is_idle() && progress == seen {
                return;
            }
            seen = progress;
        }
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // hyper's own limits are twice ours: ours respond with an error envelope, hyper's with a bare status.
    let max_head = kib(limits.head_kib).saturating_mul(2).max(16 * 1024);
    builder
        .http1()
        .header_read_timeout(None)
        .max_headers(count(limits.headers).saturating_mul(2))
        .max_buf_size(max_head);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(limits.streams.get())
        .max_header_list_size(u32::try_from(kib(limits.header_list_kib)).unwrap_or(u32::MAX));
    builder
}

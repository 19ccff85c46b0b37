//! One connection: its protocol, its service, and its end (idle, shutdown, its service's, or by itself); and
//! the phases of a shutdown, as every connection and long poll observes them. Never looks into a request (the
//! listener's service does), and never decides whether a connection is served or when a phase begins (see the
//! listeners).

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gatehouse_model::{Boxed, Clock};
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::{Builder, Connection};
use hyper_util::server::graceful::GracefulConnection;
use tokio::sync::watch;

use crate::activity::{Activity, Flushes};
use crate::transport::{AcceptedStream, ConnectionFlags, Transport};

/// In a shutdown, how long a connection that has just been made, or was just used, may take to send a
/// request.
const LAST_REQUEST: Duration = Duration::from_secs(1);
/// Interval of keep-alive pings to a silent HTTP/2 peer.
const PING: Duration = Duration::from_secs(20);

/// Which versions of HTTP a connection may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1 and 1.0.
    Http1,
    /// HTTP/2 alone.
    Http2,
    /// As its first bytes say.
    Either,
}

/// Limits on every connection of a listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// From a head's first byte (or the connection's first moment) to its end.
    pub head: Duration,
    /// Without a request under way. A response counts as one while its client takes it: over HTTP/2, at least 4 KiB of it in that
    /// time.
    pub idle: Duration,
    /// Without a byte of the response taken.
    pub write: Duration,
    /// Bytes of one HTTP/1 request head that hyper reads before it refuses the request by itself.
    pub head_bytes: usize,
    /// Header lines of one request, likewise.
    pub headers: usize,
    /// HTTP/2 streams at once.
    pub streams: u32,
    /// Bytes of one HTTP/2 header list.
    pub header_list_bytes: u32,
}

/// The body of a response on its way out.
pub type ServedBody = UnsyncBoxBody<Bytes, io::Error>;

/// Answers one request of a connection. It is a pointer, like the body, so that hyper and h2 are compiled here, once for
/// all listeners.
pub type Responder = Box<dyn Fn(Request<Incoming>) -> Responding + Send + Sync>;

/// A response on its way.
pub type Responding = Boxed<'static, Result<Response<ServedBody>, Infallible>>;

/// A [`Responder`] as hyper calls it. It has a name, and so has the connection: the compiler could not tell otherwise
/// that its future may move between threads.
struct Responses(Responder);

impl Service<Request<Incoming>> for Responses {
    type Response = Response<ServedBody>;
    type Error = Infallible;
    type Future = Responding;

    fn call(&self, request: Request<Incoming>) -> Responding {
        (self.0)(request)
    }
}

type HttpConnection<'a> = Connection<'a, TokioIo<Transport<AcceptedStream>>, Responses, TokioExecutor>;

/// How a connection ended.
type ConnectionEnd = Result<(), <HttpConnection<'static> as GracefulConnection>::Error>;

/// What a connection and its service know of each other.
#[derive(Clone, Default)]
pub struct Observed {
    /// Facts of the byte stream.
    pub flags: Arc<ConnectionFlags>,
    /// Requests under way.
    pub activity: Activity,
    /// Bytes written and not yet flushed.
    pub flushes: Flushes,
}

/// Serves connections, each to its end.
pub struct ConnectionServer {
    limits: ConnectionLimits,
    clock: Arc<dyn Clock>,
    shutdown: watch::Receiver<ShutdownPhase>,
    http: Builder<TokioExecutor>,
}

impl ConnectionServer {
    /// For the connections of one listener, or of several that share their limits.
    #[must_use]
    pub fn new(
        limits: ConnectionLimits,
        clock: Arc<dyn Clock>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        let http = builder(&limits);
        Self { limits, clock, shutdown, http }
    }

    /// Serves one connection: `respond` answers each of its requests.
    pub fn serve(
        &self,
        stream: AcceptedStream,
        observed: Observed,
        protocol: Protocol,
        respond: Responder,
    ) -> Boxed<'_, ()> {
        let head = (protocol != Protocol::Http2).then_some(self.limits.head);
        let (clock, write) = (Arc::clone(&self.clock), self.limits.write);
        let transport = Transport::new(stream, clock, observed.clone(), head, write);
        let http = match protocol {
            Protocol::Http1 => self.http.clone().http1_only(),
            Protocol::Http2 => self.http.clone().http2_only(),
            Protocol::Either => self.http.clone(),
        };
        let Observed { flags, activity, .. } = observed;
        let state = ConnectionState { flags, activity, has_goaway: protocol == Protocol::Http2 };
        Box::pin(async move {
            let connection = http.serve_connection(TokioIo::new(transport), Responses(respond));
            let connection = std::pin::pin!(connection);
            if let Err(error) = self.run(connection, &state).await {
                tracing::debug!(%error, "a connection broke");
            }
        })
    }

    /// Runs a connection to its own end, or to the end set by the idle limit, its service or a shutdown.
    async fn run(
        &self,
        mut connection: Pin<&mut HttpConnection<'_>>,
        state: &ConnectionState,
    ) -> ConnectionEnd {
        tokio::select! {
            result = connection.as_mut() => return result,
            () = state.idle_for(&*self.clock, self.limits.idle) => {}
            () = state.flags.ended() => {}
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
            () = state.idle_for(&*self.clock, self.limits.head) => Ok(()),
            () = reached(self.shutdown.clone(), ShutdownPhase::Aborting) => Ok(()),
        }
    }

    /// Runs a connection through a shutdown until it may be closed without losing a request. Returns its
    /// result if it ended by itself.
    ///
    /// Told to shut down between two requests, hyper closes an HTTP/1 connection at once, even if the next
    /// request is half here or on its way. So hyper is told only once nothing has come for a while. Responses
    /// sent meanwhile carry `Connection: close`.
    async fn run_lame_duck(
        &self,
        mut connection: Pin<&mut HttpConnection<'_>>,
        state: &ConnectionState,
    ) -> Option<ConnectionEnd> {
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
            () = state.idle_for(&*self.clock, LAST_REQUEST) => None,
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
    /// Bytes that wait for the socket are under way: the system asks for more of them only once much of its buffer is free, which
    /// may take a slow client longer than any time here. A client that takes nothing has a time limit of its own.
    fn is_idle(&self) -> bool {
        self.activity.is_idle() && !self.flags.is_mid_head() && !self.flags.is_writing()
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

fn builder(limits: &ConnectionLimits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().header_read_timeout(None).max_headers(limits.headers).max_buf_size(limits.head_bytes);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.header_list_bytes);
    builder
}

/// How far a shutdown has come. Phases only move forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownPhase {
    /// No shutdown.
    Serving,
    /// Requests are served, `/readyz` refuses, every response ends its HTTP/1 connection.
    LameDuck,
    /// No new connections; requests under way are finished.
    Draining,
    /// Remaining connections are dropped.
    Aborting,
}

/// Waits until the shutdown has reached `wanted`, or until the listener is gone.
pub async fn reached(mut phase: watch::Receiver<ShutdownPhase>, wanted: ShutdownPhase) {
    let _ = phase.wait_for(|phase| *phase >= wanted).await;
}

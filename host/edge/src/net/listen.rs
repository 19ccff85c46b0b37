//! Listeners and connections: accepting within limits, TLS, the protocol, and the end of each connection.
//!
//! Owns sockets and their fate; never looks into a request (see `http/pipeline`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, metric};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulConnection;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::backend::Backend;
use crate::config::{Limits, count, kib, seconds};
use crate::http::access_log::Busy;
use crate::http::client_address;
use crate::http::pipeline::{Front, Peer};
use crate::net::connection_limits::{Place, Tally};
use crate::net::transport::{Signs, Wire};

/// After an accept that failed for want of descriptors or memory, time for some to come back.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// In a shutdown, how long a connection that has just been made, or was just used, may take to ask.
const QUIET: Duration = Duration::from_secs(1);
/// How often a silent HTTP/2 peer is asked whether it is still there.
const PING: Duration = Duration::from_secs(20);

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Serving.
    Open,
    /// Serving, and every answer says goodbye.
    Leaving,
    /// No new connections; requests under way are finished.
    Draining,
    /// Whatever is left is dropped.
    Cut,
}

/// Waits until a shutdown has come as far as `wanted`, or nobody is left who could order one.
pub(crate) async fn reached(mut stage: watch::Receiver<Stage>, wanted: Stage) {
    let _ = stage.wait_for(|stage| *stage >= wanted).await;
}

/// What all connections of one edge share.
pub(crate) struct Door<B> {
    pub(crate) front: Arc<Front<B>>,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) stage: watch::Receiver<Stage>,
    per_ip: Tally<IpAddr>,
    handshakes: Semaphore,
    http: Builder<TokioExecutor>,
}

/// Proof that a connection is counted; given back when it ends.
struct Admission {
    _permit: OwnedSemaphorePermit,
    _place: Option<Place<IpAddr>>,
}

impl Drop for Admission {
    fn drop(&mut self) {
        metrics::gauge!(metric::CONNECTIONS).decrement(1);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
    Either,
}

impl<B: Backend> Door<B> {
    pub(crate) fn new(front: Arc<Front<B>>, tls: Option<TlsAcceptor>, stage: watch::Receiver<Stage>) -> Self {
        let limits = &front.config.limits;
        let permits = Arc::new(Semaphore::new(count(limits.connections).min(Semaphore::MAX_PERMITS)));
        let handshakes = Semaphore::new(count(limits.handshakes).min(Semaphore::MAX_PERMITS));
        let (per_ip, http) = (Tally::new(count(limits.connections_per_ip)), builder(limits));
        Self { front, tls, permits, stage, per_ip, handshakes, http }
    }

    /// Accepts until the shutdown begins.
    pub(crate) async fn accept(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                biased;
                () = reached(self.stage.clone(), Stage::Draining) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                // Without a free place nothing more is accepted: the kernel's queue is the waiting room. Who has
                // been let in is served, even if a shutdown begins while they wait.
                Ok((stream, peer)) => tokio::select! {
                    Ok(permit) = Arc::clone(&self.permits).acquire_owned() => self.admit(permit, stream, peer),
                    () = reached(self.stage.clone(), Stage::Cut) => return,
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.front.clock.pause(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, permit: OwnedSemaphorePermit, stream: TcpStream, peer: SocketAddr) {
        let ip = peer.ip().to_canonical();
        // A trusted proxy speaks for many clients.
        let place = if client_address::is_within(ip, &self.front.config.trusted_proxies) {
            None
        } else {
            let Some(place) = self.per_ip.enter(&client_address::neighbourhood(ip)) else {
                tracing::debug!(%peer, "too many connections of one address");
                return;
            };
            Some(place)
        };
        metrics::gauge!(metric::CONNECTIONS).increment(1);
        let admission = Admission { _permit: permit, _place: place };
        let door = Arc::clone(self);
        tokio::spawn(async move {
            door.connection(stream, ip).await;
            drop(admission);
        });
    }

    async fn connection(&self, stream: TcpStream, ip: IpAddr) {
        // Answers are written whole; waiting for more bytes only delays them.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection ended before it began");
            return;
        }
        let Some(acceptor) = &self.tls else {
            let either = self.front.config.cleartext_http2;
            let protocol = if either { Protocol::Either } else { Protocol::Http1 };
            return self.serve(stream, ip, "http", protocol).await;
        };
        if let Some(stream) = self.shake_hands(acceptor, stream).await {
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let protocol = if http2 { Protocol::Http2 } else { Protocol::Http1 };
            self.serve(stream, ip, "https", protocol).await;
        }
    }

    async fn shake_hands(&self, acceptor: &TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
        let limit = seconds(self.front.config.limits.tls_seconds);
        // The wait for a place counts too: the time is the client's, whoever holds it up.
        let shaken = async {
            let _place = self.handshakes.acquire().await.map_err(io::Error::other)?;
            acceptor.accept(stream).await
        };
        tokio::select! {
            shaken = shaken => match shaken {
                Ok(stream) => return Some(stream),
                Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
            },
            () = self.front.clock.pause(limit) => tracing::debug!("a TLS handshake did not end in time"),
            () = reached(self.stage.clone(), Stage::Cut) => {}
        }
        None
    }

    async fn serve<IO>(&self, io: IO, ip: IpAddr, scheme: &'static str, protocol: Protocol)
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (limits, clock) = (&self.front.config.limits, &self.front.clock);
        let (signs, busy) = (Arc::new(Signs::default()), Busy::default());
        let head = (protocol != Protocol::Http2).then(|| seconds(limits.head_seconds));
        let wire = Wire::new(io, Arc::clone(clock), Arc::clone(&signs), head, seconds(limits.write_seconds));
        let peer = Peer { address: ip, scheme, signs: Arc::clone(&signs), busy: busy.clone() };
        let front = Arc::clone(&self.front);
        let service = service_fn(move |request| {
            let (front, peer) = (Arc::clone(&front), peer.clone());
            async move { front.answer(request, &peer).await }
        });
        let http = match protocol {
            Protocol::Http1 => self.http.clone().http1_only(),
            Protocol::Http2 => self.http.clone().http2_only(),
            Protocol::Either => self.http.clone(),
        };
        let connection = std::pin::pin!(http.serve_connection(TokioIo::new(wire), service));
        let state = State { signs, busy, says_goodbye: protocol == Protocol::Http2 };
        if let Err(error) = self.attend(connection, &state).await {
            tracing::debug!(%error, "a connection broke");
        }
    }

    /// Runs a connection to its own end, or to the end we set it.
    async fn attend<C: GracefulConnection>(
        &self,
        mut connection: Pin<&mut C>,
        state: &State,
    ) -> Result<(), C::Error> {
        let limits = &self.front.config.limits;
        tokio::select! {
            result = connection.as_mut() => return result,
            () = state.quiet(&*self.front.clock, seconds(limits.idle_seconds)) => {}
            () = reached(self.stage.clone(), Stage::Leaving) => {
                if let Some(result) = self.take_leave(connection.as_mut(), state).await {
                    return result;
                }
            }
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            result = connection.as_mut() => result,
            // A peer that neither closes nor asks is not waited for.
            () = state.quiet(&*self.front.clock, seconds(limits.head_seconds)) => Ok(()),
            () = reached(self.stage.clone(), Stage::Cut) => Ok(()),
        }
    }

    /// Runs a connection through a shutdown until it may be closed without cutting anybody off; what it ended
    /// with, where it ended by itself.
    ///
    /// hyper closes an HTTP/1 connection at once when told to shut down between two requests, also if the next
    /// one is half here or on its way. So it is told only once nothing has come for a while. Clients who asked
    /// meanwhile were told in their answers that the connection ends.
    async fn take_leave<C: GracefulConnection>(
        &self,
        mut connection: Pin<&mut C>,
        state: &State,
    ) -> Option<Result<(), C::Error>> {
        let before = state.busy.moves();
        if state.says_goodbye && before > 0 {
            connection.as_mut().graceful_shutdown();
        }
        tokio::select! {
            result = connection.as_mut() => return Some(result),
            () = reached(self.stage.clone(), Stage::Draining) => {}
        }
        if before > 0 && state.busy.moves() == before && state.is_idle() {
            return None;
        }
        tokio::select! {
            result = connection.as_mut() => Some(result),
            () = state.quiet(&*self.front.clock, QUIET) => None,
            () = reached(self.stage.clone(), Stage::Cut) => Some(Ok(())),
        }
    }
}

/// What is known of a connection from outside hyper.
struct State {
    signs: Arc<Signs>,
    busy: Busy,
    /// The protocol has a way to say goodbye that loses no request: HTTP/2, whose GOAWAY names the last one.
    says_goodbye: bool,
}

impl State {
    fn is_idle(&self) -> bool {
        self.busy.is_idle() && !self.signs.is_mid_head()
    }

    /// Ends once nothing has been under way, but for answers nobody takes, at two looks `span` apart.
    async fn quiet(&self, clock: &dyn Clock, span: Duration) {
        let mut seen = self.busy.moves();
        loop {
            clock.pause(span).await;
            let moves = self.busy.moves();
            if self.is_idle() && moves == seen {
                return;
            }
            seen = moves;
        }
    }
}

fn builder(limits: &Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    // The outer wall stands at twice our own limits, which answer in an envelope; hyper answers bare.
    let wall = kib(limits.head_kib).saturating_mul(2).max(16 * 1024);
    builder
        .http1()
        .header_read_timeout(None)
        .max_headers(count(limits.headers).saturating_mul(2))
        .max_buf_size(wall);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PING)
        .max_concurrent_streams(limits.streams.get())
        .max_header_list_size(u32::try_from(kib(limits.header_list_kib)).unwrap_or(u32::MAX));
    builder
}

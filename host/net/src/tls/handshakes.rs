//! The handshakes of one listener, or of several that share their limits: how many at once, and for how long.
//!
//! They are shared by client network. A handshake that never ends holds its turn for its whole time, so a few addresses
//! could hold all of them: where all are taken, the oldest of the network with most gives way to one with fewer.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_fair::FairPermits;
use gatehouse_model::Clock;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::watch;
use tokio_rustls::server::TlsStream;

use super::certificates::Certificates;
use super::challenges::PROTOCOL;
use crate::connection::{ShutdownPhase, reached};
use crate::network::network;

/// Time and bytes for a client that was refused to read why.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: u64 = 1 << 20;

/// Bounds of the handshakes.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeLimits {
    /// For one handshake, its wait for a turn included.
    pub time: Duration,
    /// Handshakes under way; more wait.
    pub at_once: usize,
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeRefusal {
    /// One side did not accept what the other presented, or the client speaks no TLS.
    #[error("the TLS handshake failed: {0}")]
    Failed(#[from] io::Error),
    /// Another network, with fewer under way, needed its turn.
    #[error("the TLS handshake gave way: its network has most of those under way")]
    GaveWay,
    /// It took too long.
    #[error("the TLS handshake did not end in time")]
    Late,
    /// It was one of an authority that validates a name, which needs nothing after it.
    #[error("a certificate authority has validated a name")]
    Validated,
    /// The listener is ending.
    #[error("the listener is ending")]
    Ending,
}

/// Shakes hands with the certificates in use.
pub struct Handshakes {
    certificates: Certificates,
    limits: HandshakeLimits,
    turns: FairPermits<IpAddr>,
    clock: Arc<dyn Clock>,
    shutdown: watch::Receiver<ShutdownPhase>,
}

impl Handshakes {
    /// Until `shutdown` says that connections are dropped.
    #[must_use]
    pub fn new(
        certificates: Certificates,
        limits: HandshakeLimits,
        clock: Arc<dyn Clock>,
        shutdown: watch::Receiver<ShutdownPhase>,
    ) -> Self {
        let turns = FairPermits::new(limits.at_once).giving_way();
        Self { certificates, limits, turns, clock, shutdown }
    }

    /// The stream behind the handshake of a client at `address`.
    ///
    /// # Errors
    /// See [`HandshakeRefusal`].
    pub async fn accept<IO>(&self, stream: IO, address: IpAddr) -> Result<TlsStream<IO>, HandshakeRefusal>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        // The wait for a turn counts too: the time limit is the client's, whatever causes the delay.
        let handshake = async {
            let mut turn = self.turns.take(network(address)).await;
            tokio::select! {
                biased;
                done = self.certificates.acceptor().accept(stream).into_fallible() => Some(done),
                () = turn.ended() => None,
            }
        };
        let (error, stream) = tokio::select! {
            done = handshake => match done {
                Some(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(PROTOCOL) => {
                    return Err(HandshakeRefusal::Validated);
                }
                Some(Ok(stream)) => return Ok(stream),
                Some(Err(failed)) => failed,
                None => return Err(HandshakeRefusal::GaveWay),
            },
            () = self.clock.pause(self.limits.time) => return Err(HandshakeRefusal::Late),
            () = reached(self.shutdown.clone(), ShutdownPhase::Aborting) => return Err(HandshakeRefusal::Ending),
        };
        tokio::select! {
            () = linger(stream) => {}
            () = self.clock.pause(LINGER) => {}
            () = reached(self.shutdown.clone(), ShutdownPhase::Draining) => {}
        }
        Err(HandshakeRefusal::Failed(error))
    }
}

/// Reads and drops what the client still sends: otherwise the kernel sends a reset, which overtakes the alert that
/// says why. With TLS 1.3 a client has sent its request before it knows that its certificate is refused.
async fn linger<IO: AsyncRead + AsyncWrite + Unpin>(mut stream: IO) {
    if stream.shutdown().await.is_ok() {
        // Whatever ends it, the connection is dropped.
        drop(tokio::io::copy(&mut stream.take(LINGER_BYTES), &mut tokio::io::sink()).await);
    }
}

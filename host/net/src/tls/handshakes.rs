//! The handshakes of one listener, or of several that share their limits: how many at once, and for how long.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::Clock;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::server::TlsStream;

use super::certificates::Certificates;
use crate::shutdown::{ShutdownPhase, reached};

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
    /// It took too long.
    #[error("the TLS handshake did not end in time")]
    Late,
    /// The listener is ending.
    #[error("the listener is ending")]
    Ending,
}

/// Shakes hands with the certificates in use.
pub struct Handshakes {
    certificates: Certificates,
    limits: HandshakeLimits,
    turns: Semaphore,
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
        let turns = Semaphore::new(limits.at_once.min(Semaphore::MAX_PERMITS));
        Self { certificates, limits, turns, clock, shutdown }
    }

    /// The stream behind the handshake.
    ///
    /// # Errors
    /// See [`HandshakeRefusal`].
    pub async fn accept<IO>(&self, stream: IO) -> Result<TlsStream<IO>, HandshakeRefusal>
    where
        IO: AsyncRead + AsyncWrite + Unpin,
    {
        // The wait for a turn counts too: the time limit is the client's, whatever causes the delay.
        let handshake = async {
            let _turn = self.turns.acquire().await;
            self.certificates.acceptor().accept(stream).into_fallible().await
        };
        let (error, stream) = tokio::select! {
            done = handshake => match done {
                Ok(stream) => return Ok(stream),
                Err(failed) => failed,
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

//! One accepted connection that can reset: it writes half of the next write, then resets.
//!
//! The HTTP server can end or cut a body, but cannot reset a connection inside a chunk, so the socket does it. A
//! reply decides when.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Resets its connection. Each request carries it as an extension.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResetSwitch(Arc<AtomicBool>);

impl ResetSwitch {
    /// From the next write on.
    pub(crate) fn arm(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The socket.
pub(crate) struct Connection {
    stream: TcpStream,
    pub(crate) reset_switch: ResetSwitch,
}

impl Connection {
    /// Small writes leave at once, since the split of a stream into writes is simulated.
    pub(crate) fn new(stream: TcpStream) -> Self {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "sandbox connection stays buffered");
        }
        Self { stream, reset_switch: ResetSwitch::default() }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.reset_switch.0.load(Ordering::Acquire) {
            return Pin::new(&mut self.stream).poll_write(cx, bytes);
        }
        match Pin::new(&mut self.stream).poll_write(cx, &bytes[..bytes.len() / 2]) {
            Poll::Pending => Poll::Pending,
            // With no time to linger the kernel resets when the socket is dropped, which this error leads to.
            Poll::Ready(_) => Poll::Ready(Err(match self.stream.set_zero_linger() {
                Ok(()) => io::Error::new(io::ErrorKind::ConnectionReset, "reset on purpose"),
                Err(error) => error,
            })),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.reset_switch.0.load(Ordering::Acquire) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

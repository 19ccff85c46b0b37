//! The byte stream of an accepted connection: as it came, or inside TLS. One type for both, so that what is built on it
//! is compiled once. Never looks at the bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// An accepted connection.
#[derive(Debug)]
pub enum AcceptedStream {
    /// Without TLS.
    Plain(TcpStream),
    /// Inside TLS, whose state is much larger than a socket.
    Tls(Box<TlsStream<TcpStream>>),
}

impl From<TcpStream> for AcceptedStream {
    fn from(stream: TcpStream) -> Self {
        Self::Plain(stream)
    }
}

impl From<TlsStream<TcpStream>> for AcceptedStream {
    fn from(stream: TlsStream<TcpStream>) -> Self {
        Self::Tls(Box::new(stream))
    }
}

/// Evaluates an expression with the stream inside, pinned.
macro_rules! of_either {
    ($stream:expr, $inner:ident => $do:expr) => {
        match $stream.get_mut() {
            AcceptedStream::Plain(stream) => {
                let $inner = Pin::new(stream);
                $do
            }
            AcceptedStream::Tls(stream) => {
                let $inner = Pin::new(&mut **stream);
                $do
            }
        }
    };
}

impl AsyncRead for AcceptedStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        of_either!(self, inner => inner.poll_read(cx, buf))
    }
}

impl AsyncWrite for AcceptedStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        of_either!(self, inner => inner.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        of_either!(self, inner => inner.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, inner => inner.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        of_either!(self, inner => inner.poll_shutdown(cx))
    }
}

//! The one place that opens a socket. Everything that leaves passes [`Dial`], so a test that stands here sees
//! every attempt. Judges nothing: what comes here was classified by `connect`.

use std::io;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use tokio::net::TcpStream;

/// An open socket and who is at its other end.
pub(crate) struct Line {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
}

/// Opens sockets.
pub(crate) trait Dial: Send + Sync + 'static {
    /// A connection to exactly this address.
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Line>>;
}

/// The operating system's sockets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sockets;

impl Dial for Sockets {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Line>> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            let peer = stream.peer_addr()?;
            Ok(Line { stream, peer })
        })
    }
}

//! The only file that opens a socket. Every outgoing connection passes [`Dial`], so a test that implements it sees
//! every attempt. Checks nothing: `connect` has classified the address.

use std::io;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Bytes both ways.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for T {}

/// An open connection and who is at its other end.
pub struct Dialed {
    /// The connection.
    pub stream: Box<dyn Stream>,
    /// Who answered.
    pub peer: SocketAddr,
}

/// Opens connections.
pub trait Dial: Send + Sync + 'static {
    /// A connection to exactly this address.
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Dialed>>;
}

/// The operating system's sockets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sockets;

impl Dial for Sockets {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Dialed>> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            // Both sides of a call wait for small packets; never hold one back.
            stream.set_nodelay(true)?;
            let peer = stream.peer_addr()?;
            Ok(Dialed { stream: Box::new(stream), peer })
        })
    }
}

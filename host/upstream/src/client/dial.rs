//! Names to addresses, and addresses to sockets: the only file that opens one. Both are traits, so that a test can answer
//! differently every time it is asked, and sees every attempt. Checks nothing: `connect` has classified the address.

use std::io;
use std::net::{IpAddr, SocketAddr};

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

/// Looks names up. Never asked for IP literals.
pub trait Resolve: Send + Sync + 'static {
    /// Every address of `host`, in the order to be tried.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The operating system's resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

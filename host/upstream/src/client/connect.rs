//! From a URL's host to a socket, with nothing unchecked in between: resolve, classify every address, connect
//! to one that was classified, look at who answered, then TLS for the name.
//!
//! hyper-util's own connector skips the resolver for IP literals, so a filtering resolver would not do.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;

use crate::client::address;
use crate::client::dial::{Dialed, Stream};
use crate::client::network::Network;
use crate::client::origin::bare;
use crate::client::proxy::Proxy;
use crate::client::tunnel::tunnel;

/// Addresses of one name that are tried before giving up.
const ATTEMPTS: usize = 4;

/// Connects for one purpose (a provider's calls, users' media, ...).
#[derive(Clone)]
pub(crate) struct Connector(Arc<ConnectorState>);

struct ConnectorState {
    network: Network,
    private: Private,
    timeout: Duration,
}

/// Hosts that may have private addresses because the operator wrote them out. Without a port: at the usual ports.
pub(crate) type Private = HashSet<(String, Option<u16>)>;

/// What calls wait for before they leave, once somebody has said what that is.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<OnceLock<Opens>>);

type Opens = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

impl Gate {
    /// From now on calls wait for these futures, of which each gets one. Set once.
    pub(crate) fn set(&self, opens: Opens) {
        drop(self.0.set(opens));
    }

    /// Ends once a call may leave.
    pub(crate) async fn opened(&self) {
        if let Some(opens) = self.0.get() {
            opens().await;
        }
    }
}

/// Why there is no connection. Nothing was sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the name does not resolve: {0}")]
    Resolve(#[source] io::Error),
    #[error("the name has no address")]
    NoAddress,
    #[error("{host} resolves to an address that is not public ({what})")]
    NotPublic { host: String, what: &'static str },
    #[error("no connection: {0}")]
    Connect(#[source] io::Error),
    #[error("no TLS session: {0}")]
    Tls(#[source] io::Error),
    #[error("no connection within {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("the URL names no host")]
    NoHost,
    #[error("the proxy {proxy} {why}")]
    Proxy { proxy: String, why: String },
}

impl Connector {
    pub(crate) fn new(network: Network, private: Private, timeout: Duration) -> Self {
        Self(Arc::new(ConnectorState { network, private, timeout }))
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = ClientConnection;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<ClientConnection, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let inner = Arc::clone(&self.0);
        Box::pin(async move {
            let timeout = inner.timeout;
            let connected = tokio::time::timeout(timeout, inner.connect(&uri)).await;
            let connection = connected.map_err(|_| ConnectError::Timeout(timeout))??;
            if let Some(gate) = &inner.network.gate {
                gate.opened().await;
            }
            Ok(connection)
        })
    }
}

impl ConnectorState {
    async fn connect(&self, uri: &Uri) -> Result<ClientConnection, ConnectError> {
        let https = uri.scheme_str() == Some("https");
        let host = bare(uri.host().ok_or(ConnectError::NoHost)?);
        let port = uri.port_u16().unwrap_or(if https { 443 } else { 80 });
        let stream = match self.network.proxy.as_ref().filter(|proxy| !proxy.exempts(host)) {
            Some(proxy) => self.connect_through(proxy, host, port).await?,
            None => {
                let addresses = self.addresses(host, port).await?;
                self.first_to_answer(&addresses, port).await?
            }
        };
        if !https {
            return Ok(ClientConnection::new(stream, false));
        }
        let name = ServerName::try_from(host.to_owned()).map_err(|_| ConnectError::NoHost)?;
        let stream = self.network.tls.connect(name, stream).await.map_err(ConnectError::Tls)?;
        let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(ClientConnection::new(Box::new(stream), h2))
    }

    /// A connection through a proxy. It resolves the names that the operator wrote out. Any other name is resolved here, and the
    /// proxy gets an address that was checked: it might find another one.
    async fn connect_through(
        &self,
        proxy: &Proxy,
        host: &str,
        port: u16,
    ) -> Result<Box<dyn Stream>, ConnectError> {
        let target = if is_private_allowed(&self.private, host, port) {
            host.to_owned()
        } else {
            self.addresses(host, port).await?.first().ok_or(ConnectError::NoAddress)?.to_string()
        };
        let target =
            if target.contains(':') { format!("[{target}]:{port}") } else { format!("{target}:{port}") };
        let name = || format!("{}:{}", proxy.host, proxy.port);
        let addresses = match proxy.host.parse::<IpAddr>() {
            Ok(literal) => vec![literal],
            Err(_) => self.network.resolver.resolve(&proxy.host).await.map_err(|error| {
                ConnectError::Proxy { proxy: name(), why: format!("does not resolve: {error}") }
            })?,
        };
        let stream = self.first_to_answer(&addresses, proxy.port).await.map_err(|error| {
            ConnectError::Proxy { proxy: name(), why: format!("cannot be reached: {error}") }
        })?;
        tunnel(stream, proxy.login(), &target).await.map_err(|why| ConnectError::Proxy { proxy: name(), why })
    }

    /// Every address of `host`, all of them allowed: one bad address among good ones is a trick, not an offer.
    async fn addresses(&self, host: &str, port: u16) -> Result<Vec<IpAddr>, ConnectError> {
        let addresses = match host.parse::<IpAddr>() {
            Ok(literal) => vec![literal],
            Err(_) => self.network.resolver.resolve(host).await.map_err(ConnectError::Resolve)?,
        };
        if addresses.is_empty() {
            return Err(ConnectError::NoAddress);
        }
        if is_private_allowed(&self.private, host, port) {
            return Ok(addresses);
        }
        match addresses.iter().find_map(|&address| address::reserved(address)) {
            Some(what) => Err(ConnectError::NotPublic { host: host.to_owned(), what }),
            None => Ok(addresses),
        }
    }

    async fn first_to_answer(
        &self,
        addresses: &[IpAddr],
        port: u16,
    ) -> Result<Box<dyn Stream>, ConnectError> {
        let mut last = io::Error::other("no address was tried");
        let tries = addresses.len().clamp(1, ATTEMPTS);
        let share = self.timeout / u32::try_from(tries).expect("at most ATTEMPTS");
        for &address in addresses.iter().take(ATTEMPTS) {
            let wanted = SocketAddr::new(address, port);
            match tokio::time::timeout(share, self.network.dial.dial(wanted)).await {
                Ok(Ok(Dialed { stream, peer })) if peer.ip() == address => return Ok(stream),
                Ok(Ok(_)) => last = io::Error::other("another address answered"),
                Ok(Err(error)) => last = error,
                Err(_) => last = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(ConnectError::Connect(last))
    }
}

/// Whether the operator named this host, and this port with it.
pub(crate) fn is_private_allowed(private: &Private, host: &str, port: u16) -> bool {
    private.contains(&(host.to_owned(), Some(port)))
        || (matches!(port, 80 | 443) && private.contains(&(host.to_owned(), None)))
}

/// A connection to a checked address, plain or TLS, as hyper wants it.
pub(crate) struct ClientConnection {
    io: TokioIo<Box<dyn Stream>>,
    h2: bool,
}

impl ClientConnection {
    pub(crate) fn new(io: Box<dyn Stream>, h2: bool) -> Self {
        Self { io: TokioIo::new(io), h2 }
    }
}

impl Connection for ClientConnection {
    fn connected(&self) -> Connected {
        if self.h2 { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for ClientConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for ClientConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}

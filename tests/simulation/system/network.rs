//! The simulated network: pipes in memory between the system and its provider. Every read and write is an operation
//! at which the process may crash.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_upstream::{Dial, Dialed, Resolve};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::clock::VirtualClock;
use crate::provider::{hooks, serve, tasks, texts};
use crate::record::{ENDPOINTS, Endpoint};
use crate::simulation::Simulation;

/// Capacity of a pipe, bytes.
const PIPE: usize = 64 * 1024;

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, u8::try_from(number + 1).expect("a few endpoints"))
}

/// Names and connections.
pub(crate) struct Network(pub(crate) Arc<Simulation>);

impl Resolve for Network {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let number = ENDPOINTS.iter().position(|(name, _)| *name == host);
        let found = number.map(|number| vec![address(number).into()]);
        Box::pin(std::future::ready(found.ok_or_else(|| io::ErrorKind::NotFound.into())))
    }
}

impl Dial for Network {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Dialed>> {
        let number = (0..ENDPOINTS.len()).find(|&number| to.ip() == address(number));
        let endpoint = number.map(|number| ENDPOINTS[number].1);
        Box::pin(async move {
            let simulation = &self.0;
            let endpoint = endpoint.ok_or(io::ErrorKind::AddrNotAvailable)?;
            if !simulation.switch.allow("a connection is opened") {
                return Err(io::ErrorKind::NotConnected.into());
            }
            let is_hook = endpoint == Endpoint::Hook;
            if !is_hook && simulation.provider().outages.is_unreachable(simulation.clock.elapsed()) {
                simulation.count("the provider was unreachable");
                if simulation.fault_random.once_in(2) {
                    // The attempt is not even refused.
                    VirtualClock::pause(Duration::from_secs(3600)).await;
                }
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (ours, theirs) = tokio::io::duplex(PIPE);
            let provider = Arc::clone(simulation);
            match endpoint {
                Endpoint::Text(protocol) => drop(tokio::spawn(serve(theirs, move |request| {
                    texts::answer(Arc::clone(&provider), protocol, request)
                }))),
                Endpoint::Hook => drop(tokio::spawn(serve(theirs, move |request| {
                    hooks::answer(Arc::clone(&provider), request)
                }))),
                endpoint => drop(tokio::spawn(serve(theirs, move |request| {
                    tasks::answer(Arc::clone(&provider), endpoint, request)
                }))),
            }
            Ok(Dialed {
                stream: Box::new(Pipe { simulation: Arc::clone(simulation), inner: ours }),
                peer: to,
            })
        })
    }
}

/// The system's end of a connection.
struct Pipe {
    simulation: Arc<Simulation>,
    inner: DuplexStream,
}

impl AsyncRead for Pipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, into))?;
        if into.filled().len() > before && !self.simulation.switch.allow("a reply arrives") {
            into.set_filled(before);
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.simulation.switch.allow("bytes leave") {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

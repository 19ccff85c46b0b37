//! The network of a simulated world: pipes in memory between the house and its provider. Every piece that
//! passes is an operation at which the power may go.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gatehouse_model::Protocol;
use gatehouse_upstream::{Dial, Line, Resolve};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::clock::Time;
use crate::provider::{self, Door};
use crate::speaker;
use crate::world::World;

/// What a pipe holds.
const PIPE: usize = 64 * 1024;

/// Each door of the provider has a name and an address.
pub(crate) const DOORS: [(&str, Door); 5] = [
    ("api.provider.test", Door::Submit),
    ("region.provider.test", Door::Poll),
    ("delivery.provider.test", Door::Delivery),
    ("messages.provider.test", Door::Text(Protocol::Messages)),
    ("chat.provider.test", Door::Text(Protocol::Chat)),
];

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 0, u8::try_from(number + 1).expect("a few doors"))
}

/// Names and connections.
pub(crate) struct Wires(pub(crate) Arc<World>);

impl Resolve for Wires {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let number = DOORS.iter().position(|(name, _)| *name == host);
        let found = number.map(|number| vec![address(number).into()]);
        Box::pin(std::future::ready(found.ok_or_else(|| io::ErrorKind::NotFound.into())))
    }
}

impl Dial for Wires {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Line>> {
        let door = (0..DOORS.len()).find(|&number| to.ip() == address(number)).map(|number| DOORS[number].1);
        Box::pin(async move {
            let world = &self.0;
            let door = door.ok_or(io::ErrorKind::AddrNotAvailable)?;
            if !world.power.step("a connection is opened") {
                return Err(io::ErrorKind::NotConnected.into());
            }
            if world.truth().weather.is_dark(world.time.gone()) {
                world.count("the provider was out");
                if world.dice.once_in(2) {
                    // Nobody answers at all.
                    Time::pause(Duration::from_secs(3600)).await;
                }
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (ours, theirs) = tokio::io::duplex(PIPE);
            match door {
                Door::Text(speaks) => drop(tokio::spawn(speaker::serve(Arc::clone(world), speaks, theirs))),
                door => drop(tokio::spawn(provider::serve(Arc::clone(world), door, theirs))),
            }
            Ok(Line { stream: Box::new(Pipe { world: Arc::clone(world), inner: ours }), peer: to })
        })
    }
}

/// The house's end of a connection.
struct Pipe {
    world: Arc<World>,
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
        if into.filled().len() > before && !self.world.power.step("a reply comes") {
            into.set_filled(before);
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.world.power.step("bytes leave") {
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

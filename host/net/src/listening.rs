//! A listening socket: how it is made, and how its connections are accepted. Never decides which of them are served.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use gatehouse_model::Clock;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;

use crate::connection::{ShutdownPhase, reached};

/// Connections that the kernel completes and keeps until they are accepted; it takes no more than `net.core.somaxconn`. With
/// the 128 of the standard library a thousand clients that come at once overflow the queue: the kernel then answers with SYN
/// cookies, and resets those whose cookie has grown too old when it is looked at.
const BACKLOG: u32 = 4096;

/// The time until the next accept after one that failed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Listens on an address, which another process may have used a moment ago.
///
/// # Errors
/// The address cannot be listened on.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The next connection of a listener; `None` once the drain begins. After one that could not be accepted, mostly for want of
/// descriptors or memory, it waits a moment.
pub async fn accept(
    listener: &TcpListener,
    shutdown: &watch::Receiver<ShutdownPhase>,
    clock: &dyn Clock,
) -> Option<(TcpStream, SocketAddr)> {
    loop {
        let accepted = tokio::select! {
            biased;
            () = reached(shutdown.clone(), ShutdownPhase::Draining) => return None,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(accepted) => return Some(accepted),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                clock.pause(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it clients that come at once are not connected until some of them are served, and some of those are reset.
    #[tokio::test]
    async fn clients_that_come_at_once_are_connected_before_any_is_served() {
        let kernel = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
        let most = kernel.trim().parse().unwrap_or(128_usize).min(400);
        let listener = listen(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = listener.local_addr().unwrap();
        let mut clients = Vec::new();
        for _ in 0..most {
            clients.push(TcpStream::connect(address).await.unwrap());
        }
        for client in &clients {
            let (served, peer) = listener.accept().await.unwrap();
            assert_eq!(peer, client.local_addr().unwrap());
            drop(served);
        }
        let taken = listen(address).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
    }
}

//! The public listeners as a whole: binds, accepts within limits, moves through the phases of a shutdown. Hands every accepted
//! stream to the server of connections; never looks into a request.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Clock, Pepper, Seed};
use gatehouse_net::{Certificates, ShutdownPhase, TlsError};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::backend::Backend;
use crate::config::{Config, count};
use crate::http::auth::Auth;
use crate::serving::listeners::Listeners;
use crate::serving::local::LocalRequests;
use crate::serving::pipeline::Pipeline;

/// Why the edge cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An address cannot be listened on.
    #[error("server.listen {address}: {source}")]
    Bind {
        /// As configured.
        address: SocketAddr,
        /// The system's error; its kind tells an address in use from one that is not ours.
        source: io::Error,
    },
    /// A socket that was handed over cannot be listened on.
    #[error("a listening socket that was handed over: {0}")]
    Inherited(io::Error),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// The public listeners, serving. Dropping it stops new connections; [`Edge::drain`] also ends the old ones.
pub struct Edge {
    addresses: Vec<SocketAddr>,
    certificates: Option<Certificates>,
    shutdown: watch::Sender<ShutdownPhase>,
    accepting: Vec<JoinHandle<()>>,
    lame_duck: Duration,
    permits: Arc<Semaphore>,
    connections: u32,
    clock: Arc<dyn Clock>,
    pipeline: Arc<Pipeline>,
}

impl Edge {
    /// Binds every configured address and serves at once; with `inherited`, serves those sockets and binds
    /// none.
    ///
    /// `certificates` wins over the files of the configuration; without either the listeners speak cleartext.
    ///
    /// # Errors
    /// [`Error`] naming the setting that cannot be used; nothing is left listening.
    pub fn start(
        config: Config,
        driver: gatehouse_driver::Driver,
        pepper: Pepper,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        certificates: Option<Certificates>,
        inherited: Vec<std::net::TcpListener>,
    ) -> gatehouse_model::Boxed<'static, Result<Self, Error>> {
        Box::pin(Self::serve(config, Arc::new(driver), pepper, clock, seed, certificates, inherited))
    }

    pub(crate) async fn serve(
        config: Config,
        backend: Arc<dyn Backend>,
        pepper: Pepper,
        clock: Arc<dyn Clock>,
        seed: Arc<dyn Seed>,
        certificates: Option<Certificates>,
        inherited: Vec<std::net::TcpListener>,
    ) -> Result<Self, Error> {
        let certificates = certificates_of(&config, certificates)?;
        let listeners = listeners(&config, inherited)?;
        let addresses = listeners.iter().map(|(address, _)| *address).collect();
        let (shutdown, watched) = watch::channel(ShutdownPhase::Serving);
        let connections = u32::try_from(count(config.limits.connections).min(Semaphore::MAX_PERMITS));
        let lame_duck = Duration::from_millis(u64::from(config.lame_duck_ms));
        let auth = Auth::new(pepper);
        let time = Arc::clone(&clock);
        let pipeline = Arc::new(Pipeline::new(backend, config, auth, time, seed, watched.clone()));
        let service = Arc::clone(&pipeline);
        let shared =
            Listeners::new(&pipeline.context.config, service, clock.clone(), certificates.clone(), watched);
        let shared = Arc::new(shared);
        let accept = |(_, listener)| tokio::spawn(Arc::clone(&shared).accept(listener));
        let accepting = listeners.into_iter().map(accept).collect();
        let permits = Arc::clone(&shared.open.permits);
        Ok(Self {
            addresses,
            certificates,
            shutdown,
            accepting,
            lame_duck,
            permits,
            connections: connections.unwrap_or(u32::MAX),
            clock,
            pipeline,
        })
    }

    /// Where it listens, in the order of the configuration, with the ports the system chose.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Requests of this process itself, which come over no listener.
    #[must_use]
    pub fn local(&self) -> LocalRequests {
        LocalRequests(Arc::clone(&self.pipeline))
    }

    /// Bytes of request bodies that are held.
    #[cfg(test)]
    pub(crate) fn body_bytes(&self) -> usize {
        self.pipeline.context.bodies.held()
    }

    /// The certificate in use, to reload it.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The lame duck phase, for the configured time: `/readyz` refuses, every response ends its connection,
    /// connections and requests are still accepted. So load balancers move away before anything is refused.
    pub async fn lame_duck(&self) {
        self.shutdown.send_replace(ShutdownPhase::LameDuck);
        self.clock.pause(self.lame_duck).await;
    }

    /// Stops accepting, lets requests under way finish for at most `grace`, then drops what is left.
    pub async fn drain(mut self, grace: Duration) {
        self.shutdown.send_replace(ShutdownPhase::Draining);
        let accepting = std::mem::take(&mut self.accepting);
        let end = async {
            // Accepting ends first: the last accepted connection must hold its permit before permits are
            // counted.
            for listener in accepting {
                let _ = listener.await;
            }
            self.all_closed().await;
        };
        tokio::select! {
            biased;
            () = end => return,
            () = self.clock.pause(grace) => {}
        }
        let left = self.connections as usize - self.permits.available_permits();
        tracing::warn!(connections = left, "dropping connections whose requests did not end in time");
        self.shutdown.send_replace(ShutdownPhase::Aborting);
        self.all_closed().await;
    }

    /// Waits until every connection's permit is free.
    async fn all_closed(&self) {
        // The semaphore is never closed, so this can only succeed.
        let _ = self.permits.acquire_many(self.connections).await;
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.shutdown.send_replace(ShutdownPhase::Aborting);
    }
}

/// Those that were given, or those of the configuration.
pub(crate) fn certificates_of(
    config: &Config,
    given: Option<Certificates>,
) -> Result<Option<Certificates>, TlsError> {
    match (given, &config.tls) {
        (Some(given), _) => Ok(Some(given)),
        (None, Some(files)) => Certificates::from_files(files.files()).map(Some),
        (None, None) => Ok(None),
    }
}

/// Listens on every configured address; with `inherited`, on those sockets and on no other.
pub(crate) fn listeners(
    config: &Config,
    inherited: Vec<std::net::TcpListener>,
) -> Result<Vec<(SocketAddr, TcpListener)>, Error> {
    if inherited.is_empty() { bind(&config.listen) } else { adopt(inherited) }
}

/// Sockets opened by a service manager, which keeps them open when this process ends.
fn adopt(sockets: Vec<std::net::TcpListener>) -> Result<Vec<(SocketAddr, TcpListener)>, Error> {
    let adopted = sockets.into_iter().map(|socket| {
        socket.set_nonblocking(true)?;
        let listener = TcpListener::from_std(socket)?;
        Ok((listener.local_addr()?, listener))
    });
    adopted.collect::<io::Result<_>>().map_err(Error::Inherited)
}

fn bind(addresses: &[SocketAddr]) -> Result<Vec<(SocketAddr, TcpListener)>, Error> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let wrong = |source| Error::Bind { address, source };
        let listener = gatehouse_net::listen(address).map_err(wrong)?;
        listeners.push((listener.local_addr().map_err(wrong)?, listener));
    }
    Ok(listeners)
}

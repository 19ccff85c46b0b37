//! The public listeners and the admin listener, opened from the configuration or inherited from the service manager.
//!
//! Inherited sockets come by systemd's protocol: `LISTEN_FDS` and `LISTEN_PID`, from descriptor 3 on. The service manager keeps
//! them open across a restart, so clients wait for the next process and are not refused.
//!
//! A self-signed certificate, to try TLS with, is generated at the start and never stored.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gatehouse_admin::{AdminEndpoint, AdminServer, AdminService, EndpointOf, Probes, Tokens};
use gatehouse_driver::Driver;
use gatehouse_edge::{Certificates, Edge};
use gatehouse_files::is_disk_full;
use gatehouse_model::Clock;
use listenfd::ListenFd;
use tokio::task::{JoinError, JoinHandle};

use super::error::ServeError;
use super::memory::settle_bodies;
use super::services::Services;
use crate::config::Config;

/// Ports tried after a taken one, where the operator named none.
const MAX_PORTS_TRIED: u16 = 20;

/// Between two tries to write admin.json on a full disk.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// How the public listeners are opened.
pub(super) struct PublicListeners {
    /// With a generated certificate.
    pub(super) self_signed: bool,
    /// With what an authority issues.
    pub(super) issued: Option<Certificates>,
    /// On the next free port, where the operator named none.
    pub(super) any_port: bool,
    /// From these sockets, if any: inherited ones, or those of the gateway while it waited.
    pub(super) sockets: Vec<TcpListener>,
}

/// Opens the public listeners.
pub(super) async fn listen(
    config: &Config,
    driver: &Driver,
    services: &Services,
    mut public: PublicListeners,
) -> Result<Edge, ServeError> {
    let mut server = config.server.clone();
    settle_bodies(&mut server.limits);
    let mut ports_left = if public.any_port { MAX_PORTS_TRIED } else { 0 };
    loop {
        let certificates =
            if public.self_signed { Some(self_signed(&server.listen)?) } else { public.issued.clone() };
        let (clock, seed) = (services.clock.clone(), services.seed.clone());
        // An open socket is never in use elsewhere, so no second attempt needs it.
        let sockets = std::mem::take(&mut public.sockets);
        let (driver, pepper) = (driver.clone(), services.pepper.clone());
        match Edge::start(server.clone(), driver, pepper, clock, seed, certificates, sockets).await {
            Err(gatehouse_edge::Error::Bind { address, source })
                if ports_left > 0 && source.kind() == io::ErrorKind::AddrInUse =>
            {
                ports_left -= 1;
                let next = SocketAddr::new(address.ip(), address.port().saturating_add(1));
                tracing::info!(taken = %address, trying = %next, "the port is taken");
                server.listen = vec![next];
            }
            started => return Ok(started?),
        }
    }
}

/// Opens the admin listener and writes its endpoint file.
pub(super) async fn listen_for_operators(
    config: &Config,
    services: &Services,
    service: Arc<AdminService>,
    probes: Probes,
) -> Result<(AdminServer, EndpointFile), ServeError> {
    let (address, tokens) = (config.admin.listen, Tokens::mint(services.seed.as_ref()));
    let announced = Announced::default();
    let (limits, handshakes) = (config.server.limits.of_connections(), config.server.limits.of_handshakes());
    let server = AdminServer::start(
        &config.admin,
        limits,
        handshakes,
        tokens.clone(),
        service,
        announced.before(probes),
        services.clock.clone(),
    )
    .map_err(|source| ServeError::Admin { address, source })?;
    let (address, tls) = (server.address(), server.certificates().is_some());
    let endpoints =
        Endpoints::of([tokens.operator, tokens.viewer].map(|token| AdminEndpoint { address, token, tls }));
    let data = services.folder.root().to_owned();
    Ok((server, announce(endpoints, data, &services.clock, &announced).await?))
}

/// Whether commands find this gateway, as far as its disk has room to tell them. A gateway is ready after that.
#[derive(Clone, Default)]
struct Announced(Arc<AtomicBool>);

impl Announced {
    /// The probes of a gateway that is not ready before.
    fn before(&self, probes: Probes) -> Probes {
        let (announced, is_ready) = (Arc::clone(&self.0), probes.is_ready);
        Probes { is_ready: Box::new(move || announced.load(Ordering::Acquire) && is_ready()), ..probes }
    }
}

/// Writes the endpoint files, and then says that they are there.
async fn announce(
    endpoint: Endpoints,
    data: PathBuf,
    clock: &Arc<dyn Clock>,
    announced: &Announced,
) -> Result<EndpointFile, ServeError> {
    let late = match write(&endpoint, &data).await? {
        Ok(()) => None,
        // Clients are served all the same; only commands on this machine have to wait.
        Err(error) if is_disk_full(&error) => {
            tracing::error!(%error, "the disk is full: admin.json is written once it has room, until then commands do not find this gateway");
            Some(tokio::spawn(write_late(endpoint.clone(), data.clone(), Arc::clone(clock))))
        }
        Err(error) => return Err(ServeError::EndpointFile(error)),
    };
    announced.0.store(true, Ordering::Release);
    Ok(EndpointFile { endpoint, data, late })
}

/// The same listener, once with the token of each role.
#[derive(Clone)]
struct Endpoints([(EndpointOf, AdminEndpoint); 2]);

impl Endpoints {
    fn of([operator, viewer]: [AdminEndpoint; 2]) -> Self {
        Self([(EndpointOf::Operator, operator), (EndpointOf::Viewer, viewer)])
    }

    fn write(&self, data: &Path) -> io::Result<()> {
        self.0.iter().try_for_each(|(of, endpoint)| endpoint.write(data, *of))
    }

    fn are_written(&self, data: &Path) -> bool {
        self.0.iter().all(|(of, endpoint)| endpoint.is_written(data, *of))
    }

    fn remove(&self, data: &Path) -> io::Result<()> {
        let removed = self.0.each_ref().map(|(of, endpoint)| endpoint.remove(data, *of));
        removed.into_iter().collect()
    }
}

/// The files that tell commands and people of the admin listener.
pub(super) struct EndpointFile {
    endpoint: Endpoints,
    data: PathBuf,
    /// Writes it, where there was no room at the start.
    late: Option<JoinHandle<()>>,
}

impl EndpointFile {
    /// Writes the files again where they are gone or another's: a person has removed them, and no command finds this
    /// gateway without them.
    pub(super) async fn write_again(&self) {
        if self.endpoint.are_written(&self.data) || self.late.as_ref().is_some_and(|late| !late.is_finished())
        {
            return;
        }
        match write(&self.endpoint, &self.data).await {
            Ok(Ok(())) => tracing::warn!("admin.json was gone or changed; it is written again"),
            Ok(Err(error)) => tracing::error!(%error, "admin.json could not be written again"),
            Err(_) => {}
        }
    }

    /// Removes the file of this gateway.
    pub(super) fn remove(&self) {
        if let Some(late) = &self.late {
            late.abort();
        }
        if let Err(error) = self.endpoint.remove(&self.data) {
            tracing::warn!(%error, "admin.json could not be removed");
        }
    }
}

async fn write(endpoint: &Endpoints, data: &Path) -> Result<io::Result<()>, JoinError> {
    let (endpoint, data) = (endpoint.clone(), data.to_owned());
    tokio::task::spawn_blocking(move || endpoint.write(&data)).await
}

async fn write_late(endpoint: Endpoints, data: PathBuf, clock: Arc<dyn Clock>) {
    loop {
        clock.pause(WRITE_INTERVAL).await;
        match write(&endpoint, &data).await {
            Ok(Err(error)) if is_disk_full(&error) => {}
            Ok(Err(error)) => return tracing::error!(%error, "admin.json could not be written"),
            Ok(Ok(())) => return tracing::info!("admin.json is written"),
            Err(_) => return,
        }
    }
}

/// Every inherited socket; usually none.
///
/// # Errors
/// One of them is not a TCP socket, named by its descriptor.
pub(crate) fn inherited_sockets() -> io::Result<Vec<TcpListener>> {
    let mut inherited = ListenFd::from_env();
    (0..inherited.len()).filter_map(|at| inherited.take_tcp_listener(at).transpose()).collect()
}

/// Generates a certificate for this machine's names and the addresses it listens on. Clients must trust it explicitly,
/// or skip verification.
pub(super) fn self_signed(listen: &[SocketAddr]) -> Result<Certificates, ServeError> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let own = listen.iter().map(SocketAddr::ip).filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
    names.extend(own.map(|ip| ip.to_string()));
    let generated = rcgen::generate_simple_self_signed(names)
        .map_err(|error| ServeError::Tls(format!("it could not be generated: {error}")))?;
    Certificates::from_material(vec![generated.cert.der().clone()], generated.signing_key.into())
        .map_err(|error| ServeError::Tls(error.to_string()))
}

#[cfg(test)]
mod tests {
    use gatehouse_admin::Token;
    use gatehouse_harness::{TestClock, TestSeed};

    use super::*;

    fn endpoints() -> Endpoints {
        let of = |seed| AdminEndpoint {
            address: SocketAddr::from(([127, 0, 0, 1], 9)),
            token: Token::mint(&TestSeed::constant(seed)),
            tls: false,
        };
        Endpoints::of([of(1), of(2)])
    }

    #[tokio::test]
    async fn a_gateway_is_ready_once_commands_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().to_owned();
        let clock: Arc<dyn Clock> = TestClock::at(1);
        let announced = Announced::default();
        let serves = Arc::new(AtomicBool::new(true));
        let driver = Arc::clone(&serves);
        let probes = announced.before(Probes {
            metrics: Box::new(String::new),
            is_ready: Box::new(move || driver.load(Ordering::Relaxed)),
        });
        assert!(!(probes.is_ready)(), "no file is written");
        let nowhere = announce(endpoints(), data.join("none"), &clock, &announced).await;
        assert!(matches!(nowhere, Err(ServeError::EndpointFile(_))));
        assert!(!(probes.is_ready)(), "no file could be written");
        let written = announce(endpoints(), data.clone(), &clock, &announced).await.unwrap();
        assert!((probes.is_ready)());
        assert!(EndpointOf::Operator.read(&data).unwrap().is_some());
        let viewer = EndpointOf::Viewer.path(&data);
        assert!(viewer.exists());
        // A person has removed one: a reload writes it again, without which no command would find this gateway.
        std::fs::remove_file(&viewer).unwrap();
        written.write_again().await;
        assert!(viewer.exists());
        serves.store(false, Ordering::Relaxed);
        assert!(!(probes.is_ready)(), "it takes no new work");
        written.remove();
        assert!(EndpointOf::Operator.read(&data).unwrap().is_none());
    }

    #[test]
    fn a_generated_certificate_fits_its_key() {
        self_signed(&["127.0.0.1:1".parse().unwrap(), "192.0.2.7:1".parse().unwrap()]).map(drop).unwrap();
    }
}

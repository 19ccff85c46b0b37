//! The public listeners and the admin listener, opened from the configuration.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use gatehouse_admin::{AdminEndpoint, AdminServer, AdminService, Probes, Token};
use gatehouse_driver::Driver;
use gatehouse_edge::{Certificates, Edge};

use super::error::ServeError;
use super::self_signed::{CertificateError, self_signed};
use super::services::Services;
use crate::config::Config;

/// Ports tried after a taken one, where the operator named none.
const MAX_PORTS_TRIED: u16 = 20;

/// How the public listeners are opened.
pub(super) struct PublicListeners {
    /// With a generated certificate.
    pub(super) self_signed: bool,
    /// On the next free port, where the operator named none.
    pub(super) any_port: bool,
    /// From these inherited sockets, if any.
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
    let mut ports_left = if public.any_port { MAX_PORTS_TRIED } else { 0 };
    loop {
        let certificates = if public.self_signed { Some(self_signed_for(&server)?) } else { None };
        let (clock, seed) = (services.clock.clone(), services.seed.clone());
        // An inherited socket is never in use elsewhere, so no second attempt needs it.
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

fn self_signed_for(server: &gatehouse_edge::Config) -> Result<Certificates, CertificateError> {
    let own: Vec<_> = server.listen.iter().map(SocketAddr::ip).collect();
    self_signed(&own)
}

/// Opens the admin listener and writes its endpoint file.
pub(super) async fn listen_for_operators(
    config: &Config,
    services: &Services,
    service: Arc<AdminService>,
    probes: Probes,
) -> Result<(AdminServer, AdminEndpoint), ServeError> {
    let (address, token) = (config.admin.listen, Token::mint(services.seed.as_ref()));
    let limits = config.server.limits.of_connections();
    let server =
        AdminServer::start(&config.admin, limits, token.clone(), service, probes, services.clock.clone())
            .await
            .map_err(|source| ServeError::Admin { address, source })?;
    let endpoint = AdminEndpoint { address: server.address(), token };
    let (file, data) = (endpoint.clone(), services.folder.root().to_owned());
    tokio::task::spawn_blocking(move || file.write(&data)).await?.map_err(ServeError::EndpointFile)?;
    Ok((server, endpoint))
}

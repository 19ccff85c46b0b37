//! How connections are made: whom names resolve to, how sockets are opened, whose certificates count, and the proxy between.
//! Makes the HTTP clients of the crate.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::client::connect::{Connector, Gate, Private};
use crate::client::dial::{Dial, Resolve};
use crate::client::exchange::Http;
use crate::client::proxy::Proxy;

/// Connections to one host that are kept. Due tasks come in bursts; the caller that finds no connection kept makes one, and
/// over TLS that costs more than the call.
pub(crate) const MAX_IDLE: usize = 128;

/// What every connection needs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Network {
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) dial: Arc<dyn Dial>,
    /// One for all connections, and with it the session cache.
    pub(super) tls: TlsConnector,
    /// What connections go through that are not exempt from it.
    pub(crate) proxy: Option<Arc<Proxy>>,
    /// What a new connection waits for before it is used.
    pub(super) gate: Option<Gate>,
}

impl Network {
    /// A network that trusts the Mozilla roots, and those of the file `extra_roots`.
    pub(crate) fn new(
        resolver: Arc<dyn Resolve>,
        dial: Arc<dyn Dial>,
        extra_roots: Option<&Path>,
    ) -> Result<Self, String> {
        let tls = TlsConnector::from(Arc::new(tls(roots(extra_roots)?)));
        Ok(Self { resolver, dial, tls, proxy: None, gate: None })
    }

    /// The same through that proxy, or without one.
    pub(crate) fn through(&self, proxy: Option<Arc<Proxy>>) -> Self {
        Self { proxy, ..self.clone() }
    }

    /// The same, whose connections wait for that gate.
    pub(crate) fn behind(&self, gate: &Gate) -> Self {
        Self { gate: Some(gate.clone()), ..self.clone() }
    }

    /// A client for hosts of which those in `private` may be private. Pooled connections are keyed by scheme and authority,
    /// so one client must serve one purpose only: its connector's rules hold for all that is pooled. At most `max_idle` are
    /// kept of each host.
    pub(crate) fn client(&self, private: Private, connect_timeout: Duration, max_idle: usize) -> Http {
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .pool_max_idle_per_host(max_idle)
            .http1_max_headers(128)
            .http2_keep_alive_interval(Duration::from_secs(20))
            .http2_adaptive_window(true)
            .build(Connector::new(self.clone(), private, connect_timeout))
    }
}

/// The certificates that count.
pub(crate) fn roots(extra: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let Some(path) = extra else { return Ok(roots) };
    let file = path.display();
    let read = CertificateDer::pem_file_iter(path).map_err(|why| format!("cannot read {file}: {why}"))?;
    let before = roots.len();
    for certificate in read {
        let certificate = certificate.map_err(|why| format!("{file} is not PEM: {why}"))?;
        roots.add(certificate).map_err(|why| format!("{file} holds an unusable certificate: {why}"))?;
    }
    if roots.len() == before {
        Err(format!("expected PEM certificates in {file}, found none"))
    } else {
        Ok(roots)
    }
}

fn tls(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

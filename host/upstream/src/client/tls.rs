//! The TLS client configuration: ring, the Mozilla roots, and what roots the operator adds.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::config::error::{ConfigError, error};

/// Builds the one configuration all connections share (and with it the session cache).
pub(crate) fn client(extra_roots: Option<&Path>) -> Result<Arc<ClientConfig>, ConfigError> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    if let Some(path) = extra_roots {
        add(&mut roots, path).map_err(|problem| error("fetch.extra_roots_file".to_owned(), problem))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn add(roots: &mut RootCertStore, path: &Path) -> Result<(), String> {
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
        Ok(())
    }
}

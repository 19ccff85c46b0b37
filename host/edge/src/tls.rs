//! The certificate the listeners show, replaceable while they serve.
//!
//! Owns reading PEM files and the server's TLS settings; never a socket. A replacement that cannot be read
//! changes nothing: the old certificate keeps serving.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::config::Tls;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificate file cannot be read as PEM, or holds no certificate.
    #[error("tls.certificate {}: expected a PEM file with a certificate chain: {source}", path.display())]
    Certificate {
        /// As configured.
        path: PathBuf,
        /// What came instead.
        source: pem::Error,
    },
    /// The key file cannot be read as PEM, or holds no private key.
    #[error("tls.key {}: expected a PEM file with a private key: {source}", path.display())]
    Key {
        /// As configured.
        path: PathBuf,
        /// What came instead.
        source: pem::Error,
    },
    /// The key does not belong to the certificate, or its kind is not supported.
    #[error("certificate and key do not go together: {0}")]
    Mismatch(rustls::Error),
    /// The protocol versions on offer need what the crypto provider lacks.
    #[error("TLS cannot be offered: {0}")]
    Settings(rustls::Error),
}

/// The certificate in use. Clones share it.
#[derive(Clone)]
pub struct Certificates {
    current: Arc<ArcSwap<CertifiedKey>>,
    files: Option<Tls>,
}

impl Certificates {
    /// From PEM files, which [`Certificates::reload`] reads again.
    ///
    /// # Errors
    /// [`TlsError`] naming the file that cannot be used.
    pub fn from_files(files: Tls) -> Result<Self, TlsError> {
        let current = Arc::new(ArcSwap::from_pointee(load(&files)?));
        Ok(Self { current, files: Some(files) })
    }

    /// From a chain (leaf first) and its key, as made by the process itself; nothing to reload.
    ///
    /// # Errors
    /// [`TlsError::Mismatch`] when they do not belong together.
    pub fn from_material(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let certified = certify(chain, key)?;
        Ok(Self { current: Arc::new(ArcSwap::from_pointee(certified)), files: None })
    }

    /// Reads the files again; new handshakes see the new certificate. Without files there is nothing to do.
    ///
    /// # Errors
    /// [`TlsError`]; the certificate in use stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        if let Some(files) = &self.files {
            self.current.store(Arc::new(load(files)?));
        }
        Ok(())
    }

    /// TLS 1.2 and 1.3, HTTP/2 preferred over HTTP/1.1.
    pub(crate) fn server_config(&self) -> Result<ServerConfig, TlsError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Settings)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.clone()));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("files", &self.files).finish_non_exhaustive()
    }
}

fn load(files: &Tls) -> Result<CertifiedKey, TlsError> {
    let wrong_chain = |source| TlsError::Certificate { path: files.certificate.clone(), source };
    let chain: Vec<_> = CertificateDer::pem_file_iter(&files.certificate)
        .map_err(wrong_chain)?
        .collect::<Result<_, _>>()
        .map_err(wrong_chain)?;
    if chain.is_empty() {
        return Err(wrong_chain(pem::Error::NoItemsFound));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|source| TlsError::Key { path: files.key.clone(), source })?;
    certify(chain, key)
}

fn certify(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, TlsError> {
    CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(TlsError::Mismatch)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn write(folder: &Path, certificate: &str, key: &str) -> Tls {
        let files = Tls { certificate: folder.join("chain.pem"), key: folder.join("key.pem") };
        fs::write(&files.certificate, certificate).unwrap();
        fs::write(&files.key, key).unwrap();
        files
    }

    fn pair() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn a_reload_shows_the_new_certificate_and_a_bad_one_keeps_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair();
        let certificates = Certificates::from_files(write(folder.path(), &certificate, &key)).unwrap();
        let first = certificates.current.load_full();

        let (certificate, key) = pair();
        write(folder.path(), &certificate, &key);
        certificates.reload().unwrap();
        let second = certificates.current.load_full();
        assert_ne!(first.cert, second.cert);

        write(folder.path(), "nothing here", &key);
        assert!(matches!(certificates.reload(), Err(TlsError::Certificate { .. })));
        assert_eq!(certificates.current.load_full().cert, second.cert);
    }

    #[test]
    fn what_cannot_serve_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ((certificate, key), (_, other_key)) = (pair(), pair());
        for (certificate, key, said) in [
            ("", key.as_str(), "tls.certificate"),
            (&certificate, "", "tls.key"),
            (&certificate, &other_key, "do not go together"),
        ] {
            let error =
                Certificates::from_files(write(folder.path(), certificate, key)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        assert!(matches!(Certificates::from_material(vec![], key), Err(TlsError::Mismatch(_))));
        let missing = Tls { certificate: folder.path().join("no"), key: folder.path().join("no") };
        assert!(Certificates::from_files(missing).unwrap_err().to_string().contains("tls.certificate"));
    }
}

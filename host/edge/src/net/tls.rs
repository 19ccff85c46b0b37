//! The certificate of the TLS listeners, replaceable while they serve.
//!
//! Owns reading PEM files and the server's TLS settings; never a socket. A replacement that cannot be read
//! changes nothing: the old certificate keeps serving.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::{fmt, fs};

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
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The key file cannot be read as PEM, or holds no private key.
    #[error("tls.key {}: expected a PEM file with a private key: {source}", path.display())]
    Key {
        /// As configured.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// The key does not belong to the certificate, or its kind is not supported.
    #[error("certificate and key do not go together{}: {source}", named(files.as_deref()))]
    Mismatch {
        /// As configured; `None` for a pair that came from no file.
        files: Option<Box<Tls>>,
        /// What is wrong with them.
        source: rustls::Error,
    },
    /// The crypto provider does not support the protocol versions.
    #[error("TLS cannot be offered: {0}")]
    Settings(rustls::Error),
}

/// The certificate in use. Clones share it. Every client gets it, whatever server name it sends.
#[derive(Clone)]
pub struct Certificates {
    current: Arc<ArcSwap<CertifiedKey>>,
    files: Option<Tls>,
    /// The files' stamps at the last read, failed reads included.
    last_read: Arc<Mutex<Stamps>>,
}

/// Modification time, length and inode of the two files; `None` for a file without metadata.
type Stamps = [Option<(SystemTime, u64, u64)>; 2];

impl Certificates {
    /// From PEM files, which [`Certificates::reload`] reads again.
    ///
    /// # Errors
    /// [`TlsError`] naming the file that cannot be used.
    pub fn from_files(files: Tls) -> Result<Self, TlsError> {
        // Before the read: a change in between is noticed the next time.
        let last_read = Arc::new(Mutex::new(stamps(&files)));
        let current = Arc::new(ArcSwap::from_pointee(load(&files)?));
        Ok(Self { current, files: Some(files), last_read })
    }

    /// From a chain (leaf first) and its key, as made by the process itself; nothing to reload.
    ///
    /// # Errors
    /// [`TlsError::Mismatch`] when they do not belong together.
    pub fn from_material(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let certified = certify(chain, key).map_err(|source| TlsError::Mismatch { files: None, source })?;
        let current = Arc::new(ArcSwap::from_pointee(certified));
        Ok(Self { current, files: None, last_read: Arc::default() })
    }

    /// Reads the files again; new handshakes use the new certificate. Does nothing without files.
    ///
    /// # Errors
    /// [`TlsError`]; the certificate in use stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        if let Some(files) = &self.files {
            *self.last_read() = stamps(files);
            self.current.store(Arc::new(load(files)?));
        }
        Ok(())
    }

    /// Reads the files again if their stamps changed; returns whether they did.
    ///
    /// # Errors
    /// [`TlsError`], once for each change; the certificate in use stays.
    pub fn reload_if_changed(&self) -> Result<bool, TlsError> {
        let changed = self.files.as_ref().is_some_and(|files| *self.last_read() != stamps(files));
        if changed {
            self.reload()?;
        }
        Ok(changed)
    }

    fn last_read(&self) -> MutexGuard<'_, Stamps> {
        self.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// TLS 1.2 and 1.3 with the AEAD suites that have forward secrecy, HTTP/2 preferred over HTTP/1.1. rustls
    /// knows no older version, no renegotiation and no compression; early data stays off because it can be
    /// replayed.
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

fn stamps(files: &Tls) -> Stamps {
    [&files.certificate, &files.key].map(|path| {
        let file = fs::metadata(path).ok()?;
        Some((file.modified().ok()?, file.len(), file.ino()))
    })
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
    certify(chain, key).map_err(|source| TlsError::Mismatch { files: Some(Box::new(files.clone())), source })
}

fn named(files: Option<&Tls>) -> String {
    let pair = |files: &Tls| format!(" ({}, {})", files.certificate.display(), files.key.display());
    files.map(pair).unwrap_or_default()
}

fn certify(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<CertifiedKey, rustls::Error> {
    CertifiedKey::from_der(chain, key, &ring::default_provider())
}

#[cfg(test)]
mod tests {
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
    fn a_reload_takes_a_new_certificate_and_keeps_the_old_one_on_error() {
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
    fn a_change_is_noticed_once_even_if_it_cannot_be_used() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair();
        let files = write(folder.path(), &certificate, &key);
        let certificates = Certificates::from_files(files.clone()).unwrap();
        assert!(!certificates.reload_if_changed().unwrap());
        let first = certificates.current.load_full();

        // As certificate clients replace files: written aside and renamed, one after the other.
        let (certificate, key) = pair();
        let rename = |text: &str, to: &Path| {
            fs::write(folder.path().join("new"), text).unwrap();
            fs::rename(folder.path().join("new"), to).unwrap();
        };
        rename(&certificate, &files.certificate);
        assert!(matches!(certificates.reload_if_changed(), Err(TlsError::Mismatch { files: Some(_), .. })));
        assert!(!certificates.reload_if_changed().unwrap(), "reported once");
        assert_eq!(certificates.current.load_full().cert, first.cert);
        rename(&key, &files.key);
        assert!(certificates.reload_if_changed().unwrap());
        assert_ne!(certificates.current.load_full().cert, first.cert);

        fs::remove_file(&files.key).unwrap();
        assert!(matches!(certificates.reload_if_changed(), Err(TlsError::Key { .. })));
        assert!(!certificates.reload_if_changed().unwrap());
    }

    #[test]
    fn an_unusable_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ((certificate, key), (_, other_key)) = (pair(), pair());
        for (certificate, key, expected) in [
            ("", key.as_str(), "tls.certificate"),
            (&certificate, "", "tls.key"),
            (&certificate, &other_key, "do not go together (/"),
        ] {
            let error =
                Certificates::from_files(write(folder.path(), certificate, key)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
        assert!(matches!(
            Certificates::from_material(vec![], key),
            Err(TlsError::Mismatch { files: None, .. })
        ));
        let missing = Tls { certificate: folder.path().join("no"), key: folder.path().join("no") };
        assert!(Certificates::from_files(missing).unwrap_err().to_string().contains("tls.certificate"));
    }
}

//! The certificates of TLS listeners, and the roots of the clients they let in; replaceable while they serve.
//!
//! Owns the server's TLS settings; never a socket. A replacement that cannot be read changes nothing: what is in use
//! keeps serving. Connections that are open go on, and a handshake sees one set of files.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::{fmt, fs};

use arc_swap::ArcSwap;
use gatehouse_model::UnixMs;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{WantsServerCert, WebPkiClientVerifier};
use rustls::{ConfigBuilder, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use super::challenges::{Challenges, PROTOCOL, Resolver, certified, challenge};

/// The PEM files of one `tls` table.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The table's key, such as `server.tls`; errors begin with it.
    pub table: &'static str,
    /// The chain, leaf first.
    pub certificate: PathBuf,
    /// The leaf's private key (PKCS#8, PKCS#1 or SEC1).
    pub key: PathBuf,
    /// Roots of the certificates that let a client in; `None` asks clients for no certificate.
    pub client_ca: Option<PathBuf>,
    /// Whether HTTP/2 is offered, beside HTTP/1.1.
    pub http2: bool,
}

/// What is in use. Clones share it. Every client gets the same chain, whatever server name it sends.
#[derive(Clone)]
pub struct Certificates {
    current: Arc<ArcSwap<InUse>>,
    files: Option<TlsFiles>,
    /// The files' stamps at the last read, failed reads included.
    last_read: Arc<Mutex<Stamps>>,
    /// What an authority sees that validates names, where one issues the certificate.
    challenges: Option<Arc<Challenges>>,
}

/// The settings of handshakes, and the time of their certificate; `None` without a certificate, and where it does not tell its time.
struct InUse {
    config: Arc<ServerConfig>,
    validity: Option<Validity>,
}

/// From when and until when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Validity {
    begins: UnixMs,
    ends: UnixMs,
}

/// Modification time, length and inode of the files; `None` for a file without metadata.
type Stamps = [Option<(SystemTime, u64, u64)>; 3];

impl Certificates {
    /// From PEM files, which [`Certificates::reload`] reads again.
    ///
    /// # Errors
    /// [`TlsError`] naming the file that cannot be used.
    pub fn from_files(files: TlsFiles) -> Result<Self, TlsError> {
        // Before the read: a change in between is noticed the next time.
        let last_read = Arc::new(Mutex::new(stamps(&files)));
        let current = Arc::new(ArcSwap::from_pointee(load(&files)?));
        Ok(Self { current, files: Some(files), last_read, challenges: None })
    }

    /// From a chain (leaf first) and its key, as made by the process itself: nothing to reload, clients need no
    /// certificate, HTTP/2 is offered.
    ///
    /// # Errors
    /// A chain and a key that do not belong together.
    pub fn from_material(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsError> {
        let validity = validity(&chain);
        let config = settings("certificate", "", chain, key, None, true)?;
        Ok(Self::without_files(InUse { config, validity }, None))
    }

    /// For a certificate that an authority issues (ACME). Until [`Certificates::issue`] no handshake succeeds but those of an
    /// authority that validates what [`Certificates::show`] was given.
    ///
    /// # Errors
    /// The process has no TLS.
    pub fn from_authority() -> Result<Self, TlsError> {
        let challenges = Arc::<Challenges>::default();
        let config = resolving(Resolver { own: None, challenges: Arc::clone(&challenges) })?;
        Ok(Self::without_files(InUse { config, validity: None }, Some(challenges)))
    }

    fn without_files(in_use: InUse, challenges: Option<Arc<Challenges>>) -> Self {
        let current = Arc::new(ArcSwap::from_pointee(in_use));
        Self { current, files: None, last_read: Arc::default(), challenges }
    }

    /// Takes what an authority issued, for new handshakes: a chain (leaf first) and its key, both PEM.
    ///
    /// # Errors
    /// Text that is not PEM, and a chain and a key that do not belong together; what is in use stays.
    pub fn issue(&self, chain: &str, key: &str) -> Result<(), TlsError> {
        let unusable = |error| TlsError::new("server.acme", format_args!("expected PEM: {error}"));
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(unusable)?;
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(unusable)?;
        let validity = validity(&chain);
        let own = Some(certified(chain, key)?);
        let challenges = self.challenges.clone().unwrap_or_default();
        let config = resolving(Resolver { own, challenges })?;
        self.current.store(Arc::new(InUse { config, validity }));
        Ok(())
    }

    /// Shows an authority that validates `name` (TLS-ALPN-01) this certificate, until [`Certificates::hide_all`].
    ///
    /// # Errors
    /// A key that cannot be used.
    pub fn show(
        &self,
        name: &str,
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Result<(), TlsError> {
        let shown = challenge(certificate, key)?;
        self.challenges.iter().for_each(|challenges| challenges.show(name, &shown));
        Ok(())
    }

    /// Shows authorities nothing any more.
    pub fn hide_all(&self) {
        self.challenges.iter().for_each(|challenges| challenges.hide_all());
    }

    /// Reads the files again; new handshakes use them. Returns whether there are files.
    ///
    /// # Errors
    /// [`TlsError`]; what is in use stays.
    pub fn reload(&self) -> Result<bool, TlsError> {
        let Some(files) = &self.files else { return Ok(false) };
        *self.last_read() = stamps(files);
        self.current.store(Arc::new(load(files)?));
        Ok(true)
    }

    /// Reads the files again if their stamps changed; returns whether they did.
    ///
    /// # Errors
    /// [`TlsError`], once for each change; what is in use stays.
    pub fn reload_if_changed(&self) -> Result<bool, TlsError> {
        let changed = self.files.as_ref().is_some_and(|files| *self.last_read() != stamps(files));
        if changed { self.reload() } else { Ok(false) }
    }

    /// For one handshake.
    #[must_use]
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.load().config))
    }

    /// When the certificate in use expires.
    #[must_use]
    pub fn expires(&self) -> Option<UnixMs> {
        self.current.load().validity.map(|validity| validity.ends)
    }

    /// When two thirds of the time of the certificate in use are over.
    #[must_use]
    pub fn renewal(&self) -> Option<UnixMs> {
        self.current.load().validity.map(|Validity { begins, ends }| begins.plus(ends.since(begins) * 2 / 3))
    }

    fn last_read(&self) -> MutexGuard<'_, Stamps> {
        self.last_read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("files", &self.files).finish_non_exhaustive()
    }
}

fn stamps(files: &TlsFiles) -> Stamps {
    [Some(&files.certificate), Some(&files.key), files.client_ca.as_ref()].map(|path| {
        let file = fs::metadata(path?).ok()?;
        Some((file.modified().ok()?, file.len(), file.ino()))
    })
}

fn load(files: &TlsFiles) -> Result<InUse, TlsError> {
    let key = |name: &str| format!("{}.{name}", files.table);
    let chain = read_chain(&key("certificate"), &files.certificate)?;
    let own = read_key(&key("key"), &files.key)?;
    let roots = match &files.client_ca {
        Some(path) => Some((key("client_ca"), read_roots(&key("client_ca"), path)?)),
        None => None,
    };
    let pair = format!(" ({}, {})", files.certificate.display(), files.key.display());
    let validity = validity(&chain);
    let config = settings(files.table, &pair, chain, own, roots, files.http2)?;
    Ok(InUse { config, validity })
}

/// The time of the first certificate of a chain.
fn validity(chain: &[CertificateDer<'_>]) -> Option<Validity> {
    let (_, leaf) = x509_parser::parse_x509_certificate(chain.first()?).ok()?;
    let moment =
        |seconds: i64| u64::try_from(seconds).ok().map(|seconds| UnixMs(seconds.saturating_mul(1000)));
    let (begins, ends) = (leaf.validity().not_before.timestamp(), leaf.validity().not_after.timestamp());
    // What began before 1970 has no other first moment here.
    Some(Validity { begins: moment(begins).unwrap_or(UnixMs(0)), ends: moment(ends)? })
}

/// TLS 1.2 and 1.3 with the AEAD suites that have forward secrecy, HTTP/2 preferred over HTTP/1.1. rustls knows no
/// older version, no renegotiation and no compression; early data stays off because it can be replayed. Sessions to
/// resume are kept with these settings: none outlives the roots that let its client in.
fn settings(
    table: &str,
    pair: &str,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    roots: Option<(String, RootCertStore)>,
    http2: bool,
) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = builder(table, roots)?.with_single_cert(chain, key).map_err(|error| {
        TlsError::new(table, format_args!("certificate and key do not go together{pair}: {error}"))
    })?;
    let protocols: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// The same for what an authority issues and validates.
fn resolving(resolver: Resolver) -> Result<Arc<ServerConfig>, TlsError> {
    let mut config = builder("server.acme", None)?.with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = [&b"h2"[..], b"http/1.1", PROTOCOL].map(<[u8]>::to_vec).into();
    Ok(Arc::new(config))
}

fn builder(
    table: &str,
    roots: Option<(String, RootCertStore)>,
) -> Result<ConfigBuilder<ServerConfig, WantsServerCert>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = verifier(roots, &provider)?;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::new(table, format_args!("TLS cannot be offered: {error}")))?;
    Ok(builder.with_client_cert_verifier(verifier))
}

fn verifier(
    roots: Option<(String, RootCertStore)>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let Some((key, roots)) = roots else {
        return Ok(WebPkiClientVerifier::no_client_auth());
    };
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| TlsError::new(key, error))
}

/// The certificates of a file, in its order; at least one.
///
/// # Errors
/// A file that is no PEM file with a certificate; the error names `key`.
pub fn read_chain(key: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |source| unusable(key, path, "a certificate chain", &source);
    let chain = CertificateDer::pem_file_iter(path).map_err(wrong)?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    if chain.is_empty() { Err(wrong(pem::Error::NoItemsFound)) } else { Ok(chain) }
}

/// The private key of a file (PKCS#8, PKCS#1 or SEC1).
///
/// # Errors
/// A file that is no PEM file with a private key; the error names `key`.
pub fn read_key(key: &str, path: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_file(path).map_err(|source| unusable(key, path, "a private key", &source))
}

/// The certificates of a file as roots to trust.
///
/// # Errors
/// As [`read_chain`], and a certificate that cannot be a root.
pub fn read_roots(key: &str, path: &Path) -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    for certificate in read_chain(key, path)? {
        roots.add(certificate).map_err(|error| {
            TlsError::new(key, format_args!("{}: expected certificates of a CA: {error}", path.display()))
        })?;
    }
    Ok(roots)
}

fn unusable(key: &str, path: &Path, expected: &str, source: &pem::Error) -> TlsError {
    TlsError::new(key, format_args!("{}: expected a PEM file with {expected}: {source}", path.display()))
}

/// Why a certificate, a key or a root cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct TlsError {
    /// The key of the configuration, such as `server.tls.certificate`.
    pub key: String,
    /// What was expected, and what came.
    pub problem: String,
}

impl TlsError {
    /// The problem with the value at `key`.
    pub fn new(key: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { key: key.into(), problem: problem.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    fn files(folder: &Path) -> TlsFiles {
        let (certificate, key) = (folder.join("chain.pem"), folder.join("key.pem"));
        TlsFiles { table: "server.tls", certificate, key, client_ca: None, http2: true }
    }

    fn write(folder: &Path, certificate: &str, key: &str) -> TlsFiles {
        let files = files(folder);
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
        assert!(!Arc::ptr_eq(&first, &second));
        // As the library that made it dates it.
        assert_eq!(certificates.expires(), Some(UnixMs(67_090_118_400_000)), "the first of January 4096");

        write(folder.path(), "nothing here", &key);
        assert_eq!(certificates.reload().unwrap_err().key, "server.tls.certificate");
        assert!(Arc::ptr_eq(&certificates.current.load_full(), &second));
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
        assert!(certificates.reload_if_changed().unwrap_err().problem.contains("do not go together"));
        assert!(!certificates.reload_if_changed().unwrap(), "reported once");
        assert!(Arc::ptr_eq(&certificates.current.load_full(), &first));
        rename(&key, &files.key);
        assert!(certificates.reload_if_changed().unwrap());
        assert!(!Arc::ptr_eq(&certificates.current.load_full(), &first));

        fs::remove_file(&files.key).unwrap();
        assert_eq!(certificates.reload_if_changed().unwrap_err().key, "server.tls.key");
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
        assert!(Certificates::from_material(vec![], key).is_err());
        let missing = files(&folder.path().join("no"));
        assert_eq!(Certificates::from_files(missing).unwrap_err().key, "server.tls.certificate");
    }

    #[test]
    fn roots_of_clients_are_read_and_followed_too() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = pair();
        let roots = folder.path().join("clients.pem");
        fs::write(&roots, "nothing here").unwrap();
        let files = TlsFiles {
            table: "admin.tls",
            client_ca: Some(roots.clone()),
            ..write(folder.path(), &certificate, &key)
        };
        let error = Certificates::from_files(files.clone()).unwrap_err();
        assert_eq!(error.key, "admin.tls.client_ca");
        assert!(error.problem.contains("clients.pem"), "{error}");

        fs::write(&roots, &certificate).unwrap();
        let certificates = Certificates::from_files(files).unwrap();
        assert!(!certificates.reload_if_changed().unwrap());
        let first = certificates.current.load_full();
        fs::write(&roots, pair().0 + &certificate).unwrap();
        assert!(certificates.reload_if_changed().unwrap());
        assert!(!Arc::ptr_eq(&certificates.current.load_full(), &first));
    }
}

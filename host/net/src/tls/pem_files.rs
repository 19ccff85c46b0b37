//! PEM files: chains, keys and roots, and what is said of one that cannot be used. Owns no TLS setting.

use std::path::Path;

use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::TlsError;

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

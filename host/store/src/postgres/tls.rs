//! TLS to a server, as the parameters `sslmode` and `sslrootcert` of its address ask for it.
//!
//! The modes are those of PostgreSQL's own clients: `require` encrypts and proves nothing about the server, `verify-ca` proves that its
//! certificate was issued by the authority, `verify-full` that it is the server's own.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// What is proved about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Nothing,
    Authority,
    Name,
}

/// What the driver is told of TLS, and how it is done.
///
/// # Errors
/// What is wrong with the parameters, or with the file of certificates.
pub(super) fn of_parameters(
    mode: Option<&str>,
    roots: Option<&str>,
) -> Result<(SslMode, MakeRustlsConnect), String> {
    let (mode, proof) = match mode {
        Some("disable") => (SslMode::Disable, Proof::Nothing),
        None | Some("prefer") => (SslMode::Prefer, Proof::Nothing),
        // PostgreSQL's own clients do the same where a file of authorities is given.
        Some("require") if roots.is_some() => (SslMode::Require, Proof::Authority),
        Some("require") => (SslMode::Require, Proof::Nothing),
        Some("verify-ca") => (SslMode::Require, Proof::Authority),
        Some("verify-full") => (SslMode::Require, Proof::Name),
        Some(other) => {
            return Err(format!(
                "sslmode: expected disable, prefer, require, verify-ca or verify-full, found \"{other}\""
            ));
        }
    };
    if roots.is_some() && proof == Proof::Nothing {
        return Err(
            "sslrootcert: only require, verify-ca and verify-full look at it; set sslmode to one of them"
                .to_owned(),
        );
    }
    let provider = Arc::new(ring::default_provider());
    let authorities = match proof {
        Proof::Nothing => None,
        Proof::Authority | Proof::Name => {
            let verifier =
                WebPkiServerVerifier::builder_with_provider(authorities(roots)?.into(), provider.clone());
            Some(verifier.build().map_err(|why| format!("sslrootcert: {why}"))?)
        }
    };
    let verifier =
        Arc::new(Verifier { authorities, checks_name: proof == Proof::Name, provider: provider.clone() });
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| why.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok((mode, MakeRustlsConnect::new(config)))
}

/// Those of a file; without one, the public ones that are built in.
fn authorities(path: Option<&str>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(path) = path.filter(|path| *path != "system") else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let wrong = |why: &dyn std::fmt::Display| format!("sslrootcert: file {path}: {why}");
    let certificates = CertificateDer::pem_file_iter(Path::new(path)).map_err(|why| wrong(&why))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|why| wrong(&format_args!("not PEM: {why}")))?;
        roots.add(certificate).map_err(|why| wrong(&format_args!("an unusable certificate: {why}")))?;
    }
    if roots.is_empty() {
        return Err(wrong(&"expected certificates in PEM, found none"));
    }
    Ok(roots)
}

#[derive(Debug)]
struct Verifier {
    /// `None` where any certificate will do.
    authorities: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else { return Ok(ServerCertVerified::assertion()) };
        match authorities.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

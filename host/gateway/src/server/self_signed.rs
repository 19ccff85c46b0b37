//! A self-signed certificate to try TLS with, generated at start and never stored.

use std::net::IpAddr;

use gatehouse_edge::{Certificates, TlsError};

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CertificateError {
    #[error("it could not be generated: {0}")]
    Generated(#[from] rcgen::Error),
    #[error(transparent)]
    Unusable(#[from] TlsError),
}

/// Generates a certificate for this machine's names and the addresses it listens on. Clients must trust it explicitly,
/// or skip verification.
pub(crate) fn self_signed(listen: &[IpAddr]) -> Result<Certificates, CertificateError> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let own = listen.iter().filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
    names.extend(own.map(ToString::to_string));
    let generated = rcgen::generate_simple_self_signed(names)?;
    Ok(Certificates::from_material(vec![generated.cert.der().clone()], generated.signing_key.into())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_certificate_fits_its_key() {
        self_signed(&["127.0.0.1".parse().unwrap(), "192.0.2.7".parse().unwrap()]).map(drop).unwrap();
    }
}

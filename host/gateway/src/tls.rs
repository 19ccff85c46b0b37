//! A certificate to try TLS with, made up at start and kept nowhere.

use std::net::IpAddr;

use gatehouse_edge::{Certificates, TlsError};

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum CertificateError {
    #[error("it could not be made: {0}")]
    Made(#[from] rcgen::Error),
    #[error(transparent)]
    Used(#[from] TlsError),
}

/// Makes a certificate for this machine's own names and the addresses it listens on. Clients must be told to
/// trust it, or not to ask.
pub(crate) fn self_signed(listen: &[IpAddr]) -> Result<Certificates, CertificateError> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let own = listen.iter().filter(|ip| !ip.is_loopback() && !ip.is_unspecified());
    names.extend(own.map(ToString::to_string));
    let made = rcgen::generate_simple_self_signed(names)?;
    Ok(Certificates::from_material(vec![made.cert.der().clone()], made.signing_key.into())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_made_up_certificate_fits_its_key() {
        self_signed(&["127.0.0.1".parse().unwrap(), "192.0.2.7".parse().unwrap()]).map(drop).unwrap();
    }
}

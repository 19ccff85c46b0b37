//! What a certificate authority sees that validates the names of a listener (ACME's TLS-ALPN-01, RFC 8737): a certificate that
//! only a handshake of its own protocol gets, and that no client ever sees. Never makes one; `gateway` does.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificates::TlsError;

/// The application protocol of such a handshake.
pub(super) const PROTOCOL: &[u8] = b"acme-tls/1";

/// What is shown, by name in lower case.
#[derive(Debug, Default)]
pub(super) struct Challenges(ArcSwap<BTreeMap<String, Arc<CertifiedKey>>>);

impl Challenges {
    pub(super) fn show(&self, name: &str, certificate: &Arc<CertifiedKey>) {
        self.0.rcu(|shown| {
            let mut shown = BTreeMap::clone(shown);
            shown.insert(name.to_ascii_lowercase(), Arc::clone(certificate));
            shown
        });
    }

    pub(super) fn hide_all(&self) {
        self.0.store(Arc::default());
    }

    fn of(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        self.0.load().get(&name.to_ascii_lowercase()).cloned()
    }
}

/// Chooses between a listener's own certificate and a challenge's.
#[derive(Debug)]
pub(super) struct Resolver {
    pub(super) own: Option<Arc<CertifiedKey>>,
    pub(super) challenges: Arc<Challenges>,
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        // An authority offers this protocol and no other.
        if hello.alpn().is_some_and(|offered| offered.eq([PROTOCOL])) {
            self.challenges.of(hello.server_name()?)
        } else {
            self.own.clone()
        }
    }
}

/// A challenge's certificate with its key. It is not compared with the key as [`certified`] does: no parser of clients knows its
/// extension, which is critical.
///
/// # Errors
/// The key is of no kind that can be used.
pub(super) fn challenge(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let key = ring::default_provider().key_provider.load_private_key(key);
    let key =
        key.map_err(|error| TlsError::new("server.acme", format_args!("a challenge's key: {error}")))?;
    Ok(Arc::new(CertifiedKey::new(vec![certificate], key)))
}

/// A chain with its key.
///
/// # Errors
/// They do not belong together.
pub(super) fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let made = CertifiedKey::from_der(chain, key, &ring::default_provider());
    made.map(Arc::new).map_err(|error| {
        TlsError::new("server.acme", format_args!("certificate and key do not go together: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::time::Duration;

    use gatehouse_model::{Clock, Pause, UnixMs};
    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore};
    use tokio::sync::watch;
    use tokio_rustls::TlsConnector;

    use super::super::certificates::Certificates;
    use super::super::handshakes::{HandshakeLimits, HandshakeRefusal, Handshakes};
    use super::*;
    use crate::connection::ShutdownPhase;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> UnixMs {
            UnixMs(0)
        }

        fn pause(&self, _: Duration) -> Pause {
            Box::pin(std::future::pending())
        }

        fn skipped(&self, _: UnixMs) -> Duration {
            Duration::ZERO
        }
    }

    /// What a client of `a.example` that offers `protocol` is shown, and what the listener says of it.
    async fn shake(
        certificates: &Certificates,
        protocol: &[u8],
        roots: &[CertificateDer<'static>],
    ) -> (Option<CertificateDer<'static>>, Option<HandshakeRefusal>) {
        let mut trusted = RootCertStore::empty();
        roots.iter().for_each(|root| trusted.add(root.clone()).unwrap());
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(trusted)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let (_end, shutdown) = watch::channel(ShutdownPhase::Serving);
        let limits = HandshakeLimits { time: Duration::from_secs(1), at_once: 1 };
        let handshakes = Handshakes::new(certificates.clone(), limits, Arc::new(Still), shutdown);
        let (client, server) = tokio::io::duplex(1 << 16);
        let name = ServerName::try_from("A.example").unwrap();
        let shaking = async { TlsConnector::from(Arc::new(config)).connect(name, client).await.ok() };
        let accepting = handshakes.accept(server, IpAddr::V4(Ipv4Addr::LOCALHOST));
        // A client that left at once would be a handshake that failed.
        let (stream, accepted) = tokio::join!(shaking, accepting);
        let shown = stream.as_ref().and_then(|stream| stream.get_ref().1.peer_certificates());
        (shown.and_then(|chain| chain.first().cloned()), accepted.err())
    }

    /// Without it a client is shown a challenge's certificate, or an authority the one that expires.
    #[tokio::test]
    async fn each_is_shown_its_own_certificate() {
        let make = || rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]).unwrap();
        let (own, challenge) = (make(), make());
        let roots = [own.cert.der().clone(), challenge.cert.der().clone()];
        let certificates = Certificates::from_authority().unwrap();
        let failed = |(shown, refusal): &(Option<_>, Option<HandshakeRefusal>)| {
            shown.is_none() && matches!(refusal, Some(HandshakeRefusal::Failed(_)))
        };
        for protocol in [PROTOCOL, b"h2"] {
            assert!(failed(&shake(&certificates, protocol, &roots).await), "no certificate is shown");
        }
        certificates.show("a.example", roots[1].clone(), challenge.signing_key.into()).unwrap();
        assert!(failed(&shake(&certificates, b"h2", &roots).await), "a client has to wait");
        certificates.issue(&own.cert.pem(), &own.signing_key.serialize_pem()).unwrap();
        let (shown, refusal) = shake(&certificates, PROTOCOL, &roots).await;
        assert_eq!(shown, Some(roots[1].clone()));
        assert!(matches!(refusal, Some(HandshakeRefusal::Validated)), "nothing is served on it");
        let (shown, refusal) = shake(&certificates, b"h2", &roots).await;
        assert_eq!(shown, Some(roots[0].clone()));
        assert!(refusal.is_none());
        certificates.hide_all();
        assert!(failed(&shake(&certificates, PROTOCOL, &roots).await), "what is hidden is not shown");
        assert!(certificates.issue("rubbish", &own.cert.pem()).is_err());
        let (shown, _) = shake(&certificates, b"h2", &roots).await;
        assert_eq!(shown, Some(roots[0].clone()), "what is in use stays");
    }
}

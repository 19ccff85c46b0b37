//! A certificate replaced while clients shake hands without a pause: none of them fails, new connections see the
//! new one, and files that cannot be used change nothing but the log.
//!
//! Five replacements; `GATEHOUSE_SWAPS` and `GATEHOUSE_BINARY` ask for more, or for another build.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use gatehouse_harness::{Gateway, run};
use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::{http1, http2};
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{
    ClientConfig, HandshakeKind, ProtocolVersion, RootCertStore, SupportedProtocolVersion, version,
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::lifecycle::{sandbox, setting, setup};

type Error = Box<dyn std::error::Error + Send + Sync>;
type Body = Empty<bytes::Bytes>;

/// A certificate and its key, as files hold them.
struct Pair {
    certificate: String,
    key: String,
    der: CertificateDer<'static>,
}

impl Pair {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["gate.test".to_owned()]).expect("a certificate");
        Self {
            certificate: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
            der: made.cert.der().clone(),
        }
    }
}

/// The files the gateway reads.
struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn certificate(&self) -> PathBuf {
        self.folder.path().join("chain.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// Replaces one file whole, as certificate clients do.
    fn put(&self, path: &Path, text: &str) {
        let aside = self.folder.path().join("aside");
        fs::write(&aside, text).expect("a file");
        fs::rename(aside, path).expect("replaced");
    }
}

/// One way to shake hands.
struct Way {
    config: Arc<ClientConfig>,
    version: ProtocolVersion,
    http2: bool,
}

/// What a handshake came to.
struct Shaken {
    certificate: CertificateDer<'static>,
    resumed: bool,
}

impl Way {
    fn new(trusted: &[Pair], version: &'static SupportedProtocolVersion, http2: bool) -> Self {
        let mut roots = RootCertStore::empty();
        for pair in trusted {
            roots.add(pair.der.clone()).expect("a root");
        }
        let mut config =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_protocol_versions(&[version])
                .expect("a version the library knows")
                .with_root_certificates(roots)
                .with_no_client_auth();
        config.alpn_protocols = vec![if http2 { b"h2".to_vec() } else { b"http/1.1".to_vec() }];
        Self { config: Arc::new(config), version: version.version, http2 }
    }

    /// Connects, handshakes, sends one request, and closes.
    async fn shake(&self, address: SocketAddr) -> Result<Shaken, Error> {
        let stream = TcpStream::connect(address).await?;
        let name = ServerName::try_from("gate.test")?;
        let stream = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        let state = stream.get_ref().1;
        let protocol = if self.http2 { &b"h2"[..] } else { b"http/1.1" };
        assert_eq!((state.protocol_version(), state.alpn_protocol()), (Some(self.version), Some(protocol)));
        let certificate = state.peer_certificates().expect("a certificate")[0].clone();
        let resumed = state.handshake_kind() == Some(HandshakeKind::Resumed);
        let request = Request::get("https://gate.test/livez").header("host", "gate.test");
        let request = request.body(Body::new())?;
        let answer = if self.http2 {
            let (mut sender, connection) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            sender.send_request(request).await?
        } else {
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            sender.send_request(request).await?
        };
        assert_eq!(answer.status(), StatusCode::OK);
        answer.into_body().collect().await?;
        Ok(Shaken { certificate, resumed })
    }
}

/// Handshakes after which an awaited log line is missing for good.
const MAX_HANDSHAKES: usize = 20_000;

#[test]
fn a_certificate_is_replaced_under_load_without_a_failed_handshake() {
    run(async {
        let swaps = setting("GATEHOUSE_SWAPS", 5);
        let pairs: Arc<Vec<Pair>> = Arc::new((0..=swaps).map(|_| Pair::new()).collect());
        let files = Files { folder: tempfile::tempdir().expect("a folder") };
        files.put(&files.certificate(), &pairs[0].certificate);
        files.put(&files.key(), &pairs[0].key);
        let table = format!(
            "[server.tls]\ncertificate = \"{}\"\nkey = \"{}\"\n",
            files.certificate().display(),
            files.key().display()
        );
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = Gateway::start(setup(&sandbox).with(&table)).await;
        let address = gateway.public;

        let over = Arc::new(AtomicBool::new(false));
        let (shaken, resumed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let clients: Vec<_> = [(&version::TLS12, false), (&version::TLS12, true), (&version::TLS13, false)]
            .into_iter()
            .chain([(&version::TLS13, true)])
            .map(|(version, http2)| {
                let way = Way::new(&pairs, version, http2);
                let (over, shaken, resumed) = (Arc::clone(&over), Arc::clone(&shaken), Arc::clone(&resumed));
                tokio::spawn(async move {
                    let mut failures = Vec::new();
                    while !over.load(Ordering::SeqCst) {
                        match way.shake(address).await {
                            Ok(done) => {
                                shaken.fetch_add(1, Ordering::SeqCst);
                                resumed.fetch_add(usize::from(done.resumed), Ordering::SeqCst);
                            }
                            Err(error) => failures.push(format!("{:?}: {error:?}", way.version)),
                        }
                    }
                    failures
                })
            })
            .collect();

        // A client without a memory sees what a new one sees.
        let shown = async || {
            let way = Way::new(&pairs, &version::TLS13, false);
            way.shake(address).await.expect("a handshake").certificate
        };
        let until_said = async |words: &[&str], times: usize| {
            let mut handshakes = 0;
            while words.iter().any(|word| gateway.log_text().matches(word).count() < times) {
                assert!(handshakes < MAX_HANDSHAKES, "the log never says {words:?} {times} times");
                handshakes += 1;
                shown().await;
            }
        };
        for swap in 1..=swaps {
            let (old, new) = (&pairs[swap - 1], &pairs[swap]);
            // A file that is none, then a certificate without its key: the old pair goes on.
            files.put(&files.certificate(), "-----BEGIN CERTIFICATE-----\nhalf a");
            gateway.signal("-HUP").await;
            let chain = files.certificate().display().to_string();
            until_said(&[&format!("server.tls.certificate: {chain}: expected a PEM file")], swap).await;
            assert_eq!(shown().await, old.der);
            files.put(&files.certificate(), &new.certificate);
            gateway.signal("-HUP").await;
            until_said(&[&format!("certificate and key do not go together ({chain}, ")], swap).await;
            assert_eq!(shown().await, old.der);
            files.put(&files.key(), &new.key);
            gateway.signal("-HUP").await;
            until_said(&["certificate reloaded"], swap).await;
            assert_eq!(shown().await, new.der, "swap {swap}");
        }
        over.store(true, Ordering::SeqCst);
        let mut failures = Vec::new();
        for client in clients {
            failures.extend(client.await.expect("no panic"));
        }
        let (shaken, resumed) = (shaken.load(Ordering::SeqCst), resumed.load(Ordering::SeqCst));
        println!(
            "{swaps} certificates, {} bad ones, {shaken} handshakes, {resumed} of them resumed, {} failed",
            2 * swaps,
            failures.len()
        );
        assert!(failures.is_empty(), "{failures:?}");
        assert!(resumed > 0 && shaken > resumed, "both kinds: {resumed} of {shaken} were resumed");
    });
}

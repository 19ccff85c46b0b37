//! Certificates by themselves, from Pebble, the test authority of Let's Encrypt: the first one, one that is kept, one that is
//! renewed, and an authority that refuses.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gatehouse_harness::{Gateway, Setup, run, serve_connections, until, until_some};
use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio_rustls::TlsConnector;

use crate::lifecycle::{sandbox, setup};
use crate::packages::install_if_missing;

type Error = Box<dyn std::error::Error + Send + Sync>;

/// A name that the authority issues nothing for.
const REFUSED: &str = "refused.example";
const DAY: u64 = 24 * 3600;

/// The authority, a process of its own. Dropping it ends it.
struct Authority {
    process: Child,
    folder: tempfile::TempDir,
    address: SocketAddr,
    management: SocketAddr,
}

impl Authority {
    /// One that validates names at that port of this machine, and whose certificates are valid for so long.
    async fn start(port: u16, seconds: u64) -> Self {
        Self::start_for(port, seconds, &[]).await
    }

    /// The same for customers alone: names of their accounts, each with its key. None: for everybody.
    async fn start_for(port: u16, seconds: u64, customers: &[(&str, &str)]) -> Self {
        let customers: BTreeMap<&str, &str> = customers.iter().copied().collect();
        install_if_missing(&["pebble"], &["pebble"]).await;
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])
            .expect("a certificate");
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("own.pem"), made.cert.pem()).expect("a file");
        fs::write(folder.path().join("own.key"), made.signing_key.serialize_pem()).expect("a file");
        // The ports are free when they are chosen; another process may take one before Pebble does.
        loop {
            let [address, management] = free_addresses();
            let config = json!({"pebble": {
                "listenAddress": address.to_string(), "managementListenAddress": management.to_string(),
                "certificate": folder.path().join("own.pem"), "privateKey": folder.path().join("own.key"),
                "httpPort": port, "tlsPort": port, "certificateValidityPeriod": seconds,
                "domainBlocklist": [REFUSED],
                "externalAccountBindingRequired": !customers.is_empty(), "externalAccountMACKeys": customers,
            }});
            fs::write(folder.path().join("pebble.json"), config.to_string()).expect("a file");
            let process = Command::new("pebble")
                .args(["-config", "pebble.json", "-strict"])
                .current_dir(folder.path())
                .envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_WFE_NONCEREJECT", "0")])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("Pebble starts");
            let process = Mutex::new(process);
            let answers = until_some("Pebble listens, or ends", async || {
                if process.lock().expect("one at a time").try_wait().expect("a process").is_some() {
                    return Some(false);
                }
                let listens = TcpStream::connect(address).await.is_ok();
                (listens && TcpStream::connect(management).await.is_ok()).then_some(true)
            });
            if answers.await {
                let process = process.into_inner().expect("one at a time");
                return Self { process, folder, address, management };
            }
        }
    }

    /// What its own certificate is trusted by.
    fn own(&self) -> PathBuf {
        self.folder.path().join("own.pem")
    }

    /// The table of a gateway that asks it.
    fn tables(&self, domain: &str) -> String {
        format!(
            "[server.acme]\ndomains = [\"{domain}\"]\ncontact = \"ops@example.com\"\ndirectory = \"https://localhost:{}/dir\"\n\n\
             [fetch]\nextra_roots_file = \"{}\"\n\n",
            self.address.port(),
            self.own().display()
        )
    }

    fn end(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }

    /// The root of what it issues.
    async fn root(&self) -> RootCertStore {
        let own = fs::read(self.own()).expect("a file");
        let (_, pem) = get(self.management, "localhost", "/roots/0", trusting(&own)).await.expect("a root");
        trusting(&pem)
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        self.end();
    }
}

fn free_addresses() -> [SocketAddr; 2] {
    // Both at once, so that they differ.
    let sockets = [(); 2].map(|()| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
    sockets.map(|socket| socket.local_addr().expect("an address"))
}

fn trusting(pem: &[u8]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem).expect("a certificate")).expect("a root");
    roots
}

/// The certificate that a server of that name shows, which has to be valid, and what it answers.
async fn get(
    address: SocketAddr,
    name: &'static str,
    path: &str,
    roots: RootCertStore,
) -> Result<(CertificateDer<'static>, Vec<u8>), Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let stream = TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(name)?, stream).await?;
    let shown = stream.get_ref().1.peer_certificates().expect("a certificate")[0].clone();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    let request = Request::get(path).header("host", name).body(Empty::<bytes::Bytes>::new())?;
    let answer = sender.send_request(request).await?.into_body().collect().await?;
    Ok((shown, answer.to_bytes().into()))
}

/// Where the authority looks for the gateway, whose own port is known once it runs.
struct Front {
    port: u16,
    gateway: watch::Sender<Option<SocketAddr>>,
}

impl Front {
    async fn new() -> Self {
        let (gateway, leads_to) = watch::channel(None);
        let address = serve_connections(move |mut stream: TcpStream| {
            let mut leads_to = leads_to.clone();
            async move {
                let known = leads_to.wait_for(Option::is_some).await.expect("a gateway").expect("an address");
                if let Ok(mut there) = TcpStream::connect(known).await {
                    let _ = copy_bidirectional(&mut stream, &mut there).await;
                }
            }
        })
        .await;
        Self { port: address.port(), gateway }
    }

    async fn start(&self, setup: Setup) -> Gateway {
        let gateway = Gateway::start(setup).await;
        self.gateway.send_replace(Some(gateway.public));
        gateway
    }
}

/// The certificate that clients are shown, once it is a valid one of that root.
async fn shown(gateway: &Gateway, root: &RootCertStore) -> CertificateDer<'static> {
    let look = async || get(gateway.public, "localhost", "/livez", root.clone()).await.ok();
    until_some("a certificate that clients take", look).await.0
}

fn kept(data: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(data.join("acme.json")).expect("a file")).expect("JSON")
}

/// Without it an operator renews files by hand, or a restart while the authority is away ends TLS.
#[test]
fn a_certificate_is_issued_kept_and_served_without_the_authority() {
    run(async {
        let front = Front::new().await;
        let mut authority = Authority::start(front.port, 90 * DAY).await;
        let sandbox = sandbox(Duration::ZERO).await;
        let mut gateway = front.start(setup(&sandbox).with(&authority.tables("localhost"))).await;
        let (root, data) = (authority.root().await, gateway.folder().join("data"));
        let first = shown(&gateway, &root).await;
        until("it is kept", async || data.join("acme.json").exists()).await;
        let file = data.join("acme.json");
        until("the certificate is written", async || kept(&data)["certificate"].is_object()).await;
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
        let account = kept(&data)["account"].clone();
        assert!(!gateway.log_text().contains(account[1]["key_pkcs8"].as_str().expect("a key")));

        authority.end();
        assert_eq!(gateway.terminate().await, Some(0));
        gateway.restart().await;
        front.gateway.send_replace(Some(gateway.public));
        assert_eq!(shown(&gateway, &root).await, first, "the one that is kept");
        assert_eq!(kept(&data)["account"], account);
        assert!(!gateway.log_text().contains("there is no certificate"), "{}", gateway.log_text());
    });
}

/// Without it the first certificate is also the last, and TLS ends after three months.
#[test]
fn a_certificate_is_renewed_before_it_expires() {
    run(async {
        let front = Front::new().await;
        // Two thirds of it are over after four seconds.
        let authority = Authority::start(front.port, 6).await;
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = front.start(setup(&sandbox).with(&authority.tables("localhost"))).await;
        let root = authority.root().await;
        let first = shown(&gateway, &root).await;
        until("another one", async || shown(&gateway, &root).await != first).await;
        let log = gateway.log_text();
        assert!(log.matches("the certificate is issued").count() >= 2, "{log}");
    });
}

/// Without it an authority that serves its customers alone, as most that companies have, issues nothing.
#[test]
fn an_account_is_bound_to_that_of_a_customer() {
    run(async {
        let front = Front::new().await;
        let key = "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W";
        let authority = Authority::start_for(front.port, 90 * DAY, &[("customer-7", key)]).await;
        let sandbox = sandbox(Duration::ZERO).await;
        let file = authority.folder.path().join("eab");
        let bound = |kid: &str| {
            let table = authority.tables("localhost");
            let keys = format!(
                "[server.acme]\neab_kid = \"{kid}\"\neab_hmac = {{ file = \"{}\" }}\n",
                file.display()
            );
            setup(&sandbox).with(&table.replace("[server.acme]\n", &keys))
        };
        fs::write(&file, format!("{key}\n")).expect("a file");
        let stranger = Gateway::start(bound("stranger")).await;
        until("the authority's words", async || {
            stranger.log_text().contains("externalAccountRequired")
                || stranger.log_text().contains("unauthorized")
                || stranger.log_text().contains("malformed")
        })
        .await;
        assert!(stranger.log_text().contains("there is no certificate"));
        drop(stranger);
        let gateway = front.start(bound("customer-7")).await;
        shown(&gateway, &authority.root().await).await;
        let log = gateway.log_text();
        assert!(log.contains("the certificate is issued") && !log.contains(&key[..20]), "{log}");
    });
}

/// Without it nobody knows why there is no certificate: the authority says it to the gateway alone.
#[test]
fn an_authority_that_refuses_is_quoted() {
    run(async {
        let front = Front::new().await;
        let authority = Authority::start(front.port, 90 * DAY).await;
        let sandbox = sandbox(Duration::ZERO).await;
        let gateway = front.start(setup(&sandbox).with(&authority.tables(REFUSED))).await;
        let said = async |words: &[&str]| {
            until("the log says why", async || words.iter().all(|word| gateway.log_text().contains(word)))
                .await;
        };
        said(&["there is no certificate", "policy", "urn:ietf:params:acme:error:rejectedIdentifier"]).await;
        // The admin listener and its commands go on, and so does whatever needs no TLS.
        gateway.open_account("acme", "1").await;

        // A name that leads elsewhere: the authority looks, and finds another server.
        let nowhere = serve_connections(|stream: TcpStream| async move { drop(stream) }).await;
        front.gateway.send_replace(Some(nowhere));
        let other = Gateway::start(setup(&sandbox).with(&authority.tables("localhost"))).await;
        until("the log says why", async || {
            let log = other.log_text();
            log.contains("for the tls-alpn-01 challenge") && log.contains("urn:ietf:params:acme:error:")
        })
        .await;
    });
}

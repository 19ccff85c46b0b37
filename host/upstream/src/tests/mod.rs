//! What the tests of this crate share: blobs in memory, a resolver with a table, and a server for raw bytes. Clock, seed
//! and the scripted provider come from the harness.

mod accounts;
mod auth;
mod calls;
mod config;
mod fairness;
mod fetching;
mod operator;
mod outages;
mod posts;
mod ssrf;
mod streams;
mod switching;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use gatehouse_harness::{Provider, Received, TestClock, TestSeed, reply, serve_connections};
use gatehouse_model::{
    BlobId, Body, Call, Clock as _, CustomerId, Header, Payload, Reading, Replay, Reply, Secret, SecretRef,
    Target, UnixMs,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::client::dial::{Resolve, SystemResolver};
use crate::config::settings::Config;
use crate::pool::account::NoPermit;
use crate::request::body::{Blobs, OpenBlob};
use crate::upstream::Upstream;

pub(crate) const SECRET: &str = "sk-upstream-secret";
pub(crate) const NEVER: UnixMs = UnixMs(u64::MAX);
pub(crate) const API: &str = "https://api.example.com";

/// Answers from a table and counts the questions.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) names: HashMap<&'static str, Vec<IpAddr>>,
    pub(crate) asked: AtomicUsize,
}

impl Table {
    pub(crate) fn of(names: &[(&'static str, &[&str])]) -> Arc<Self> {
        let parsed = |ips: &[&str]| -> Vec<IpAddr> { ips.iter().map(|ip| ip.parse().unwrap()).collect() };
        let names = names.iter().map(|(name, ips)| (*name, parsed(ips))).collect();
        Arc::new(Self { names, ..Self::default() })
    }
}

impl Resolve for Table {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.names.get(host).cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        Box::pin(std::future::ready(found))
    }
}

/// Blobs in memory, brought in pieces of seven bytes.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) Mutex<HashMap<BlobId, Bytes>>);

impl Memory {
    pub(crate) fn with(bytes: &[u8]) -> (Self, BlobId) {
        let memory = Self::default();
        let id = BlobId::new(UnixMs(1), &TestSeed::default());
        memory.0.lock().unwrap().insert(id, Bytes::copy_from_slice(bytes));
        (memory, id)
    }
}

impl Blobs for Memory {
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>> {
        let found = self.0.lock().unwrap().get(&id).map(|bytes| {
            let pieces: Vec<io::Result<Bytes>> =
                bytes.chunks(7).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
            OpenBlob {
                mime: "image/png".to_owned(),
                length: bytes.len() as u64,
                body: stream::iter(pieces).boxed(),
            }
        });
        Box::pin(std::future::ready(Ok(found)))
    }
    fn save<'a>(&'a self, mut body: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>> {
        Box::pin(async move {
            let mut all = vec![];
            while let Some(piece) = body.next().await {
                all.extend_from_slice(&piece?);
            }
            let id = BlobId::new(UnixMs(2), &TestSeed::default());
            self.0.lock().unwrap().insert(id, all.into());
            Ok(id)
        })
    }
}

/// A server that speaks bytes: each connection is given to `act` once its request head has come.
pub(crate) async fn serve_raw<F>(act: impl Fn(TcpStream) -> F + Clone + Send + Sync + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    serve_connections(move |stream| {
        let act = act.clone();
        async move {
            let mut head = vec![];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                stream.readable().await.unwrap();
                match stream.try_read_buf(&mut head) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => break,
                }
            }
            act(stream).await;
        }
    })
    .await
}

/// A server that writes this after each request head, and then closes the connection or holds it.
pub(crate) async fn serve_text(text: &'static str, is_held: bool) -> SocketAddr {
    use tokio::io::AsyncWriteExt as _;
    serve_raw(move |mut stream| async move {
        let _ = stream.write_all(text.as_bytes()).await;
        if is_held {
            std::future::pending::<()>().await;
        }
    })
    .await
}

/// What speaks TLS with that certificate, and one of these protocols over it.
pub(crate) fn acceptor(
    made: &rcgen::CertifiedKey<rcgen::KeyPair>,
    alpn_protocols: Vec<Vec<u8>>,
) -> tokio_rustls::TlsAcceptor {
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(ring)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    tls.alpn_protocols = alpn_protocols;
    Arc::new(tls).into()
}

pub(crate) fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

/// The secret of every account.
pub(crate) fn secrets(_: &SecretRef) -> Result<Secret<String>, String> {
    Ok(Secret::new(format!("{SECRET}\n")))
}

pub(crate) fn upstream_with(text: &str, clock: Arc<TestClock>, resolver: Arc<dyn Resolve>) -> Upstream {
    Upstream::new(&config(text), &secrets, clock, Arc::new(TestSeed::default()), resolver).unwrap()
}

pub(crate) fn upstream(text: &str) -> Upstream {
    upstream_with(text, TestClock::skipping_pauses_at(1_000_000), Arc::new(SystemResolver))
}

/// The same with that secret for every account, or what is wrong.
pub(crate) fn build(text: &str, secret: &str) -> Result<Upstream, String> {
    let config: Config = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    let secrets = |_: &SecretRef| Ok(Secret::new(secret.to_owned()));
    let (clock, seed) = (TestClock::skipping_pauses_at(0), Arc::new(TestSeed::default()));
    Upstream::new(&config, &secrets, clock, seed, Arc::new(SystemResolver)).map_err(|error| error.to_string())
}

/// Provider `p` at `base` with these accounts and what is set of each; its secret, where that is not told.
pub(crate) fn table(base: &str, accounts: &[(&str, &str)]) -> String {
    let mut text = format!("[providers.p]\nbase_url = \"{base}\"\n");
    for (name, settings) in accounts {
        let secret = if settings.contains("secret") { "" } else { "secret = { env = \"KEY\" }\n" };
        text += &format!("[providers.p.accounts.{name}]\n{secret}{settings}\n");
    }
    text
}

pub(crate) fn pool(clock: &Arc<TestClock>, accounts: &[(&str, &str)]) -> Upstream {
    upstream_with(&table(API, accounts), Arc::clone(clock), Arc::new(SystemResolver))
}

/// The account that a new job gets.
pub(crate) fn name(upstream: &Upstream) -> Result<String, NoPermit> {
    upstream.acquire_account("p", &acme(), None).map(|(_, permit)| permit.account().to_owned())
}

/// Provider `p` at `base` with one account `main`; `more` goes into its table.
pub(crate) fn provider(base: &str, more: &str) -> String {
    format!(
        "[providers.p]\nbase_url = \"{base}\"\nconnect_timeout_ms = 5000\n{more}\n\
         [providers.p.accounts.main]\nsecret = {{ env = \"KEY\" }}\n"
    )
}

/// A customer.
pub(crate) fn acme() -> CustomerId {
    CustomerId("acme".to_owned())
}

pub(crate) fn get(target: Target) -> Call {
    Call {
        provider: "p".to_owned(),
        method: "GET".to_owned(),
        target,
        headers: vec![],
        body: Payload::None,
        timeout_ms: 20_000,
        replay: Replay::Safe,
        affinity: None,
        reading: Reading::Whole,
        credentials: true,
        shared: None,
    }
}

pub(crate) fn header(name: &str, value: &str) -> Header {
    Header { name: name.to_owned(), value: value.to_owned() }
}

/// The body of a reply that came whole, not as a blob.
pub(crate) fn text(reply: &Reply) -> &str {
    match &reply.body {
        Body::Inline(bytes) => std::str::from_utf8(bytes).unwrap(),
        Body::Blob(name) => panic!("{name}"),
    }
}

pub(crate) fn path(path: &str) -> Target {
    Target::Path(path.to_owned())
}

pub(crate) fn post(json: &str) -> Call {
    Call {
        method: "POST".to_owned(),
        body: Payload::Json(json.to_owned().into()),
        replay: Replay::Once,
        ..get(path("/submit"))
    }
}

//! The edge over real sockets with a scripted backend: a manual clock, raw bytes in, parsed responses out.
//! Malformed HTTP/1 and HTTP/2 against the real binary is in `tests/http`.

mod endpoints;
mod http;
mod net;
pub(crate) mod support;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use gatehouse_harness::{Connection, Response, TestClock, TestSeed, until};
use gatehouse_model::{ApiKey, CustomerId, Key, KeyPolicy, Pepper, UnixMs};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::{Certificates, Config, Edge};
use support::backend::ScriptedBackend;

const LIVE: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

/// Where the clock of these tests starts, in Unix milliseconds.
const NOW: u64 = 1_800_000_000_000;

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A running edge, and everything a test needs of it.
struct TestEdge {
    server: Edge,
    backend: Arc<ScriptedBackend>,
    clock: Arc<TestClock>,
    key: String,
    /// What its clients trust, where it is behind TLS.
    certificate: Option<CertificateDer<'static>>,
}

/// What a client writes to and reads from.
trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

impl TestEdge {
    async fn with(settings: &str) -> Self {
        Self::behind(settings, None).await
    }

    async fn behind(settings: &str, certificates: Option<Certificates>) -> Self {
        http::access_log::capture();
        let mut config: Config = toml::from_str(settings).unwrap();
        if config.listen == Config::default().listen {
            config.listen = vec!["127.0.0.1:0".parse().unwrap()];
        }
        let (clock, seed, pepper) = (TestClock::at(NOW), Arc::new(TestSeed::default()), Pepper::new([7; 32]));
        let key = ApiKey::mint(&*seed);
        let backend = Arc::new(ScriptedBackend::new(key.id(), key.digest(&pepper)));
        let server =
            Edge::serve(config, backend.clone(), pepper, clock.clone(), seed, certificates, Vec::new());
        let server = server.await.unwrap();
        Self { server, backend, clock, key: key.reveal().to_owned(), certificate: None }
    }

    async fn plain() -> Self {
        Self::with("").await
    }

    async fn connect(&self) -> Connection {
        self.connect_to(0).await
    }

    /// One in the clear and one behind TLS: what holds for one must hold for the other.
    async fn both(settings: &str) -> [Self; 2] {
        let (mut secure, certificate) = net::http2::secure_with(settings).await;
        secure.certificate = Some(certificate);
        [Self::with(settings).await, secure]
    }

    /// Connects as its clients do, speaking HTTP/1.1.
    async fn client(&self) -> Connection<Box<dyn Wire>> {
        Connection::over(self.stream(b"http/1.1").await)
    }

    /// The same for another protocol.
    async fn stream(&self, protocol: &[u8]) -> Box<dyn Wire> {
        self.over(TcpStream::connect(self.server.addresses()[0]).await.unwrap(), protocol).await
    }

    /// The same over a connection that is open.
    async fn over(&self, stream: TcpStream, protocol: &[u8]) -> Box<dyn Wire> {
        match &self.certificate {
            Some(certificate) => Box::new(net::http2::shake_over(stream, certificate, &[protocol]).await),
            None => Box::new(stream),
        }
    }

    /// Connects to the address of that number.
    async fn connect_to(&self, number: usize) -> Connection {
        Connection::open(self.server.addresses()[number]).await
    }

    /// Has a client wait for a task that goes on; returns once its key is looked up.
    async fn wait_for_task(&self, client: &mut Connection<impl Wire>) {
        let id = self.backend.put(1, |_| {});
        client.send(self.get(&format!("/v1/tasks/{id}"), "Prefer: wait=60\r\n")).await;
        self.until_look_ups(1).await;
    }

    /// Returns once that many requests have shown their keys.
    async fn until_look_ups(&self, requests: usize) {
        until("the keys are looked up", async || self.backend.look_ups.load(Ordering::SeqCst) >= requests)
            .await;
    }

    /// A further key of that customer.
    fn add_key(&self, number: u64, customer: &str) -> String {
        let key = ApiKey::mint(&TestSeed::counting_from(number * 17));
        let (customer, digest) = (CustomerId::from(customer), key.digest(&Pepper::new([7; 32])));
        let added = Key::new(key.id(), customer, digest, UnixMs(0), KeyPolicy::default());
        self.backend.keys.lock().unwrap().push(added);
        self.backend.generation.fetch_add(1, Ordering::SeqCst);
        key.reveal().to_owned()
    }

    /// Returns once a submission has reached the backend.
    async fn until_submitted(&self) {
        until("it is submitted", async || !self.backend.submitted.lock().unwrap().is_empty()).await;
    }

    /// A request with the key and a JSON body.
    fn post(&self, path: &str, body: &str) -> String {
        format!(
            "POST {path} HTTP/1.1\r\nHost: gate.test\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        )
    }

    /// Sends one request on a connection of its own.
    async fn ask(&self, request: impl AsRef<[u8]>) -> Response {
        self.connect().await.ask(request).await
    }

    /// Asks for a path with the key.
    async fn read(&self, path: &str) -> Response {
        self.ask(self.get(path, "")).await
    }

    /// Posts JSON with the key.
    async fn call(&self, path: &str, body: &str) -> Response {
        self.ask(self.post(path, body)).await
    }

    /// Asks with the key to delete something.
    async fn delete(&self, path: &str) -> Response {
        self.ask(self.get(path, "").replacen("GET", "DELETE", 1)).await
    }

    /// A request with the key and more header lines.
    fn get(&self, path: &str, lines: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: gate.test\r\nAuthorization: Bearer {}\r\n{lines}\r\n", self.key)
    }
}

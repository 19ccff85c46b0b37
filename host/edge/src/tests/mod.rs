//! The edge over real sockets with a scripted backend: a manual clock, raw bytes in, parsed responses out. Malformed
//! HTTP/1 and HTTP/2 against the real binary is in `tests/http`.

mod endpoints;
mod http;
mod net;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::{ApiKey, Pepper, Seed};

use crate::{Certificates, Config, Edge};
use support::backend::ScriptedBackend;
use support::client::{Client, Reply};
use support::clock::ManualClock;

const LIVE: &str = "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n";

/// Different bytes at every call, the same in every run.
#[derive(Default)]
struct CountingSeed(AtomicU64);

impl Seed for CountingSeed {
    fn fill(&self, into: &mut [u8]) {
        for chunk in into.chunks_mut(8) {
            let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&number.to_be_bytes()[..chunk.len()]);
        }
    }
}

/// A running edge, and everything a test needs of it.
struct TestEdge {
    server: Edge,
    backend: Arc<ScriptedBackend>,
    clock: Arc<ManualClock>,
    key: String,
}

impl TestEdge {
    async fn with(settings: &str) -> Self {
        Self::behind(settings, None).await
    }

    async fn behind(settings: &str, certificates: Option<Certificates>) -> Self {
        http::access_log::capture();
        let mut config: Config = toml::from_str(settings).unwrap();
        config.listen = vec!["127.0.0.1:0".parse().unwrap()];
        let (clock, seed, pepper) =
            (ManualClock::new(), Arc::new(CountingSeed::default()), Pepper::new([7; 32]));
        let key = ApiKey::mint(&*seed);
        let backend = Arc::new(ScriptedBackend::new(key.id(), key.digest(&pepper)));
        let server =
            Edge::serve(config, Arc::clone(&backend), pepper, clock.clone(), seed, certificates, Vec::new());
        let server = server.await.unwrap();
        Self { server, backend, clock, key: key.reveal().to_owned() }
    }

    async fn plain() -> Self {
        Self::with("").await
    }

    async fn connect(&self) -> Client {
        Client::connect(self.server.addresses()[0]).await
    }

    /// Returns once a request has looked up its key.
    async fn until_authenticated(&self) {
        while self.backend.look_ups.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Returns once a submission has reached the backend.
    async fn until_submitted(&self) {
        while self.backend.submitted.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
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

    /// A request with the key and more header lines.
    fn get(&self, path: &str, lines: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: gate.test\r\nAuthorization: Bearer {}\r\n{lines}\r\n", self.key)
    }
}

/// Sends one request on a connection of its own.
async fn ask(edge: &TestEdge, request: String) -> Reply {
    edge.connect().await.ask(request).await
}

//! The edge over real sockets with a fake house behind it: a clock that moves only when told, raw bytes
//! in, parsed answers out.

mod client;
mod clock;
mod conformance;
mod envelopes;
mod fake;
mod keys;
mod log;
mod shutdown;
mod surfaces;
mod text;
mod timers;
mod tls;
mod transport;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_model::{ApiKey, Pepper, Seed};

use crate::{Certificates, Config, Edge};
use client::Client;
use clock::StillClock;
use fake::Fake;

/// Different bytes at every call, the same in every run.
#[derive(Default)]
struct Counting(AtomicU64);

impl Seed for Counting {
    fn fill(&self, into: &mut [u8]) {
        for chunk in into.chunks_mut(8) {
            let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            chunk.copy_from_slice(&number.to_be_bytes()[..chunk.len()]);
        }
    }
}

/// A standing edge, and everything a test may want to touch.
struct Stand {
    edge: Edge,
    house: Arc<Fake>,
    clock: Arc<StillClock>,
    key: String,
}

impl Stand {
    async fn with(settings: &str) -> Self {
        Self::behind(settings, None).await
    }

    async fn behind(settings: &str, certificates: Option<Certificates>) -> Self {
        log::keep();
        let mut config: Config = toml::from_str(settings).unwrap();
        config.listen = vec!["127.0.0.1:0".parse().unwrap()];
        let (clock, seed, pepper) = (StillClock::new(), Arc::new(Counting::default()), Pepper::new([7; 32]));
        let key = ApiKey::mint(&*seed);
        let house = Arc::new(Fake::new(key.id(), key.digest(&pepper)));
        let edge =
            Edge::serve(config, Arc::clone(&house), pepper, clock.clone(), seed, certificates, Vec::new());
        let edge = edge.await.unwrap();
        Self { edge, house, clock, key: key.reveal().to_owned() }
    }

    async fn plain() -> Self {
        Self::with("").await
    }

    async fn connect(&self) -> Client {
        Client::connect(self.edge.addresses()[0]).await
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

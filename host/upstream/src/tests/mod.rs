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
    BlobId, Call, Clock as _, CustomerId, Payload, Reading, Replay, Secret, SecretRef, Target, UnixMs,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::client::dial::{Resolve, SystemResolver};
use crate::config::settings::Config;
use crate::request::body::{Blobs, OpenBlob};
use crate::upstream::Upstream;

pub(crate) const SECRET: &str = "sk-upstream-secret";
pub(crate) const NEVER: UnixMs = UnixMs(u64::MAX);

/// Answers from a table and counts the questions.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) names: HashMap<&'static str, Vec<IpAddr>>,
    pub(crate) asked: AtomicUsize,
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

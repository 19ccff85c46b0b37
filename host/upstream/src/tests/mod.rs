//! What the tests of this room share: a clock and a seed by hand, blobs in memory, a resolver that says what it is
//! told, and a real HTTP server on a loopback port of its own.

mod accounts;
mod calls;
mod config;
mod fetching;
mod outages;
mod ssrf;
mod streams;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use gatehouse_model::{BlobId, Call, Clock, Pause, Payload, Replay, Secret, Seed, Target, UnixMs};
use http::{HeaderMap, Method, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::{Blobs, Config, OpenBlob, Resolve, SecretRef, SystemResolver, Upstream};

pub(crate) const SECRET: &str = "sk-upstream-secret";
pub(crate) const NEVER: UnixMs = UnixMs(u64::MAX);

/// A clock that moves when told to.
#[derive(Default)]
pub(crate) struct Hand(pub(crate) AtomicU64);

impl Hand {
    pub(crate) fn at(ms: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(ms)))
    }
    pub(crate) fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> UnixMs {
        UnixMs(self.0.load(Ordering::SeqCst))
    }
    fn pause(&self, _: Duration) -> Pause {
        Box::pin(std::future::ready(()))
    }
}

/// Counts up, so that what follows from it can be foretold.
#[derive(Default)]
pub(crate) struct Counting(AtomicU64);

impl Seed for Counting {
    fn fill(&self, into: &mut [u8]) {
        for chunk in into.chunks_mut(8) {
            let next = self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes();
            chunk.copy_from_slice(&next[..chunk.len()]);
        }
    }
}

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
        let id = BlobId::new(UnixMs(1), &Counting::default());
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
            let id = BlobId::new(UnixMs(2), &Counting::default());
            self.0.lock().unwrap().insert(id, all.into());
            Ok(id)
        })
    }
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) version: http::Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// A server that answers through a function and remembers what it was asked.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

pub(crate) type Answer = Response<Full<Bytes>>;

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answer {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(body.into())).unwrap()
}

/// Starts a plain server.
pub(crate) async fn serve(answers: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Server {
    serve_over(answers, |stream| async { Some(stream) }).await
}

/// Starts a server whose connections are wrapped first (in TLS, for one).
pub(crate) async fn serve_over<W, F, S>(
    answers: impl Fn(&Seen) -> Answer + Send + Sync + 'static,
    wrap: W,
) -> Server
where
    W: Fn(TcpStream) -> F + Send + Sync + 'static,
    F: Future<Output = Option<S>> + Send,
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(vec![]));
    let (log, answers) = (Arc::clone(&seen), Arc::new(answers));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Some(stream) = wrap(stream).await else { continue };
            let (log, answers) = (Arc::clone(&log), Arc::clone(&answers));
            tokio::spawn(async move {
                let service =
                    service_fn(move |request| respond(request, Arc::clone(&log), Arc::clone(&answers)));
                let builder = auto::Builder::new(TokioExecutor::new());
                // A client that goes away is part of some tests.
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    Server { address, seen }
}

async fn respond(
    request: http::Request<Incoming>,
    log: Arc<Mutex<Vec<Seen>>>,
    answers: Arc<impl Fn(&Seen) -> Answer + Send + Sync>,
) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    let target = head.uri.path_and_query().unwrap().to_string();
    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let seen = Seen { method: head.method, target, version: head.version, headers: head.headers, body };
    log.lock().unwrap().push(seen.clone());
    Ok(answers(&seen))
}

/// A server that speaks bytes: each connection is given to `act` once its request head has come.
pub(crate) async fn serve_raw<F>(act: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
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
            tokio::spawn(act(stream));
        }
    });
    address
}

pub(crate) fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

/// The secret of every account.
pub(crate) fn secrets(_: &SecretRef) -> Result<Secret<String>, String> {
    Ok(Secret::new(format!("{SECRET}\n")))
}

pub(crate) fn upstream_with(text: &str, clock: Arc<Hand>, resolver: Arc<dyn Resolve>) -> Upstream {
    Upstream::new(&config(text), &secrets, clock, Arc::new(Counting::default()), resolver).unwrap()
}

pub(crate) fn upstream(text: &str) -> Upstream {
    upstream_with(text, Hand::at(1_000_000), Arc::new(SystemResolver))
}

/// Provider `p` at `base` with one account `main`; `more` goes into its table.
pub(crate) fn provider(base: &str, more: &str) -> String {
    format!(
        "[providers.p]\nbase_url = \"{base}\"\nconnect_timeout_ms = 5000\n{more}\n\
         [providers.p.accounts.main]\nsecret = {{ env = \"KEY\" }}\n"
    )
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
        save_body: false,
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

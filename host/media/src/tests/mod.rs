//! What the tests of this room share: a store in a folder of its own, a clock by hand, and a real HTTP server on a
//! loopback port of its own.

mod cutting;
mod keeping;
mod links;
mod probing;
mod saving;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::StreamExt;
use gatehouse_model::{Clock, Pause, Pepper, Secret, Seed, UnixMs};
use gatehouse_upstream::{AccountConfig, SecretRef, SystemResolver, Upstream};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::{Config, MediaStore};

/// 2026-01-01T00:00:00Z: the beginning of a day, so that days are easy to count.
pub(crate) const NEW_YEAR: u64 = 1_767_225_600_000;
pub(crate) const HOUR: u64 = 3_600_000;

pub(crate) struct Hand(AtomicU64);

impl Hand {
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

/// Counts up: every id is another one.
#[derive(Default)]
pub(crate) struct Counting(AtomicU64);

impl Seed for Counting {
    fn fill(&self, into: &mut [u8]) {
        let next = self.0.fetch_add(1, Ordering::SeqCst).to_le_bytes();
        into.iter_mut().zip(next.iter().cycle()).for_each(|(byte, next)| *byte = *next);
    }
}

/// A store, its folder and its clock.
pub(crate) struct House {
    pub(crate) media: MediaStore,
    pub(crate) clock: Arc<Hand>,
    pub(crate) folder: TempDir,
}

impl House {
    /// A house that may fetch from `servers` for users, and results of provider `p` from the first of them.
    pub(crate) fn new(servers: &[SocketAddr]) -> Self {
        Self::with(
            servers,
            Config { max_blob_mib: 1, max_probe_mib: 1, max_result_mib: 7, ..Config::default() },
        )
    }

    pub(crate) fn with(servers: &[SocketAddr], config: Config) -> Self {
        let mut outgoing = gatehouse_upstream::Config::default();
        outgoing.fetch.allow_private = servers.iter().map(ToString::to_string).collect();
        if let Some(first) = servers.first() {
            let mut provider: gatehouse_upstream::ProviderConfig = serde_json::from_value(
                serde_json::json!({"base_url": format!("http://{first}"), "accounts": {}}),
            )
            .unwrap();
            let secret = Some(SecretRef::Given(Secret::new("k".to_owned())));
            provider.accounts.insert("main".to_owned(), AccountConfig { secret, ..AccountConfig::default() });
            outgoing.providers.insert("p".to_owned(), provider);
        }
        let secrets = |given: &SecretRef| match given {
            SecretRef::Given(secret) => Ok(secret.clone()),
            other => Err(format!("{other:?}")),
        };
        let clock = Arc::new(Hand(AtomicU64::new(NEW_YEAR)));
        let seed: Arc<dyn Seed> = Arc::new(Counting::default());
        let upstream =
            Upstream::new(&outgoing, &secrets, clock.clone(), Arc::clone(&seed), Arc::new(SystemResolver))
                .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pepper = Pepper::new([7; 32]);
        let media = MediaStore::open(config, folder.path(), pepper, upstream, clock.clone(), seed).unwrap();
        Self { media, clock, folder }
    }

    /// Every file below the store's folder, relative to it.
    pub(crate) fn files(&self) -> Vec<String> {
        let root = self.folder.path().join("media");
        let mut files = vec![];
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }
}

/// A server that answers each path with status, type and bytes, and counts the requests.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

type Answer = (u16, &'static str, Vec<u8>);

pub(crate) async fn serve(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(answer));
    let count = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (count, answer) = (Arc::clone(&count), Arc::clone(&answer));
            let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
                count.fetch_add(1, Ordering::SeqCst);
                let (status, mime, body) = answer(request.uri().path());
                let response = hyper::Response::builder().status(status).header("content-type", mime);
                std::future::ready(Ok::<_, Infallible>(response.body(Full::new(Bytes::from(body))).unwrap()))
            });
            // A client that goes away is part of some tests.
            tokio::spawn(async move {
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Server { address, asked }
}

pub(crate) async fn collect(
    mut body: futures_util::stream::BoxStream<'static, std::io::Result<Bytes>>,
) -> Vec<u8> {
    let mut all = vec![];
    while let Some(piece) = body.next().await {
        all.extend_from_slice(&piece.unwrap());
    }
    all
}

/// A real picture of this size.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(vec![]);
    image::DynamicImage::new_rgb8(width, height).write_to(&mut bytes, image::ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Bytes of this length that begin like a picture.
pub(crate) fn picture(length: usize) -> Vec<u8> {
    let mut bytes = png(3, 2);
    let mut next = 1_u32;
    bytes.resize_with(length, || {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        next.to_be_bytes()[0]
    });
    bytes
}

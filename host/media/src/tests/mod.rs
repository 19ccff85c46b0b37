//! What the tests of this crate share: a store in a folder of its own, with the clock, the seed and the scripted provider
//! of the harness.

mod buckets;
mod clips;
mod extracting;
mod inputs;
mod keeping;
mod links;
mod probing;
mod remote;
mod saving;
mod tiles;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::StreamExt;
use gatehouse_harness::{Provider, TestClock, TestSeed, reply, serve_connections};
use gatehouse_model::{BlobId, Clock as _, Media, Pepper, Product, Secret, SecretRef, Seed, UnixMs};
use gatehouse_upstream::{AccountConfig, SystemResolver, Upstream};
use tempfile::TempDir;

use crate::config::Config;
use crate::ingest::extract::NewBlob;
use crate::media_store::MediaStore;

/// 2026-01-01T00:00:00Z: the beginning of a day, so that days are easy to count.
pub(crate) const NEW_YEAR: u64 = 1_767_225_600_000;
pub(crate) const HOUR: u64 = 3_600_000;

/// A store, its folder and its clock.
pub(crate) struct TestMedia {
    pub(crate) media: MediaStore,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) folder: TempDir,
}

impl TestMedia {
    /// A test that may fetch from `servers` for users, and results of provider `p` from the first of them.
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
        let clock = TestClock::skipping_pauses_at(NEW_YEAR);
        let seed: Arc<dyn Seed> = Arc::new(TestSeed::default());
        let upstream =
            Upstream::new(&outgoing, &secrets, clock.clone(), Arc::clone(&seed), Arc::new(SystemResolver))
                .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pepper = Pepper::new([7; 32]);
        let media =
            MediaStore::open(config, folder.path(), &secrets, pepper, upstream, clock.clone(), seed).unwrap();
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

/// Starts a provider that answers each path with status, type and bytes.
pub(crate) async fn serve(
    answer: impl Fn(&str) -> (u16, &'static str, Vec<u8>) + Send + Sync + 'static,
) -> Provider {
    Provider::start(move |request| {
        let (status, mime, body) = answer(request.path());
        reply(status, &[("content-type", mime)], body)
    })
    .await
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

/// Bytes of this length that begin and end like a picture.
pub(crate) fn picture(length: usize) -> Vec<u8> {
    let mut bytes = png(3, 2);
    let mut next = 1_u32;
    bytes.resize_with(length, || {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        next.to_be_bytes()[0]
    });
    if length > 100 {
        bytes[length - 8..].copy_from_slice(b"IEND\xae\x42\x60\x82");
    }
    bytes
}

/// What a result's link opens.
pub(crate) async fn content(test: &TestMedia, media: &Media) -> Vec<u8> {
    let link = test.media.link("", media);
    let query = link.split_once('?').unwrap().1;
    let (expires, signature) = query.split_once('&').unwrap();
    let name = crate::links::name(media.id, &media.mime);
    let (expires, signature) = (expires.split_once('=').unwrap().1, signature.split_once('=').unwrap().1);
    collect(test.media.open_link(&name, expires, signature, None).await.unwrap().body).await
}

/// Keeps bytes as a result and gives its record.
async fn saved(test: &TestMedia, bytes: &[u8]) -> Media {
    let id = BlobId::new(test.clock.now(), &*test.media.0.seed);
    test.media.keep(&[NewBlob::new(id, Bytes::copy_from_slice(bytes))]).await.unwrap();
    let product = Product { source: format!("blob:{id}"), mime: None, edit: None };
    test.media.save(&product, "p", &test.media.blobs_of([id])).await.unwrap()
}

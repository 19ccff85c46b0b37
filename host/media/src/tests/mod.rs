//! What the tests of this crate share: a store in a folder of its own, with the clock, the seed and the scripted provider
//! of the harness.

mod buckets;
pub(crate) mod clips;
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

use bytes::{Bytes, BytesMut};
use futures_util::stream::{BoxStream, StreamExt};
use gatehouse_harness::{Provider, TestClock, TestSeed, reply, serve_connections};
use gatehouse_model::{BlobId, Clock as _, Media, Pepper, Product, Secret, SecretRef, Seed, UnixMs};
use gatehouse_upstream::{AccountConfig, SystemResolver, Upstream};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngEncoder;
use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ExtendedColorType, ImageEncoder, ImageFormat, RgbImage};
use tempfile::TempDir;

use crate::config::Config;
use crate::ingest::extract::NewBlob;
use crate::media_store::MediaStore;
use crate::results::source::SaveError;

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
            let account = AccountConfig { secret: secret("k"), ..AccountConfig::default() };
            provider.accounts.insert("main".to_owned(), account);
            outgoing.providers.insert("p".to_owned(), provider);
        }
        let clock = TestClock::skipping_pauses_at(NEW_YEAR);
        let seed: Arc<dyn Seed> = Arc::new(TestSeed::default());
        let upstream =
            Upstream::new(&outgoing, &in_hand, clock.clone(), Arc::clone(&seed), Arc::new(SystemResolver))
                .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let pepper = Pepper::new([7; 32]);
        let media =
            MediaStore::open(config, folder.path(), &in_hand, pepper, upstream, clock.clone(), seed).unwrap();
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

/// A secret of a configuration.
pub(crate) fn secret(text: &str) -> Option<SecretRef> {
    Some(SecretRef::Given(Secret::new(text.to_owned())))
}

/// Looks up such secrets.
pub(crate) fn in_hand(reference: &SecretRef) -> Result<Secret<String>, String> {
    match reference {
        SecretRef::Given(secret) => Ok(secret.clone()),
        _ => Err("it is not set".to_owned()),
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

pub(crate) async fn collect(body: BoxStream<'static, std::io::Result<Bytes>>) -> Vec<u8> {
    body.map(Result::unwrap).collect::<BytesMut>().await.to_vec()
}

/// A picture as a file.
pub(crate) fn file_of(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(vec![]);
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// The same with a colour profile, and an EXIF block of one entry, its orientation. JPEG loses as little as it can.
pub(crate) fn with_metadata(
    picture: &RgbImage,
    format: ImageFormat,
    profile: Option<&[u8]>,
    orientation: Option<u8>,
) -> Vec<u8> {
    let exif = |orientation| {
        [&b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0"[..], &[orientation], &[0; 6]].concat()
    };
    let (profile, exif) = (profile.map(<[u8]>::to_vec), orientation.map(exif));
    let mut bytes = vec![];
    match format {
        ImageFormat::Png => write(PngEncoder::new(&mut bytes), picture, profile, exif),
        ImageFormat::Jpeg => {
            write(JpegEncoder::new_with_quality(&mut bytes, 100), picture, profile, exif);
        }
        _ => write(WebPEncoder::new_lossless(&mut bytes), picture, profile, exif),
    }
    bytes
}

fn write(
    mut encoder: impl ImageEncoder,
    picture: &RgbImage,
    profile: Option<Vec<u8>>,
    exif: Option<Vec<u8>>,
) {
    profile.into_iter().for_each(|profile| encoder.set_icc_profile(profile).unwrap());
    exif.into_iter().for_each(|exif| encoder.set_exif_metadata(exif).unwrap());
    encoder.write_image(picture, picture.width(), picture.height(), ExtendedColorType::Rgb8).unwrap();
}

/// A real picture of this size.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    file_of(&DynamicImage::new_rgb8(width, height), ImageFormat::Png)
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
    let (name, expires, signature) = parts(&link);
    collect(test.media.open_link(name, expires, signature, None).await.unwrap().body).await
}

/// (name, expires, signature) of a link.
fn parts(link: &str) -> (&str, &str, &str) {
    let (_, rest) = link.split_once("/v1/media/").unwrap();
    let (name, query) = rest.split_once("?expires=").unwrap();
    let (expires, signature) = query.split_once("&signature=").unwrap();
    (name, expires, signature)
}

/// A blob that is not kept yet.
fn blob(test: &TestMedia, bytes: &[u8]) -> NewBlob {
    let id = BlobId::new(test.clock.now(), &*test.media.0.seed);
    NewBlob::new(id, Bytes::copy_from_slice(bytes))
}

/// Keeps bytes as a result and gives its record.
async fn saved(test: &TestMedia, bytes: &[u8]) -> Media {
    let blob = blob(test, bytes);
    test.media.keep(std::slice::from_ref(&blob)).await.unwrap();
    let product = Product { source: format!("blob:{}", blob.id), mime: None, edit: None };
    save(test, &product).await.unwrap()
}

/// Copies a product of a task that has the blob it names; or why it is lost.
async fn save(test: &TestMedia, product: &Product) -> Result<Media, String> {
    let blobs = test.media.blobs_of(product.source.strip_prefix("blob:").and_then(|id| id.parse().ok()));
    test.media.save(product, "p", &blobs).await.map_err(|error| match error {
        SaveError::Lost(reason) => reason,
        SaveError::Passing(reason) => format!("for now: {reason}"),
        SaveError::Store(error) => panic!("{error}"),
    })
}

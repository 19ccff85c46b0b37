//! Sample files: pictures, films and sounds of any size, and replies that a fetcher must reject or survive.
//!
//! | path | answer |
//! |---|---|
//! | `/samples/<W>x<H>.<png or jpeg or webp>` | a picture of that size, up to 36 megapixels; `?bytes=N` pads it |
//! | `/samples/<film or sound>` | a film or a sound of that name, see [`sample_media`](super::sample_media) |
//! | `/samples/not-an-image` | 200, a line of text |
//! | `/samples/missing` | 404 |
//! | `/samples/slow?ms=N` | a picture whose bytes trickle out over N milliseconds (10,000) |
//! | `/samples/redirect?n=N` | N redirects (1), then a picture |
//! | `/samples/redirect-to-private` | 302 to `http://169.254.169.254/` |
//! | `/samples/huge` | 32 MiB that begin like a PNG; with `?length=none` the size is not announced |

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method, Request, Response, header};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Incoming;
use image::ImageFormat as Format;
use sha2::{Digest, Sha256};

use crate::common::clock;
use crate::common::picture::PictureCache;
use crate::common::sample_media::{SampleMedia, ZEROS};
use crate::common::server::{Body, HandlerResult, parameter, reply, with};
use gatehouse_sandbox_files::{Picture, format_named};

/// More would take the memory of a small machine.
const MAX_PIXELS: u64 = 36_000_000;
/// WebP's own limit, the lowest of the three formats.
const MAX_SIDE: u32 = 16_383;
/// Length of `/samples/huge`; above every limit for one picture.
const HUGE_BYTES: usize = 32 << 20;
/// A padded picture is in memory as a whole.
const MAX_BYTES: usize = 64 << 20;
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The samples listener.
pub(crate) struct Samples {
    origin: String,
    pictures: PictureCache,
}

impl Samples {
    /// `origin` is where the listener is reached.
    pub(crate) fn new(origin: String) -> Self {
        Self { origin, pictures: PictureCache::default() }
    }

    /// A picture, over `span` if there is one; with zeros behind it when it is to have `size` bytes.
    async fn picture(&self, name: &str, span: Option<Duration>, size: Option<u64>) -> Response<Body> {
        let Some((width, height, format)) = named_size(name) else { return missing() };
        let picture = Picture { width, height, format, digest: Sha256::digest(name).into() };
        match (self.pictures.file(picture).await, span) {
            (Some(file), Some(span)) => trickle(&file, span),
            (Some(file), None) if size.is_some() => match pad(&file, size) {
                Some(file) => reply(200, format.to_mime_type(), file),
                None => missing(),
            },
            (Some(file), None) => reply(200, format.to_mime_type(), file),
            (None, _) => reply(500, "text/plain", "the picture could not be made"),
        }
    }

    fn redirect(&self, query: &str) -> Response<Body> {
        let location = match number(query, "n").unwrap_or(1) {
            0 | 1 => format!("{}/samples/64x64.png", self.origin),
            more => format!("{}/samples/redirect?n={}", self.origin, more - 1),
        };
        found(&location)
    }

    /// Answers the requests of the listener.
    pub(crate) async fn handle(self: Arc<Self>, request: Request<Incoming>) -> HandlerResult {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Ok(with(reply(405, "text/plain", "GET or HEAD"), "allow", "GET, HEAD"));
        }
        let query = request.uri().query().unwrap_or_default();
        let Some(name) = request.uri().path().strip_prefix("/samples/") else { return Ok(missing()) };
        Ok(match name {
            "not-an-image" => reply(200, "text/plain", "This is a line of text, not a picture.\n"),
            "slow" => {
                let span = Duration::from_millis(number(query, "ms").unwrap_or(10_000));
                self.picture("64x64.png", Some(span), None).await
            }
            "redirect" => self.redirect(query),
            "redirect-to-private" => found("http://169.254.169.254/latest/meta-data/"),
            "huge" => huge(query.contains("length=none")),
            name => match SampleMedia::named(name) {
                Some(media) => film_or_sound(media, number(query, "bytes"), request.headers()).await,
                None => self.picture(name, None, number(query, "bytes")).await,
            },
        })
    }
}

/// Width, height and format of a sample's file name, if there is such a sample.
pub(crate) fn named_size(name: &str) -> Option<(u32, u32, Format)> {
    let (size, extension) = name.split_once('.')?;
    let format = format_named(extension)?;
    let (width, height) = size.split_once('x')?;
    let (width, height) = (side(width)?, side(height)?);
    (u64::from(width) * u64::from(height) <= MAX_PIXELS).then_some((width, height, format))
}

/// A film or a sound, padded to `size` bytes, or the part of it that the headers ask for.
async fn film_or_sound(media: SampleMedia, size: Option<u64>, headers: &HeaderMap) -> Response<Body> {
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    match tokio::task::spawn_blocking(move || media.file(size)).await {
        Ok(Some(file)) => file.answer(range),
        Ok(None) => missing(),
        Err(_) => reply(500, "text/plain", "the file could not be made"),
    }
}

fn side(text: &str) -> Option<u32> {
    text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side))
}

fn missing() -> Response<Body> {
    reply(404, "text/plain", "no such sample")
}

fn found(location: &str) -> Response<Body> {
    with(reply(302, "text/plain", "over there"), "location", location)
}

fn number(query: &str, name: &str) -> Option<u64> {
    parameter(query, name)?.parse().ok()
}

/// `file` with zeros up to that size, which every reader of pictures ignores.
fn pad(file: &[u8], size: Option<u64>) -> Option<Bytes> {
    let size = usize::try_from(size?).ok().filter(|size| (file.len()..=MAX_BYTES).contains(size))?;
    let mut padded = file.to_vec();
    padded.resize(size, 0);
    Some(padded.into())
}

/// `file` in twenty pieces, evenly over `span`.
fn trickle(file: &Bytes, span: Duration) -> Response<Body> {
    let size = file.len().div_ceil(20);
    let pieces: Vec<Bytes> =
        (0..file.len()).step_by(size).map(|at| file.slice(at..file.len().min(at + size))).collect();
    let pace = span / u32::try_from(pieces.len()).expect("at most twenty pieces");
    let frames = stream::unfold(pieces.into_iter(), move |mut rest| async move {
        let piece = rest.next()?;
        clock::pause(pace).await;
        Some((Ok(Frame::data(piece)), rest))
    });
    let response = reply(200, Format::Png.to_mime_type(), Bytes::new());
    with(response, "content-length", &file.len().to_string())
        .map(|_| BodyExt::boxed_unsync(StreamBody::new(frames)))
}

/// A PNG's first bytes and then zeros, streamed.
fn huge(unannounced: bool) -> Response<Body> {
    let frames = stream::unfold(0, |sent: usize| async move {
        let piece = match HUGE_BYTES - sent {
            0 => return None,
            HUGE_BYTES => Bytes::from_static(PNG_SIGNATURE),
            left => Bytes::from_static(&ZEROS[..left.min(ZEROS.len())]),
        };
        let sent = sent + piece.len();
        Some((Ok(Frame::data(piece)), sent))
    });
    let response = reply(200, Format::Png.to_mime_type(), Bytes::new())
        .map(|_| BodyExt::boxed_unsync(StreamBody::new(frames)));
    if unannounced { response } else { with(response, "content-length", &HUGE_BYTES.to_string()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        #[rustfmt::skip]
        let table = [
            ("640x480.png", Some((640, 480, Format::Png))), ("1x1.webp", Some((1, 1, Format::WebP))),
            ("6000x6000.jpeg", Some((6000, 6000, Format::Jpeg))), ("6001x6000.jpeg", None), ("0x5.png", None),
            ("5x0.png", None), ("16384x1.png", None), ("5x5.gif", None), ("5x5", None), ("5.png", None),
            ("-5x5.png", None), ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(named_size(name), expected, "{name}");
        }
    }
}

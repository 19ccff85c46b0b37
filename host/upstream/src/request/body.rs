//! A request body made of bytes in hand and of blobs that are read, and encoded, while it is sent.
//!
//! Its length is known before the first byte leaves, so no provider has to understand chunked requests. Where its digest
//! is needed too, the same pieces are read once before, and never held whole. How kept bytes come to a request, and from a
//! reply, is said here; the other side is in `media`.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use gatehouse_model::BlobId;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use ring::digest::{Context, Digest, SHA256};

use crate::client::exchange::{Payload, Unread};

/// Bytes that are digested at a stretch, before other work gets its turn.
const STRETCH: usize = 256 << 10;

/// The blobs one task may name.
pub trait Blobs: Send + Sync {
    /// Opens a blob; `None` when it is not this task's, or gone.
    fn open(&self, id: BlobId) -> BoxFuture<'_, io::Result<Option<OpenBlob>>>;

    /// Keeps a body as a new blob of this task. An error of `body` is returned as it came, and nothing
    /// is kept then.
    fn save<'a>(&'a self, body: BoxStream<'a, io::Result<Bytes>>) -> BoxFuture<'a, io::Result<BlobId>>;
}

/// A blob being read.
pub struct OpenBlob {
    /// Its type by its own bytes.
    pub mime: String,
    /// Its length; `body` brings exactly as much.
    pub length: u64,
    /// The bytes, in pieces.
    pub body: BoxStream<'static, io::Result<Bytes>>,
}

/// The blob a `blob:<id>` string names, if it is one.
pub(crate) fn named(text: &str) -> Option<BlobId> {
    text.strip_prefix("blob:")?.parse().ok()
}

/// One run of a body.
pub(crate) enum Piece {
    /// Bytes in hand.
    Bytes(Bytes),
    /// A blob as it is.
    Raw(OpenBlob),
    /// A blob in base64.
    Base64(OpenBlob),
}

impl Piece {
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Raw(blob) => blob.length,
            Self::Base64(blob) => blob.length.div_ceil(3) * 4,
        }
    }

    fn stream(self) -> BoxStream<'static, io::Result<Bytes>> {
        match self {
            Self::Bytes(bytes) => stream::iter([Ok(bytes)]).boxed(),
            Self::Raw(blob) => blob.body,
            Self::Base64(blob) => encoded(blob.body),
        }
    }
}

/// The body, how many bytes it will be, and whether some of them could not be read.
pub(crate) fn body(pieces: Vec<Piece>) -> (Payload, u64, Unread) {
    let length = pieces.iter().map(Piece::length).sum();
    let unread = Unread::default();
    let told = unread.clone();
    let frame = move |bytes: io::Result<Bytes>| bytes.inspect_err(|error| told.tell(error)).map(Frame::data);
    let frames = stream::iter(pieces).flat_map(Piece::stream).map(frame);
    (UnsyncBoxBody::new(StreamBody::new(frames).map_err(|error| error)), length, unread)
}

/// The SHA-256 of the body that the same pieces make.
pub(crate) async fn digest(pieces: Vec<Piece>) -> io::Result<Digest> {
    let (mut context, mut stretch) = (Context::new(&SHA256), 0);
    for piece in pieces {
        let mut stream = piece.stream();
        while let Some(bytes) = stream.next().await {
            for part in bytes?.chunks(STRETCH) {
                context.update(part);
                stretch += part.len();
                if stretch >= STRETCH {
                    stretch = 0;
                    tokio::task::yield_now().await;
                }
            }
        }
    }
    Ok(context.finish())
}

/// Base64 of a stream: whole groups of three at once, what is left over waits for the next piece.
fn encoded(body: BoxStream<'static, io::Result<Bytes>>) -> BoxStream<'static, io::Result<Bytes>> {
    let state = Some((body, Vec::with_capacity(3)));
    stream::unfold(state, |state| async move {
        let (mut body, mut rest): (BoxStream<'static, io::Result<Bytes>>, Vec<u8>) = state?;
        match body.next().await {
            Some(Ok(bytes)) => Some((Ok(encode(&mut rest, &bytes)), Some((body, rest)))),
            Some(Err(error)) => Some((Err(error), None)),
            None => Some((Ok(STANDARD.encode(&rest).into()), None)),
        }
    })
    .boxed()
}

fn encode(rest: &mut Vec<u8>, bytes: &[u8]) -> Bytes {
    let mut text = String::with_capacity((rest.len() + bytes.len()) / 3 * 4 + 4);
    let missing = if rest.is_empty() { 0 } else { (3 - rest.len()).min(bytes.len()) };
    let (first, bytes) = bytes.split_at(missing);
    rest.extend_from_slice(first);
    if rest.len() == 3 {
        STANDARD.encode_string(&rest, &mut text);
        rest.clear();
    }
    let (whole, left) = bytes.split_at(bytes.len() / 3 * 3);
    STANDARD.encode_string(whole, &mut text);
    rest.extend_from_slice(left);
    text.into()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn blob(parts: &[Vec<u8>]) -> OpenBlob {
        let length = parts.iter().map(Vec::len).sum::<usize>() as u64;
        let parts: Vec<io::Result<Bytes>> = parts.iter().map(|part| Ok(Bytes::from(part.clone()))).collect();
        OpenBlob { mime: "image/png".to_owned(), length, body: stream::iter(parts).boxed() }
    }

    fn collect(pieces: Vec<Piece>) -> (Vec<u8>, u64) {
        let (body, length, _) = body(pieces);
        let bytes = futures_util::FutureExt::now_or_never(body.collect()).expect("nothing here waits");
        (bytes.unwrap().to_bytes().to_vec(), length)
    }

    proptest! {
        #[test]
        fn base64_does_not_depend_on_how_the_bytes_come(parts in vec(vec(any::<u8>(), 0..10), 0..8)) {
            let (bytes, length) = collect(vec![
                Piece::Bytes(Bytes::from_static(b"<")),
                Piece::Base64(blob(&parts)),
                Piece::Bytes(Bytes::from_static(b">")),
            ]);
            prop_assert_eq!(bytes.len() as u64, length);
            prop_assert_eq!(String::from_utf8(bytes).unwrap(), format!("<{}>", STANDARD.encode(parts.concat())));
        }

        #[test]
        fn raw_blobs_pass_unchanged(parts in vec(vec(any::<u8>(), 0..10), 0..8)) {
            let (bytes, length) = collect(vec![Piece::Raw(blob(&parts))]);
            prop_assert_eq!(bytes.len() as u64, length);
            prop_assert_eq!(bytes, parts.concat());
        }
    }
}

//! Responses and their bodies. Knows no error (see `errors`) and no endpoint.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use http::{HeaderValue, Response, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use serde::Serialize;

/// The body of a response.
pub(crate) enum ResponseBody {
    Whole(Bytes),
    /// The same for every client: kept once, whatever number of them takes it.
    Shared(SharedBody),
    /// Pieces, and how many bytes are still to come.
    Pieces(BoxStream<'static, io::Result<Bytes>>, u64),
    /// A stream of unknown length.
    Stream(UnsyncBoxBody<Bytes, io::Error>),
}

/// Pieces that all responses share, with a short text of this one between each two.
pub(crate) struct SharedBody {
    pieces: Arc<[Bytes]>,
    between: Bytes,
    /// The position of the next piece or text.
    next: usize,
    bytes_left: u64,
}

impl SharedBody {
    /// One piece.
    pub(crate) fn of(piece: Bytes) -> Self {
        Self::with(Arc::new([piece]), Bytes::new())
    }

    pub(crate) fn with(pieces: Arc<[Bytes]>, between: Bytes) -> Self {
        let texts = pieces.len().saturating_sub(1) * between.len();
        let bytes_left = (pieces.iter().map(Bytes::len).sum::<usize>() + texts) as u64;
        Self { pieces, between, next: 0, bytes_left }
    }

    /// Whether these are its pieces, not copies of them.
    #[cfg(test)]
    pub(crate) fn shares(&self, pieces: &Arc<[Bytes]>) -> bool {
        Arc::ptr_eq(&self.pieces, pieces)
    }

    /// The piece or text at that position of the body.
    fn part(&self, at: usize) -> Option<&Bytes> {
        let piece = self.pieces.get(at.div_ceil(2))?;
        Some(if at.is_multiple_of(2) { piece } else { &self.between })
    }

    fn next(&mut self) -> Option<Bytes> {
        loop {
            let part = self.part(self.next)?.clone();
            self.next += 1;
            if !part.is_empty() {
                self.bytes_left -= part.len() as u64;
                return Some(part);
            }
        }
    }
}

impl ResponseBody {
    /// Bytes that this response holds for itself.
    pub(crate) fn own_bytes(&self) -> usize {
        match self {
            Self::Whole(bytes) => bytes.len(),
            Self::Shared(shared) => shared.between.len(),
            Self::Pieces(..) | Self::Stream(_) => 0,
        }
    }

    pub(crate) const fn empty() -> Self {
        Self::Whole(Bytes::new())
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            Self::Shared(shared) => Poll::Ready(shared.next().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(stream, left) => match ready!(Pin::new(stream).poll_next(cx)) {
                Some(Ok(bytes)) => {
                    *left = left.saturating_sub(bytes.len() as u64);
                    Poll::Ready(Some(Ok(Frame::data(bytes))))
                }
                Some(Err(error)) => Poll::Ready(Some(Err(error))),
                None => Poll::Ready(None),
            },
            Self::Stream(stream) => Pin::new(stream).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Shared(shared) => shared.bytes_left == 0,
            Self::Pieces(_, left) => *left == 0,
            Self::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Shared(shared) => SizeHint::with_exact(shared.bytes_left),
            Self::Pieces(_, left) => SizeHint::with_exact(*left),
            Self::Stream(stream) => stream.size_hint(),
        }
    }
}

/// An answer as the specification wraps most of them.
#[derive(Serialize)]
pub(crate) struct Wrapped<T> {
    pub(crate) code: u16,
    pub(crate) data: T,
}

/// Such an answer to a request that is done.
pub(crate) fn wrapped(data: impl Serialize) -> Response<ResponseBody> {
    json(&Wrapped { code: 200, data })
}

/// A 200 with a JSON body that must not be cached.
pub(crate) fn json(body: &impl Serialize) -> Response<ResponseBody> {
    json_text(json_bytes(body))
}

/// The same for JSON that is serialized already.
pub(crate) fn json_text(body: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::Whole(body.into()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The JSON of one of the edge's own types.
pub(crate) fn json_bytes(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).expect("our types have string keys and no failing serializers").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_body_is_its_pieces_with_the_text_between() {
        for (pieces, between, expected) in [
            (&["a", "b", "c"][..], "-", "a-b-c"),
            (&["", "b", ""], "-", "-b-"),
            (&["a", "b"], "", "ab"),
            (&["a"], "-", "a"),
            (&[""], "-", ""),
        ] {
            let pieces = pieces.iter().map(|piece| Bytes::from_static(piece.as_bytes())).collect();
            let mut body = SharedBody::with(pieces, Bytes::from_static(between.as_bytes()));
            assert_eq!(body.bytes_left, expected.len() as u64);
            let mut all = Vec::new();
            while let Some(part) = body.next() {
                all.extend_from_slice(&part);
            }
            assert_eq!((all.as_slice(), body.bytes_left), (expected.as_bytes(), 0));
        }
    }
}

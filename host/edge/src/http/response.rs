//! Responses and their bodies. Knows no error (see `errors`) and no endpoint.

use std::io;
use std::pin::Pin;
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
    /// Pieces, and how many bytes are still to come.
    Pieces(BoxStream<'static, io::Result<Bytes>>, u64),
    /// A stream of unknown length.
    Stream(UnsyncBoxBody<Bytes, io::Error>),
}

impl ResponseBody {
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
            Self::Pieces(_, left) => *left == 0,
            Self::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces(_, left) => SizeHint::with_exact(*left),
            Self::Stream(stream) => stream.size_hint(),
        }
    }
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

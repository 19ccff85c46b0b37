//! Answers and their bodies. Knows no error (see `errors`) and no endpoint.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use http::{HeaderValue, Response, header};
use http_body::{Body, Frame, SizeHint};
use serde::Serialize;

use crate::sse::EventBody;

/// What follows an answer's head.
pub(crate) enum Content {
    Empty,
    Whole(Bytes),
    /// Pieces, and how many bytes are still to come.
    Pieces(BoxStream<'static, io::Result<Bytes>>, u64),
    /// Server-sent events, until they end.
    Events(Box<EventBody>),
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Empty => Poll::Ready(None),
            Self::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = Self::Empty;
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
            Self::Events(events) => {
                events.poll_piece(cx).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Whole(bytes) => bytes.is_empty(),
            Self::Pieces(_, left) => *left == 0,
            Self::Events(events) => events.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Empty => 0,
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Pieces(_, left) => *left,
            Self::Events(_) => return SizeHint::default(),
        })
    }
}

/// A 200 with a JSON body nobody may keep.
pub(crate) fn json(body: &impl Serialize) -> Response<Content> {
    json_text(json_bytes(body))
}

/// The same for JSON that is written already.
pub(crate) fn json_text(body: impl Into<Bytes>) -> Response<Content> {
    let mut response = Response::new(Content::Whole(body.into()));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The JSON of one of our own shapes.
pub(crate) fn json_bytes(body: &impl Serialize) -> Bytes {
    serde_json::to_vec(body).expect("our shapes have string keys and no failing serializers").into()
}

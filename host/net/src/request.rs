//! What becomes of a connection after a request: whether the request's body was read to its end, and what its answer says. Never reads
//! a body, and never closes a connection, by itself.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Version};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::transport::ConnectionFlags;

/// What the head of a request says of those that may follow it on its connection.
#[derive(Clone, Copy, Debug)]
pub struct RequestFraming {
    is_http1: bool,
    has_body: bool,
}

impl RequestFraming {
    /// The framing of the request with this head.
    #[must_use]
    pub fn of(head: &Parts) -> Self {
        let has_body =
            head.headers.contains_key(CONTENT_LENGTH) || head.headers.contains_key(TRANSFER_ENCODING);
        Self { is_http1: head.version < Version::HTTP_2, has_body }
    }

    /// Whether its connection speaks HTTP/1, where an answer can say that it is the last.
    #[must_use]
    pub fn is_http1(self) -> bool {
        self.is_http1
    }

    /// Ends the request with this answer, which is the last of its HTTP/1 connection where `is_last` says so, where no later head could
    /// be found, and where the request's body was not read to its end. In the last case the connection lingers: closed at once, the
    /// answer would be lost with the bytes that are still to come.
    pub fn end(self, flags: &ConnectionFlags, is_read: bool, is_last: bool, answer: &mut HeaderMap) {
        if !is_read {
            flags.linger();
        }
        // The flag is that of the last head that has come, which may stand behind a request without a body.
        let is_last = is_last || !is_read || (self.has_body && flags.is_last());
        if self.is_http1 && is_last {
            answer.insert(CONNECTION, HeaderValue::from_static("close"));
        }
    }
}

/// A request's body. Its [`BodyEnd`] tells whether it was read to its end.
#[derive(Debug)]
pub struct TrackedBody {
    body: Incoming,
    end: BodyEnd,
}

/// Whether a body was read to its end, also once the body is dropped.
#[derive(Clone, Debug)]
pub struct BodyEnd(Arc<AtomicBool>);

impl BodyEnd {
    /// Nothing more of the body is to come.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl TrackedBody {
    /// The same body, and what tells its end.
    #[must_use]
    pub fn new(body: Incoming) -> (Self, BodyEnd) {
        let end = BodyEnd(Arc::new(AtomicBool::new(body.is_end_stream())));
        (Self { body, end: end.clone() }, end)
    }
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.end.0.store(true, Ordering::Relaxed);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

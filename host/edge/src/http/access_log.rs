//! What is remembered of one request: one log line and three numbers, written when its answer has left or
//! its client has. Never holds a query, a header value or a body.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use gatehouse_model::{KeyId, RequestId, metric};
use http::Method;
use http_body::{Body, Frame, SizeHint};

use crate::http::response::Content;
use crate::net::connection_limits::Place;

/// Logged as the status of a request whose client left before an answer began.
const CLIENT_GONE: u16 = 499;

/// Requests of one connection under way; a connection without any is idle. So is one whose peer takes none of
/// the answers that are ready: HTTP/2 lets it close its window without the socket ever being full.
#[derive(Clone, Debug, Default)]
pub(crate) struct Busy(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    under_way: AtomicUsize,
    answered: AtomicUsize,
    moves: AtomicUsize,
}

impl Busy {
    pub(crate) fn is_idle(&self) -> bool {
        self.0.under_way.load(Ordering::Acquire) == self.0.answered.load(Ordering::Acquire)
    }

    /// Requests begun and pieces of answers taken so far; two equal readings mean neither came in between.
    pub(crate) fn moves(&self) -> usize {
        self.0.moves.load(Ordering::Acquire)
    }

    fn enter(&self) -> Self {
        self.0.under_way.fetch_add(1, Ordering::AcqRel);
        self.take();
        self.clone()
    }

    /// A request began, or a piece of an answer was taken.
    fn take(&self) {
        self.0.moves.fetch_add(1, Ordering::AcqRel);
    }

    fn leave(&self) {
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One request's record; writes itself when dropped.
pub(crate) struct Record {
    pub(crate) id: RequestId,
    method: Method,
    started: Instant,
    pub(crate) pattern: &'static str,
    pub(crate) surface: &'static str,
    pub(crate) status: u16,
    pub(crate) key: Option<KeyId>,
    pub(crate) received: u64,
    pub(crate) place: Option<Place<KeyId>>,
    sent: u64,
    whole: bool,
    awaits_client: bool,
    busy: Busy,
}

impl Record {
    pub(crate) fn open(id: RequestId, method: Method, busy: &Busy) -> Self {
        Self {
            id,
            method,
            started: Instant::now(),
            pattern: "-",
            surface: "none",
            status: CLIENT_GONE,
            key: None,
            received: 0,
            place: None,
            sent: 0,
            whole: false,
            awaits_client: false,
            busy: busy.enter(),
        }
    }

    /// Whether the request waits for nothing but its client.
    fn await_client(&mut self, awaits: bool) {
        match (self.awaits_client, awaits) {
            (false, true) => self.busy.0.answered.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.busy.0.answered.fetch_sub(1, Ordering::AcqRel),
            _ => return,
        };
        self.awaits_client = awaits;
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.await_client(false);
        self.busy.leave();
        let took = self.started.elapsed();
        let status = self.status.to_string();
        metrics::counter!(metric::REQUESTS, "surface" => self.surface, "status" => status).increment(1);
        metrics::histogram!(metric::REQUEST_SECONDS, "surface" => self.surface).record(took.as_secs_f64());
        tracing::info!(
            request = %self.id,
            method = %self.method,
            route = self.pattern,
            status = self.status,
            ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            key = self.key.as_ref().map(|key| key.0.as_str()),
            received = self.received,
            sent = self.sent,
            whole = self.whole,
            "request"
        );
    }
}

/// An answer's body that completes the record of its request.
pub(crate) struct Recorded {
    content: Content,
    record: Record,
}

impl Recorded {
    pub(crate) fn new(content: Content, mut record: Record) -> Self {
        record.whole = content.is_end_stream();
        record.await_client(true);
        Self { content, record }
    }
}

impl Body for Recorded {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.record.busy.take();
        let polled = Pin::new(&mut self.content).poll_frame(cx);
        // An answer that is still being made is our own delay, not the client's.
        self.record.await_client(polled.is_ready());
        let frame = ready!(polled);
        match &frame {
            Some(Ok(frame)) => self.record.sent += frame.data_ref().map_or(0, |data| data.len() as u64),
            Some(Err(error)) => tracing::warn!(request = %self.record.id, %error, "an answer broke off"),
            None => {}
        }
        self.record.whole = !matches!(frame, Some(Err(_))) && self.content.is_end_stream();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.content.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.content.size_hint()
    }
}

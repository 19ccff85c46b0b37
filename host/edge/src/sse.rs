//! Server-sent events on their way out: framing, keep-alives, and the error event that ends a stream which
//! went wrong. Batches are written as one piece each. Never knows what an event means.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use gatehouse_driver::{TextError, TextStream};
use gatehouse_model::{Clock, Pause, RequestId, Sse};
use http::{HeaderValue, Response, header};

use crate::errors::{Form, Problem};
use crate::http::response::Content;

/// A comment line: every client skips it, and none takes it for an event.
const COMMENT: &[u8] = b": ping\n\n";
/// The messages protocol has an event for it, which may stand anywhere after the first one.
const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// The body of a streamed answer.
pub(crate) struct EventBody {
    stream: TextStream,
    form: Form,
    id: RequestId,
    clock: Arc<dyn Clock>,
    every: Duration,
    silence: Pause,
    begun: bool,
    over: bool,
    explain: fn(TextError) -> Problem,
}

impl EventBody {
    /// Events of `stream`; a keep-alive after `every` span of silence, an error in the endpoint's `form`.
    pub(crate) fn new(
        stream: TextStream,
        form: Form,
        id: RequestId,
        clock: Arc<dyn Clock>,
        every: Duration,
        explain: fn(TextError) -> Problem,
    ) -> Self {
        let silence = clock.pause(every);
        Self { stream, form, id, clock, every, silence, begun: false, over: false, explain }
    }

    /// The answer it is the body of.
    pub(crate) fn into_response(self) -> Response<Content> {
        let mut response = Response::new(Content::Events(Box::new(self)));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        // Reverse proxies that buffer would turn a stream into one late answer.
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// The next piece; `None` at the end.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.over {
            return Poll::Ready(None);
        }
        let piece = match self.stream.poll_next(cx) {
            Poll::Ready(Some(Ok(events))) => {
                self.begun = true;
                framed(&events)
            }
            Poll::Ready(Some(Err(error))) => {
                self.over = true;
                let problem = (self.explain)(error);
                if let Some(cause) = problem.cause() {
                    tracing::error!(request = %self.id, cause, "a stream failed");
                }
                problem.into_event(self.form, self.id)
            }
            Poll::Ready(None) => {
                self.over = true;
                return Poll::Ready(None);
            }
            Poll::Pending => {
                if Pin::new(&mut self.silence).poll(cx).is_pending() {
                    return Poll::Pending;
                }
                Bytes::from_static(if self.begun && self.form == Form::Messages { PING } else { COMMENT })
            }
        };
        self.silence = self.clock.pause(self.every);
        // So that the new timer is known to the task; it cannot have run out yet.
        let _ = Pin::new(&mut self.silence).poll(cx);
        Poll::Ready(Some(piece))
    }
}

/// Each event's lines and a blank one.
pub(crate) fn framed(events: &[Sse]) -> Bytes {
    let length = |event: &Sse| event.data.len() + event.event.as_ref().map_or(0, String::len) + 24;
    let mut out = BytesMut::with_capacity(events.iter().map(length).sum());
    for event in events {
        if let Some(name) = &event.event {
            out.put_slice(b"event: ");
            out.put_slice(name.as_bytes());
            out.put_u8(b'\n');
        }
        for line in event.data.split('\n') {
            out.put_slice(b"data: ");
            out.put_slice(line.as_bytes());
            out.put_u8(b'\n');
        }
        out.put_u8(b'\n');
    }
    out.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_framed_line_by_line() {
        let event =
            |name: Option<&str>, data: &str| Sse { event: name.map(str::to_owned), data: data.into() };
        let check = |events: &[Sse], expected: &str| assert_eq!(framed(events), expected);
        check(&[], "");
        check(&[event(None, "{}")], "data: {}\n\n");
        check(&[event(Some("a"), "x"), event(None, "[DONE]")], "event: a\ndata: x\n\ndata: [DONE]\n\n");
        check(&[event(None, "one\ntwo")], "data: one\ndata: two\n\n");
        check(&[event(None, "")], "data: \n\n");
    }
}

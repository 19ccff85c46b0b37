//! Server-sent events of a streamed response: framing, keep-alives, and the error event that ends a failed
//! stream. A batch of events is written as one piece. Never knows what an event means, but for `POST /v1/responses`: its streams
//! end with `response.failed` and the whole object, which is made of the events that the client has.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{BufMut as _, Bytes, BytesMut};
use gatehouse_driver::{TextError, TextStream};
use gatehouse_model::{Clock, Pause, RequestId, Sse, UnixMs};
use http::{HeaderValue, Response, header};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::errors::{Form, Refusal};
use crate::response::ResponseBody;

/// A comment line: every client skips it, none takes it for an event.
const COMMENT: &[u8] = b": ping\n\n";
/// Batches in one piece; a fast provider may always have another.
const MAX_BATCHES: usize = 4;
/// The messages protocol has a ping event, allowed anywhere after the first event.
const PING: &[u8] = b"event: ping\ndata: {\"type\": \"ping\"}\n\n";

/// The body of a streamed response.
pub(crate) struct EventBody {
    stream: TextStream,
    form: Form,
    id: RequestId,
    clock: Arc<dyn Clock>,
    interval: Duration,
    /// Ends an interval after the last piece, or before: it is not begun again for each.
    keep_alive: Pause,
    /// When the last piece was.
    written: UnixMs,
    started: bool,
    ended: bool,
    /// What the client has of a response, which a failure repeats.
    sent: Option<SentResponse>,
    explain: fn(TextError) -> Refusal,
}

impl EventBody {
    /// Events of `stream`, a keep-alive after each `interval` without one, an error in the endpoint's `form`.
    pub(crate) fn new(
        stream: TextStream,
        form: Form,
        id: RequestId,
        clock: Arc<dyn Clock>,
        interval: Duration,
        explain: fn(TextError) -> Refusal,
    ) -> Self {
        let (keep_alive, written) = (clock.pause(interval), clock.now());
        let sent = (form == Form::Responses).then(SentResponse::default);
        let (started, ended) = (false, false);
        Self { stream, form, id, clock, interval, keep_alive, written, started, ended, sent, explain }
    }

    /// The response with this body.
    pub(crate) fn into_response(self) -> Response<ResponseBody> {
        response(ResponseBody::Stream(self.boxed_unsync()))
    }

    /// Whether nothing was written for an interval; otherwise the task is woken once that may be so.
    fn is_silent_too_long(&mut self, cx: &mut Context<'_>) -> bool {
        while self.keep_alive.as_mut().poll(cx).is_ready() {
            let rest = self.interval.saturating_sub(self.clock.now().since(self.written));
            self.keep_alive = self.clock.pause(if rest.is_zero() { self.interval } else { rest });
            if rest.is_zero() {
                // Registers the task with the new timer.
                let _ = self.keep_alive.as_mut().poll(cx);
                return true;
            }
        }
        false
    }

    /// The error event that ends the stream.
    fn failure(&self, error: TextError) -> Bytes {
        let refusal = (self.explain)(error);
        if let Some(cause) = refusal.cause() {
            tracing::error!(request = %self.id, cause, "a stream failed");
        }
        if let Some(sent) = &self.sent {
            let (name, data) = sent.failed(&refusal.in_response());
            return frame(&[Sse { event: Some(name.to_owned()), data: data.to_string() }]).freeze();
        }
        let name: &[u8] = if self.form == Form::Messages { b"event: error\n" } else { b"" };
        [name, b"data: ", &refusal.body(self.form, self.id), b"\n\n"].concat().into()
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let (mut events, mut failure, mut batches) = (vec![], None, 0);
        while batches < MAX_BATCHES || events.is_empty() {
            batches += 1;
            match self.stream.poll_next(cx) {
                Poll::Ready(Some(Ok(mut batch))) => events.append(&mut batch),
                Poll::Ready(Some(Err(error))) => {
                    (self.ended, failure) = (true, Some(error));
                    break;
                }
                // Known together with the last events, it costs no write of its own.
                Poll::Ready(None) => {
                    self.ended = true;
                    break;
                }
                Poll::Pending => break,
            }
        }
        if let Some(sent) = &mut self.sent {
            sent.add(&events);
        }
        let mut piece = frame(&events);
        if let Some(error) = failure {
            piece.put(self.failure(error));
        }
        if piece.is_empty() {
            if self.ended {
                return Poll::Ready(None);
            }
            if !self.is_silent_too_long(cx) {
                return Poll::Pending;
            }
            let has_begun = self.started && self.form == Form::Messages;
            piece.put_slice(if has_begun { PING } else { COMMENT });
        } else {
            self.started = true;
        }
        self.written = self.clock.now();
        Poll::Ready(Some(Ok(Frame::data(piece.freeze()))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }
}

/// A response of events.
pub(crate) fn response(events: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(events);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // A reverse proxy that buffers would deliver the stream as one late response.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Each event's lines and a blank one.
pub(crate) fn frame(events: &[Sse]) -> BytesMut {
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
    out
}

/// What the client has of a response.
#[derive(Debug, Default)]
struct SentResponse {
    /// Events, and so the number of the next one.
    events: u64,
    /// The response as it began; `None` before the first event.
    began: Option<Value>,
    /// Its finished items.
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Began {
    response: Value,
}

#[derive(Deserialize)]
struct Done {
    item: Box<RawValue>,
}

impl SentResponse {
    /// Takes note of events that go to the client.
    fn add(&mut self, events: &[Sse]) {
        for event in events {
            self.events += 1;
            match event.event.as_deref() {
                Some("response.created") => {
                    self.began = serde_json::from_str(&event.data).ok().map(|began: Began| began.response);
                }
                Some("response.output_item.done") => {
                    self.items.extend(serde_json::from_str(&event.data).ok().map(|done: Done| done.item));
                }
                _ => {}
            }
        }
    }

    /// The name and the data of the last event. Before a response has begun it is a plain error, which
    /// every client of the protocol reads.
    fn failed(&self, error: &Value) -> (&'static str, Value) {
        let Some(began) = &self.began else {
            return ("error", json!({"type": "error", "sequence_number": self.events, "error": error}));
        };
        let mut response = began.clone();
        response["status"] = "failed".into();
        response["error"] = error.clone();
        let items = self.items.iter().map(|item| serde_json::from_str(item.get()).unwrap_or(Value::Null));
        response["output"] = items.collect::<Vec<Value>>().into();
        let kind = "response.failed";
        (kind, json!({"type": kind, "sequence_number": self.events, "response": response}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_framed_line_by_line() {
        let event =
            |name: Option<&str>, data: &str| Sse { event: name.map(str::to_owned), data: data.into() };
        let check = |events: &[Sse], expected: &str| assert_eq!(frame(events), expected);
        check(&[], "");
        check(&[event(None, "{}")], "data: {}\n\n");
        check(&[event(Some("a"), "x"), event(None, "[DONE]")], "event: a\ndata: x\n\ndata: [DONE]\n\n");
        check(&[event(None, "one\ntwo")], "data: one\ndata: two\n\n");
        check(&[event(None, "")], "data: \n\n");
    }
}

//! A provider of text that does nothing but answer, in both protocols: one body, or a stream of as many events as
//! it was told, each written on its own. It speaks only as much of the
//! wire format as the text service reads, and shares no code with anything.

use std::convert::Infallible;
use std::net::SocketAddr;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use gatehouse_harness::serve_http;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response};
use tokio::sync::watch;

use crate::arguments::Protocol;

/// Events of text in a stream, beside those that frame it.
pub(crate) const EVENTS: usize = 50;

/// A running provider; it ends with the process.
pub(crate) struct TextProvider {
    pub(crate) address: SocketAddr,
    gate: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
}

impl TextProvider {
    /// Listens on a free port. Streams stop after their first text until [`TextProvider::open`], if `closed`.
    pub(crate) async fn start(closed: bool) -> Self {
        let gate = watch::Sender::new(!closed);
        let waiting = watch::Sender::new(0);
        let (opened, counted) = (gate.clone(), waiting.clone());
        let address = serve_http(move |request| answer(opened.clone(), counted.clone(), request)).await;
        Self { address, gate, waiting }
    }

    /// Releases all streams.
    pub(crate) fn open(&self) {
        self.gate.send_replace(true);
    }

    /// Returns once `count` streams wait for that.
    pub(crate) async fn wait_for(&self, count: usize) {
        let enough = |waiting: &usize| *waiting >= count;
        self.waiting.subscribe().wait_for(enough).await.expect("the provider lives");
    }
}

async fn answer(
    gate: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
    request: Request<Incoming>,
) -> Response<BoxBody<Bytes, Infallible>> {
    let protocol = Protocol::of_path(request.uri().path());
    let body = request.into_body().collect().await.expect("a whole request").to_bytes();
    let streamed = body.windows(13).any(|window| window == br#""stream":true"#);
    let (kind, body) = if streamed {
        ("text/event-stream; charset=utf-8", BoxBody::new(StreamBody::new(frames(protocol, gate, waiting))))
    } else {
        ("application/json", BoxBody::new(Full::new(whole(protocol).into())))
    };
    Response::builder().header("content-type", kind).body(body).expect("literal headers")
}

/// A stream's frames. It yields before each but the first, so that each is a write of its own, and stops behind the
/// frame, the beginning of a text and its first word until the gate opens.
fn frames(
    protocol: Protocol,
    gate: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    stream::iter(pieces(protocol)).enumerate().then(move |(at, piece)| {
        let (mut opened, waiting) = (gate.subscribe(), waiting.clone());
        async move {
            if at == 3 && !*opened.borrow() {
                waiting.send_modify(|waiting| *waiting += 1);
                // The provider outlives its streams.
                let _ = opened.wait_for(|open| *open).await;
            }
            if at > 0 {
                tokio::task::yield_now().await;
            }
            Ok(Frame::data(piece))
        }
    })
}

fn whole(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Messages => {
            r#"{"id":"msg_01","type":"message","role":"assistant","model":"bench","content":[{"type":"text","text":"The lamp is lit at dusk and goes out when the sun is up again."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":40,"output_tokens":16}}"#
        }
        Protocol::Chat => {
            r#"{"id":"chatcmpl-1","object":"chat.completion","created":1767225600,"model":"bench","choices":[{"index":0,"message":{"role":"assistant","content":"The lamp is lit at dusk and goes out when the sun is up again.","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":16,"total_tokens":56}}"#
        }
    }
}

/// A stream's events as they are on the wire.
fn pieces(protocol: Protocol) -> Vec<Bytes> {
    let mut pieces = Vec::with_capacity(EVENTS + 5);
    match protocol {
        Protocol::Messages => {
            let mut event = |name: &str, data: &str| {
                pieces.push(Bytes::from(format!("event: {name}\ndata: {data}\n\n")));
            };
            event(
                "message_start",
                r#"{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"bench","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":40,"output_tokens":1}}}"#,
            );
            event(
                "content_block_start",
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            );
            for number in 0..EVENTS {
                let data = format!(
                    r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":" word {number}"}}}}"#
                );
                event("content_block_delta", &data);
            }
            event("content_block_stop", r#"{"type":"content_block_stop","index":0}"#);
            event(
                "message_delta",
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":100}}"#,
            );
            event("message_stop", r#"{"type":"message_stop"}"#);
        }
        Protocol::Chat => {
            let chunk = |choices: &str, usage: &str| {
                Bytes::from(format!(
                    "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"bench\",\
                     \"choices\":[{choices}],\"usage\":{usage}}}\n\n"
                ))
            };
            let choice = |delta: &str, reason: &str| {
                format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{reason}}}"#)
            };
            pieces.push(chunk(&choice(r#"{"role":"assistant","content":""}"#, "null"), "null"));
            for number in 0..EVENTS {
                pieces.push(chunk(&choice(&format!(r#"{{"content":" word {number}"}}"#), "null"), "null"));
            }
            pieces.push(chunk(&choice("{}", r#""stop""#), "null"));
            pieces.push(chunk("", r#"{"prompt_tokens":40,"completion_tokens":100,"total_tokens":140}"#));
            pieces.push(Bytes::from_static(b"data: [DONE]\n\n"));
        }
    }
    pieces
}

//! A provider of text that does nothing but answer, in both protocols: one body, or a stream of as many events as
//! it was told, each written on its own. It speaks only as much of the
//! wire format as the text service reads, and shares no code with anything.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use memchr::memmem;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::arguments::Protocol;
use crate::http1;
use crate::server::{self, Received, Service};

/// Events of text in a stream, beside those that frame it.
pub(crate) const EVENTS: usize = 50;
/// The piece before which a closed gate stops a stream: its frame, the beginning of a text and its first word are out.
const GATE: usize = 3;

/// A running provider; it ends with the process.
pub(crate) struct TextProvider {
    pub(crate) address: SocketAddr,
    answers: Arc<Answers>,
}

/// What it answers, written beforehand.
struct Answers {
    chat: Answer,
    messages: Answer,
    gate: watch::Sender<bool>,
    waiting: watch::Sender<usize>,
}

/// One protocol's answers: whole, and each write of a stream.
struct Answer {
    whole: Vec<u8>,
    writes: Vec<Vec<u8>>,
}

impl TextProvider {
    /// Listens on a free port. Streams stop after their first text until [`TextProvider::open`], if `closed`.
    pub(crate) fn start(closed: bool) -> Self {
        let answers = Answers {
            chat: Answer::of(Protocol::Chat),
            messages: Answer::of(Protocol::Messages),
            gate: watch::Sender::new(!closed),
            waiting: watch::Sender::new(0),
        };
        let (address, answers) = server::start(|_| answers);
        Self { address, answers }
    }

    /// Releases all streams.
    pub(crate) fn open(&self) {
        self.answers.gate.send_replace(true);
    }

    /// Returns once `count` streams wait for that.
    pub(crate) async fn wait_for(&self, count: usize) {
        let enough = |waiting: &usize| *waiting >= count;
        self.answers.waiting.subscribe().wait_for(enough).await.expect("the provider lives");
    }
}

impl Answer {
    fn of(protocol: Protocol) -> Self {
        Self {
            whole: http1::answer("application/json", whole(protocol).as_bytes()),
            writes: http1::chunked("text/event-stream; charset=utf-8", &pieces(protocol)),
        }
    }
}

impl Service for Answers {
    const READS_BODIES: bool = true;

    async fn answer(&self, request: &Received, stream: &mut TcpStream) -> io::Result<()> {
        let answer = match Protocol::of_path(&request.path) {
            Protocol::Chat => &self.chat,
            Protocol::Messages => &self.messages,
        };
        if memmem::find(&request.body, br#""stream":true"#).is_none() {
            return stream.write_all(&answer.whole).await;
        }
        for (at, write) in answer.writes.iter().enumerate() {
            if at == GATE {
                self.pass_gate().await;
            }
            // Another stream's turn: what is written next is read on its own.
            if at > 0 {
                tokio::task::yield_now().await;
            }
            stream.write_all(write).await?;
        }
        Ok(())
    }
}

impl Answers {
    /// Waits until the gate is open, and is counted meanwhile.
    async fn pass_gate(&self) {
        let is_open = *self.gate.borrow();
        if !is_open {
            self.waiting.send_modify(|waiting| *waiting += 1);
            // The provider outlives its streams.
            let _ = self.gate.subscribe().wait_for(|open| *open).await;
        }
    }
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
fn pieces(protocol: Protocol) -> Vec<Vec<u8>> {
    let mut pieces = Vec::with_capacity(EVENTS + 5);
    match protocol {
        Protocol::Messages => {
            let mut event = |name: &str, data: &str| {
                pieces.push(format!("event: {name}\ndata: {data}\n\n").into_bytes());
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
                format!(
                    "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1767225600,\"model\":\"bench\",\
                     \"choices\":[{choices}],\"usage\":{usage}}}\n\n"
                )
                .into_bytes()
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
            pieces.push(b"data: [DONE]\n\n".to_vec());
        }
    }
    pieces
}

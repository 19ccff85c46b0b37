//! The family as the host meets it, state as bytes and bodies as text: natively through the SDK's own entry points,
//! and as the built component under the host's limits, which must agree to the byte.

mod answers;
mod checks;
mod chunks;
mod client_requests;
mod counts;
mod embeddings;
pub(crate) mod errors;
mod events;
mod field_names;
mod files;
mod fitting;
mod lost_content;
mod manifest;
mod pass_through;
mod priced_fields;
mod properties;
mod provider_forms;
mod responses;
mod thinking;
mod to_messages;
mod vendor_forms;
mod whole_answers;

use chat::{Chat, SURFACE};
use std::fmt::Display;
use std::sync::LazyLock;

use gatehouse_play::{Both, Component};
use gatehouse_sdk::{
    Answered, Call, Chunk, Context, Counter, Payload, Prepared, Protocol, Refusal, Reply, Sse, TextFailure,
    TextRequest, UnixMs, Usage,
};
use serde_json::{Value, json};

/// The public name, and the provider's.
const MODEL: &str = "lm-sonnet";
const UPSTREAM: &str = "provider-sonnet-1";

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("chat"));

/// Asks the native family and the component.
fn both() -> Both<'static> {
    Both::new(&COMPONENT, cx())
}

fn cx() -> Context {
    Context { seed: 0xabc, ..Context::at(UnixMs(1_790_000_000_500)) }
}

fn written(protocol: Protocol, rules: Value, body: &str) -> TextRequest {
    written_to(SURFACE, protocol, rules, &body)
}

fn written_to(surface: &str, protocol: Protocol, rules: Value, body: &dyn Display) -> TextRequest {
    crate::text_request(surface, body, crate::route(MODEL, UPSTREAM, protocol, rules))
}

/// A good request with `fields` over it.
fn body(fields: Value) -> Value {
    crate::over(json!({"model": MODEL, "messages": [{"role": "user", "content": "hi"}]}), fields)
}

fn asked(protocol: Protocol, rules: Value, fields: Value) -> TextRequest {
    written_to(SURFACE, protocol, rules, &body(fields))
}

fn prepared(text_request: TextRequest) -> Prepared<Vec<u8>> {
    let said = text_request.body.clone();
    both().prepare::<Chat>(&text_request).unwrap_or_else(|refusal| panic!("{said}: {refusal:?}"))
}

fn refusal(text_request: TextRequest) -> (String, String) {
    let said = text_request.body.clone();
    match both().prepare::<Chat>(&text_request) {
        Err(Refusal::Invalid { field, message }) => (field.unwrap_or_default(), message),
        other => panic!("{said}: {other:?}"),
    }
}

fn text_of(call: &Call) -> &str {
    match &call.body {
        Payload::Json(json) => json,
        other => panic!("{other:?}"),
    }
}

/// The body of the call.
fn sent(protocol: Protocol, rules: Value, fields: Value) -> Value {
    prepared(asked(protocol, rules, fields)).call.json_body()
}

/// The state of a prepared request.
fn state(protocol: Protocol, fields: Value) -> Vec<u8> {
    prepared(asked(protocol, json!({}), fields)).state
}

/// The same of a stream, whose client reads counts where it is `counted`.
fn streaming(protocol: Protocol, counted: bool) -> Vec<u8> {
    let mut fields = json!({"stream": true});
    if counted {
        fields["stream_options"] = json!({"include_usage": true});
    }
    state(protocol, fields)
}

fn reply(status: u16, body: &str) -> Reply {
    Reply::raw(status, body)
}

fn answer(protocol: Protocol, status: u16, body: &str) -> Result<Answered, TextFailure> {
    both().answer::<Chat>(&state(protocol, json!({})), &reply(status, body))
}

/// A whole stream: what the client and the host read.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    data: Vec<String>,
    usage: Option<Usage>,
    counters: Vec<Counter>,
    written: u32,
    last: bool,
    stopped: Option<TextFailure>,
}

impl Heard {
    fn take(&mut self, chunk: Result<Chunk, TextFailure>) {
        match chunk {
            Ok(chunk) => {
                assert!(chunk.send.is_empty() || !self.last, "nothing follows the terminal event");
                for event in chunk.send {
                    let data = serde_json::from_str::<Value>(&event.data).unwrap_or_default();
                    let named = data["type"].as_str().filter(|kind| kind.starts_with("response."));
                    assert_eq!(
                        event.event.as_deref(),
                        named,
                        "chunks have no names, events of a response have theirs"
                    );
                    self.data.push(event.data);
                }
                if chunk.usage.is_some() {
                    (self.usage, self.counters) = (chunk.usage, chunk.counters);
                }
                self.written += chunk.output_bytes;
                self.last |= chunk.last;
            }
            Err(rejection) => self.stopped = Some(rejection),
        }
    }

    /// The chunks, read; `[DONE]` must be the last and is left out.
    fn chunks(&self) -> Vec<Value> {
        let (done, chunks) = self.data.split_last().expect("something was sent");
        assert_eq!((done.as_str(), self.last, &self.stopped), ("[DONE]", true, &None), "{self:?}");
        chunks.iter().map(|data| serde_json::from_str(data).expect("a chunk is JSON")).collect()
    }

    /// The deltas and the reason, as far as they say something.
    fn deltas(&self) -> Vec<Value> {
        let choices = self.chunks().into_iter().filter_map(|mut chunk| match &mut chunk["choices"] {
            Value::Array(choices) if !choices.is_empty() => Some(choices.remove(0)),
            _ => None,
        });
        choices
            .map(|choice| match &choice["finish_reason"] {
                Value::Null => choice["delta"].clone(),
                reason => json!({"delta": choice["delta"], "finish": reason}),
            })
            .collect()
    }
}

/// Pushes `events` in pieces of `size`, then ends, as a host does.
fn relayed(state: &[u8], events: &[Sse], size: usize) -> Heard {
    let batches: Vec<_> = events.chunks(size).map(<[Sse]>::to_vec).collect();
    let mut heard = Heard::default();
    for said in both().relay::<Chat>(state, &batches) {
        heard.take(said);
    }
    heard
}

/// A stream whose client reads no counts, event by event.
fn streamed(protocol: Protocol, events: &[Sse]) -> Heard {
    relayed(&streaming(protocol, false), events, 1)
}

/// Events as a chat provider writes them.
fn data(lines: &[impl AsRef<str>]) -> Vec<Sse> {
    lines.iter().map(|line| Sse { event: None, data: line.as_ref().to_owned() }).collect()
}

/// Events as a messages provider writes them: each under the name of its type.
fn named(lines: &[Value]) -> Vec<Sse> {
    lines.iter().map(crate::named).collect()
}

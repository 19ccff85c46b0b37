//! The family as the host calls it: requests prepared, answers read, streams relayed, each natively through the SDK's
//! own entry points and by the built component under the host's limits, which must agree to the byte.

mod agents;
mod answers;
mod block_assembly;
mod chat_requests;
mod checks;
mod counts;
mod errors;
mod files;
mod letter_case;
mod lost_content;
mod newer_clients;
mod pass_through;
mod prefill;
mod properties;
mod provider_forms;
mod streaming;
mod tool_words;
mod whole_messages;

use std::fmt::Display;
use std::sync::LazyLock;

use gatehouse_play::{Both, Component};
use gatehouse_sdk::{
    Call, Chunk, Context, Counter, Family, Payload, Prepared, Protocol, Refusal, Relay, Reply, Sse,
    TextFailure, TextRequest, UnixMs, Usage, Verdict, run,
};
use messages::{Messages, SURFACE};
use serde_json::{Value, json};

/// The public id of every route here.
const MODEL: &str = "lm-sonnet-4-6";

static COMPONENT: LazyLock<Component> = LazyLock::new(|| crate::component("messages"));

/// Asks the native family and the component.
fn both() -> Both<'static> {
    Both::new(&COMPONENT, cx())
}

fn cx() -> Context {
    Context::at(UnixMs(1_767_225_600_000))
}

/// A request by the public model over a route of that protocol and those rules.
fn text_request(body: &dyn Display, protocol: Protocol, rules: Value) -> TextRequest {
    crate::text_request(SURFACE, body, crate::route(MODEL, "upstream-model", protocol, rules))
}

/// A good request with `fields` over it.
fn body(fields: Value) -> Value {
    let message = json!({"role": "user", "content": "hello"});
    crate::over(json!({"model": MODEL, "max_tokens": 4096, "messages": [message]}), fields)
}

fn prepare(body: &Value, protocol: Protocol, rules: Value) -> Result<Prepared<Vec<u8>>, Refusal> {
    both().prepare::<Messages>(&text_request(body, protocol, rules))
}

/// What is sent of a good request.
fn sent(fields: Value, protocol: Protocol, rules: Value) -> Value {
    prepare(&body(fields), protocol, rules).expect("the request is good").call.json_body()
}

fn written(call: &Call) -> String {
    match &call.body {
        Payload::Json(json) => json.clone(),
        other => panic!("expected a written body, got {other:?}"),
    }
}

/// The sentence of a refusal.
fn refused(body: &Value, protocol: Protocol, rules: Value) -> String {
    match prepare(body, protocol, rules) {
        Err(Refusal::Invalid { message, .. }) => message,
        other => panic!("expected a refusal of {body}, got {other:?}"),
    }
}

/// The state of a good request, thinking or not.
fn state(protocol: Protocol, thinking: bool) -> Vec<u8> {
    let fields = if thinking {
        json!({"stream": true, "thinking": {"type": "enabled", "budget_tokens": 1024}})
    } else {
        json!({"stream": true})
    };
    prepare(&body(fields), protocol, json!({})).expect("the request is good").state
}

/// The client's message, made of a provider's answer.
fn answered(protocol: Protocol, thinking: bool, got: &Value) -> (Value, Option<Usage>, u32) {
    let answer = both().answer::<Messages>(&state(protocol, thinking), &Reply::new(200, got));
    let answered = answer.expect("the answer is good");
    let usage = crate::together(answered.usage, &answered.counters);
    (serde_json::from_str(&answered.body).expect("JSON"), usage, answered.output_bytes)
}

fn rejected(protocol: Protocol, status: u16, got: &Value) -> TextFailure {
    let answer = both().answer::<Messages>(&state(protocol, false), &Reply::new(status, got));
    answer.expect_err("the answer is bad")
}

/// Frames without a name, as chat providers send them.
fn frames(data: &[Value]) -> Vec<Sse> {
    data.iter().map(|data| Sse { event: None, data: data.to_string() }).collect()
}

/// The same with their end.
fn ended(data: &[Value]) -> Vec<Sse> {
    let mut events = frames(data);
    events.push(done());
    events
}

fn done() -> Sse {
    Sse { event: None, data: "[DONE]".to_owned() }
}

/// A whole stream: everything sent, the last counts known, all that was written, and whether it ended.
#[derive(Clone, Debug, Default, PartialEq)]
struct Played {
    sent: Vec<Sse>,
    usage: Option<Usage>,
    counters: Vec<Counter>,
    written: u32,
    last: bool,
}

impl Played {
    fn take(&mut self, chunk: Chunk) {
        assert!(!self.last || chunk.send.is_empty(), "nothing follows the terminal event");
        self.sent.extend(chunk.send);
        if chunk.usage.is_some() {
            (self.usage, self.counters) = (chunk.usage, chunk.counters);
        }
        self.written += chunk.output_bytes;
        self.last |= chunk.last;
    }

    /// The events' JSON.
    fn events(&self) -> Vec<Value> {
        self.sent.iter().map(|sse| serde_json::from_str(&sse.data).expect("an event is JSON")).collect()
    }

    /// The events' names, which every client reads them by.
    fn names(&self) -> Vec<&str> {
        self.sent.iter().map(|sse| sse.event.as_deref().expect("an event has a name")).collect()
    }
}

/// Plays a stream, in pushes of the sizes given, the rest in one.
fn play_in(state: &[u8], events: &[Sse], sizes: &[usize]) -> Result<Played, TextFailure> {
    match play_until(state, events, sizes) {
        (played, None) => Ok(played),
        (_, Some(rejection)) => Err(rejection),
    }
}

/// The same, with what came before it failed, if it did.
fn play_until(state: &[u8], events: &[Sse], sizes: &[usize]) -> (Played, Option<TextFailure>) {
    let mut batches = Vec::new();
    let mut rest = events;
    for size in sizes.iter().copied().chain([usize::MAX]) {
        let (now, later) = rest.split_at(size.min(rest.len()));
        rest = later;
        if !now.is_empty() {
            batches.push(now.to_vec());
        }
    }
    let _ = both().relay::<Messages>(state, &batches);
    // More than a host does: events after the end change nothing.
    let mut relay = run::relay::<Messages>(&cx(), state);
    let mut played = Played::default();
    for batch in batches {
        match relay.push(batch) {
            Ok(chunk) => played.take(chunk),
            Err(rejection) => return (played, Some(rejection)),
        }
    }
    match relay.end() {
        Ok(chunk) => played.take(chunk),
        Err(rejection) => return (played, Some(rejection)),
    }
    (played, None)
}

/// Plays a stream event by event.
fn play(state: &[u8], events: &[Sse]) -> Played {
    play_in(state, events, &vec![1; events.len()]).expect("the stream is good")
}

#[test]
fn the_self_tests_hold() {
    let about = Messages::about();
    assert_eq!((about.family.as_str(), about.models.len(), about.providers.len()), ("messages", 0, 0));
    assert_eq!(about.surfaces[0].default_model.as_deref(), Some(MODEL));
    let schema = about.surfaces[0].parsed_schema();
    let properties = schema["properties"].as_object().expect("a schema of an object");
    assert_eq!(properties.len(), 13);
    for test in about.self_tests {
        let body = &serde_json::from_str(&test.body).expect("JSON");
        for protocol in [Protocol::Messages, Protocol::Chat] {
            let verdict = match prepare(body, protocol, json!({})) {
                Ok(_) => Verdict::Accepted,
                Err(_) => Verdict::Refused,
            };
            assert_eq!(verdict, test.expect, "{protocol:?}: {body}");
        }
    }
}

//! Requests to the text providers in their two protocols, and their answers.

use crate::text::{Received, TextRecord};
use serde_json::{Value, json};

use crate::tests::client::{Connection, JSON, KEY, Response, TestSandbox, open};

pub(crate) const X_KEY: (&str, &str) = ("x-api-key", KEY);
pub(crate) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer sandbox-key");

/// One of the two protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Messages,
}

pub(crate) const BOTH: [Wire; 2] = [Wire::Chat, Wire::Messages];

impl Wire {
    /// Either value, by protocol.
    pub(crate) fn pick<T>(self, chat: T, messages: T) -> T {
        if self == Self::Chat { chat } else { messages }
    }
}

impl TestSandbox {
    pub(crate) fn record(&self, wire: Wire) -> TextRecord {
        wire.pick(self.sandbox.chat_record(), self.sandbox.messages_record())
    }

    pub(crate) fn last(&self, wire: Wire) -> Received {
        self.record(wire).requests.pop().expect("a request")
    }

    /// With a good key and the usual headers.
    pub(crate) async fn ask(&self, wire: Wire, body: &Value) -> Response {
        self.open(wire, body).await.try_read().await.expect("a reply")
    }

    pub(crate) async fn open(&self, wire: Wire, body: &Value) -> Connection {
        let body = body.to_string();
        match wire {
            Wire::Chat => self.send("POST", wire, "/v1/chat/completions", &[BEARER, JSON], body).await,
            Wire::Messages => self.send("POST", wire, "/v1/messages", &[X_KEY, VERSION, JSON], body).await,
        }
    }

    pub(crate) async fn post(
        &self,
        wire: Wire,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Response {
        self.send("POST", wire, path, headers, body).await.try_read().await.expect("a reply")
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        wire: Wire,
        path: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) -> Connection {
        let origin = &wire.pick(self.sandbox.chat(), self.sandbox.messages()).origin;
        open(method, &format!("{origin}{path}"), headers, body).await.expect("connects")
    }
}

/// A question of one user, whole or streamed.
pub(crate) fn question(wire: Wire, text: &str, stream: bool) -> Value {
    let messages = json!([{ "role": "user", "content": text }]);
    match wire {
        Wire::Chat => json!({ "model": "gpt-sim", "messages": messages, "stream": stream }),
        Wire::Messages => {
            json!({ "model": "claude-sonnet-4-6", "max_tokens": 1000, "messages": messages, "stream": stream })
        }
    }
}

/// The same object with other fields; null takes one away.
pub(crate) fn with(mut base: Value, change: &Value) -> Value {
    for (name, value) in change.as_object().expect("an object") {
        if value.is_null() {
            base.as_object_mut().expect("an object").remove(name);
        } else {
            base[name] = value.clone();
        }
    }
    base
}

/// As a change to a question: another conversation.
pub(crate) fn turns(turns: &[(&str, Value)]) -> Value {
    let turns = turns.iter().map(|(role, content)| json!({ "role": role, "content": content }));
    json!({ "messages": turns.collect::<Vec<_>>() })
}

/// As a change to a question: one message of the user.
pub(crate) fn user(content: Value) -> Value {
    turns(&[("user", content)])
}

pub(crate) fn words(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).expect("few")
}

/// A server-sent event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) data: String,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|_| panic!("not JSON: {}", self.data))
    }
}

/// The events of a body; comments are skipped, a frame without its blank line is lost.
pub(crate) fn events(reply: &Response) -> Vec<Event> {
    let text = reply.text().replace("\r\n", "\n");
    let Some((whole, _)) = text.rsplit_once("\n\n") else { return Vec::new() };
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    let frames = whole.split("\n\n").filter(|frame| frame.contains("data: "));
    frames.map(|frame| Event { name: field(frame, "event: "), data: field(frame, "data: ") }).collect()
}

/// The data of a stream's events, without the `[DONE]` that ends a chat's.
pub(crate) fn bodies(reply: &Response) -> Vec<Value> {
    events(reply).iter().filter(|event| event.data != "[DONE]").map(Event::json).collect()
}

/// What the pieces of a stream make together, each at `pointer`.
pub(crate) fn joined(reply: &Response, pointer: &str) -> String {
    let bodies = bodies(reply);
    bodies.iter().filter_map(|body| body.pointer(pointer)?.as_str()).collect()
}

/// All the text of an answer, whichever way it came.
pub(crate) fn answer_text(wire: Wire, reply: &Response) -> String {
    if reply.header("content-type").starts_with("text/event-stream") {
        return joined(reply, wire.pick("/choices/0/delta/content", "/delta/text"));
    }
    let body = reply.json();
    match wire {
        Wire::Chat => body["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned(),
        Wire::Messages => {
            let blocks = body["content"].as_array().expect("blocks");
            blocks.iter().filter_map(|block| block["text"].as_str()).collect()
        }
    }
}

//! A gateway with two models, each served by two accounts, and streams read line by line as a client has them.

use gatehouse_harness::{Caller, Connection, Gateway, until};
use gatehouse_sandbox::Sandbox;
use gatehouse_sandbox::text::TextRecord;
use serde_json::{Value, json};

use crate::gateways::{setup, usual_sandbox};

/// Calls that each provider's account allows at a time.
const LIMIT: u32 = 64;

/// The protocol of a client or a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Messages,
}

/// Each client protocol over each provider protocol.
pub(crate) const CROSSINGS: [(Wire, Wire); 4] = [
    (Wire::Messages, Wire::Messages),
    (Wire::Messages, Wire::Chat),
    (Wire::Chat, Wire::Chat),
    (Wire::Chat, Wire::Messages),
];

impl Wire {
    pub(crate) fn path(self) -> &'static str {
        if self == Self::Chat { "/v1/chat/completions" } else { "/v1/messages" }
    }

    /// The model whose provider has this protocol.
    pub(crate) fn model(self) -> &'static str {
        if self == Self::Chat { "over-chat" } else { "over-messages" }
    }
}

/// A request for a model of that provider.
pub(crate) fn request(provider: Wire, text: &str, streaming: bool) -> Value {
    request_on(Wire::Chat.path(), provider.model(), text, streaming)
}

/// The surfaces of text.
pub(crate) const SURFACES: [&str; 3] = ["/v1/chat/completions", "/v1/messages", "/v1/responses"];

/// A request on that surface for a model.
pub(crate) fn request_on(surface: &str, model: &str, text: &str, streaming: bool) -> Value {
    if surface == "/v1/responses" {
        return json!({"model": model, "max_output_tokens": 500, "stream": streaming, "input": text});
    }
    let messages = json!([{"role": "user", "content": text}]);
    json!({"model": model, "max_tokens": 500, "stream": streaming, "messages": messages})
}

/// A chunk of a chat provider's stream.
pub(crate) fn chunk(delta: &Value, reason: Option<&str>) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

/// A provider's stream of these events, with the names that some have.
pub(crate) fn frames(events: &[Value]) -> String {
    let frame = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(frame).collect()
}

pub(crate) struct Scene {
    pub(crate) gateway: Gateway,
    pub(crate) sandbox: Sandbox,
    pub(crate) caller: Caller,
}

impl Scene {
    /// Starts all of it, with `more` configuration. Keep-alives come every second.
    pub(crate) async fn start(more: &str) -> Self {
        let sandbox = usual_sandbox().await;
        let (messages, chat) = (&sandbox.messages().origin, &sandbox.chat().origin);
        let accounts = ["first", "second"];
        let setup = setup(&sandbox)
            .with("[server.limits]\nkeep_alive_seconds = 1\n\n")
            .with_provider("messages", messages, "{ header = \"x-api-key\" }", LIMIT, &accounts)
            .with_provider("chat", chat, "\"bearer\"", LIMIT, &accounts)
            .with_model(Wire::Messages.model(), "messages", "messages", "claude-sonnet-4-6", "")
            .with_model(Wire::Chat.model(), "chat", "chat", "gpt-sim", "")
            .with(more);
        let gateway = Gateway::start(setup).await;
        let caller = gateway.open_account("main", "1000").await;
        Self { gateway, sandbox, caller }
    }

    pub(crate) fn record(&self, wire: Wire) -> TextRecord {
        if wire == Wire::Chat { self.sandbox.chat_record() } else { self.sandbox.messages_record() }
    }

    /// Releases the answers once so many are held up, by either provider.
    pub(crate) async fn release(&self, held: usize) {
        self.until_held(held).await;
        self.sandbox.release();
    }

    /// Waits until so many answers are held up.
    pub(crate) async fn until_held(&self, held: usize) {
        until("answers are held up", async || {
            self.record(Wire::Chat).held + self.record(Wire::Messages).held >= held
        })
        .await;
    }

    /// Micro-credits spent, once nothing is held.
    pub(crate) async fn spent(&self) -> i64 {
        self.gateway.account_without_holds("main").await["spent"].as_i64().expect("an amount")
    }

    /// The sum of a counter over its labels.
    pub(crate) async fn counter(&self, name: &str) -> u64 {
        let page = self.gateway.metrics().await;
        let values =
            page.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix('{')?.split(' ').nth(1));
        values.map(|value| value.parse::<u64>().expect("a count")).sum()
    }

    /// Sends a request, and does not wait for the answer.
    pub(crate) async fn send(&self, client: Wire, body: &Value) -> Receiving {
        self.send_as(&self.caller, client, body).await
    }

    /// The same with another key.
    pub(crate) async fn send_as(&self, caller: &Caller, client: Wire, body: &Value) -> Receiving {
        let headers = [("x-response-format", "bare"), ("connection", "close")];
        let connection = caller.at(self.gateway.public).begin(&headers, client.path(), body).await;
        Receiving { connection, client }
    }
}

/// An answer that is being received.
pub(crate) struct Receiving {
    connection: Connection,
    client: Wire,
}

impl Receiving {
    /// Everything so far, head and framing included.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(self.connection.ahead()).into_owned()
    }

    /// Reads until `what` has come.
    pub(crate) async fn until(&mut self, what: &str) {
        self.connection.until(what).await;
    }

    /// Reads to the end.
    pub(crate) async fn end(mut self) -> Answer {
        let response = self.connection.read().await.expect("an answer");
        Answer { status: response.status, body: response.text(), client: self.client }
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    client: Wire,
}

impl Answer {
    /// The data of every event, `[DONE]` left out.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")))
            .collect()
    }

    /// The text of a stream that ended in order.
    pub(crate) fn streamed_text(&self) -> String {
        let end =
            if self.client == Wire::Chat { "data: [DONE]\n\n" } else { "{\"type\":\"message_stop\"}\n\n" };
        let ends = self.body.replace(' ', "").ends_with(&end.replace(' ', ""));
        assert!(self.status == 200 && ends && !self.body.contains("\"error\""), "{self:?}");
        self.delivered_text()
    }

    /// The text of a stream, however it ended.
    pub(crate) fn delivered_text(&self) -> String {
        let text = |event: &Value| match self.client {
            Wire::Chat => event["choices"][0]["delta"]["content"].as_str().map(str::to_owned),
            Wire::Messages => event["delta"]["text"].as_str().map(str::to_owned),
        };
        self.events().iter().filter_map(text).collect()
    }

    /// The text of a whole answer.
    pub(crate) fn whole_text(&self) -> String {
        let answer: Value = serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"));
        let text = match self.client {
            Wire::Chat => &answer["choices"][0]["message"]["content"],
            Wire::Messages => &answer["content"][0]["text"],
        };
        text.as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

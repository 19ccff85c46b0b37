//! A gateway with two models, each served by two accounts, and streams read line by line as a client has them.

use std::time::{Duration, Instant};

use gatehouse_harness::{Caller, Gateway, Setup};
use gatehouse_sandbox::text::TextRecord;
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long anything may take to become true.
const PATIENCE: Duration = Duration::from_secs(60);

/// What clients and providers speak.
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

    /// The model whose provider speaks it.
    fn model(self) -> &'static str {
        if self == Self::Chat { "over-chat" } else { "over-messages" }
    }
}

/// A request of that client over that provider.
pub(crate) fn asked(provider: Wire, text: &str, streaming: bool) -> Value {
    let messages = json!([{"role": "user", "content": text}]);
    json!({"model": provider.model(), "max_tokens": 500, "stream": streaming, "messages": messages})
}

pub(crate) struct Scene {
    pub(crate) house: Gateway,
    pub(crate) sandbox: Sandbox,
    pub(crate) caller: Caller,
}

impl Scene {
    /// Starts all of it, with `more` configuration. Keep-alives come every second.
    pub(crate) async fn start(more: &str) -> Self {
        let sandbox = Sandbox::start(Settings::default()).await.expect("a sandbox");
        let context = serde_json::to_value(sandbox.context()).expect("addresses");
        let setup = Setup::new(env!("CARGO_BIN_EXE_gatehouse"), &context)
            .with("[server.limits]\nkeep_alive_seconds = 1\n\n")
            .with(&tables(&sandbox))
            .with(more);
        let house = Gateway::start(setup).await;
        let caller = house.open_account("main", "1000").await;
        Self { house, sandbox, caller }
    }

    pub(crate) fn truth(&self, wire: Wire) -> TextRecord {
        if wire == Wire::Chat { self.sandbox.chat_record() } else { self.sandbox.messages_record() }
    }

    /// Lets go once so many answers are held up, by either provider.
    pub(crate) async fn release(&self, held: usize) {
        until("answers are held up", async || {
            self.truth(Wire::Chat).held + self.truth(Wire::Messages).held >= held
        })
        .await;
        self.sandbox.release();
    }

    /// Micro-credits spent, once nothing is held.
    pub(crate) async fn spent(&self) -> i64 {
        let start = Instant::now();
        loop {
            let account = self.house.account("main").await;
            if account["reserved"] == 0 {
                return account["spent"].as_i64().expect("an amount");
            }
            assert!(start.elapsed() < PATIENCE, "money is still held: {account}");
        }
    }

    /// Sends a request and waits for nothing.
    pub(crate) async fn send(&self, client: Wire, body: &Value) -> Heard {
        let (path, bearer, body) = (client.path(), self.caller.bearer(), body.to_string());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: gate.test\r\nAuthorization: {bearer}\r\nX-Response-Format: bare\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut line = TcpStream::connect(self.house.public).await.expect("a connection");
        line.write_all(request.as_bytes()).await.expect("taken");
        Heard { line, seen: Vec::new(), client }
    }
}

/// What a client has of an answer.
pub(crate) struct Heard {
    line: TcpStream,
    seen: Vec<u8>,
    client: Wire,
}

impl Heard {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    async fn read(&mut self) -> bool {
        self.line.read_buf(&mut self.seen).await.expect("the gateway ends its answers in order") > 0
    }

    /// Reads until `what` has come.
    pub(crate) async fn until(&mut self, what: &str) {
        while !self.text().contains(what) {
            assert!(self.read().await, "no {what:?} in {}", self.text());
        }
    }

    /// Reads to the end: the status, and the body without its chunks' sizes.
    pub(crate) async fn end(mut self) -> Said {
        while self.read().await {}
        let text = self.text();
        let status = text.get(9..12).and_then(|digits| digits.parse().ok()).expect("a status");
        let (head, mut body) = text.split_once("\r\n\r\n").expect("a head");
        let mut said = String::new();
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            while let Some((size, rest)) = body.split_once("\r\n") {
                let size = usize::from_str_radix(size, 16).expect("a chunk's size");
                said += &rest[..size];
                body = rest[size..].trim_start_matches("\r\n");
            }
        } else {
            body.clone_into(&mut said);
        }
        Said { status, body: said, client: self.client }
    }
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) body: String,
    client: Wire,
}

impl Said {
    /// What every event carries, `[DONE]` left out.
    pub(crate) fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}")))
            .collect()
    }

    /// The text of a stream that has come to its end in order.
    pub(crate) fn streamed_text(&self) -> String {
        let end =
            if self.client == Wire::Chat { "data: [DONE]\n\n" } else { "{\"type\":\"message_stop\"}\n\n" };
        let ends = self.body.replace(' ', "").ends_with(&end.replace(' ', ""));
        assert!(self.status == 200 && ends && !self.body.contains("\"error\""), "{self:?}");
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

/// Waits until it is so.
pub(crate) async fn until(what: &str, so: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !so().await {
        assert!(start.elapsed() < PATIENCE, "still not so: {what}");
        tokio::task::yield_now().await;
    }
}

fn tables(sandbox: &Sandbox) -> String {
    let mut tables = String::new();
    for (wire, protocol, upstream, origin, auth) in [
        (
            Wire::Messages,
            "messages",
            "claude-sonnet-4-6",
            &sandbox.messages().origin,
            "{ header = \"x-api-key\" }",
        ),
        (Wire::Chat, "chat", "gpt-sim", &sandbox.chat().origin, "\"bearer\""),
    ] {
        tables += &format!("[providers.{protocol}]\nbase_url = \"{origin}\"\nauth = {auth}\n\n");
        for (priority, account) in ["first", "second"].into_iter().enumerate() {
            tables += &format!(
                "[providers.{protocol}.accounts.{account}]\nsecret = {{ file = \"SECRET\" }}\npriority = {priority}\n\n"
            );
        }
        tables += &format!(
            "[models.\"{}\"]\nprovider = \"{protocol}\"\nprotocol = \"{protocol}\"\nupstream = \"{upstream}\"\n\
             prices = {{ input = \"2\", cached = \"1\", cache_write = \"3\", output = \"5\" }}\n\n",
            wire.model()
        );
    }
    tables
}

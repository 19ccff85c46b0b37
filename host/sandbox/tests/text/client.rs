//! A text provider under a virtual clock, and a client that sees every byte: heads, chunks, and how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gatehouse_sandbox::text::{Received, TextRecord};
use gatehouse_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// 2026-01-01T00:00:00Z.
pub(crate) const START_MS: u64 = 1_767_225_600_000;
pub(crate) const KEY: &str = "sandbox-key";
pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const X_KEY: (&str, &str) = ("x-api-key", KEY);
pub(crate) const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
pub(crate) const NEWER: (&str, &str) = ("anthropic-version", "2026-10-21");
pub(crate) const BEARER: (&str, &str) = ("authorization", "Bearer sandbox-key");

/// One of the two wires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Chat,
    Messages,
}

pub(crate) struct TestSandbox {
    pub(crate) sandbox: Sandbox,
    clock: Arc<AtomicU64>,
}

impl TestSandbox {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let clock = Arc::new(AtomicU64::new(START_MS));
        let shown = Arc::clone(&clock);
        let mut settings = Settings::default().with_now(move || shown.load(Ordering::Relaxed));
        // Nothing here waits for a span to be over: what is held is let go by hand.
        settings.hold = std::time::Duration::from_hours(1);
        change(&mut settings);
        Self { sandbox: Sandbox::start(settings).await.expect("starts"), clock }
    }

    pub(crate) fn advance(&self, ms: u64) {
        self.clock.fetch_add(ms, Ordering::Relaxed);
    }

    pub(crate) fn record(&self, wire: Wire) -> TextRecord {
        match wire {
            Wire::Chat => self.sandbox.chat_record(),
            Wire::Messages => self.sandbox.messages_record(),
        }
    }

    pub(crate) fn last(&self, wire: Wire) -> Received {
        self.record(wire).requests.pop().expect("a request")
    }

    pub(crate) fn origin(&self, wire: Wire) -> String {
        match wire {
            Wire::Chat => self.sandbox.chat().origin.clone(),
            Wire::Messages => self.sandbox.messages().origin.clone(),
        }
    }

    /// A good key, the usual headers.
    pub(crate) async fn ask(&self, wire: Wire, body: &Value) -> Reply {
        self.open(wire, body).await.finish().await
    }

    pub(crate) async fn open(&self, wire: Wire, body: &Value) -> Conversation {
        let text = body.to_string();
        match wire {
            Wire::Chat => self.post(wire, "/v1/chat/completions", &[BEARER, JSON], text.as_bytes()).await,
            Wire::Messages => self.post(wire, "/v1/messages", &[X_KEY, VERSION, JSON], text.as_bytes()).await,
        }
    }

    pub(crate) async fn post(
        &self,
        wire: Wire,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Conversation {
        Conversation::open("POST", &self.origin(wire), path, headers, body).await
    }
}

/// Waits for what comes in its own time; half a minute is given up on, so that a fault fails and does not hang.
pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) {
    let wait = async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), wait).await.expect("never came to be");
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

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The body came to its end.
    Whole,
    /// Closed before that.
    Cut,
    Reset,
}

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// The body as its chunks were sent; one where it was not chunked.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        events(&self.text())
    }
}

/// A request under way.
pub(crate) struct Conversation {
    stream: TcpStream,
    seen: Vec<u8>,
}

impl Conversation {
    pub(crate) async fn open(
        method: &str,
        origin: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Self {
        let host = origin.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).await.expect("connects");
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).await.expect("writes");
        stream.write_all(body).await.expect("writes");
        Self { stream, seen: Vec::new() }
    }

    /// Reads until so much of the text has come.
    pub(crate) async fn until(&mut self, text: &str) {
        while !String::from_utf8_lossy(&self.seen).contains(text) {
            let read = self.stream.read_buf(&mut self.seen).await.expect("reads");
            assert!(read > 0, "ended before {text:?}: {}", String::from_utf8_lossy(&self.seen));
        }
    }

    pub(crate) async fn finish(self) -> Reply {
        self.maybe().await.expect("a reply")
    }

    /// The reply, unless the connection closed before its head.
    pub(crate) async fn maybe(mut self) -> Option<Reply> {
        let broken = loop {
            match self.stream.read_buf(&mut self.seen).await {
                Ok(0) => break None,
                Ok(_) => {}
                Err(error) => break Some(error.kind()),
            }
        };
        let at = self.seen.windows(4).position(|four| four == b"\r\n\r\n")?;
        let (head, body) = (String::from_utf8_lossy(&self.seen[..at]).into_owned(), &self.seen[at + 4..]);
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers: Vec<(String, String)> =
            headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let find = |name: &str| headers.iter().find(|(found, _)| found == name).map(|(_, value)| value);
        let (chunks, complete) = match find("transfer-encoding") {
            Some(_) => dechunk(body),
            None => {
                let length = find("content-length").map_or(body.len(), |it| it.parse().expect("a length"));
                (vec![body.to_vec()], body.len() == length)
            }
        };
        let end = match (complete, broken) {
            (_, Some(std::io::ErrorKind::ConnectionReset)) => End::Reset,
            (true, _) => End::Whole,
            (false, _) => End::Cut,
        };
        Some(Reply { status, headers, chunks, end })
    }
}

/// The chunks, and whether the last one came.
fn dechunk(mut body: &[u8]) -> (Vec<Vec<u8>>, bool) {
    let mut chunks = Vec::new();
    while let Some(at) = body.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(&String::from_utf8_lossy(&body[..at]), 16).expect("a length");
        body = &body[at + 2..];
        if length == 0 {
            return (chunks, true);
        }
        chunks.push(body[..length.min(body.len())].to_vec());
        match body.get(length + 2..) {
            Some(rest) => body = rest,
            None => break,
        }
    }
    (chunks, false)
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
pub(crate) fn events(text: &str) -> Vec<Event> {
    let text = text.replace("\r\n", "\n");
    let Some((whole, _)) = text.rsplit_once("\n\n") else { return Vec::new() };
    let field = |frame: &str, name: &str| {
        frame.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
    };
    let frames = whole.split("\n\n").filter(|frame| frame.contains("data: "));
    frames.map(|frame| Event { name: field(frame, "event: "), data: field(frame, "data: ") }).collect()
}

/// All the text of an answer, whichever way it came.
pub(crate) fn answer_text(wire: Wire, reply: &Reply) -> String {
    if !reply.header("content-type").starts_with("text/event-stream") {
        let body = reply.json();
        return match wire {
            Wire::Chat => body["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned(),
            Wire::Messages => {
                let blocks = body["content"].as_array().expect("blocks");
                blocks.iter().filter_map(|block| block["text"].as_str()).collect()
            }
        };
    }
    let events = reply.events();
    let bodies = events.iter().filter(|event| event.data != "[DONE]").map(Event::json);
    let pointer = if wire == Wire::Chat { "/choices/0/delta/content" } else { "/delta/text" };
    bodies.filter_map(|body| body.pointer(pointer)?.as_str().map(str::to_owned)).collect()
}

//! A raw HTTP/1.1 client: writes the bytes it is given, reads responses by their length.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) struct Client {
    stream: TcpStream,
    ahead: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), ahead: Vec::new() }
    }

    /// Writes; ignores that the server may have closed already.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Reply {
        self.send(request).await;
        self.read().await.expect("an answer")
    }

    /// The next answer, or `None` when the server closed without one.
    pub(crate) async fn read(&mut self) -> Option<Reply> {
        self.read_answer(true).await
    }

    /// The next answer to a `HEAD` request.
    pub(crate) async fn read_head(&mut self) -> Option<Reply> {
        self.read_answer(false).await
    }

    async fn read_answer(&mut self, has_body: bool) -> Option<Reply> {
        let end = loop {
            if let Some(at) = self.ahead.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            if !self.fill().await {
                return None;
            }
        };
        let head: Vec<u8> = self.ahead.drain(..end).collect();
        let mut reply = Reply { status: 0, head: String::from_utf8(head).unwrap(), body: String::new() };
        reply.status = reply.head[9..12].parse().unwrap();
        if reply.status == 100 {
            return Box::pin(self.read_answer(has_body)).await;
        }
        let length = reply.header("content-length").map_or(0, |text| text.parse().unwrap());
        if has_body && !matches!(reply.status, 204 | 304) {
            while self.ahead.len() < length {
                assert!(self.fill().await, "a body cut short: {reply:?}");
            }
            reply.body = String::from_utf8(self.ahead.drain(..length).collect()).unwrap();
        }
        Some(reply)
    }

    /// The next bytes of a chunked answer, at least up to `end`; the chunk sizes are taken out.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            let size = self.line().await;
            let size = usize::from_str_radix(&size, 16).unwrap_or_else(|_| panic!("{size:?} after {text:?}"));
            while self.ahead.len() < size + 2 {
                assert!(self.fill().await, "cut short: {text:?}");
            }
            let chunk: Vec<u8> = self.ahead.drain(..size + 2).take(size).collect();
            text.push_str(std::str::from_utf8(&chunk).unwrap());
            assert!(size > 0 || text.ends_with(end), "the answer ended with {text:?}");
        }
        text
    }

    async fn line(&mut self) -> String {
        loop {
            if let Some(at) = self.ahead.windows(2).position(|window| window == b"\r\n") {
                let line: Vec<u8> = self.ahead.drain(..at + 2).take(at).collect();
                return String::from_utf8(line).unwrap();
            }
            assert!(self.fill().await, "cut short");
        }
    }

    /// Whether the server closes without another byte.
    pub(crate) async fn closes(&mut self) -> bool {
        self.ahead.is_empty() && !self.fill().await
    }

    /// Takes what comes and counts it; true once the server has closed.
    pub(crate) async fn closes_after(&mut self, read: &mut usize) -> bool {
        let more = self.fill().await;
        *read += self.ahead.len();
        self.ahead.clear();
        !more
    }

    async fn fill(&mut self) -> bool {
        let read = self.stream.read_buf(&mut self.ahead).await;
        matches!(read, Ok(bytes) if bytes > 0)
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// `error.message` of any of the envelopes.
    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}

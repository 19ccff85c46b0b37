//! The crudest HTTP/1 client: writes the bytes it is given, reads answers by their announced length.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// One connection.
pub(crate) struct Raw {
    stream: TcpStream,
    ahead: Vec<u8>,
}

/// One answer, or one interim answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Raw {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.expect("a connection"), ahead: Vec::new() }
    }

    /// Writes; a gateway that has hung up already is not this side's trouble.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
    }

    /// Says that nothing more will come.
    pub(crate) async fn finish(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// The next answer, or `None` when the gateway closed instead.
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
                assert!(self.ahead.is_empty(), "half a head: {}", String::from_utf8_lossy(&self.ahead));
                return None;
            }
        };
        let head = text(self.ahead.drain(..end).collect());
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        let status = status.unwrap_or_else(|| panic!("expected a status line, got {head}"));
        let mut reply = Reply { status, head, body: String::new() };
        if has_body && !matches!(status, 100..=199 | 204 | 304) {
            let length = reply.header("content-length").parse().expect("every answer has a length");
            while self.ahead.len() < length {
                assert!(self.fill().await, "a body cut short: {reply:?}");
            }
            reply.body = text(self.ahead.drain(..length).collect());
        }
        Some(reply)
    }

    async fn fill(&mut self) -> bool {
        matches!(self.stream.read_buf(&mut self.ahead).await, Ok(bytes) if bytes > 0)
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("answers are text")
}

impl Reply {
    /// A header's value, empty when absent.
    pub(crate) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .next()
            .unwrap_or_default()
    }

    /// Whether the gateway says that this answer is the connection's last.
    pub(crate) fn says_close(&self) -> bool {
        let old = self.head.starts_with("HTTP/1.0") && self.header("connection") != "keep-alive";
        old || self.header("connection") == "close"
    }
}

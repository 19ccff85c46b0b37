//! One answer as a client has it, with its framing.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The body came to its end.
    Whole,
    /// The connection closed before that.
    Cut,
    /// The connection was reset before that.
    Reset,
}

/// One answer.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Status line and headers as they came, up to the blank line.
    pub head: String,
    /// Headers, lower-case names.
    pub headers: HeaderMap,
    /// The whole body, without its framing.
    pub body: Bytes,
    /// The body as its chunks were sent; one where it was not chunked.
    pub chunks: Vec<Bytes>,
    /// How it ended.
    pub end: End,
}

/// Where a body ends.
pub(super) enum Framing {
    Length(usize),
    Chunked,
    Close,
}

impl Response {
    /// A response of that head, blank line excluded, without a body so far.
    pub(super) fn of_head(head: String) -> Self {
        let status = head.get(9..12).and_then(|digits| digits.parse().ok());
        let status = status.unwrap_or_else(|| panic!("expected a status line, got {head}"));
        let mut headers = HeaderMap::new();
        for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(':')) {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a header's name");
            headers.append(name, HeaderValue::from_str(value.trim()).expect("a header's value"));
        }
        Self { status, head, headers, body: Bytes::new(), chunks: Vec::new(), end: End::Whole }
    }

    pub(super) fn framing(&self) -> Framing {
        if matches!(self.status, 100..=199 | 204 | 304) {
            Framing::Length(0)
        } else if self.header("transfer-encoding").eq_ignore_ascii_case("chunked") {
            Framing::Chunked
        } else {
            self.header("content-length").parse().map_or(Framing::Close, Framing::Length)
        }
    }

    /// A header as text, empty when absent.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON; fails the test with the body's text where it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("not JSON ({error}): {}", self.text()))
    }

    /// The id of the task in a submission's receipt; fails the test where this is none.
    #[must_use]
    pub fn task_id(&self) -> String {
        let task = self.json()["data"][0]["task_id"].as_str().map(str::to_owned);
        task.filter(|_| self.status == 200)
            .unwrap_or_else(|| panic!("no receipt: {} {}", self.status, self.text()))
    }

    /// `error.message` of any of the error envelopes.
    #[must_use]
    pub fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }

    /// The status, and a field of `error` of any of the error envelopes.
    #[must_use]
    pub fn refusal(&self, field: &str) -> (u16, Value) {
        (self.status, self.json()["error"][field].clone())
    }

    /// Whether this answer is the connection's last, as the server says.
    #[must_use]
    pub fn says_close(&self) -> bool {
        let old = self.head.starts_with("HTTP/1.0") && self.header("connection") != "keep-alive";
        old || self.header("connection") == "close"
    }
}

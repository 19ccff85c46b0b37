//! One row of the raw tables, and its check.
//!
//! A valid request with a path of its own follows every row. On a kept connection its response must be the
//! next to arrive; on a closed one nothing may arrive. So a request hidden in a row (always for `/smuggled`)
//! can neither be answered nor take the response of the valid one.

use std::net::SocketAddr;

use futures_util::future::join_all;
use gatehouse_harness::{Connection, Response, message_of};
use serde_json::Value;

use crate::http::TestGateway;

/// Limits that a test can reach, timers that a test can wait for.
pub(crate) const LIMITS: &str = "[server.limits]\nhead_seconds = 4\nbody_mib = 1\nbody_idle_seconds = 4\n\
                                 idle_seconds = 100000\nconnections_per_ip = 1000";

/// One row.
pub(crate) struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    answers: Vec<Answer>,
    after: After,
}

/// An expected response, in order.
pub(crate) enum Answer {
    /// `100 Continue`.
    Interim,
    /// Success, with the gateway's request id.
    Good(u16),
    /// Success without a body although a length is announced (`HEAD`).
    Head(u16),
    /// An error in the gateway's envelope, its message contains the words.
    Ours(u16, &'static str),
    /// The HTTP library refused what it could not parse, before the gateway saw a request: a status alone,
    /// no body, no request id.
    Bare(u16),
}

/// The state of the connection after the row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    Kept,
    Closed,
    /// The client ends its side, and the gateway closes.
    Left,
}

use After::{Closed, Kept};
use Answer::{Bare, Good, Ours};

/// A row with any number of responses.
pub(crate) fn row(
    name: &'static str,
    bytes: impl Into<Vec<u8>>,
    answers: impl Into<Vec<Answer>>,
    after: After,
) -> Case {
    Case { name, bytes: bytes.into(), answers: answers.into(), after }
}

/// A request that is served; the connection is kept.
pub(crate) fn served(name: &'static str, bytes: impl Into<Vec<u8>>) -> Case {
    row(name, bytes, [Good(200)], Kept)
}

/// A request the gateway refuses with its envelope; the connection is kept.
pub(crate) fn refused(
    name: &'static str,
    bytes: impl Into<Vec<u8>>,
    status: u16,
    words: &'static str,
) -> Case {
    row(name, bytes, [Ours(status, words)], Kept)
}

/// The same, and the connection ends because no byte after the request can be trusted.
pub(crate) fn ended(name: &'static str, bytes: impl Into<Vec<u8>>, status: u16, words: &'static str) -> Case {
    row(name, bytes, [Ours(status, words)], Closed)
}

/// Bytes that are not a request: the HTTP library sends a bare status and the connection ends.
pub(crate) fn unparsed(name: &'static str, bytes: impl Into<Vec<u8>>, status: u16) -> Case {
    row(name, bytes, [Bare(status)], Closed)
}

/// A connection that is closed without a response.
pub(crate) fn silent(name: &'static str, bytes: impl Into<Vec<u8>>) -> Case {
    row(name, bytes, [], Closed)
}

/// A request for the health path with these header lines.
pub(crate) fn live(lines: &str) -> String {
    format!("GET /livez HTTP/1.1\r\n{lines}\r\n")
}

/// A submission; the row adds the framing lines, the blank line and the body.
pub(crate) fn submit(rest: &str) -> String {
    format!(
        "POST /v1/images/generations HTTP/1.1\r\nHost: a\r\nAuthorization: KEY\r\n\
         Content-Type: application/json\r\n{rest}"
    )
}

/// Runs all rows at once against one gateway and fails with every broken row.
pub(crate) async fn check(cases: Vec<Case>) {
    let gateway = TestGateway::start(LIMITS).await;
    let (address, key) = (gateway.address(), gateway.caller.bearer());
    let runs = cases.into_iter().enumerate().map(|(number, case)| {
        let key = key.clone();
        tokio::spawn(async move {
            case.run(address, &key, number).await.map_err(|why| format!("{}: {why}", case.name))
        })
    });
    let results = join_all(runs).await.into_iter().map(|run| run.expect("a row that ran"));
    let broken: Vec<String> = results.filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{} rows:\n  {}", broken.len(), broken.join("\n  "));
    gateway.serves_valid_requests().await;
}

impl Case {
    async fn run(&self, address: SocketAddr, key: &str, number: usize) -> Result<(), String> {
        let mut client = Connection::open(address).await;
        let bytes = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.replace("KEY", key).into_bytes(),
            Err(_) => self.bytes.clone(),
        };
        client.send(bytes).await;
        if self.after == After::Left {
            client.finish().await;
        }
        let mut last = None;
        for answer in &self.answers {
            let reply = match answer {
                Answer::Head(_) => client.read_head().await,
                _ => client.read().await,
            };
            let reply = reply.ok_or("closed without the answer expected")?;
            answer.check(&reply)?;
            last = Some(reply);
        }
        let valid = format!("/valid-{number}");
        if let Some(last) = &last {
            if last.says_close() == (self.after == Kept) {
                return Err(format!("wrong connection header: {}", last.head));
            }
            client.send(format!("GET {valid} HTTP/1.1\r\nHost: a\r\n\r\n")).await;
        }
        match (client.read().await, self.after) {
            (None, Closed | After::Left) => Ok(()),
            (None, Kept) => Err("the connection was closed".to_owned()),
            (Some(reply), Kept) => Ours(404, "unknown path").check(&reply).and_then(|()| {
                let right = reply.text().contains(&valid);
                if right {
                    Ok(())
                } else {
                    Err(format!("the next request got another one's response: {reply:?}"))
                }
            }),
            (Some(reply), _) => Err(format!("went on answering: {reply:?}")),
        }
    }
}

impl Answer {
    fn check(&self, reply: &Response) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("{what}: {reply:?}"));
        let has_id = reply.header("x-gateway-request-id").starts_with("req_");
        if has_id && reply.header("x-content-type-options") != "nosniff" {
            return wrong("expected that no type is guessed");
        }
        if !matches!(reply.status, 100..=199 | 204 | 304) && reply.header("content-length").is_empty() {
            return wrong("expected a length");
        }
        if reply.text().contains("smuggled") {
            return wrong("the hidden request was answered");
        }
        match *self {
            Self::Interim if reply.status != 100 => wrong("expected 100 Continue"),
            Self::Good(status) | Self::Head(status) if reply.status != status || !has_id => {
                wrong(&format!("expected {status}"))
            }
            Self::Ours(status, words) => {
                let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
                let message = message_of(&body);
                let says = !message.is_empty() && message.contains(words);
                if reply.status == status && body["error"]["code"] == status && has_id && says {
                    Ok(())
                } else {
                    wrong(&format!("expected {status} saying {words:?} in an envelope"))
                }
            }
            Self::Bare(status) if reply.status != status || has_id || !reply.body.is_empty() => {
                wrong(&format!("expected a bare {status}"))
            }
            _ => Ok(()),
        }
    }
}

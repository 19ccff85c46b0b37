//! HTTP/2 section by section (RFC 9113; RFC 7541): what the gateway must take, and what it must end and how.
//!
//! Each row is a connection of its own. A connection that is not ended serves another request afterwards.

mod compression;
mod kinds;
mod messages;
mod streams;

use std::net::SocketAddr;

use futures_util::future::join_all;

use crate::http::http2::frames::*;
use crate::http::{TestGateway, run};

/// Error codes (RFC 9113, 7).
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const REFUSED_STREAM: u32 = 7;
const COMPRESSION_ERROR: u32 = 9;

const PRIORITIZED: u8 = 0x20;
/// Round trips after which a frame that was not seen does not come.
const ROUNDS: u8 = 3;

/// What becomes of a row's frames.
#[derive(Clone, Copy)]
enum Outcome {
    /// The request on this stream is answered.
    Answered(u32),
    /// Nothing.
    Ignored,
    /// Nothing, or this stream is reset with this code: the RFC allows both, and the gateway does the first as long as it
    /// has not forgotten the stream.
    IgnoredOrReset(u32, u32),
    /// This stream is reset, or the connection ends, with one of these codes.
    Refused(u32, &'static [u32]),
    /// The connection ends with one of these codes.
    Ended(&'static [u32]),
}

use Outcome::{Answered, Ended, Ignored, IgnoredOrReset, Refused};

/// A section of the RFC, what is sent, the bytes after the preface, and what becomes of them.
struct Row(&'static str, &'static str, Vec<u8>, Outcome);

impl Row {
    async fn run(&self, address: SocketAddr) -> Result<(), String> {
        let mut link = Link::open(address, b"").await;
        link.send(&self.2).await;
        match self.3 {
            Answered(stream) => {
                let body = link.body(stream).await.ok_or("no answer")?;
                if !body.contains("ok") {
                    return Err(format!("the answer is {body}"));
                }
            }
            Ignored => {
                let frames = link.until_pong().await.ok_or("the connection ended")?;
                if let Some(frame) = frames.iter().find(|frame| matches!(frame.kind, RST_STREAM | GOAWAY)) {
                    return Err(format!("answered by {frame:?}"));
                }
            }
            IgnoredOrReset(stream, code) => {
                let frames = link.until_pong().await.ok_or("the connection ended")?;
                for frame in frames.iter().filter(|frame| matches!(frame.kind, RST_STREAM | GOAWAY)) {
                    if (frame.kind, frame.stream, frame.reason()) != (RST_STREAM, stream, code) {
                        return Err(format!("answered by {frame:?}"));
                    }
                }
            }
            Refused(stream, codes) => {
                let found = refusal(&mut link, Some(stream)).await.ok_or("nothing refused it")?;
                if !codes.contains(&found.reason()) {
                    return Err(format!("refused by {found:?}"));
                }
                if found.kind == GOAWAY {
                    return Ok(());
                }
            }
            Ended(codes) => {
                let found = refusal(&mut link, None).await.ok_or("the connection goes on")?;
                if !codes.contains(&found.reason()) {
                    return Err(format!("ended by {found:?}"));
                }
                return Ok(());
            }
        }
        link.send(&request(901, LIVE)).await;
        let body = link.body(901).await.ok_or("the connection was not kept")?;
        if body == r#"{"status":"ok"}"# { Ok(()) } else { Err(format!("the next answer is {body}")) }
    }
}

/// The frame that resets `stream`, or ends the connection.
async fn refusal(link: &mut Link, stream: Option<u32>) -> Option<Frame> {
    let mut rounds = 0;
    link.send(&frame(PING, 0, 0, b"gatehous")).await;
    loop {
        let next = link.next().await?;
        if next.kind == GOAWAY || (next.kind == RST_STREAM && Some(next.stream) == stream) {
            return Some(next);
        }
        if next.kind == PING && next.flags & ACK != 0 {
            rounds += 1;
            if rounds == ROUNDS {
                return None;
            }
            link.send(&frame(PING, 0, 0, b"gatehous")).await;
        }
    }
}

/// The head of a request whose body is still to come; nobody is answered before it ends.
fn open(stream: u32) -> Vec<u8> {
    frame(HEADERS, HEAD, stream, &fields(POST))
}

const POST: &[(&str, &str)] = &[
    (":method", "POST"),
    (":scheme", "http"),
    (":authority", "a"),
    (":path", "/v1/images/generations"),
    ("content-type", "application/json"),
];

fn update(stream: u32, by: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

fn settings(values: &[(u8, u32)]) -> Vec<u8> {
    let payload: Vec<u8> =
        values.iter().flat_map(|(id, value)| [&[0, *id][..], &value.to_be_bytes()].concat()).collect();
    frame(SETTINGS, 0, 0, &payload)
}

fn live(more: &[(&str, &str)]) -> Vec<u8> {
    request(1, &[LIVE, more].concat())
}

#[test]
fn every_section_is_kept() {
    run(async {
        let gateway = TestGateway::start("[server]\ncleartext_http2 = true").await;
        let address = gateway.address();
        let rows = [streams::rows(), kinds::rows(), messages::rows(), compression::rows()];
        let runs = rows.into_iter().flatten().map(|row| {
            tokio::spawn(async move {
                row.run(address).await.map_err(|why| format!("{} {}: {why}", row.0, row.1))
            })
        });
        let results = join_all(runs).await.into_iter().map(|run| run.expect("a row that ran"));
        let broken: Vec<String> = results.filter_map(Result::err).collect();
        assert!(broken.is_empty(), "{} rows:\n  {}", broken.len(), broken.join("\n  "));
        gateway.serves_valid_requests().await;
    });
}

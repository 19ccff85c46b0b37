//! HTTP/2 on a cleartext listener: one wrong frame at a time, and its outcome.

use std::net::SocketAddr;

use crate::http::http2::frames::*;
use crate::http::{TestGateway, run};
use futures_util::future::join_all;

/// Error codes (RFC 9113, 7).
const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const FRAME_SIZE_ERROR: u32 = 6;

/// `:status: 431` as the library writes it: the name from the static table, the digits Huffman-coded.
const STATUS_431: &[u8] = &[0x48, 0x83, 0x69, 0x90, 0xff];

/// The outcome of a row's frames. All but `Away` leave the connection in use.
enum Outcome {
    /// Stream 1 is answered with a body that contains this.
    Says(&'static str),
    /// The HTTP library answers stream 1 with a bare 431.
    HeadTooLarge,
    /// Stream 1 is reset.
    Reset(u32),
    /// The connection ends.
    Away(u32),
}

use Outcome::{Away, HeadTooLarge, Reset, Says};

struct Row(&'static str, Vec<u8>, Outcome);

impl Row {
    async fn run(&self, address: SocketAddr) -> Result<(), String> {
        let mut link = Link::open(address, b"").await;
        link.send(&self.1).await;
        match self.2 {
            Says(words) => {
                let body = link.body(1).await.ok_or("no answer")?;
                if !body.contains(words) {
                    return Err(format!("expected {words:?}, got {body}"));
                }
            }
            HeadTooLarge => {
                let answer = link.next_relevant().await.ok_or("no answer")?;
                if !(answer.kind == HEADERS && answer.payload.starts_with(STATUS_431)) {
                    return Err(format!("expected a bare 431, got {answer:?}"));
                }
            }
            Reset(reason) => {
                let reset = link.next_relevant().await.ok_or("closed without a reset")?;
                if (reset.kind, reset.stream) != (RST_STREAM, 1) || reset.reason() != reason {
                    return Err(format!("expected a reset for {reason}, got {reset:?}"));
                }
            }
            Away(reason) => {
                let away = link.next_relevant().await.ok_or("closed without a GOAWAY")?;
                if away.kind != GOAWAY || away.reason() != reason {
                    return Err(format!("expected a GOAWAY for {reason}, got {away:?}"));
                }
                let _ = link.until_closed().await;
                return Ok(());
            }
        }
        link.send(&request(101, LIVE)).await;
        let body = link.body(101).await.ok_or("the connection was not kept")?;
        if body == r#"{"status":"ok"}"# { Ok(()) } else { Err(format!("the next answer is {body}")) }
    }
}

/// A request for the health path with these fields more.
fn live(more: &[(&str, &str)]) -> Vec<u8> {
    request(1, &[LIVE, more].concat())
}

fn update(stream: u32, by: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, stream, &by.to_be_bytes())
}

fn setting(id: u8, value: u32) -> Vec<u8> {
    let payload = [&[0, id][..], &value.to_be_bytes()].concat();
    frame(SETTINGS, 0, 0, &payload)
}

fn requests() -> Vec<Row> {
    let [method, scheme, authority, path] = [LIVE[0], LIVE[1], LIVE[2], LIVE[3]];
    let (head, rest) = (fields(&LIVE[..2]), fields(&LIVE[2..]));
    let post = (":method", "POST");
    let lines: Vec<String> = (0..70).map(|line| format!("x-{line}")).collect();
    let lines: Vec<(&str, &str)> = lines.iter().map(|name| (name.as_str(), "v")).collect();
    let long = "v".repeat(15_000);
    // A list is weighed with 32 bytes a field on top (RFC 9113, 6.5.2).
    let over = [&[("x-a", &long[..14_000])], &lines[..]].concat();
    let ended = |name, of: &[(&str, &str)]| Row(name, request(1, of), Away(PROTOCOL_ERROR));
    let malformed = |name, of: &[(&str, &str)]| Row(name, request(1, of), Reset(PROTOCOL_ERROR));
    vec![
        Row("a request", live(&[]), Says("ok")),
        Row(
            "a head in two frames",
            [frame(HEADERS, END, 1, &head), frame(CONTINUATION, HEAD, 1, &rest)].concat(),
            Says("ok"),
        ),
        Row("an unknown frame", [frame(99, 0xff, 1, b"x"), live(&[])].concat(), Says("ok")),
        Row(
            "an unknown path",
            request(1, &[method, scheme, authority, (":path", "/nowhere")]),
            Says("unknown path"),
        ),
        Row("no authority", request(1, &[method, scheme, path]), Says("Host: missing")),
        Row("a host alone", request(1, &[method, scheme, path, ("host", "a")]), Says("ok")),
        Row("another host", live(&[("host", "b")]), Says("differs")),
        Row("two hosts", live(&[("host", "a"), ("host", "a")]), Says("more than once")),
        Row(
            "a port out of range",
            request(1, &[method, scheme, (":authority", "a:99999"), path]),
            Says("Host"),
        ),
        Row("trace", request(1, &[(":method", "TRACE"), scheme, authority, path]), Says("TRACE")),
        Row("a tunnel", request(1, &[(":method", "CONNECT"), authority]), Says("CONNECT")),
        Row("seventy lines", live(&lines), Says("header lines")),
        Row("a list within the limit", live(&[("x-a", &long)]), Says("ok")),
        Row("a list over the limit", live(&over), HeadTooLarge),
        malformed("no method", &[scheme, authority, path]),
        malformed("no path", &[method, scheme, authority]),
        malformed("an empty path", &[method, scheme, authority, (":path", "")]),
        malformed("two methods", &[method, post, scheme, authority, path]),
        malformed("a pseudo field behind others", &[method, scheme, authority, ("x-a", "b"), path]),
        ended("an unknown pseudo field", &[method, scheme, authority, path, (":x", "b")]),
        malformed("a field of answers", &[method, scheme, authority, path, (":status", "200")]),
        ended("capitals", &[method, scheme, authority, path, ("X-A", "b")]),
        malformed("a field of the connection", &[method, scheme, authority, path, ("connection", "close")]),
        malformed("an encoding", &[method, scheme, authority, path, ("transfer-encoding", "chunked")]),
        malformed("an upgrade", &[method, scheme, authority, path, ("upgrade", "h2c")]),
        malformed("a length that is not kept", &[method, scheme, authority, path, ("content-length", "5")]),
        ended("a line end in a value", &[method, scheme, authority, path, ("x-a", "b\r\nhost: b")]),
        ended("a NUL in a value", &[method, scheme, authority, path, ("x-a", "b\0")]),
        malformed("a space in the path", &[method, scheme, authority, (":path", "/a b")]),
    ]
}

/// The codes are those of the HTTP library: it often sends `PROTOCOL_ERROR` where RFC 9113 names a finer
/// code.
fn framing() -> Vec<Row> {
    let open = frame(HEADERS, HEAD, 1, &fields(LIVE));
    let wrong = |name, frames: &[Vec<u8>]| Row(name, frames.concat(), Away(PROTOCOL_ERROR));
    vec![
        wrong("an even stream", &[request(2, LIVE)]),
        wrong("a head without a stream", &[request(0, LIVE)]),
        wrong("a body without a stream", &[frame(DATA, END, 0, b"x")]),
        wrong("a body of an idle stream", &[frame(DATA, END, 1, b"x")]),
        wrong("a reset of an idle stream", &[frame(RST_STREAM, 0, 1, &[0; 4])]),
        wrong("a window of an idle stream", &[update(1, 1)]),
        wrong("a promise", &[frame(PUSH_PROMISE, HEAD, 1, &[&[0, 0, 0, 2][..], &fields(LIVE)].concat())]),
        wrong("a head's second half alone", &[frame(CONTINUATION, HEAD, 1, &fields(LIVE))]),
        wrong("a frame within a head", &[frame(HEADERS, END, 1, &fields(LIVE)), frame(DATA, END, 1, b"x")]),
        wrong(
            "another stream's half",
            &[frame(HEADERS, END, 1, &fields(LIVE)), frame(CONTINUATION, HEAD, 3, b"")],
        ),
        wrong("more padding than frame", &[open.clone(), frame(DATA, PADDED, 1, &[200, 1, 2])]),
        wrong("settings of a stream", &[frame(SETTINGS, 0, 1, b"")]),
        wrong("a ping of a stream", &[frame(PING, 0, 1, &[0; 8])]),
        wrong("push neither on nor off", &[setting(2, 2)]),
        wrong("frames too small to allow", &[setting(5, 1)]),
        wrong("a connection's window grown by nothing", &[update(0, 0)]),
        wrong("an index beyond the table", &[frame(HEADERS, HEAD | END, 1, &[0xff, 0xff, 0x00])]),
        wrong("an index of zero", &[frame(HEADERS, HEAD | END, 1, &[0x80])]),
        Row("a window beyond its end", update(0, 0x7fff_ffff), Away(FLOW_CONTROL_ERROR)),
        Row("a first window beyond its end", setting(4, 0x8000_0000), Away(PROTOCOL_ERROR)),
        Row("settings cut short", frame(SETTINGS, 0, 0, &[0; 5]), Away(PROTOCOL_ERROR)),
        Row("settings agreed to and more", frame(SETTINGS, ACK, 0, &[0; 6]), Away(PROTOCOL_ERROR)),
        Row("a ping cut short", frame(PING, 0, 0, &[0; 7]), Away(PROTOCOL_ERROR)),
        Row("a frame larger than agreed", frame(HEADERS, HEAD, 1, &[0; 16_385]), Away(FRAME_SIZE_ERROR)),
        Row(
            "a stream's window beyond its end",
            [open.clone(), update(1, 0x7fff_ffff)].concat(),
            Reset(FLOW_CONTROL_ERROR),
        ),
        Row("a stream's window grown by nothing", [open, update(1, 0)].concat(), Away(PROTOCOL_ERROR)),
        Row("a stream that waits for itself", frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 0]), Reset(PROTOCOL_ERROR)),
    ]
}

#[test]
fn one_wrong_frame() {
    run(async {
        let gateway = TestGateway::start("[server]\ncleartext_http2 = true").await;
        let address = gateway.address();
        let rows: Vec<Row> = requests().into_iter().chain(framing()).collect();
        let runs = rows.into_iter().map(|row| {
            tokio::spawn(async move { row.run(address).await.map_err(|why| format!("{}: {why}", row.0)) })
        });
        let results = join_all(runs).await.into_iter().map(|run| run.expect("a row that ran"));
        let broken: Vec<String> = results.filter_map(Result::err).collect();
        assert!(broken.is_empty(), "{} rows:\n  {}", broken.len(), broken.join("\n  "));
        gateway.serves_valid_requests().await;
    });
}

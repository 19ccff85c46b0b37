//! HTTP/2 frames that cost a client nothing, in the clear and over TLS: the gateway hangs up. More of them, at the real binary,
//! are in `tests/http/http2`.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::tests::{LIVE, TestEdge, secs};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// Flags: no body follows, and no more of the head.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// `GET https://gate.test/livez`, by the static table (RFC 7541, A).
const HEAD: &[u8] = b"\x82\x87\x04\x06/livez\x41\x09gate.test";
/// Limit of rounds, of at least 4 KB each: more than the buffers of both sides.
const ROUNDS: u32 = 4_000;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// A hundred requests, each with a frame behind it.
fn pairs(round: u32, kind: u8, payload: &[u8]) -> Vec<u8> {
    let streams = (100 * round..100 * round + 100).map(|number| 2 * number + 1);
    let pair = |stream| [frame(HEADERS, END_HEADERS, stream, HEAD), frame(kind, 0, stream, payload)].concat();
    streams.flat_map(pair).collect()
}

type Round = fn(u32) -> Vec<u8>;

/// Without a bound of each, one client keeps a thread of the gateway busy for ever, or its memory growing.
#[tokio::test]
async fn floods_of_frames_end_the_connection() {
    let floods: [(&str, Round); 6] = [
        ("resets", |round| pairs(round, RST_STREAM, &[0, 0, 0, 8])),
        ("resets that the gateway is made to send", |round| {
            pairs(round, WINDOW_UPDATE, &[0x7f, 0xff, 0xff, 0xff])
        }),
        ("a head that goes on for ever", |round| match round {
            0 => frame(HEADERS, END_STREAM, 1, HEAD),
            _ => frame(CONTINUATION, 0, 1, b"\0\x03x-a\x01b").repeat(1_000),
        }),
        ("a head that goes on with nothing", |round| match round {
            0 => frame(HEADERS, END_STREAM, 1, b""),
            _ => frame(CONTINUATION, 0, 1, b"").repeat(1_000),
        }),
        // Each is owed an answer, and this client takes none.
        ("settings", |_| frame(SETTINGS, 0, 0, b"").repeat(10_000)),
        ("pings", |_| frame(PING, 0, 0, &[7; 8]).repeat(10_000)),
    ];
    for edge in TestEdge::both("cleartext_http2 = true").await {
        for (name, round) in floods {
            let mut stream = edge.stream(b"h2").await;
            let flood = async {
                let preface =
                    [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(SETTINGS, 0, 0, b"")].concat();
                stream.write_all(&preface).await.unwrap();
                for number in 0..ROUNDS {
                    if stream.write_all(&round(number)).await.is_err() || stream.flush().await.is_err() {
                        return true;
                    }
                }
                false
            };
            // A client that takes nothing of what it is owed is given up when its time is over.
            let time = async {
                if !matches!(name, "settings" | "pings") {
                    std::future::pending::<()>().await;
                }
                loop {
                    edge.clock.armed(secs(60)).await;
                    edge.clock.advance(secs(60));
                }
            };
            let is_ended = tokio::select! {
                is_ended = flood => is_ended,
                never = time => never,
            };
            let is_secure = edge.certificate.is_some();
            assert!(is_ended, "{name}, TLS: {is_secure}");
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            assert_eq!(edge.client().await.ask(LIVE).await.status, 200, "{name}, TLS: {is_secure}");
        }
    }
}

//! HTTP/2 floods: frames that cost the client nothing and the gateway something, until the gateway hangs up.

use crate::http::http2::frames::*;
use crate::http::{TestGateway, run};

const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// Limit of rounds, of at least 9 KB each: far more than the buffers of two sockets.
const ROUNDS: u32 = 2_000;
const STREAMS: usize = 16;

async fn gateway() -> TestGateway {
    TestGateway::start(
        "[server]\ncleartext_http2 = true\n\n\
         [server.limits]\nstreams = 16\nwrite_seconds = 1\nidle_seconds = 1\nhead_seconds = 2",
    )
    .await
}

/// The streams a client opens, in order.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// Sends rounds of frames until the gateway hangs up. The GOAWAY may be lost: bytes under way when the
/// gateway closes cause a reset.
async fn flood(gateway: &TestGateway, name: &str, round: impl Fn(u32) -> Vec<u8>) {
    let mut link = Link::open(gateway.address(), b"").await;
    let mut rounds = 0;
    while link.send(&round(rounds)).await {
        rounds += 1;
        assert!(rounds < ROUNDS, "{name}: not ended");
    }
    let reason = link.until_closed().await;
    assert!(reason.is_none_or(|reason| reason == ENHANCE_YOUR_CALM), "{name}: {reason:?}");
    gateway.serves_valid_requests().await;
}

#[test]
fn floods_are_ended() {
    run(async {
        let gateway = gateway().await;
        let key = gateway.caller.bearer();
        let pairs = |number: u32, second: &dyn Fn(u32) -> Vec<u8>| -> Vec<u8> {
            let streams = (100 * number..100 * number + 100).map(stream);
            streams.flat_map(|stream| [submission(stream, &key), second(stream)].concat()).collect()
        };
        flood(&gateway, "resets", |number| {
            pairs(number, &|stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]))
        })
        .await;
        flood(&gateway, "resets the gateway is made to send", |number| {
            pairs(number, &|stream| frame(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff]))
        })
        .await;
        flood(&gateway, "a head that goes on for ever", |number| match number {
            0 => frame(HEADERS, END, 1, &fields(LIVE)),
            _ => frame(CONTINUATION, 0, 1, &fields(&[("x-a", "b")])).repeat(1_000),
        })
        .await;
        flood(&gateway, "a head that goes on with nothing", |number| match number {
            0 => frame(HEADERS, END, 1, b""),
            _ => frame(CONTINUATION, 0, 1, b"").repeat(1_000),
        })
        .await;
        flood(&gateway, "a body of nothing", |number| match number {
            0 => submission(1, &key),
            _ => frame(DATA, 0, 1, b"").repeat(1_000),
        })
        .await;
        // Every settings and ping frame is owed an answer, and this client takes none.
        flood(&gateway, "settings", |_| frame(SETTINGS, 0, 0, b"").repeat(10_000)).await;
        flood(&gateway, "pings", |_| frame(PING, 0, 0, &[7; 8]).repeat(10_000)).await;
    });
}

#[test]
fn streams_over_the_limit_are_refused() {
    run(async {
        let gateway = gateway().await;
        let key = gateway.caller.bearer();
        let mut link = Link::open(gateway.address(), b"").await;
        let heads: Vec<u8> = (0..100).flat_map(|number| submission(stream(number), &key)).collect();
        link.send(&heads).await;
        let mut refused: Vec<u32> = Vec::new();
        while refused.len() < 100 - STREAMS {
            let frame = link.next_relevant().await.expect("the connection lives");
            assert_eq!((frame.kind, frame.reason()), (RST_STREAM, REFUSED_STREAM), "{frame:?}");
            refused.push(frame.stream);
        }
        let late: Vec<u32> =
            (STREAMS..100).map(|number| stream(u32::try_from(number).expect("small"))).collect();
        assert_eq!(refused, late, "the first streams are served");
        // The others continue: each sends its body and gets its response.
        for number in 0..STREAMS {
            let stream = stream(u32::try_from(number).expect("small"));
            link.send(&frame(DATA, END, stream, b"{\"model\":\"none-such\"}")).await;
            let body = link.body(stream).await.expect("an answer");
            assert!(body.contains("none-such"), "{body}");
        }
        gateway.serves_valid_requests().await;
    });
}

#[test]
fn responses_that_are_not_taken_do_not_hold_a_connection() {
    run(async {
        let gateway = gateway().await;
        // An initial window of zero: every response's head is taken, no byte of a body is.
        let mut link = Link::open(gateway.address(), &[0, 4, 0, 0, 0, 0]).await;
        for number in 0..8 {
            link.send(&request(stream(number), LIVE)).await;
        }
        let frames = link.until_pong().await.expect("a live connection");
        assert!(frames.iter().all(|frame| frame.kind != DATA), "{frames:?}");
        let _ = link.until_closed().await;
        gateway.serves_valid_requests().await;
    });
}

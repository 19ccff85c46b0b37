//! HTTP/2 in masses: frames that cost the client nothing and the gateway something, until it hangs up.

use crate::frames::*;
use crate::{Scene, run};

const REFUSED_STREAM: u32 = 7;
const ENHANCE_YOUR_CALM: u32 = 11;

/// No flood is let go on for longer than this many rounds, of 9 KB each at the least: far more than two
/// sockets' buffers hold.
const ROUNDS: u32 = 2_000;
const STREAMS: usize = 16;

async fn scene() -> Scene {
    Scene::start(
        "[server]\ncleartext_http2 = true\n\n\
         [server.limits]\nstreams = 16\nwrite_seconds = 1\nidle_seconds = 1\nhead_seconds = 2",
    )
    .await
}

/// The streams a client opens, in order.
fn stream(number: u32) -> u32 {
    2 * number + 1
}

/// Sends rounds of frames until the gateway hangs up. A reason is not always heard: what is still on its way
/// when the gateway closes destroys it.
async fn flood(scene: &Scene, name: &str, round: impl Fn(u32) -> Vec<u8>) {
    let mut link = Link::open(scene.address(), b"").await;
    let mut rounds = 0;
    while link.send(&round(rounds)).await {
        rounds += 1;
        assert!(rounds < ROUNDS, "{name}: nobody put an end to it");
    }
    let reason = link.until_closed().await;
    assert!(reason.is_none_or(|reason| reason == ENHANCE_YOUR_CALM), "{name}: {reason:?}");
    scene.serves_honest_requests().await;
}

#[test]
fn floods_are_ended() {
    run(async {
        let scene = scene().await;
        let key = scene.caller.bearer();
        let pairs = |number: u32, second: &dyn Fn(u32) -> Vec<u8>| -> Vec<u8> {
            let streams = (100 * number..100 * number + 100).map(stream);
            streams.flat_map(|stream| [submission(stream, &key), second(stream)].concat()).collect()
        };
        flood(&scene, "resets", |number| {
            pairs(number, &|stream| frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]))
        })
        .await;
        flood(&scene, "resets the gateway is made to send", |number| {
            pairs(number, &|stream| frame(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff]))
        })
        .await;
        flood(&scene, "a head that goes on for ever", |number| match number {
            0 => frame(HEADERS, END, 1, &fields(LIVE)),
            _ => frame(CONTINUATION, 0, 1, &fields(&[("x-a", "b")])).repeat(1_000),
        })
        .await;
        flood(&scene, "a head that goes on with nothing", |number| match number {
            0 => frame(HEADERS, END, 1, b""),
            _ => frame(CONTINUATION, 0, 1, b"").repeat(1_000),
        })
        .await;
        flood(&scene, "a body of nothing", |number| match number {
            0 => submission(1, &key),
            _ => frame(DATA, 0, 1, b"").repeat(1_000),
        })
        .await;
        // Every settings and ping frame is owed an answer, and this client takes none.
        flood(&scene, "settings", |_| frame(SETTINGS, 0, 0, b"").repeat(10_000)).await;
        flood(&scene, "pings", |_| frame(PING, 0, 0, &[7; 8]).repeat(10_000)).await;
    });
}

#[test]
fn streams_over_the_limit_are_refused() {
    run(async {
        let scene = scene().await;
        let key = scene.caller.bearer();
        let mut link = Link::open(scene.address(), b"").await;
        let heads: Vec<u8> = (0..100).flat_map(|number| submission(stream(number), &key)).collect();
        link.send(&heads).await;
        let mut refused: Vec<u32> = Vec::new();
        while refused.len() < 100 - STREAMS {
            let frame = link.next_of_note().await.expect("the connection lives");
            assert_eq!((frame.kind, frame.reason()), (RST_STREAM, REFUSED_STREAM), "{frame:?}");
            refused.push(frame.stream);
        }
        let late: Vec<u32> =
            (STREAMS..100).map(|number| stream(u32::try_from(number).expect("small"))).collect();
        assert_eq!(refused, late, "those that came first are served");
        // The others live: each gets its body and its answer.
        for number in 0..STREAMS {
            let stream = stream(u32::try_from(number).expect("small"));
            link.send(&frame(DATA, END, stream, b"{\"model\":\"none-such\"}")).await;
            let body = link.body(stream).await.expect("an answer");
            assert!(body.contains("none-such"), "{body}");
        }
        scene.serves_honest_requests().await;
    });
}

#[test]
fn answers_nobody_takes_do_not_hold_a_connection() {
    run(async {
        let scene = scene().await;
        // A first window of nothing: every answer's head is taken, no byte of a body ever is.
        let mut link = Link::open(scene.address(), &[0, 4, 0, 0, 0, 0]).await;
        for number in 0..8 {
            link.send(&request(stream(number), LIVE)).await;
        }
        let frames = link.until_pong().await.expect("a live connection");
        assert!(frames.iter().all(|frame| frame.kind != DATA), "{frames:?}");
        let _ = link.until_closed().await;
        scene.serves_honest_requests().await;
    });
}

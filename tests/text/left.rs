//! Clients that leave before the end of their answer: the provider's stream is closed, and what it had written until then is
//! charged; or it is read to its end, where the provider is set so.

use gatehouse_harness::{Connection, run, until};
use serde_json::Value;

use crate::http::http2::frames::{DATA, END, HEAD, HEADERS, Link, RST_STREAM, fields, frame};
use crate::text::scene::{Scene, Wire, request_on};

const HTTP2: &str = "[server]\ncleartext_http2 = true\n\n";
pub(crate) const DRAINED: &str = "[server]\ncleartext_http2 = true\n\n[providers.chat]\ndrain_cancelled = true\n\n\
    [providers.messages]\ndrain_cancelled = true\n\n";
const CANCEL: [u8; 4] = [0, 0, 0, 8];

/// A surface, and what the first delta of its streams has in it.
const SURFACES: [(&str, &str); 3] = [
    ("/v1/chat/completions", "\"content\":\""),
    ("/v1/messages", "text_delta"),
    ("/v1/responses", "response.output_text.delta"),
];
const PROVIDERS: [Wire; 2] = [Wire::Chat, Wire::Messages];

fn asked(path: &str, provider: Wire, text: &str, streaming: bool) -> Value {
    request_on(path, provider.model(), text, streaming)
}

/// A client in one of the versions of HTTP.
enum Client {
    Http1(Connection),
    Http2(Link),
}

impl Client {
    async fn send(scene: &Scene, is_http2: bool, path: &str, body: &Value) -> Self {
        if !is_http2 {
            return Self::Http1(scene.caller.begin(&[("x-response-format", "bare")], path, body).await);
        }
        let (bearer, body) = (scene.caller.bearer(), body.to_string());
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("x-response-format", "bare"),
        ];
        let mut link = Link::open(scene.gateway.public, b"").await;
        let pseudo = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", path)];
        link.send(&frame(HEADERS, HEAD, 1, &fields(&[&pseudo[..], &headers].concat()))).await;
        link.send(&frame(DATA, END, 1, body.as_bytes())).await;
        Self::Http2(link)
    }

    async fn until(&mut self, what: &str) {
        match self {
            Self::Http1(connection) => connection.until(what).await,
            Self::Http2(link) => {
                let mut read = String::new();
                while !read.contains(what) {
                    let frame = link.next_relevant().await.expect("a frame");
                    assert!(frame.kind == DATA || frame.kind == HEADERS, "{frame:?}");
                    read += &String::from_utf8_lossy(&frame.payload);
                }
            }
        }
    }

    /// Leaves, over HTTP/2 with a reset of the stream; that connection stays open.
    async fn leave(self) -> Option<Link> {
        match self {
            Self::Http1(connection) => {
                drop(connection);
                None
            }
            Self::Http2(mut link) => {
                link.send(&frame(RST_STREAM, 0, 1, &CANCEL)).await;
                Some(link)
            }
        }
    }
}

/// What the whole answer costs, and what one costs that its client leaves after five deltas.
async fn costs(scene: &Scene, path: &str, provider: Wire, is_http2: bool, is_drained: bool) -> (i64, i64) {
    let before = scene.spent().await;
    let text = "[[words:300]] the keeper of the lighthouse counts ships";
    let mut whole = Client::send(scene, false, path, &asked(path, provider, text, true)).await;
    let end = if path == "/v1/chat/completions" { "[DONE]" } else { "_stop" };
    whole.until(if path == "/v1/responses" { "response.completed" } else { end }).await;
    let middle = scene.spent().await;
    let (_, delta) = SURFACES.into_iter().find(|(known, _)| *known == path).expect("a surface");
    let stalled = asked(path, provider, &format!("[[stall:5]]{text}"), true);
    let mut client = Client::send(scene, is_http2, path, &stalled).await;
    client.until(delta).await;
    scene.until_held(1).await;
    let link = client.leave().await;
    if is_drained {
        scene.release(1).await;
    }
    until("the provider is let go", async || scene.record(provider).held == 0).await;
    let after = scene.spent().await;
    drop(link);
    (middle - before, after - middle)
}

/// Without it a stream that its client closes after a few words is read to its end and charged as a whole.
#[test]
fn a_stream_that_its_client_leaves_is_closed_and_costs_what_was_written() {
    run(async {
        let scene = Scene::start(HTTP2).await;
        for (path, _) in SURFACES {
            for provider in PROVIDERS {
                for is_http2 in [false, true] {
                    let (whole, left) = costs(&scene, path, provider, is_http2, false).await;
                    let of = format!("{path} over {provider:?}, HTTP/2 {is_http2}: {left} of {whole}");
                    assert!(left > 0 && left * 5 < whole, "{of}");
                }
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it nobody can have the provider's own count of a stream that its client leaves.
#[test]
fn a_drained_stream_costs_what_its_provider_counts() {
    run(async {
        let scene = Scene::start(DRAINED).await;
        for (path, _) in SURFACES {
            for provider in PROVIDERS {
                let (whole, left) = costs(&scene, path, provider, false, true).await;
                assert_eq!(left, whole, "{path} over {provider:?}");
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// Without it a client that gives up early holds the provider until the first event, or its long input is the operator's.
#[test]
fn a_client_that_leaves_before_the_first_event_pays_the_input() {
    run(async {
        let scene = Scene::start(HTTP2).await;
        let input = "the keeper of the lighthouse counts ships ".repeat(200);
        for (path, _) in SURFACES {
            for provider in PROVIDERS {
                // The head of the provider's answer has come with the second marker.
                for marker in ["[[slow-start]]", "[[slow-event]]"] {
                    for is_http2 in [false, true] {
                        let (before, asked_before) = (scene.spent().await, scene.record(provider).count);
                        let body = asked(path, provider, &format!("{marker} {input}"), true);
                        let client = Client::send(&scene, is_http2, path, &body).await;
                        scene.until_held(1).await;
                        let link = client.leave().await;
                        until("the provider is let go", async || scene.record(provider).held == 0).await;
                        let cost = scene.spent().await - before;
                        let tokens = i64::try_from(input.len()).expect("small") / 4;
                        let of = format!("{path} over {provider:?}, {marker}, HTTP/2 {is_http2}: {cost}");
                        assert!(cost >= 2 * tokens && cost < 3 * tokens, "{of}");
                        assert_eq!(scene.record(provider).count, asked_before + 1, "asked once: {of}");
                        drop(link);
                    }
                }
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// A whole answer cannot be counted before it comes: without it one that is not waited for is the operator's.
#[test]
fn a_whole_answer_is_waited_for_and_paid() {
    run(async {
        let scene = Scene::start(HTTP2).await;
        for (path, _) in SURFACES {
            for provider in PROVIDERS {
                let mut costs = Vec::new();
                for (marker, is_http2) in
                    [("", None), ("[[slow-start]]", Some(false)), ("[[slow-start]]", Some(true))]
                {
                    let before = scene.spent().await;
                    let body = asked(path, provider, &format!("{marker}[[words:90]] the keeper"), false);
                    let mut client = Client::send(&scene, is_http2 == Some(true), path, &body).await;
                    match is_http2 {
                        None => client.until("usage").await,
                        Some(_) => {
                            scene.until_held(1).await;
                            drop(client.leave().await);
                            scene.release(1).await;
                        }
                    }
                    costs.push(scene.spent().await - before);
                }
                assert!(costs[0] > 0 && costs.iter().all(|cost| *cost == costs[0]), "{path}: {costs:?}");
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

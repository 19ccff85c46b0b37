//! A provider that fails after the head of its stream and before any content: nothing of it is the client's, so the next
//! account answers.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use gatehouse_harness::{Provider, reply, run, serve_http};
use hyper::body::{Body, Frame, Incoming};
use serde_json::json;
use tokio::sync::oneshot;

use crate::gateways::over;
use crate::text::scene::{SURFACES, Scene, chunk, frames, request_on};

/// Pieces of a stream, each after what it waits for.
struct Pieces(VecDeque<(Option<oneshot::Receiver<()>>, String)>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some((gate, _)) = self.0.front_mut() else { return Poll::Ready(None) };
        if let Some(gate) = gate {
            std::task::ready!(Pin::new(gate).poll(cx)).expect("the test goes on");
        }
        let (_, piece) = self.0.pop_front().expect("the front");
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }
}

/// A stream in one protocol: its head, its end in order, and events of errors.
struct Wire {
    model: &'static str,
    head: fn() -> String,
    rest: fn() -> String,
    failures: [&'static str; 2],
}

const WIRES: [Wire; 2] = [
    Wire {
        model: "over-scripted-messages",
        head: || {
            frames(&[
                json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 7, "output_tokens": 1}}}),
                json!({"type": "ping"}),
            ])
        },
        rest: || {
            frames(&[
                json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
                json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "served"}}),
                json!({"type": "content_block_stop", "index": 0}),
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 2}}),
                json!({"type": "message_stop"}),
            ])
        },
        // An error, and an end without one.
        failures: [
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no\"}}\n\n",
            ": \n\n",
        ],
    },
    Wire {
        model: "over-scripted-chat",
        head: || frames(&[chunk(&json!({"role": "assistant", "content": ""}), None)]),
        rest: || {
            frames(&[chunk(&json!({"content": "served"}), None), chunk(&json!({}), Some("stop"))])
                + "data: [DONE]\n\n"
        },
        failures: ["data: {\"error\":{\"code\":\"503\",\"message\":\"no\"}}\n\n", ": \n\n"],
    },
];

/// Answers of the provider, one a request.
type Script = Arc<Mutex<VecDeque<Pieces>>>;

async fn scene(script: &Script) -> Scene {
    let script = Arc::clone(script);
    let address = serve_http(move |_: hyper::Request<Incoming>| {
        let pieces = script.lock().expect("a lock").pop_front().expect("no more requests than answers");
        async move {
            let response = http::Response::builder().header("content-type", "text/event-stream");
            response.body(pieces).expect("a head")
        }
    })
    .await;
    let accounts: String = ["first", "second"]
        .map(|name| format!("[providers.scripted.accounts.{name}]\nsecret = {{ file = \"SECRET\" }}\n\n"))
        .concat();
    let model = |id: &str, protocol: &str| {
        format!(
            "[models.{id}]\nprovider = \"scripted\"\nprotocol = \"{protocol}\"\nprices = {{ input = \"2\", output = \"5\" }}\n\n"
        )
    };
    let provider = format!("[providers.scripted]\nbase_url = \"http://{address}\"\nauth = \"bearer\"\n\n");
    let models = [model(WIRES[0].model, "messages"), model(WIRES[1].model, "chat")].concat();
    Scene::start(&format!("{provider}{accounts}{models}")).await
}

/// Without it a client reads the failure of one account although another would have served it.
#[test]
fn an_error_after_the_head_of_a_stream_is_the_next_accounts_chance() {
    run(async {
        let script = Script::default();
        let scene = scene(&script).await;
        for wire in &WIRES {
            for failure in wire.failures {
                for path in SURFACES {
                    let (go, gate) = oneshot::channel();
                    let bad = [(None, (wire.head)()), (Some(gate), failure.to_owned())];
                    let good = [(None, (wire.head)()), (None, (wire.rest)())];
                    script.lock().expect("a lock").extend([Pieces(bad.into()), Pieces(good.into())]);
                    let body = request_on(path, wire.model, "hi", true);
                    let mut connection = scene.caller.begin(&[("connection", "close")], path, &body).await;
                    // The gateway has read the head of the first answer when it has answered another request.
                    let models = scene.caller.get("/v1/models").await;
                    assert_eq!(models.status, 200);
                    go.send(()).expect("the first answer is read");
                    let answer = connection.read().await.expect("an answer");
                    let text = answer.text();
                    let of = format!("{path} over {}: {text}", wire.model);
                    assert_eq!(answer.status, 200, "{of}");
                    assert!(text.contains("served") && !text.contains("\"error\":{"), "{of}");
                    for head in [
                        "message_start\ndata",
                        "\"role\":\"assistant\",\"content\":\"\"}",
                        "response.created\ndata",
                    ] {
                        assert!(text.matches(head).count() <= 1, "{head} twice: {of}");
                    }
                    assert!(script.lock().expect("a lock").is_empty(), "both accounts were asked: {of}");
                }
            }
        }
        scene.gateway.expect_sound_ledger().await;
    });
}

/// What Groq answers where a request has more tokens than an account takes in a minute.
const TOO_MUCH: &str = r#"{"error":{"message":"Request too large for model `m` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9104, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#;

/// Without it a client reads that its request is too large although another account takes as much, or everyone waits for an account
/// that takes smaller ones.
#[test]
fn more_than_an_account_takes_in_a_minute_is_the_next_accounts_chance() {
    run(async {
        let script: Arc<Mutex<VecDeque<(u16, &str)>>> = Arc::default();
        let answers = Arc::clone(&script);
        let provider = Provider::start(move |_| {
            let (status, body) =
                answers.lock().expect("a lock").pop_front().expect("no more requests than answers");
            reply(status, &[("content-type", "application/json")], body)
        })
        .await;
        let (gateway, caller) = over(&provider, &["first", "second"], &["chat"]).await;
        let good = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"served"},"finish_reason":"stop"}]}"#;
        for path in SURFACES {
            for stream in [false, true] {
                let body = request_on(path, "chat", "hi", stream);
                // The first account is asked first each time: it has taken no harm.
                for (replies, status) in [
                    (vec![(413, TOO_MUCH), (200, good)], 200),
                    (vec![(413, TOO_MUCH), (413, TOO_MUCH)], 429),
                    (vec![(200, good)], 200),
                ] {
                    script.lock().expect("a lock").extend(replies);
                    let answer = caller.post(path, &body).await;
                    let text = answer.text();
                    assert_eq!(answer.status, status, "{path} {stream}: {text}");
                    assert_eq!(text.contains("served"), status == 200, "{path} {stream}: {text}");
                    assert_eq!(
                        answer.header("retry-after").is_empty(),
                        status == 200,
                        "{path} {stream}: {text}"
                    );
                    assert!(!text.contains("org_01"), "{path} {stream}: {text}");
                    assert!(script.lock().expect("a lock").is_empty(), "{path} {stream}: {text}");
                }
            }
        }
        gateway.expect_sound_ledger().await;
    });
}

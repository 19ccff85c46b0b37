//! What of a provider's stream a client may be handed: the events of the client's own protocol, and nothing else that a server
//! writes between them.

use std::sync::LazyLock;

use chat::Chat;
use gatehouse_play::{Both, Component};
use gatehouse_sdk::{Chunk, Context, Protocol, Sse, TextFailure, UnixMs};
use messages::Messages;
use serde_json::{Value, json};

use crate::named;

static CHAT: LazyLock<Component> = LazyLock::new(|| crate::component("chat"));
static MESSAGES: LazyLock<Component> = LazyLock::new(|| crate::component("messages"));
const SURFACES: [&str; 3] = [chat::SURFACE, chat::RESPONSES, messages::SURFACE];

/// All that the client reads of a stream.
fn heard(surface: &str, protocol: Protocol, events: &[Sse]) -> Result<Vec<Sse>, TextFailure> {
    let message = json!([{"role": "user", "content": "hi"}]);
    let body = match surface {
        chat::RESPONSES => json!({"model": "m", "input": "hi", "stream": true}),
        _ => json!({"model": "m", "max_tokens": 100, "messages": message, "stream": true}),
    };
    let request = crate::text_request(surface, &body, crate::route("m", "u", protocol, json!({})));
    let cx = Context::at(UnixMs(1_790_000_000_500));
    let batches: Vec<Vec<Sse>> = events.iter().map(|event| vec![event.clone()]).collect();
    let chunks: Vec<Result<Chunk, TextFailure>> = if surface == messages::SURFACE {
        let play = Both::new(&MESSAGES, cx);
        let state = play.prepare::<Messages>(&request).expect("a good request").state;
        play.relay::<Messages>(&state, &batches)
    } else {
        let play = Both::new(&CHAT, cx);
        let state = play.prepare::<Chat>(&request).expect("a good request").state;
        play.relay::<Chat>(&state, &batches)
    };
    let chunks: Result<Vec<Chunk>, TextFailure> = chunks.into_iter().collect();
    Ok(chunks?.into_iter().flat_map(|chunk| chunk.send).collect())
}

fn event(name: Option<&str>, data: &Value) -> Sse {
    Sse { event: name.map(str::to_owned), data: data.to_string() }
}

fn stream(protocol: Protocol) -> Vec<Sse> {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "u",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    match protocol {
        Protocol::Chat => vec![
            named(&chunk(json!({"role": "assistant", "content": "a"}), json!(null))),
            named(&chunk(json!({"content": "b"}), json!(null))),
            named(&chunk(json!({}), json!("stop"))),
            Sse { event: None, data: "[DONE]".to_owned() },
        ],
        _ => vec![
            named(
                &json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
                "model": "u", "content": [], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 3, "output_tokens": 1}}}),
            ),
            named(
                &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            ),
            named(
                &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ab"}}),
            ),
            named(&json!({"type": "content_block_stop", "index": 0})),
            named(
                &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                "usage": {"output_tokens": 2}}),
            ),
            named(&json!({"type": "message_stop"})),
        ],
    }
}

/// Without it words of a server between reach the client as events of the answer: notes about accounts, addresses and costs.
#[test]
fn a_client_is_handed_the_events_of_its_protocol_alone() {
    for (surface, protocol) in
        SURFACES.into_iter().flat_map(|it| [(it, Protocol::Chat), (it, Protocol::Messages)])
    {
        let usual = stream(protocol);
        let expected = heard(surface, protocol, &usual).expect("a good stream");
        for foreign in [
            event(Some("note"), &json!({"note": "account 7"})),
            event(Some("note"), &json!({"type": "note", "note": "account 7"})),
            event(None, &json!({"type": "billing", "cost": 1})),
            event(Some("x_internal"), &json!({"type": "x_internal", "node": "10.0.0.7"})),
            event(Some("message_note"), &json!({"type": "message_note", "note": 1})),
            event(Some("content_block_note"), &json!({"type": "content_block_note", "note": 1})),
            event(Some("note"), &json!({"note": 1, "error": null})),
            Sse { event: Some("note".to_owned()), data: "no JSON".to_owned() },
        ] {
            for at in 0..usual.len() - 1 {
                let mut given = usual.clone();
                given.insert(at, foreign.clone());
                let got = heard(surface, protocol, &given);
                assert_eq!(got.as_ref(), Ok(&expected), "{surface} over {protocol:?}: {foreign:?} at {at}");
            }
        }
        for failed in [
            event(Some("note"), &json!({"error": {"message": "x"}})),
            event(Some("note"), &json!({"type": "note", "error": {"message": "x"}})),
            event(None, &json!({"error": {"message": "x"}})),
        ] {
            let given = [usual[0].clone(), failed.clone()];
            assert!(heard(surface, protocol, &given).is_err(), "{surface} over {protocol:?}: {failed:?}");
        }
    }
}

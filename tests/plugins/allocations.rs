//! What a plain answer costs, in allocations: most answers keep to their protocol, and what odd ones need must not be paid for each.
//! Counts, not times, so that a busy machine changes nothing.

use allocation_counter::measure;
use chat::Chat;
use gatehouse_sdk::{Context, Protocol, Relay as _, Reply, Sse, Text, UnixMs, run};
use messages::Messages;
use serde_json::{Value, json};

use crate::named;

/// Events of text in a stream.
const EVENTS: u64 = 100;

fn cx() -> Context {
    Context { seed: 7, ..Context::at(UnixMs(1_790_000_000_500)) }
}

fn state<F: Text>(surface: &str, protocol: Protocol, stream: bool) -> Vec<u8> {
    let body = json!({"model": "m", "max_tokens": 64, "stream": stream, "messages": [{"role": "user", "content": "hi"}]});
    let request = crate::text_request(surface, &body, crate::route("m", "m-1", protocol, json!({})));
    run::prepare::<F>(&cx(), request).expect("a good request").state
}

fn whole(protocol: Protocol) -> Value {
    if protocol == Protocol::Chat {
        return json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m-1",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "The lamp is lit.", "refusal": null},
                         "logprobs": null, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 40, "completion_tokens": 16, "total_tokens": 56}});
    }
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1",
        "content": [{"type": "text", "text": "The lamp is lit."}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 40, "output_tokens": 16}})
}

/// The beginning of a stream, and its pieces of text.
fn events(protocol: Protocol) -> (Vec<Sse>, Vec<Sse>) {
    if protocol == Protocol::Chat {
        let chunk = |delta: Value| {
            let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": null});
            named(
                &json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice], "usage": null}),
            )
        };
        let piece = |number: u64| chunk(json!({"content": format!(" word {number}")}));
        let head = vec![chunk(json!({"role": "assistant", "content": ""})), piece(1000), piece(1001)];
        return (head, (0..EVENTS).map(piece).collect());
    }
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m-1", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 40, "output_tokens": 1}});
    let block = json!({"type": "text", "text": ""});
    let piece = |number: u64| {
        let delta = json!({"type": "text_delta", "text": format!(" word {number}")});
        named(&json!({"type": "content_block_delta", "index": 0, "delta": delta}))
    };
    let head = vec![
        named(&json!({"type": "message_start", "message": message})),
        named(&json!({"type": "content_block_start", "index": 0, "content_block": block})),
        piece(1000),
        piece(1001),
    ];
    (head, (0..EVENTS).map(piece).collect())
}

fn counted<F: Text>(surface: &str, protocol: Protocol) -> (u64, u64) {
    let (cx, asked) = (cx(), state::<F>(surface, protocol, false));
    let reply = Reply::new(200, &whole(protocol));
    let answer = measure(|| assert!(run::answer::<F>(&cx, &asked, reply).is_ok()));
    let mut relay = run::relay::<F>(&cx, &state::<F>(surface, protocol, true));
    let (head, pieces) = events(protocol);
    head.into_iter().for_each(|event| drop(relay.push(vec![event]).expect("a chunk")));
    let batches: Vec<Vec<Sse>> = pieces.into_iter().map(|event| vec![event]).collect();
    let stream = measure(|| {
        batches.into_iter().for_each(|batch| {
            assert_eq!(relay.push(batch).expect("a chunk").send.len(), 1);
        });
    });
    (answer.count_total, stream.count_total.div_ceil(EVENTS))
}

/// Without it each further form of some server is looked for in every answer of all servers.
#[test]
fn a_plain_answer_is_read_once() {
    let (chat, messages) = (chat::SURFACE, messages::SURFACE);
    for (client, protocol, (answer, event), (most, most_of_event)) in [
        (chat, Protocol::Chat, counted::<Chat>(chat, Protocol::Chat), (30, 3)),
        (chat, Protocol::Messages, counted::<Chat>(chat, Protocol::Messages), (42, 3)),
        (messages, Protocol::Chat, counted::<Messages>(messages, Protocol::Chat), (34, 4)),
        (messages, Protocol::Messages, counted::<Messages>(messages, Protocol::Messages), (40, 4)),
    ] {
        println!("{client} over {protocol:?}: {answer} and {event} an event");
        assert!(answer <= most, "{client} over {protocol:?}: {answer} allocations for a whole answer");
        assert!(event <= most_of_event, "{client} over {protocol:?}: {event} allocations for an event");
    }
}

//! Token counts of providers wherever they stand, for clients of messages: what is billed is what the client reads.

use gatehouse_sdk::{Protocol, Usage};
use serde_json::{Value, json};

use crate::messages::{answered, ended, frames, play, state};

const COUNTED: Usage = Usage { input: 400, output: 50, cached: 600, cache_write: 0, cache_write_hour: 0 };

fn counts(prompt: u64, completion: u64, cached: u64) -> Value {
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached})
}

/// Without it a chat provider that counts elsewhere, or twice, is paid by the operator.
#[test]
fn a_chat_provider_is_counted_wherever_it_counts() {
    let whole = counts(1000, 50, 600);
    let begins =
        json!({"id": "c", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "hi"}}]});
    let ends = |more: Value| {
        crate::over(json!({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}), more)
    };
    let in_choice = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": whole}]});
    for events in [
        vec![begins.clone(), ends(json!({"usage": whole}))],
        vec![begins.clone(), ends(in_choice)],
        vec![begins.clone(), ends(json!({"x_groq": {"id": "r", "usage": whole}}))],
        vec![begins.clone(), ends(json!({})), json!({"choices": [], "usage": whole})],
        vec![begins, ends(json!({"usage": whole})), json!({"choices": [], "usage": counts(0, 3, 0)})],
    ] {
        let frames = ended(&events);
        let played = play(&state(Protocol::Chat, false), &frames);
        assert_eq!(played.usage, Some(COUNTED), "{events:?}");
        let usage =
            played.events().iter().rev().find_map(|event| event.get("usage").cloned()).expect("counts");
        assert_eq!((&usage["input_tokens"], &usage["cache_read_input_tokens"]), (&json!(400), &json!(600)));
    }
    let message = json!({"role": "assistant", "content": "hi"});
    for more in [
        json!({"usage": counts(1000, 50, 600)}),
        json!({"x_groq": {"usage": counts(1000, 50, 600)}}),
        json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop", "usage": counts(1000, 50, 600)}]}),
    ] {
        let body = json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let body = crate::over(body, more.clone());
        assert_eq!(answered(Protocol::Chat, false, &body).1, Some(COUNTED), "{more}");
    }
}

/// Without it what a provider tells with its last event, beside tokens it has told before, is free.
#[test]
fn what_a_provider_counts_after_its_tokens_is_counted() {
    let chat = {
        let begins = json!({"id": "c", "usage": counts(1000, 50, 600), "choices":
            [{"index": 0, "delta": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]});
        let mut all = counts(1000, 50, 600);
        all["num_search_queries"] = json!(3);
        let frames = ended(&[begins, json!({"id": "c", "choices": [], "usage": all})]);
        (Protocol::Chat, frames)
    };
    let messages = {
        let delta = |counts: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts});
        let begins = json!({"id": "msg_1", "usage": {"input_tokens": 400, "output_tokens": 1}});
        let text = json!({"type": "text", "text": "hi"});
        let events = [
            json!({"type": "message_start", "message": begins}),
            json!({"type": "content_block_start", "index": 0, "content_block": text}),
            delta(json!({"output_tokens": 50})),
            delta(json!({"output_tokens": 50, "server_tool_use": {"web_search_requests": 3}})),
            json!({"type": "message_stop"}),
        ];
        (Protocol::Messages, frames(&events))
    };
    for (protocol, frames) in [chat, messages] {
        let played = play(&state(protocol, false), &frames);
        assert_eq!(played.counters, [("searches".to_owned(), 3)], "{protocol:?}");
        assert_eq!(played.usage.map(|usage| (usage.input, usage.output)), Some((400, 50)), "{protocol:?}");
    }
}

/// Without it a client that reads the beginning of a stream alone shows that nothing was read.
#[test]
fn a_stream_begins_with_what_was_read_or_about_that() {
    let text = |usage: Value| json!({"id": "c", "usage": usage, "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]});
    let message = |usage: Value| {
        vec![
            json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
                "stop_reason": null, "stop_sequence": null, "usage": usage}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}}),
            json!({"type": "message_stop"}),
        ]
    };
    for (protocol, events, told) in [
        (Protocol::Chat, vec![text(json!(null))], None),
        (Protocol::Chat, vec![text(json!({"prompt_tokens": 0, "completion_tokens": 1}))], None),
        (Protocol::Chat, vec![text(json!({"prompt_tokens": 1000, "completion_tokens": 1}))], Some(1000)),
        (Protocol::Messages, message(json!({"input_tokens": 0, "output_tokens": 0})), None),
        (Protocol::Messages, message(json!({"input_tokens": 1000, "output_tokens": 0})), Some(1000)),
    ] {
        let frames = if protocol == Protocol::Chat { ended(&events) } else { frames(&events) };
        let played = play(&state(protocol, false), &frames);
        let shown = played.events()[0]["message"]["usage"]["input_tokens"].as_u64().expect("a count");
        assert!(told.map_or(shown > 0, |told| shown == told), "{events:?}: {shown}");
        assert_eq!(played.usage.map_or(0, |usage| usage.input), told.unwrap_or(0), "an estimate is not paid");
    }
}

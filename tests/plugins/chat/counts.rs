//! Token counts of providers, whole and streamed, wherever they stand: what is billed is what the client reads.

use gatehouse_sdk::{Protocol, Usage};
use serde_json::{Value, json};

use crate::chat::{answer, data, named, relayed, state, streamed};

const COUNTED: Usage = Usage { input: 400, output: 50, cached: 600, cache_write: 0, cache_write_hour: 0 };

fn counts(prompt: u64, completion: u64, cached: u64) -> Value {
    json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached}})
}

fn chunk(delta: Value, finish: Value, more: Value) -> String {
    let mut choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"});
    for (name, value) in more.as_object().expect("fields") {
        let into = if name == "in_choice" { &mut choice["usage"] } else { &mut chunk[name] };
        *into = value.clone();
    }
    if chunk.get("choices").is_none() {
        chunk["choices"] = json!([choice]);
    }
    chunk.to_string()
}

/// Without it a provider that counts elsewhere, or twice, is paid by the operator.
#[test]
fn a_stream_is_counted_wherever_its_provider_counts() {
    let whole = counts(1000, 50, 600);
    let (none, stop) = (json!({}), json!("stop"));
    for ends in [
        vec![chunk(none.clone(), stop.clone(), json!({"usage": whole}))],
        // Moonshot, Groq.
        vec![chunk(none.clone(), stop.clone(), json!({"in_choice": whole}))],
        vec![chunk(none.clone(), stop.clone(), json!({"x_groq": {"id": "r", "usage": whole}}))],
        vec![
            chunk(none.clone(), stop.clone(), json!({})),
            chunk(none.clone(), json!(null), json!({"choices": [], "x_groq": {"usage": whole}})),
        ],
        // A count that grows, and two that say less later.
        vec![
            chunk(none.clone(), stop.clone(), json!({"usage": counts(1000, 1, 0)})),
            chunk(none.clone(), json!(null), json!({"choices": [], "usage": whole})),
        ],
        vec![
            chunk(none.clone(), stop.clone(), json!({"usage": whole})),
            chunk(none.clone(), json!(null), json!({"choices": [], "usage": counts(0, 0, 0)})),
        ],
        vec![
            chunk(none.clone(), stop, json!({"usage": whole})),
            chunk(none, json!(null), json!({"choices": [], "usage": counts(7, 50, 0)})),
        ],
    ] {
        let begins = chunk(json!({"role": "assistant", "content": "hi"}), json!(null), json!({}));
        let mut events = vec![begins.as_str()];
        events.extend(ends.iter().map(String::as_str));
        events.push("[DONE]");
        let asked = json!({"stream": true, "stream_options": {"include_usage": true}});
        for size in [1, 9] {
            let heard = relayed(&state(Protocol::Chat, asked.clone()), &data(&events), size);
            assert_eq!(heard.usage, Some(COUNTED), "{ends:?}");
            let chunks = heard.chunks();
            let shown = chunks.iter().filter(|chunk| chunk["usage"].is_object()).collect::<Vec<_>>();
            assert_eq!(shown.len(), 1, "{ends:?}");
            let read = &shown[0]["usage"];
            assert_eq!((&read["prompt_tokens"], &read["completion_tokens"]), (&json!(1000), &json!(50)));
        }
    }
}

/// Without it the client of such a provider reads no count, and the host guesses one.
#[test]
fn a_whole_answer_is_counted_wherever_its_provider_counts() {
    for more in [
        json!({"usage": counts(1000, 50, 600)}),
        json!({"x_groq": {"usage": counts(1000, 50, 600)}}),
        json!({"choices": [{"index": 0, "message": {"content": "hi"}, "usage": counts(1000, 50, 600)}]}),
    ] {
        let body =
            crate::over(json!({"choices": [{"index": 0, "message": {"content": "hi"}}]}), more.clone());
        let answered = answer(Protocol::Chat, 200, &body.to_string()).unwrap();
        assert_eq!(answered.usage, Some(COUNTED), "{more}");
        let shown: Value = serde_json::from_str(&answered.body).unwrap();
        assert_eq!(shown["usage"]["prompt_tokens"], 1000, "{more}");
    }
}

/// Without it the last event of a stream makes a long prompt free.
#[test]
fn a_messages_providers_smaller_count_says_nothing() {
    let usage = |counts: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts});
    let events = named(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "usage":
            {"input_tokens": 400, "cache_read_input_tokens": 600, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
        usage(json!({"input_tokens": 400, "output_tokens": 50})),
        usage(json!({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0})),
        json!({"type": "message_stop"}),
    ]);
    let heard = streamed(Protocol::Messages, &events);
    assert_eq!(heard.usage, Some(COUNTED));
}

/// Without it an operator who pays more for sound, thinking or searches than for text charges each as text.
#[test]
fn what_has_a_name_of_its_own_is_counted_apart() {
    let table = [
        (
            json!({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 20, "audio_tokens": 30},
                "completion_tokens_details": {"audio_tokens": 10, "reasoning_tokens": 15}, "num_search_queries": 2}),
            Usage { input: 50, output: 25, cached: 20, ..Usage::default() },
            vec![("input-audio", 30), ("output-audio", 10), ("output-reasoning", 15), ("searches", 2)],
        ),
        // More sound than there is: no token is counted twice.
        (
            json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"audio_tokens": 30}}),
            Usage { input: 0, output: 5, ..Usage::default() },
            vec![("input-audio", 10)],
        ),
        (counts(1000, 50, 600), COUNTED, vec![]),
    ];
    for (usage, expected, counters) in table {
        let counters: Vec<(String, u64)> =
            counters.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        let message = json!({"role": "assistant", "content": "hi"});
        let whole =
            json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage});
        let answered = answer(Protocol::Chat, 200, &whole.to_string()).expect("an answer");
        assert_eq!((answered.usage, &answered.counters), (Some(expected), &counters), "{usage}");
        let read: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(read["usage"]["prompt_tokens"], usage["prompt_tokens"], "the client reads them all");
        let begins = chunk(message, json!("stop"), json!({}));
        let ends = chunk(json!({}), json!(null), json!({"choices": [], "usage": usage}));
        let heard = streamed(Protocol::Chat, &data(&[&begins[..], &ends, "[DONE]"]));
        assert_eq!((heard.usage, &heard.counters), (Some(expected), &counters), "{usage}");
    }
    let message = json!({"type": "message", "model": "m", "content": [], "stop_reason": "end_turn", "usage": {
        "input_tokens": 10, "output_tokens": 9, "input_tokens_details": {"audio_tokens": 2},
        "output_tokens_details": {"thinking_tokens": 4},
        "server_tool_use": {"web_search_requests": 3}}});
    let answered = answer(Protocol::Messages, 200, &message.to_string()).expect("an answer");
    let expected = [("input-audio", 2), ("output-reasoning", 4), ("searches", 3)]
        .map(|(name, count)| (name.to_owned(), count));
    assert_eq!((answered.usage.map(|it| it.output), answered.counters.as_slice()), (Some(5), &expected[..]));
}

/// Without it what a provider tells with its last event, beside tokens it has told before, is free.
#[test]
fn what_a_provider_counts_after_its_tokens_is_counted() {
    let tokens = json!({"prompt_tokens": 100, "completion_tokens": 50});
    let more = |field: &str, value: Value| {
        let mut counts = tokens.clone();
        counts[field] = value;
        json!({"choices": [], "usage": counts}).to_string()
    };
    let begins =
        chunk(json!({"role": "assistant", "content": "hi"}), json!("stop"), json!({"usage": tokens}));
    for (ends, expected, output) in [
        (more("num_search_queries", json!(2)), ("searches", 2), 50),
        (more("completion_tokens_details", json!({"reasoning_tokens": 15})), ("output-reasoning", 15), 35),
        (more("prompt_tokens_details", json!({"audio_tokens": 30})), ("input-audio", 30), 50),
    ] {
        let heard = streamed(Protocol::Chat, &data(&[&begins[..], &ends, "[DONE]"]));
        assert_eq!(heard.counters, [(expected.0.to_owned(), expected.1)], "{ends}");
        assert_eq!(heard.usage.map(|usage| usage.output), Some(output), "{ends}");
    }
    let delta = |counts: Value| json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": counts});
    let events = named(&[
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 100, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
        delta(json!({"output_tokens": 50})),
        delta(json!({"output_tokens": 50, "server_tool_use": {"web_search_requests": 3}})),
        json!({"type": "message_stop"}),
    ]);
    let heard = streamed(Protocol::Messages, &events);
    assert_eq!(heard.counters, [("searches".to_owned(), 3)]);
}

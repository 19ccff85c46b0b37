//! Streams of either provider as the events of a response, in their exact order.

use gatehouse_sdk::{Protocol, Sse};
use serde_json::{Value, json};

use super::{prepared, streamed, whole};
use crate::chat::{data, named, relayed};

use Protocol::{Chat as ChatWire, Messages};

/// Chunks of a chat provider with these deltas, an end and a count.
fn chunks(deltas: &[Value], finish: &str) -> Vec<Sse> {
    let head = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "x"});
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = head.clone();
        chunk["choices"] = choices;
        chunk["usage"] = usage;
        chunk.to_string()
    };
    let mut lines: Vec<String> = deltas
        .iter()
        .map(|delta| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), Value::Null))
        .collect();
    lines.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), Value::Null));
    lines.push(chunk(json!([]), json!({"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14})));
    lines.push("[DONE]".to_owned());
    data(&lines)
}

/// The events, one line each: the type without `response.`, and what tells one from another.
fn told(events: &[Value]) -> Vec<String> {
    let line = |event: &Value| {
        let kind = event["type"].as_str().expect("a type").trim_start_matches("response.");
        let index = event["output_index"].as_u64().map(|index| format!(" {index}")).unwrap_or_default();
        let what = ["delta", "text", "arguments", "input", "refusal"]
            .into_iter()
            .find_map(|name| event[name].as_str());
        let item = event["item"]["type"].as_str().map(|kind| format!(" {kind}"));
        let status = event["item"]["status"].as_str().map(|status| format!(" {status}")).unwrap_or_default();
        let what = what.map(|what| format!(" {what:?}"));
        format!("{kind}{index}{}{status}", item.or(what).unwrap_or_default())
    };
    events.iter().map(line).collect()
}

fn call(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]})
}

fn more(index: u64, arguments: &str) -> Value {
    json!({"tool_calls": [{"index": index, "function": {"arguments": arguments}}]})
}

#[test]
fn a_text_is_told_from_its_beginning_to_its_end() {
    let deltas =
        [json!({"role": "assistant", "content": ""}), json!({"content": "he"}), json!({"content": "y\n"})];
    let events = streamed(ChatWire, json!({}), &chunks(&deltas, "stop"));
    assert_eq!(
        told(&events),
        [
            "created",
            "in_progress",
            "output_item.added 0 message in_progress",
            "content_part.added 0",
            r#"output_text.delta 0 "he""#,
            r#"output_text.delta 0 "y\n""#,
            r#"output_text.done 0 "hey\n""#,
            "content_part.done 0",
            "output_item.done 0 message completed",
            "completed",
        ]
    );
    let id = &events[0]["response"]["id"];
    assert_eq!((id, &events[1]["response"]["id"]), (&events[9]["response"]["id"], id));
    assert_eq!(events[0]["response"]["output"], json!([]));
    assert_eq!(events[0]["response"]["usage"], Value::Null);
    let item = &events[8]["item"];
    assert_eq!(events[9]["response"]["output"], json!([item]));
    for event in &events[3..8] {
        assert_eq!((&event["item_id"], &event["content_index"]), (&item["id"], &json!(0)), "{event}");
    }
    assert_eq!(events[2]["item"]["id"], item["id"]);
    assert_eq!(events[9]["response"]["usage"]["total_tokens"], 14);
}

#[test]
fn a_stream_ends_in_what_a_whole_answer_is() {
    let deltas = [
        json!({"reasoning_content": "hm"}),
        json!({"content": "a"}),
        call(0, "c1", "f", "{\"a\":"),
        more(0, "1}"),
        call(1, "c2", "f", "{}"),
    ];
    let fields = json!({"tools": [{"type": "function", "name": "f"}]});
    let events = streamed(ChatWire, fields.clone(), &chunks(&deltas, "tool_calls"));
    let tool = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let body = json!({
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "content": "a", "reasoning_content": "hm", "tool_calls": [tool("c1", "{\"a\":1}"), tool("c2", "{}")],
        }}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14},
    });
    assert_eq!(events.last().unwrap()["response"], whole(ChatWire, fields, &body));
}

#[test]
fn parallel_calls_that_take_turns_are_told_one_after_the_other() {
    let deltas = [
        json!({"content": "a"}),
        json!({"tool_calls": [
            {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": ""}},
            {"index": 1, "id": "c2", "type": "function", "function": {"name": "g", "arguments": "{"}},
        ]}),
        more(0, "{\"x\":1}"),
        more(1, "}"),
        json!({"content": "b"}),
    ];
    let events = streamed(ChatWire, json!({}), &chunks(&deltas, "tool_calls"));
    let lines = told(&events);
    assert_eq!(
        lines[4..],
        [
            r#"output_text.delta 0 "a""#,
            r#"output_text.done 0 "a""#,
            "content_part.done 0",
            "output_item.done 0 message completed",
            "output_item.added 1 function_call in_progress",
            r#"function_call_arguments.delta 1 "{\"x\":1}""#,
            r#"function_call_arguments.done 1 "{\"x\":1}""#,
            "output_item.done 1 function_call completed",
            "output_item.added 2 function_call in_progress",
            r#"function_call_arguments.delta 2 "{""#,
            r#"function_call_arguments.delta 2 "}""#,
            r#"function_call_arguments.done 2 "{}""#,
            "output_item.done 2 function_call completed",
            "output_item.added 3 message in_progress",
            "content_part.added 3",
            r#"output_text.delta 3 "b""#,
            r#"output_text.done 3 "b""#,
            "content_part.done 3",
            "output_item.done 3 message completed",
            "completed",
        ],
        "{lines:#?}"
    );
}

#[test]
fn thinking_is_told_as_a_summary_and_sealed() {
    let block = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta =
        |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let lines = [
        json!({"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3, "output_tokens": 1}}}),
        block(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        block(1, json!({"type": "redacted_thinking", "data": "cmVk"})),
        stop(1),
        block(2, json!({"type": "tool_use", "id": "c1", "name": "f", "input": {}})),
        stop(2),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let events = streamed(Messages, json!({}), &named(&lines));
    assert_eq!(
        told(&events),
        [
            "created",
            "in_progress",
            "output_item.added 0 reasoning",
            "reasoning_summary_part.added 0",
            r#"reasoning_summary_text.delta 0 "hm""#,
            r#"reasoning_summary_text.done 0 "hm""#,
            "reasoning_summary_part.done 0",
            "output_item.done 0 reasoning",
            "output_item.added 1 reasoning",
            "output_item.done 1 reasoning",
            "output_item.added 2 function_call in_progress",
            r#"function_call_arguments.delta 2 "{}""#,
            r#"function_call_arguments.done 2 "{}""#,
            "output_item.done 2 function_call completed",
            "completed",
        ]
    );
    let sealed = |at: usize| events[at]["item"]["encrypted_content"].as_str().unwrap().starts_with("gh1.");
    assert!(sealed(7) && sealed(9));
    assert_eq!(events[9]["item"]["summary"], json!([]));
    assert_eq!(events[14]["response"]["usage"]["output_tokens"], 9);
}

#[test]
fn what_the_limit_cuts_short_is_never_told_as_done() {
    let events = streamed(
        ChatWire,
        json!({}),
        &chunks(&[json!({"content": "a"}), call(0, "c1", "f", "{\"a\":")], "length"),
    );
    let lines = told(&events);
    assert_eq!(lines[lines.len() - 2..], [r#"function_call_arguments.delta 1 "{\"a\":""#, "incomplete"]);
    let response = &events.last().unwrap()["response"];
    assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
    let statuses: Vec<&Value> =
        response["output"].as_array().unwrap().iter().map(|item| &item["status"]).collect();
    assert_eq!(statuses, ["completed", "incomplete"]);
    assert_eq!(response["usage"]["total_tokens"], 14);
    // A text has an end all the same: clients wait for it.
    let events = streamed(ChatWire, json!({}), &chunks(&[json!({"content": "a"})], "length"));
    let lines = told(&events);
    assert_eq!(lines[lines.len() - 2..], ["output_item.done 0 message incomplete", "incomplete"]);
}

#[test]
fn custom_tools_and_refusals_have_events_of_their_own() {
    let tools = json!({"tools": [{"type": "custom", "name": "patch"}]});
    let deltas = [json!({"refusal": "no"}), call(0, "c1", "patch", "{\"input\":"), more(0, "\"a\\nb\"}")];
    let events = streamed(ChatWire, tools, &chunks(&deltas, "tool_calls"));
    let lines = told(&events);
    assert_eq!(
        lines[3..],
        [
            "content_part.added 0",
            r#"refusal.delta 0 "no""#,
            r#"refusal.done 0 "no""#,
            "content_part.done 0",
            "output_item.done 0 message completed",
            "output_item.added 1 custom_tool_call in_progress",
            r#"custom_tool_call_input.delta 1 "a\nb""#,
            r#"custom_tool_call_input.done 1 "a\nb""#,
            "output_item.done 1 custom_tool_call completed",
            "completed",
        ],
        "{lines:#?}"
    );
}

/// The host tells a failure; what came before it stays told.
#[test]
fn a_stream_that_fails_has_no_last_event() {
    let state = prepared(ChatWire, json!({}), json!({"stream": true})).state;
    let mut lines = chunks(&[json!({"content": "a"})], "stop");
    lines.truncate(1);
    lines.push(Sse {
        event: None,
        data: json!({"error": {"message": "no", "type": "server_error"}}).to_string(),
    });
    for size in [1, 2] {
        let heard = relayed(&state, &lines, size);
        assert!(heard.stopped.is_some() && !heard.last);
        assert_eq!(heard.data.len(), 5, "{heard:?}");
    }
}

//! What a provider is sent of a conversation in place of what the client wrote: ids of calls that it takes back, and no texts that say
//! nothing.

use chat::{Chat, RESPONSES, SURFACE};
use gatehouse_sdk::{Prepared, Protocol};
use serde_json::{Value, json};

use crate::chat::{both, refusal, reply, written_to};

fn prepared(surface: &str, (protocol, rules): (Protocol, Value), body: &Value) -> Prepared<Vec<u8>> {
    crate::chat::prepared(written_to(surface, protocol, rules, body))
}

fn sent(surface: &str, provider: (Protocol, Value), body: &Value) -> Value {
    prepared(surface, provider, body).call.json_body()
}

/// Without it every turn after a call that another provider has made is refused, or its result goes to another call.
#[test]
fn ids_of_calls_are_those_that_a_chat_provider_takes() {
    let long = |end: &str| format!("chatcmpl-tool-{}{end}", "0123456789abcdef".repeat(2));
    let ids = [long("0"), long("1"), "functions.f:0".to_owned()];
    let call =
        |id: &String| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let result = |id: &String| json!({"role": "tool", "tool_call_id": id, "content": id});
    let mut messages = vec![
        json!({"role": "user", "content": "hi"}),
        json!({"role": "assistant", "content": null, "tool_calls": ids.each_ref().map(call)}),
    ];
    messages.extend(ids.iter().rev().map(result));
    let called =
        |id: &String| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let output = |id: &String| json!({"type": "function_call_output", "call_id": id, "output": id});
    let items = [json!({"role": "user", "content": "hi"})].into_iter();
    let items: Vec<Value> = items.chain(ids.iter().map(called)).chain(ids.iter().rev().map(output)).collect();
    for (rules, longest, kept) in [
        (json!({}), 40, Some(2)),
        (json!({"call_ids": "short"}), 40, Some(2)),
        (json!({"call_ids": "nine"}), 9, None),
        (json!({"call_ids": "any"}), usize::MAX, Some(0)),
    ] {
        for (surface, body) in [
            (SURFACE, json!({"model": "m", "messages": messages})),
            (RESPONSES, json!({"model": "m", "input": items})),
        ] {
            let got = sent(surface, (Protocol::Chat, rules.clone()), &body);
            let all = got["messages"].as_array().expect("messages");
            let calls = all[1]["tool_calls"].as_array().expect("calls");
            let sent: Vec<&str> = calls.iter().map(|call| call["id"].as_str().expect("an id")).collect();
            let of = format!("{surface} {rules}: {sent:?}");
            assert!(sent.iter().all(|id| id.len() <= longest), "{of}");
            assert!(sent[0] != sent[1] && sent[1] != sent[2], "{of}");
            assert!(kept.is_none_or(|kept| sent[kept] == ids[kept]), "{of}");
            for result in &all[2..] {
                let own = ids.iter().position(|id| result["content"] == **id).expect("its result");
                assert_eq!(result["tool_call_id"], sent[own], "{of}");
            }
        }
    }
}

/// Without it an empty prompt of a client's settings, or a part that nobody filled, is a 400 of the provider on every turn.
#[test]
fn texts_that_say_nothing_are_not_sent() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let body = json!({"model": "m", "messages": [
        {"role": "system", "content": " \n"},
        {"role": "developer", "content": [text("")]},
        {"role": "user", "content": [text(""), text("hi")]},
        {"role": "assistant", "content": [text(" ")], "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": " "},
        {"role": "user", "content": "so"},
    ]});
    let got = sent(SURFACE, (Protocol::Chat, json!({})), &body);
    assert_eq!(got["messages"][0], json!({"role": "user", "content": [text("hi")]}));
    assert_eq!(got["messages"].as_array().map(Vec::len), Some(4));
    let got = sent(SURFACE, (Protocol::Messages, json!({})), &body);
    assert_eq!(got.get("system"), None);
    assert_eq!(
        got["messages"],
        json!([
            {"role": "user", "content": [text("hi")]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": ""}, text("so")]},
        ])
    );
    let empty = json!({"model": "m", "instructions": " ", "input": "hi"});
    let got = sent(RESPONSES, (Protocol::Chat, json!({})), &empty);
    assert_eq!(got["messages"].as_array().map(Vec::len), Some(1), "{got}");
}

/// Without it a turn that a model, or nobody, filled is a 400 of the provider on every further turn.
#[test]
fn turns_that_say_nothing_are_not_sent() {
    let turn = |role: &str, content: Value| json!({"role": role, "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    let (hi, go) = (turn("user", json!("hi")), turn("user", json!("go on")));
    let both = || vec![turn("user", json!("hi\n\ngo on"))];
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let calling = |content: Value| json!({"role": "assistant", "content": content, "tool_calls": [call]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": ""});
    let picture = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
    let (named, silent) =
        (json!({"role": "user", "name": "n", "content": "go on"}), turn("assistant", json!("")));
    for (given, expected) in [
        (vec![hi.clone(), silent.clone(), go.clone()], both()),
        (vec![hi.clone(), turn("assistant", json!(" \n")), go.clone()], both()),
        (vec![hi.clone(), turn("assistant", Value::Null), go.clone()], both()),
        (vec![hi.clone(), json!({"role": "assistant"}), go.clone()], both()),
        (
            vec![
                hi.clone(),
                json!({"role": "assistant", "content": "", "tool_calls": [], "refusal": ""}),
                go.clone(),
            ],
            both(),
        ),
        (vec![hi.clone(), turn("assistant", json!([text("")])), turn("user", json!("")), go.clone()], both()),
        (
            vec![hi.clone(), silent.clone(), go.clone(), silent.clone(), turn("user", json!("so"))],
            vec![turn("user", json!("hi\n\ngo on\n\nso"))],
        ),
        (
            vec![turn("user", json!([text("hi"), text(""), picture])), silent.clone(), named],
            vec![json!({"role": "user", "name": "n", "content": [text("hi"), picture, text("go on")]})],
        ),
        (
            vec![
                hi.clone(),
                turn("assistant", json!("a")),
                turn("user", json!(" ")),
                calling(Value::Null),
                result.clone(),
            ],
            vec![hi.clone(), calling(json!("a")), result.clone()],
        ),
        (
            vec![hi.clone(), calling(json!("a")), result.clone(), silent.clone(), go.clone()],
            vec![hi.clone(), calling(json!("a")), result, go.clone()],
        ),
        (vec![silent.clone(), hi.clone()], vec![hi.clone()]),
        (vec![hi.clone(), silent.clone()], vec![hi.clone()]),
        (vec![turn("system", json!("s")), silent, hi.clone()], vec![turn("system", json!("s")), hi.clone()]),
        (
            vec![hi.clone(), json!({"role": "assistant", "refusal": "no"}), go.clone()],
            vec![hi.clone(), json!({"role": "assistant", "refusal": "no"}), go.clone()],
        ),
        // What the client wrote as two stays two, and the last word of the user is what is asked.
        (vec![hi.clone(), go.clone()], vec![hi.clone(), go]),
        (
            vec![hi.clone(), turn("assistant", json!("a")), turn("user", json!(""))],
            vec![hi, turn("assistant", json!("a")), turn("user", json!(""))],
        ),
    ] {
        let body = json!({"model": "m", "messages": given});
        let got = sent(SURFACE, (Protocol::Chat, json!({})), &body);
        assert_eq!(got["messages"], json!(expected), "{given:?}");
    }
    let message = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let input = json!([
        message("user", "input_text", "hi"),
        message("assistant", "output_text", ""),
        message("user", "input_text", "go on")
    ]);
    let got = sent(RESPONSES, (Protocol::Chat, json!({})), &json!({"model": "m", "input": input}));
    let both = json!([{"type": "text", "text": "hi"}, {"type": "text", "text": "go on"}]);
    assert_eq!(got["messages"], json!([{"role": "user", "content": both}]), "as in a chat");
    let blank = json!([{"role": "user", "content": ""}, message("assistant", "output_text", "")]);
    let blank = json!({"model": "m", "input": blank});
    let blank = written_to(RESPONSES, Protocol::Chat, json!({}), &blank);
    assert_eq!(refusal(blank).0, "input", "it asks for nothing");
}

/// Without it a client looks for its mistake in another message.
#[test]
fn what_was_left_out_counts_where_a_provider_numbers() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let parts = json!([{"type": "input_text", "text": ""}, {"type": "input_text", "text": "hi"}]);
    let item = |role: &str, content: &str| json!({"role": role, "content": content});
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
    let chat = json!([item("system", ""), {"role": "user", "content": [text(""), text("hi")]}]);
    for (surface, given, named, expected) in [
        (SURFACE, chat, "messages[0].content[0].text", "messages[1].content[1].text"),
        (
            RESPONSES,
            json!([item("system", ""), {"role": "user", "content": parts}]),
            "messages[0].content[0].text",
            "input[1].content[1]",
        ),
        (
            RESPONSES,
            json!([item("user", "a"), item("system", " "), item("assistant", "b"), item("user", "c")]),
            "messages[2]",
            "input[3]",
        ),
        (
            RESPONSES,
            json!([item("user", "a"), item("assistant", ""), call, output, item("user", "c")]),
            "messages[1].tool_calls[0]",
            "input[2]",
        ),
        (
            RESPONSES,
            json!([
                item("user", "a"),
                item("assistant", ""),
                item("user", "b"),
                item("assistant", "c"),
                item("user", "d")
            ]),
            "messages[1]",
            "input[3]",
        ),
        (RESPONSES, json!("a"), "messages[0].content", "input"),
    ] {
        let list = if surface == SURFACE { "messages" } else { "input" };
        let body = json!({"model": "m", list: given});
        let state = prepared(surface, (Protocol::Chat, json!({})), &body).state;
        let error = json!({"error": {"type": "invalid_request_error", "param": named, "message": "no"}});
        let failure = both().answer::<Chat>(&state, &reply(400, &error.to_string())).expect_err("an error");
        assert_eq!(failure.field.as_deref(), Some(expected), "{body}");
    }
}

/// Without it a request that OpenAI's models answer, with a system prompt alone, is a 400 at every model of messages.
#[test]
fn a_system_prompt_alone_is_what_is_asked() {
    let asked = json!([{"role": "user", "content": [{"type": "text", "text": "Say hello"}]}]);
    for body in [
        json!({"model": "m", "messages": [{"role": "system", "content": "Say hello"}]}),
        json!({"model": "m", "messages": [{"role": "developer", "content": "Say hello"}, {"role": "user", "content": ""}]}),
    ] {
        let got = sent(SURFACE, (Protocol::Messages, json!({})), &body);
        assert_eq!((got.get("system"), &got["messages"]), (None, &asked), "{body}");
    }
    let got = sent(
        RESPONSES,
        (Protocol::Messages, json!({})),
        &json!({"model": "m", "instructions": "Say hello", "input": ""}),
    );
    assert_eq!(got["messages"], asked);
}

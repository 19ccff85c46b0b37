//! A provider that speaks Chat: what is asked of it.

use std::collections::BTreeSet;

use gatehouse_sdk::{Facts, MediaKind, Protocol, Refusal, Target};
use gatehouse_text_protocols::tool_ids;
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, prepare, refused, sent, text_request};

fn asked(fields: Value) -> Value {
    sent(fields, Protocol::Chat, json!({}))
}

/// The messages that come of `turns`.
fn told(turns: Value, rules: Value) -> Value {
    sent(json!({"messages": turns}), Protocol::Chat, rules)["messages"].take()
}

#[test]
fn the_plainest_request() {
    let prepared = prepare(&body(json!({})), Protocol::Chat, json!({})).expect("good");
    assert_eq!(prepared.call.target, Target::Path("/v1/chat/completions".to_owned()));
    assert_eq!(prepared.call.headers, []);
    let expected = json!({
        "model": "upstream-model",
        "messages": [{"role": "user", "content": "hello"}],
        "max_completion_tokens": 4096,
    });
    assert_eq!(asked(json!({})), expected);
}

#[test]
fn translates_every_field() {
    let function = |name: &str| json!({"type": "function", "function": {"name": name}});
    let table = [
        (json!({"temperature": 0.5}), "temperature", json!(0.5)),
        (json!({"top_p": 0.5}), "top_p", json!(0.5)),
        (json!({"top_k": 5}), "top_k", Value::Null),
        (json!({"stop_sequences": ["a", "b"]}), "stop", json!(["a", "b"])),
        (json!({"stream": true}), "stream", json!(true)),
        (json!({"stream": true}), "stream_options", json!({"include_usage": true})),
        (json!({"stream": false}), "stream_options", Value::Null),
        (json!({"metadata": {"user_id": "u-1"}}), "user", json!("u-1")),
        (json!({"tool_choice": {"type": "auto"}}), "tool_choice", json!("auto")),
        (json!({"tool_choice": {"type": "any"}}), "tool_choice", json!("required")),
        (json!({"tool_choice": {"type": "none"}}), "tool_choice", json!("none")),
        (json!({"tool_choice": {"type": "tool", "name": "f"}}), "tool_choice", function("f")),
        (
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": true}}),
            "parallel_tool_calls",
            json!(false),
        ),
        (
            json!({"tools": [{"name": "f", "description": "d", "input_schema": {"type": "object"}, "strict": true}]}),
            "tools",
            json!([{"type": "function", "function":
                {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}}]),
        ),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 1024}}), "reasoning_effort", json!("low")),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 4095}}), "reasoning_effort", json!("low")),
        (json!({"thinking": {"type": "adaptive"}}), "reasoning_effort", json!("high")),
        (json!({"thinking": {"type": "disabled"}}), "reasoning_effort", Value::Null),
        (json!({"model": "lm-sonnet-4-6-thinking"}), "reasoning_effort", json!("high")),
        (json!({"thinking": {"type": "disabled"}}), "thinking", Value::Null),
        (json!({"system": "be brief"}), "system", Value::Null),
    ];
    for (mut fields, name, expected) in table {
        if name.contains("tool_c") {
            assert_eq!(asked(fields.clone()).get("parallel_tool_calls"), None, "there are no tools");
            fields["tools"] = json!([{"name": "f", "input_schema": {}}]);
        }
        let thinks = json!({"thinking": ["enabled", "adaptive"]});
        assert_eq!(sent(fields.clone(), Protocol::Chat, thinks)[name], expected, "{fields}");
    }
    assert_eq!(
        asked(json!({"tool_choice": {"type": "auto"}})).get("tool_choice"),
        None,
        "there are no tools"
    );
}

#[test]
fn applies_the_operators_rules() {
    let got = sent(
        json!({"stream": true}),
        Protocol::Chat,
        json!({"max_tokens_field": "max_tokens", "include_usage": false}),
    );
    assert_eq!((&got["max_tokens"], got.get("max_completion_tokens")), (&json!(4096), None));
    assert_eq!(got.get("stream_options"), None);
    let rules = json!({"pass": ["output_config", "service_tier", "cache_control"], "thinking": ["adaptive"]});
    let schema = json!({"type": "object"});
    let fields = json!({
        "output_config": {"effort": "max", "format": {"type": "json_schema", "schema": schema}},
        "service_tier": "standard_only",
        "cache_control": {"type": "ephemeral"},
        "thinking": {"type": "adaptive"},
    });
    let got = sent(fields, Protocol::Chat, rules);
    assert_eq!(got["reasoning_effort"], "max");
    assert_eq!(
        got["response_format"],
        json!({"type": "json_schema", "json_schema": {"name": "output", "schema": schema, "strict": true}})
    );
    assert_eq!((&got["service_tier"], got.get("cache_control")), (&json!("default"), None));
}

#[test]
fn the_system_prompt_is_one_message() {
    let blocks = json!([
        {"type": "text", "text": "one", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "two"}]);
    for (system, expected) in [(json!("be brief"), "be brief"), (blocks, "one\ntwo")] {
        let got = asked(json!({"system": system}));
        assert_eq!(got["messages"][0], json!({"role": "system", "content": expected}));
        assert_eq!(got["messages"][1]["role"], "user");
    }
}

#[test]
fn a_users_parts() {
    let data = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
    let cut = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "blob:blob_1"}});
    let link = json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}});
    let text = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let table = [
        (json!([text("a")]), json!("a")),
        (json!([text("a"), text("b\"")]), json!("a\nb\"")),
        (
            json!([text("a"), data]),
            json!([{"type": "text", "text": "a"}, image("data:image/png;base64,iVBORw0KGgo=")]),
        ),
        (json!([cut]), json!([image("blob:blob_1")])),
        (json!([link]), json!([image("https://example.com/a.png")])),
        (
            json!([{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "doc"}}]),
            json!("doc"),
        ),
        (
            json!([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}}]),
            json!([{"type": "file", "file":
                {"filename": "document.pdf", "file_data": "data:application/pdf;base64,JVBE"}}]),
        ),
    ];
    for (content, expected) in table {
        let got = told(json!([{"role": "user", "content": content}]), json!({}));
        assert_eq!(got, json!([{"role": "user", "content": expected}]));
    }
}

#[test]
fn an_assistants_text_and_tools_stay_together() {
    let turns = json!([
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "xx"},
            {"type": "text", "text": "let me look"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "it"}},
            {"type": "tool_use", "id": "t2", "name": "wait", "input": {}},
        ]},
        {"role": "user", "content": "and?"},
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let mut expected = json!({
        "role": "assistant",
        "content": "let me look",
        "tool_calls": [call("t1", "look", r#"{"at":"it"}"#), call("t2", "wait", "{}")],
    });
    assert_eq!(told(turns.clone(), json!({}))[0], expected);
    expected["reasoning_content"] = json!("hm");
    assert_eq!(told(turns, json!({"reasoning_history": true}))[0], expected);

    let silent = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]);
    assert_eq!(told(silent, json!({}))[0]["content"], Value::Null);
}

#[test]
fn results_of_tools_come_first_and_their_pictures_after() {
    let picture = json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}});
    let calls = ["t1", "t2", "t3"].map(|id| json!({"type": "tool_use", "id": id, "name": "f", "input": {}}));
    let turns = json!([{"role": "assistant", "content": calls}, {"role": "user", "content": [
        {"type": "text", "text": "go on"},
        {"type": "tool_result", "tool_use_id": "t1", "content": [
            {"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}]},
        {"type": "tool_result", "tool_use_id": "t2", "content": "no such file", "is_error": true},
        {"type": "tool_result", "tool_use_id": "t3"},
    ]}]);
    let expected = json!([
        {"role": "tool", "tool_call_id": "t1", "content": "a\nb"},
        {"role": "tool", "tool_call_id": "t2", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "t3", "content": ""},
        {"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "text", "text": "go on"},
        ]},
    ]);
    assert_eq!(
        told(turns, json!({})).as_array().expect("messages")[1..],
        *expected.as_array().expect("messages")
    );
}

#[test]
fn refuses_blocks_chat_does_not_have() {
    let user = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let table = [
        (
            user(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "`messages.0.content`: this model does not take a picture whose source is a `file`",
        ),
        (
            user(json!({"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}})),
            "`messages.0.content`: this model does not take a document by its URL",
        ),
        (
            user(json!({"type": "search_result", "source": "s", "title": "t", "content": []})),
            "`messages.0.content`: this model does not take a `search_result` block",
        ),
        (
            json!({"tools": [{"type": "bash_20241022", "name": "bash"}]}),
            "`tools.0`: expected a custom tool for this model, got one of type \"bash_20241022\"",
        ),
    ];
    for (fields, expected) in table {
        let rules = json!({"pass": ["file_id", "file_url"]});
        assert_eq!(refused(&body(fields.clone()), Protocol::Chat, rules.clone()), expected);
        assert!(prepare(&body(fields), Protocol::Messages, rules).is_ok(), "Messages has words for it");
    }
}

#[test]
fn refuses_a_blob_inside_quoted_json() {
    let turns = json!([
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "f", "input": {"picture": "blob:blob_1"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]);
    let mut request = text_request(&body(json!({"messages": turns})), Protocol::Chat, json!({}));
    assert!(both().prepare::<Messages>(&request).is_ok(), "words that only look like it");
    let facts =
        Facts { blob: Some("blob:blob_1".to_owned()), ..Facts::new(MediaKind::Image, "image/png", 9) };
    request.blobs.push(facts);
    assert!(matches!(both().prepare::<Messages>(&request), Err(Refusal::Invalid { .. })));
}

/// Without it every turn after a call that another provider has made is refused, or its result goes to another call.
#[test]
fn ids_of_calls_are_those_that_the_provider_takes() {
    let long = |end: &str| format!("toolu_{}{end}", "0123456789abcdef".repeat(3));
    // The second one stands for an id of odd letters, the last one is there twice.
    let ids = [long("0"), tool_ids::encoded("functions.f:0").into_owned(), "t".to_owned(), "t".to_owned()];
    let call = |id: &String| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let result = |id: &String| json!({"type": "tool_result", "tool_use_id": id, "content": id});
    let turns = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": ids.each_ref().map(call)},
        {"role": "user", "content": ids.each_ref().map(result)},
    ]);
    for (rules, longest, odd) in [
        (json!({}), 40, "functions.f:0"),
        (json!({"call_ids": "any"}), 60, "functions.f:0"),
        (json!({"call_ids": "nine"}), 9, ""),
    ] {
        let got = told(turns.clone(), rules.clone());
        let calls = got[1]["tool_calls"].as_array().expect("calls");
        let sent: Vec<&str> = calls.iter().map(|call| call["id"].as_str().expect("an id")).collect();
        assert!(sent.iter().all(|id| id.len() <= longest), "{rules}: {sent:?}");
        assert!(odd.is_empty() || sent[1] == odd, "{rules}: {sent:?}");
        assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{rules}: {sent:?}");
        for (at, id) in ids.iter().enumerate() {
            assert_eq!(
                (&got[2 + at]["content"], &got[2 + at]["tool_call_id"]),
                (&json!(id), &json!(sent[at]))
            );
        }
    }
}

/// Without it a block that nobody filled is a 400, here or at the provider, on every turn.
#[test]
fn texts_that_say_nothing_are_not_sent() {
    let text = |text: &str| json!({"type": "text", "text": text});
    let calls = json!([text("\n\n"), {"type": "tool_use", "id": "t", "name": "f", "input": {}}]);
    let results =
        |content: Value| json!([{"type": "tool_result", "tool_use_id": "t", "content": content}, text("")]);
    let fields = |content: Value| {
        json!({"system": [text(""), text("be brief"), text(" ")], "messages": [
            {"role": "user", "content": [text(""), text("hi")]},
            {"role": "assistant", "content": calls},
            {"role": "user", "content": results(content)},
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": ""},
            {"role": "user", "content": "and?"},
        ]})
    };
    for content in [json!([text("")]), json!([text(" "), text("")]), json!(""), json!([])] {
        let got = asked(fields(content.clone()));
        let call = json!({"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        assert_eq!(
            got["messages"],
            json!([
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": null, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "t", "content": ""},
                {"role": "assistant", "content": "so"},
                {"role": "user", "content": "and?"},
            ]),
            "{content}"
        );
        let got = sent(fields(content.clone()), Protocol::Messages, json!({}));
        assert_eq!(got["system"], json!([text("be brief")]), "{content}");
        assert_eq!(got["messages"].as_array().map(Vec::len), Some(5), "{content}: {got}");
        assert_eq!(got["messages"][0]["content"], json!([text("hi")]), "{content}");
        let result = &got["messages"][2]["content"];
        assert_eq!(result.as_array().map(Vec::len), Some(1), "{content}: {got}");
        assert!(!result.to_string().contains("\"text\""), "{content}: {got}");
    }
    for system in [json!(""), json!(" "), json!([text("")]), json!([])] {
        for protocol in [Protocol::Chat, Protocol::Messages] {
            let got = sent(json!({"system": system}), protocol, json!({}));
            assert!(
                got.get("system").is_none() && got["messages"].as_array().map(Vec::len) == Some(1),
                "{got}"
            );
        }
    }
}

/// Without it a turn that a model, or nobody, filled is a 400 of the provider on every further turn.
#[test]
fn turns_that_say_nothing_are_not_sent_to_a_chat_provider() {
    let turn = |role: &str, content: Value| json!({"role": role, "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    let (hi, go) = (turn("user", json!("hi")), turn("user", json!("go on")));
    let thought = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let picture = json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}});
    let sent_picture = json!({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}});
    for (given, expected) in [
        (vec![hi.clone(), turn("assistant", json!("")), go.clone()], vec![turn("user", json!("hi\ngo on"))]),
        (
            vec![hi.clone(), turn("assistant", json!([text(" \n")])), go.clone()],
            vec![turn("user", json!("hi\ngo on"))],
        ),
        (vec![hi.clone(), turn("assistant", json!([])), go.clone()], vec![turn("user", json!("hi\ngo on"))]),
        (vec![hi.clone(), turn("assistant", thought), go.clone()], vec![turn("user", json!("hi\ngo on"))]),
        (
            vec![turn("user", json!([text("hi"), picture])), turn("assistant", json!(" ")), go.clone()],
            vec![turn("user", json!([text("hi"), sent_picture, text("go on")]))],
        ),
        (
            vec![
                hi.clone(),
                turn("assistant", json!("a")),
                turn("user", json!(" ")),
                turn("assistant", json!("b")),
                go.clone(),
            ],
            vec![hi.clone(), turn("assistant", json!("a\nb")), go.clone()],
        ),
        (vec![turn("assistant", json!("")), hi.clone()], vec![hi.clone()]),
        (
            vec![hi.clone(), turn("assistant", json!("a")), turn("assistant", json!("")), go.clone()],
            vec![hi.clone(), turn("assistant", json!("a")), go.clone()],
        ),
        // What the client wrote as two stays two.
        (vec![hi.clone(), go.clone()], vec![hi, go]),
    ] {
        let got = asked(json!({"messages": given}));
        assert_eq!(got["messages"], json!(expected), "{given:?}");
        let got = sent(json!({"messages": given}), Protocol::Messages, json!({}));
        let is_silent = |content: &Value| match content {
            Value::String(text) => text.trim().is_empty(),
            blocks => {
                blocks.as_array().is_none_or(Vec::is_empty) || blocks.to_string().contains(r#""text":"""#)
            }
        };
        let silent =
            got["messages"].as_array().expect("messages").iter().find(|turn| is_silent(&turn["content"]));
        assert_eq!(silent, None, "{given:?}: {got}");
    }
}

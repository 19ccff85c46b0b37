//! A client of chat and a provider of chat: bytes are kept, and only what concerns the route changes.

use gatehouse_sdk::{Facts, MediaKind, Protocol, Replay, Target};
use serde_json::{Value, json};

use crate::chat::{MODEL, asked, body, prepared, refusal, sent, text_of, written};

fn passed(rules: Value, fields: Value) -> Value {
    sent(Protocol::Chat, rules, fields)
}

#[test]
fn the_call_has_path_and_headers() {
    let prepared = prepared(asked(Protocol::Chat, json!({}), json!({})));
    let call = &prepared.call;
    assert_eq!((call.provider.as_str(), call.method.as_str()), ("p", "POST"));
    assert_eq!(call.target, Target::Path("/v1/chat/completions".into()));
    assert_eq!((call.replay, call.timeout_ms), (Replay::Once, 600_000));
    assert!(call.headers.is_empty() && !prepared.streaming);
}

#[test]
fn everything_but_the_route_keeps_its_bytes() {
    let given = r#"{ "messages" : [ {"role":"user", "content":"a\u00e9\/b","x":1.50} ], "model":"lm-sonnet","temperature":0.70,"top_k": 5,"chat_template_kwargs":{"b":1,"a":2},"seed":null}"#;
    let call = prepared(written(Protocol::Chat, json!({}), given)).call;
    assert_eq!(
        text_of(&call),
        r#"{"messages":[ {"role":"user", "content":"a\u00e9\/b","x":1.50} ],"model":"provider-sonnet-1","temperature":0.70,"top_k":5,"chat_template_kwargs":{"b":1,"a":2},"seed":null}"#
    );
}

/// Without it every text about what other providers answer has its whole conversation written anew.
#[test]
fn texts_about_echoes_are_no_echoes() {
    let given =
        r#"[ {"role":"user", "content":"the \"index\": [] of \"annotations\" and \"reasoning\": null"} ]"#;
    let call = prepared(written(
        Protocol::Chat,
        json!({}),
        &format!(r#"{{"model":"lm-sonnet","messages":{given}}}"#),
    ))
    .call;
    assert!(text_of(&call).contains(given), "{}", text_of(&call));
}

#[test]
fn the_cap_has_the_providers_name() {
    let clones = json!({"max_tokens_field": "max_tokens"});
    assert_eq!(passed(json!({}), json!({"max_tokens": 9}))["max_completion_tokens"], 9);
    assert_eq!(passed(clones.clone(), json!({"max_completion_tokens": 9}))["max_tokens"], 9);
    let both = passed(clones, json!({"max_completion_tokens": 9, "max_tokens": 7}));
    assert_eq!((&both["max_tokens"], both.get("max_completion_tokens")), (&json!(9), None));
    let neither = passed(json!({}), json!({}));
    assert_eq!((neither.get("max_tokens"), neither.get("max_completion_tokens")), (None, None));
    assert_eq!(passed(json!({"default_output": 77}), json!({}))["max_completion_tokens"], 77);
    let over = json!({"max_tokens": 65537});
    assert_eq!(passed(json!({"max_output": 64000}), over.clone())["max_completion_tokens"], 64000);
    let said = refusal(asked(Protocol::Chat, json!({"max_output": 64000, "strict": true}), over));
    let words = format!(
        "max_tokens: 65537 > 64000, which is the maximum allowed number of output tokens for {MODEL}"
    );
    assert_eq!(said, ("max_tokens".to_owned(), words));
}

#[test]
fn how_much_may_be_written() {
    let most = |rules: Value, fields: Value| prepared(asked(Protocol::Chat, rules, fields)).max_output_tokens;
    assert_eq!(most(json!({}), json!({"max_tokens": 100})), 100);
    assert_eq!(most(json!({}), json!({"max_tokens": 100, "n": 3})), 300);
    assert_eq!(most(json!({"max_output": 500}), json!({})), 500);
    assert_eq!(most(json!({"default_output": 77, "max_output": 500}), json!({})), 77);
    assert_eq!(most(json!({}), json!({})), 8192);
    // The host holds no more than any model writes.
    assert_eq!(most(json!({}), json!({"max_tokens": u32::MAX, "n": 2})), 10_000_000);
}

#[test]
fn always_asks_for_token_counts() {
    let options = |rules: Value, fields: Value| passed(rules, fields).get("stream_options").cloned();
    let stream = json!({"stream": true});
    assert_eq!(options(json!({}), stream.clone()), Some(json!({"include_usage": true})));
    assert_eq!(options(json!({}), json!({})), None);
    assert_eq!(options(json!({"include_usage": false}), stream), None);
    let asked =
        json!({"stream": true, "stream_options": {"include_usage": false, "include_obfuscation": false}});
    let counted = json!({"include_usage": true, "include_obfuscation": false});
    assert_eq!(options(json!({}), asked.clone()), Some(counted));
    assert_eq!(
        options(json!({"include_usage": false}), asked.clone()),
        Some(asked["stream_options"].clone())
    );
}

/// Without it a client whose language writes 5 as 5.0 could send no integer.
#[test]
fn whole_numbers_are_integers_however_they_are_written() {
    let fields = json!({"max_tokens": 64.0, "n": 2.0, "seed": 7.0, "logprobs": true, "top_logprobs": 3.0});
    let sent = passed(json!({}), fields);
    let cap = sent.get("max_tokens").or_else(|| sent.get("max_completion_tokens"));
    assert_eq!(cap, Some(&json!(64)));
    let integers = ["n", "seed", "top_logprobs"].map(|name| sent[name].to_string());
    assert_eq!(integers, ["2", "7", "3"]);
}

#[test]
fn sampling_by_the_models_rules() {
    let both = json!({"temperature": 0.5, "top_p": 0.9});
    let kept = |rules: Value, fields: &Value| {
        let sent = passed(rules, fields.clone());
        (sent.get("temperature").is_some(), sent.get("top_p").is_some())
    };
    assert_eq!(kept(json!({}), &both), (true, true));
    assert_eq!(kept(json!({"sampling": "none"}), &both), (false, false));
    assert_eq!(kept(json!({"sampling": "either"}), &json!({"top_p": 1})), (false, true));
    let said = |rules: Value, fields: Value| refusal(asked(Protocol::Chat, rules, fields)).1;
    assert_eq!(kept(json!({"sampling": "either"}), &both), (true, false), "`top_p` gives way");
    let defaults = json!({"temperature": 1, "top_p": 0.9});
    assert_eq!(kept(json!({"sampling": "either"}), &defaults), (false, true), "a default is no setting");
    let defaults = json!({"temperature": 1, "top_p": 1.0});
    assert_eq!(kept(json!({"sampling": "either"}), &defaults), (true, false));
    let strict = json!({"sampling": "none", "strict": true});
    assert_eq!(said(strict.clone(), json!({"temperature": 1})), "`temperature` is deprecated for this model");
    assert_eq!(said(strict, json!({"top_p": 1})), "`top_p` is deprecated for this model");
}

#[test]
fn the_alias_asks_for_effort() {
    let alias = format!("{MODEL}-thinking");
    let sent = passed(
        json!({}),
        json!({"model": alias, "temperature": 0.5, "top_p": 0.5, "reasoning_effort": null}),
    );
    assert_eq!(sent, body(json!({"model": "provider-sonnet-1", "reasoning_effort": "high"})));
    let sent = passed(json!({}), json!({"model": alias, "reasoning_effort": "low"}));
    assert_eq!(sent["reasoning_effort"], "low");
    let said = refusal(asked(Protocol::Chat, json!({"thinking": []}), json!({"model": alias})));
    assert_eq!(said.1, "`model`: this model does not think, use its name without `-thinking`");
    let said = refusal(asked(Protocol::Chat, json!({"thinking": []}), json!({"reasoning_effort": "low"})));
    assert_eq!(said.0, "reasoning_effort");
    passed(json!({"thinking": []}), json!({"reasoning_effort": "none"}));
}

#[test]
fn audio_from_a_blob_is_bare_base64() {
    let blob = "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    let heard = "blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAW";
    let sound = json!({"type": "input_audio", "input_audio": {"data": heard, "format": "wav"}});
    let picture = json!({"type": "image_url", "image_url": {"url": blob}});
    let content = json!([{"type": "text", "text": "hear"}, sound, picture, sound]);
    let mut text_request =
        asked(Protocol::Chat, json!({}), json!({"messages": [{"role": "user", "content": content}]}));
    let facts = |name: &str, kind, mime| Facts { blob: Some(name.into()), ..Facts::new(kind, mime, 9) };
    text_request.blobs =
        vec![facts(blob, MediaKind::Image, "image/png"), facts(heard, MediaKind::Audio, "audio/wav")];
    let prepared = prepared(text_request);
    let sent = prepared.call.json_body();
    let content = &sent["messages"][0]["content"];
    assert_eq!(content[1]["input_audio"]["data"], format!("{heard}:base64"));
    assert_eq!(content[2]["image_url"]["url"], blob);
    assert_eq!(content[3]["input_audio"]["data"], format!("{heard}:base64"));
    assert_eq!((prepared.pictures, prepared.input_bytes), (3, 4));
}

#[test]
fn the_input_estimate_counts_text_and_tools() {
    let read = |fields: Value| prepared(asked(Protocol::Chat, json!({}), fields)).input_bytes;
    assert_eq!(read(json!({})), 2);
    let tools = json!([{"type": "function", "function": {"name": "f", "parameters": {}}}]);
    assert_eq!(read(json!({"tools": tools})), 2 + tools.to_string().len() as u32);
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "fn", "arguments": "{\"a\":\"\u{e9}\"}"}});
    let messages = json!([
        {"role": "system", "content": "be\nbrief"},
        {"role": "user", "content": [{"type": "text", "text": "\u{e9}\u{20ac}"}]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]);
    assert_eq!(read(json!({"messages": messages})), 8 + 5 + 2 + 10 + 4);
}

/// A tool loop as LiteLLM and LangChain send it back.
fn tool_loop() -> Value {
    json!([
        {"role": "system", "content": [{"type": "text", "text": "brief", "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": "weather?", "provider_specific_fields": null},
        {"role": "assistant", "content": null, "provider_specific_fields": null, "reasoning_content": "hm",
            "thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}],
            "tool_calls": [{"index": 0, "id": "c", "type": "function", "provider_specific_fields": null,
                "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": [
            {"type": "text", "text": "rain", "cache_control": {"type": "ephemeral"}}]},
        {"role": "assistant", "content": "rain", "tool_calls": []},
        {"role": "user", "content": "thanks"},
    ])
}

#[test]
fn echoes_are_left_out_of_messages() {
    let got = passed(json!({}), json!({"messages": tool_loop()}));
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let expected = json!([
        {"role": "system", "content": [{"type": "text", "text": "brief"}]},
        {"role": "user", "content": "weather?"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "rain"}]},
        {"role": "assistant", "content": "rain"},
        {"role": "user", "content": "thanks"},
    ]);
    assert_eq!(got["messages"], expected);
    let wanted = passed(json!({"reasoning_history": true}), json!({"messages": tool_loop()}));
    assert_eq!(wanted["messages"][2]["reasoning_content"], "hm");
}

#[test]
fn the_same_loop_is_good_for_a_messages_provider() {
    let got = sent(Protocol::Messages, json!({}), json!({"messages": tool_loop()}));
    assert_eq!(got["messages"][1]["content"][0]["type"], "thinking");
    assert_eq!(got["messages"][1]["content"][1]["type"], "tool_use");
}

#[test]
fn fields_of_tools_need_tools() {
    let none = json!({"tools": [], "tool_choice": "auto", "parallel_tool_calls": true});
    for protocol in [Protocol::Chat, Protocol::Messages] {
        let got = sent(protocol, json!({}), none.clone());
        for name in ["tools", "tool_choice", "parallel_tool_calls"] {
            assert_eq!(got.get(name), None, "{protocol:?}: {name}");
        }
    }
    let tool = json!({"type": "function", "cache_control": {"type": "ephemeral"},
        "function": {"name": "f", "parameters": {"type": "object"}, "cache_control": {"type": "ephemeral"}}});
    let got = passed(json!({}), json!({"tools": [tool]}));
    let expected = json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    assert_eq!(got["tools"], expected);
}

/// Without it a model calls a tool that its client has excluded.
#[test]
fn a_choice_among_some_tools_keeps_their_names() {
    let tools = ["f", "g"].map(|name| json!({"type": "function", "function": {"name": name}}));
    let among =
        |mode: &str| json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": [tools[1]]}});
    for (choice, expected) in [
        (among("auto"), among("auto")),
        (among("required"), among("required")),
        (json!("required"), json!("required")),
        (json!("any"), json!("required")),
    ] {
        let got = passed(json!({}), json!({"tools": tools, "tool_choice": choice}));
        assert_eq!((&got["tools"], &got["tool_choice"]), (&json!(tools), &expected), "{choice}");
    }
}

/// Without it a server that reads the arguments of a history refuses every further turn after one that was cut.
#[test]
fn the_arguments_of_a_history_are_json() {
    for (written, expected) in [
        (r#"{"a": [1, {"b": "c"#, r#"{"a": [1, {"b": "c"}]}"#),
        (r#"{"a": "x\"#, r#"{"a": "x"}"#),
        (r#"{"a": tru"#, "{}"),
        ("ls -l", r#"{"arguments":"ls -l"}"#),
        (r#"{"a":  1}"#, r#"{"a":  1}"#),
        ("[1]", "[1]"),
        ("", ""),
    ] {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": written}});
        let messages = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ]);
        let sent = sent(Protocol::Chat, json!({}), json!({"messages": messages}));
        assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], expected, "{written}");
    }
}

//! A client of chat and a provider of messages: the request, field by field.

use gatehouse_sdk::{Facts, Header, MediaKind, Protocol, Replay, Target};
use serde_json::{Value, json};

use crate::chat::{MODEL, UPSTREAM, asked, prepared, refusal, sent, text_of, written};

/// The fields sent, beside those every request has.
fn sends(rules: Value, fields: Value, expected: Value) {
    let whole = json!({"model": UPSTREAM, "max_tokens": 8192, "messages": [user(json!([text("hi")]))]});
    assert_eq!(sent(Protocol::Messages, rules, fields.clone()), crate::over(whole, expected), "{fields}");
}

/// What the conversation becomes: `system` and `messages`.
fn talk(messages: Value) -> (Value, Value) {
    let mut sent = sent(Protocol::Messages, json!({"prefill": true}), json!({"messages": messages}));
    (sent["system"].take(), sent["messages"].take())
}

fn user(blocks: Value) -> Value {
    json!({"role": "user", "content": blocks})
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn refused(fields: Value, message: &str) {
    let (field, said) = refusal(asked(Protocol::Messages, json!({}), fields));
    assert_eq!(said, message);
    assert!(said.contains(&field), "{field}");
}

#[test]
fn the_call_has_path_and_headers() {
    let mut text_request =
        asked(Protocol::Messages, json!({"betas": ["a-1", "b-2"]}), json!({"stream": true}));
    text_request.headers = vec![
        ("anthropic-version".into(), "2026-10-21".into()),
        ("anthropic-beta".into(), "b-2, c-3,a-1".into()),
    ];
    let prepared = prepared(text_request);
    assert_eq!(prepared.call.target, Target::Path("/v1/messages".into()));
    assert_eq!((prepared.call.replay, prepared.streaming), (Replay::Once, true));
    let headers = [("anthropic-version", "2023-06-01"), ("anthropic-beta", "b-2,a-1")];
    assert_eq!(
        prepared.call.headers,
        headers.map(|(name, value)| Header { name: name.into(), value: value.into() })
    );
    let newer = crate::chat::prepared(asked(Protocol::Messages, json!({"version": "2026-10-21"}), json!({})));
    assert_eq!(newer.call.headers, [Header { name: "anthropic-version".into(), value: "2026-10-21".into() }]);
}

#[test]
fn fields_one_by_one() {
    let none = json!({});
    sends(json!({}), none.clone(), none.clone());
    sends(json!({}), json!({"stream": true}), json!({"stream": true}));
    sends(json!({}), json!({"stop": "x"}), json!({"stop_sequences": ["x"]}));
    sends(json!({}), json!({"stop": ["x", "\n"]}), json!({"stop_sequences": ["x"]}));
    sends(json!({}), json!({"stop": []}), none.clone());
    sends(json!({}), json!({"temperature": 0.3, "top_p": 0.9}), json!({"temperature": 0.3, "top_p": 0.9}));
    sends(json!({}), json!({"temperature": 1.7}), json!({"temperature": 1}));
    sends(json!({"sampling": "none"}), json!({"temperature": 0.3}), none.clone());
    sends(json!({}), json!({"user": "u-1"}), json!({"metadata": {"user_id": "u-1"}}));
    sends(json!({}), json!({"safety_identifier": "s"}), json!({"metadata": {"user_id": "s"}}));
    for ignored in [
        json!({"seed": 1, "frequency_penalty": 1, "presence_penalty": 1, "logit_bias": {"1": 1}}),
        json!({"logprobs": true, "top_logprobs": 3, "store": true, "metadata": {"a": "b"}, "verbosity": "low"}),
        json!({"prediction": {"type": "content", "content": "x"}, "service_tier": "flex", "n": 1, "top_k": 4}),
        json!({"response_format": {"type": "text"}, "modalities": ["text"], "tool_choice": "auto", "tools": []}),
        json!({"parallel_tool_calls": false, "tool_choice": "none"}),
    ] {
        sends(json!({}), ignored, none.clone());
    }
}

#[test]
fn always_sends_max_tokens() {
    let cap = |rules: Value, fields: Value| {
        let prepared = prepared(asked(Protocol::Messages, rules, fields));
        let sent = prepared.call.json_body();
        assert_eq!(sent["max_tokens"], prepared.max_output_tokens);
        prepared.max_output_tokens
    };
    assert_eq!(cap(json!({}), json!({"max_tokens": 5})), 5);
    assert_eq!(cap(json!({}), json!({"max_tokens": 5, "max_completion_tokens": 6})), 6);
    assert_eq!(cap(json!({"max_output": 4000}), json!({})), 4000);
    assert_eq!(cap(json!({"max_output": 64000}), json!({})), 8192);
    assert_eq!(cap(json!({"max_output": 64000, "default_output": 16000}), json!({})), 16000);
    assert_eq!(cap(json!({"max_output": "many"}), json!({})), 8192);
    // A model that is told to begin with a text writes that again.
    let begun = |bytes: usize| json!([{"role": "user", "content": "x"}, {"role": "assistant", "content": "x".repeat(bytes)}]);
    let short = json!({"max_tokens": 5, "messages": begun(1000)});
    assert_eq!(cap(json!({}), short.clone()), 5 + 501);
    assert_eq!(cap(json!({"prefill": "native"}), short), 5);
    let long = json!({"max_tokens": 5, "messages": begun(256 * 1024)});
    assert_eq!(cap(json!({"max_output": 4000}), long), 4000);
    let over = json!({"max_completion_tokens": 64001});
    assert_eq!(cap(json!({"max_output": 64000}), over.clone()), 64000);
    let said = refusal(asked(Protocol::Messages, json!({"max_output": 64000, "strict": true}), over));
    let words =
        "max_completion_tokens: 64001 > 64000, which is the maximum allowed number of output tokens for";
    assert_eq!(said, ("max_completion_tokens".to_owned(), format!("{words} {MODEL}")));
}

#[test]
fn system_and_developer_join() {
    let (system, messages) = talk(json!([
        {"role": "system", "content": "a \"b\""},
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": [text("c"), text(""), text("d")]},
    ]));
    assert_eq!(system, "a \"b\"\nc\nd");
    assert_eq!(messages, json!([user(json!([text("hi")]))]));
    let cache = json!({"type": "ephemeral"});
    let cached = json!({"type": "text", "text": "long", "cache_control": cache});
    let (system, _) = talk(json!([
        {"role": "system", "content": "a"},
        {"role": "system", "content": [cached]},
        {"role": "user", "content": "hi"},
    ]));
    assert_eq!(system, json!([text("a"), cached]));
}

/// Without it a client that marks whole messages, as several libraries do, pays for its history on every turn.
#[test]
fn what_is_to_be_cached_is_marked_at_the_last_block() {
    let cache = json!({"type": "ephemeral", "ttl": "1h"});
    let cached = |mut block: Value| {
        block["cache_control"] = cache.clone();
        block
    };
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let (system, messages) = talk(json!([
        cached(json!({"role": "system", "content": "a"})),
        cached(json!({"role": "user", "content": [text("b"), text("c")]})),
        cached(json!({"role": "assistant", "content": "d"})),
        cached(json!({"role": "user", "content": [cached(text("e")), text("f")]})),
        cached(json!({"role": "assistant", "content": "g", "tool_calls": [call]})),
        cached(json!({"role": "tool", "tool_call_id": "c", "content": "h"})),
        {"role": "assistant", "content": null, "tool_calls": [cached(call)]},
        {"role": "tool", "tool_call_id": "c", "content": "i", "cache_control": null},
    ]));
    assert_eq!(system, json!([cached(text("a"))]));
    let called = |id: &str| cached(json!({"type": "tool_use", "id": id, "name": "f", "input": {}}));
    let result = json!({"type": "tool_result", "tool_use_id": "c", "content": [text("h")]});
    let expected = [
        user(json!([text("b"), cached(text("c"))])),
        json!({"role": "assistant", "content": [cached(text("d"))]}),
        user(json!([cached(text("e")), cached(text("f"))])),
        json!({"role": "assistant", "content": [text("g"), called("c")]}),
        user(json!([cached(result)])),
        json!({"role": "assistant", "content": [called("c_2")]}),
        user(json!([{"type": "tool_result", "tool_use_id": "c_2", "content": "i"}])),
    ];
    assert_eq!(messages, json!(expected));
    let history = json!([cached(json!({"role": "user", "content": "a"}))]);
    let plain = sent(Protocol::Chat, json!({}), json!({"messages": history}));
    assert_eq!(plain["messages"], json!([{"role": "user", "content": "a"}]), "no chat provider knows it");
}

#[test]
fn roles_alternate_and_results_come_first() {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let (system, messages) = talk(json!([
        {"role": "user", "content": "one"},
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": "", "refusal": null},
        {"role": "assistant", "content": "I look", "tool_calls": [call("functions.f:0", ""), call("c2", " {\"a\": 1.0} ")]},
        {"role": "tool", "tool_call_id": "functions.f:0", "content": "r1"},
        {"role": "tool", "tool_call_id": "c2", "content": [text("r2"), text("r3")]},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]));
    assert_eq!(system, Value::Null);
    assert_eq!(
        messages,
        json!([
            user(json!([text("one"), text("two")])),
            {"role": "assistant", "content": [
                text("I look"),
                {"type": "tool_use", "id": "toolu_gw_ZnVuY3Rpb25zLmY6MA", "name": "f", "input": {}},
                {"type": "tool_use", "id": "c2", "name": "f", "input": {"a": 1.0}},
            ]},
            user(json!([
                {"type": "tool_result", "tool_use_id": "toolu_gw_ZnVuY3Rpb25zLmY6MA", "content": "r1"},
                {"type": "tool_result", "tool_use_id": "c2", "content": [text("r2"), text("r3")]},
                text("three"),
            ])),
            {"role": "assistant", "content": [text("no")]},
        ])
    );
}

#[test]
fn arguments_keep_their_bytes_and_become_an_object() {
    let body = |arguments: &str| {
        let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}});
        json!({"messages": [
            {"role": "user", "content": "x"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": ""},
        ]})
    };
    let prepared =
        prepared(asked(Protocol::Messages, json!({}), body("{\"n\":1.50, \"z\":\"\\u00e9\", \"a\":[]}")));
    assert!(text_of(&prepared.call).contains(r#""input":{"n":1.50, "z":"\u00e9", "a":[]}"#));
    for (written, kept) in
        [("{", json!({})), ("7", json!({"arguments": "7"})), ("{}x", json!({})), ("null", json!({}))]
    {
        let got = sent(Protocol::Messages, json!({}), body(written));
        assert_eq!(got["messages"][1]["content"][0]["input"], kept, "{written}");
    }
}

#[test]
fn texts_are_copied_as_they_are_escaped() {
    let given = r#"{"model":"lm-sonnet","messages":[{"role":"system","content":"\u00e9\/"},{"role":"user","content":"a\u20ac\ud83d\ude00\n"}]}"#;
    let call = prepared(written(Protocol::Messages, json!({}), given)).call;
    let expected = r#"{"model":"provider-sonnet-1","max_tokens":8192,"system":"\u00e9\/","messages":[{"role":"user","content":[{"type":"text","text":"a\u20ac\ud83d\ude00\n"}]}]}"#;
    assert_eq!(text_of(&call), expected);
}

#[test]
fn pictures_and_documents() {
    let blob =
        |id: &str, mime: &str| Facts { blob: Some(id.into()), ..Facts::new(MediaKind::Image, mime, 9) };
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url, "detail": "low"}});
    let file = |data: &str| json!({"type": "file", "file": {"file_data": data, "filename": "a.pdf"}});
    let content = json!([
        image("https://e.com/a.png"), image("data:image/jpg;base64,/9j/"), image("blob:one"),
        file("data:application/pdf;base64,QUJD"), file("blob:two"), {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
    ]);
    let mut text_request =
        asked(Protocol::Messages, json!({}), json!({"messages": [{"role": "user", "content": content}]}));
    text_request.blobs = vec![blob("blob:one", "image/webp"), blob("blob:two", "application/pdf")];
    let prepared = prepared(text_request);
    assert_eq!((prepared.pictures, prepared.input_bytes), (5, 4));
    let sent = prepared.call.json_body();
    let embedded = |mime: &str, data: &str| json!({"type": "base64", "media_type": mime, "data": data});
    let pdf = |data: &str| json!({"type": "document", "source": embedded("application/pdf", data), "title": "a.pdf"});
    assert_eq!(
        sent["messages"][0]["content"],
        json!([
            {"type": "image", "source": {"type": "url", "url": "https://e.com/a.png"}},
            {"type": "image", "source": embedded("image/jpeg", "/9j/")},
            {"type": "image", "source": embedded("image/webp", "blob:one:base64")},
            pdf("QUJD"),
            pdf("blob:two:base64"),
            {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
        ])
    );
}

#[test]
fn tools_and_their_choice() {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let tool = json!({"type": "function", "function": {"name": "f", "description": "d", "parameters": parameters, "strict": true}});
    let bare = json!({"type": "function", "function": {"name": "g", "strict": false}, "cache_control": {"type": "ephemeral"}});
    let untyped = json!({"type": "function", "function": {"name": "h", "parameters": {"properties": {}}}});
    let tools = json!([
        {"name": "f", "description": "d", "input_schema": parameters, "strict": true},
        {"name": "g", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}},
        {"name": "h", "input_schema": {"type": "object", "properties": {}}},
    ]);
    let given = json!([tool, bare, untyped]);
    sends(json!({}), json!({"tools": given}), json!({"tools": tools}));
    for (choice, serial, expected) in [
        (json!("none"), false, json!({"type": "none"})),
        (json!("none"), true, json!({"type": "none"})),
        (json!("auto"), false, json!({"type": "auto"})),
        (json!("required"), false, json!({"type": "any"})),
        (json!("required"), true, json!({"type": "any", "disable_parallel_tool_use": true})),
        (json!({"type": "function", "function": {"name": "f"}}), false, json!({"type": "tool", "name": "f"})),
        (json!(null), true, json!({"type": "auto", "disable_parallel_tool_use": true})),
    ] {
        let fields = json!({"tools": given, "tool_choice": choice, "parallel_tool_calls": !serial});
        sends(json!({}), fields, json!({"tools": tools, "tool_choice": expected}));
    }
    // Among some: the model is told of those alone.
    let among = |mode: &str, names: &[&str]| {
        let names: Vec<_> =
            names.iter().map(|name| json!({"type": "function", "function": {"name": name}})).collect();
        json!({"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": names}})
    };
    for (choice, expected, kind) in [
        (among("auto", &["h", "f"]), json!([tools[0], tools[2]]), "auto"),
        (among("required", &["g"]), json!([tools[1]]), "any"),
    ] {
        let fields = json!({"tools": given, "tool_choice": choice});
        sends(json!({}), fields, json!({"tools": expected, "tool_choice": {"type": kind}}));
    }
    refused(
        json!({"tools": given, "tool_choice": among("required", &["zz"])}),
        "`tool_choice`: expected `none`, `auto`, `required` or a function that is in `tools`, got an object",
    );
}

/// Without it a field of another protocol is left out, and the answer is another and a longer one than was meant.
#[test]
fn what_another_protocol_calls_otherwise_is_refused_with_its_name() {
    for (field, value, own) in [
        ("max_output_tokens", json!(5), "`max_completion_tokens`"),
        ("stop_sequences", json!(["x"]), "`stop`"),
        ("system", json!("be brief"), "a message of role `system`"),
        ("instructions", json!("be brief"), "a message of role `system`"),
        ("input", json!("hi"), "`messages`"),
    ] {
        for protocol in [Protocol::Messages, Protocol::Chat] {
            let (named, said) = refusal(asked(protocol, json!({}), json!({field: value})));
            assert_eq!(named, field);
            assert!(said.contains(&format!("expected nothing, use {own}, got ")), "{said}");
            let passed = asked(protocol, json!({"pass": [field]}), json!({field: value}));
            prepared(passed);
            // What passes another field says nothing of this one.
            let (named, _) = refusal(asked(protocol, json!({"pass": ["top_k"]}), json!({field: value})));
            assert_eq!(named, field);
        }
    }
}

#[test]
fn formats() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let described = json!({"name": "n", "schema": schema, "strict": true});
    sends(
        json!({}),
        json!({"response_format": {"type": "json_schema", "json_schema": described}}),
        json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}),
    );
    let json_object = json!({"response_format": {"type": "json_object"}});
    let instruction = "Answer with exactly one valid JSON object and nothing else: no explanation around it and no Markdown fence.";
    sends(json!({}), json_object.clone(), json!({"system": instruction}));
    let mut briefed = json_object;
    briefed["messages"] =
        json!([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]);
    sends(json!({}), briefed, json!({"system": format!("Be brief.\n{instruction}")}));
    refused(
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n"}}}),
        "`response_format.json_schema.schema`: expected an object, got nothing",
    );
}

#[test]
fn refuses_unsupported_fields_by_name() {
    refused(json!({"n": 2}), "`n`: expected 1, this model gives one answer at a time, got 2");
    refused(
        json!({"functions": [{"name": "f"}]}),
        "`functions`: expected nothing, this model takes functions as `tools` only, got an array of 1",
    );
    refused(
        json!({"web_search_options": {}}),
        "`web_search_options`: expected nothing, this model does not search, got an object",
    );
    refused(
        json!({"modalities": ["text", "audio"]}),
        "`modalities`: expected text alone, this model does not speak, got an array of 2",
    );
    refused(
        json!({"tools": [{"type": "custom", "custom": {"name": "c"}}]}),
        "`tools[0].type`: expected `function`, the only kind this model calls, got the string \"custom\"",
    );
    refused(
        json!({"tool_choice": "required"}),
        "`tool_choice`: expected `none`, `auto`, `required` or a function that is in `tools`, got the string \"required\"",
    );
    let said = |message: Value| json!({"messages": [{"role": "user", "content": "x"}, message]});
    let custom = json!({"id": "c", "type": "custom", "custom": {"name": "c", "input": "x"}});
    refused(
        said(json!({"role": "assistant", "tool_calls": [custom]})),
        "`messages[1].tool_calls[0].type`: expected `function`, the only kind this model calls, got the string \"custom\"",
    );
    refused(
        said(json!({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}})),
        "`messages[1].function_call`: expected nothing, this model takes functions as `tools` only, got an object",
    );
    refused(
        said(json!({"role": "function", "name": "f", "content": "x"})),
        "`messages[1].role`: expected `tool`, this model takes functions as `tools` only, got the string \"function\"",
    );
    refused(
        said(
            json!({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}}]}),
        ),
        "`messages[1].content[0].type`: expected text, images or files, this model does not listen, got the string \"input_audio\"",
    );
    refused(
        said(json!({"role": "user", "content": [{"type": "file", "file": {"file_id": "f-1"}}]})),
        "`messages[1].content[0].file.file_id`: expected nothing, files are not kept here: send the file itself as base64, got the string \"f-1\"",
    );
    refused(
        said(
            json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/bmp;base64,Qk0QAAAAAAAAADYA"}}]}),
        ),
        "`messages[1].content[0].image_url.url`: expected a JPEG, PNG, GIF or WebP image, got image/bmp",
    );
    refused(
        json!({"messages": [{"role": "system", "content": " "}, {"role": "user", "content": ""}]}),
        "`messages`: expected at least one message of a user that is not empty, got none",
    );
}

#[test]
fn a_final_assistant_message_needs_prefill() {
    let ends = json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "{"}]});
    let (field, said) = refusal(asked(Protocol::Messages, json!({"prefill": "refuse"}), ends.clone()));
    let words = "This model does not support assistant message prefill. The conversation must end with a user message.";
    assert_eq!((field.as_str(), said.as_str()), ("messages", words));
    let taken = sent(Protocol::Messages, json!({"prefill": true}), ends.clone());
    assert_eq!(taken["messages"][1], json!({"role": "assistant", "content": [text("{")]}));
    // A chat provider has its own way with it.
    sent(Protocol::Chat, json!({}), ends);
}

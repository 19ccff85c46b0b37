//! A provider that speaks Messages: what is sent keeps its bytes, and what must change is changed.

use gatehouse_sdk::{Header, Protocol, Replay, Target};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, prepare, refused, sent, text_request, written};

/// What is sent of a body given as text.
fn sent_text(text: &str, rules: Value) -> String {
    let prepared =
        both().prepare::<Messages>(&text_request(&text, Protocol::Messages, rules)).expect("a good request");
    written(&prepared.call)
}

#[test]
fn the_call_is_a_post_with_the_gateways_own_version() {
    let mut request = text_request(&body(json!({"stream": true})), Protocol::Messages, json!({}));
    request.headers.push(("anthropic-version".to_owned(), "2026-10-21".to_owned()));
    let prepared = both().prepare::<Messages>(&request).expect("a good request");
    let call = &prepared.call;
    assert_eq!((call.provider.as_str(), call.method.as_str()), ("p", "POST"));
    assert_eq!(call.target, Target::Path("/v1/messages".to_owned()));
    assert_eq!(
        call.headers,
        [Header { name: "anthropic-version".to_owned(), value: "2023-06-01".to_owned() }]
    );
    assert_eq!((call.timeout_ms, call.replay), (600_000, Replay::Once));
    assert!(prepared.streaming);
    let other =
        prepare(&body(json!({})), Protocol::Messages, json!({"version": "2026-10-21"})).expect("good");
    assert_eq!(other.call.headers[0].value, "2026-10-21");
    assert!(!other.streaming);
}

#[test]
fn keeps_bytes_that_need_no_change() {
    let turns = concat!(
        r#"[ {"role":"user","content":"caf\u00e9 \/ 1.0"}, {"content":[ {"signature":"c2ln","type":"thinking","#,
        r#""thinking":"a\u0062c","later":{"z":1.10,"a":[ ]}},{"type":"redacted_thinking","data":"xx=="},"#,
        r#"{"type":"tool_use","id":"t","name":"f","input":{"b": 1e3,"a":"\u2028"},"caller":{"type":"direct"}}],"#,
        r#""role":"assistant"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]} ]"#
    );
    let text =
        format!(r#"{{ "max_tokens" : 9, "stream":null, "messages" : {turns} ,"top_p":0.50,"model":"x"}}"#);
    let expected = format!(r#"{{"model":"upstream-model","max_tokens":9,"messages":{turns},"top_p":0.50}}"#);
    assert_eq!(sent_text(&text, json!({})), expected);
}

#[test]
fn what_the_host_cut_out_goes_back_as_base64() {
    let picture = |data: &str| json!({"type": "base64", "media_type": "image/png", "data": data});
    let fields = |data: &str| {
        json!({"messages": [{"role": "user", "content": [
            {"type": "image", "source": picture(data)},
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": picture(data)}]},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}},
        ]}]})
    };
    let got = sent(fields("blob:blob_1"), Protocol::Messages, json!({}));
    assert_eq!(got["messages"], fields("blob:blob_1:base64")["messages"]);
    for data in ["iVBORw0KGgo=", "blob:blob_1:base64"] {
        let got = sent(fields(data), Protocol::Messages, json!({}));
        assert_eq!(got["messages"], fields(data)["messages"]);
    }
    let got = sent(fields("blob:\""), Protocol::Messages, json!({}));
    assert_eq!(got["messages"], fields("blob:\":base64")["messages"]);
}

#[test]
fn estimates_the_input() {
    let fields = json!({
        "system": "12345",
        "tools": [{"name": "f", "input_schema": {}}],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "é\n"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoA"}},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "123"}]},
        ],
    });
    for protocol in [Protocol::Messages, Protocol::Chat] {
        let prepared = prepare(&body(fields.clone()), protocol, json!({})).expect("good");
        let tool = r#"{"input_schema":{},"name":"f"}"#.len();
        let called = "f".len() + r#"{"a":1}"#.len();
        assert_eq!(prepared.input_bytes as usize, 5 + tool + 3 + called + 3);
        assert_eq!((prepared.pictures, prepared.max_output_tokens), (1, 4096));
        let endless = prepare(&body(json!({"max_tokens": u32::MAX})), protocol, json!({})).expect("good");
        assert_eq!(endless.max_output_tokens, 10_000_000, "the host holds no more than any model writes");
    }
}

/// Without it the hold does not cover a schema that the model reads.
#[test]
fn the_schema_of_the_answer_counts() {
    let schema = json!({"type": "object", "description": "x".repeat(1000)});
    let config = json!({"format": {"type": "json_schema", "schema": schema}});
    let read = |protocol: Protocol, fields: Value| {
        prepare(&body(fields), protocol, json!({})).expect("good").input_bytes as usize
    };
    let sent = [(Protocol::Messages, config.to_string()), (Protocol::Chat, schema.to_string())];
    for (protocol, counted) in sent {
        let with_schema = read(protocol, json!({"output_config": config}));
        assert_eq!(with_schema, read(protocol, json!({})) + counted.len(), "{protocol:?}");
    }
}

#[test]
fn tools_of_2024_become_their_successors() {
    let tools = json!([
        {"type": "computer_20241022", "name": "computer", "display_width_px": 8, "display_height_px": 6},
        {"type": "text_editor_20241022", "name": "str_replace_editor"},
        {"type": "bash_20241022", "name": "bash", "cache_control": {"type": "ephemeral"}},
        {"name": "f", "input_schema": {"type": "object"}},
    ]);
    let mut request = text_request(&body(json!({"tools": tools})), Protocol::Messages, json!({}));
    request.headers.push(("anthropic-beta".to_owned(), "computer-use-2024-10-22".to_owned()));
    let prepared = both().prepare::<Messages>(&request).expect("good");
    let got = prepared.call.json_body();
    let mut expected = tools;
    expected[0]["type"] = json!("computer_20250124");
    expected[1]["type"] = json!("text_editor_20250124");
    expected[2]["type"] = json!("bash_20250124");
    assert_eq!(got["tools"], expected);
    assert_eq!(prepared.call.headers[1].value, "computer-use-2025-01-24");

    let rules = json!({"tools": {"computer_20241022": {"type": "computer_20251124", "beta": "cu"}}});
    let fields = json!({"tools": [{"type": "computer_20241022", "name": "computer"}]});
    let prepared = prepare(&body(fields), Protocol::Messages, rules).expect("good");
    assert!(written(&prepared.call).contains(r#""type":"computer_20251124""#));
    assert_eq!(prepared.call.headers[1].value, "cu");
}

#[test]
fn passes_only_betas_of_the_rules() {
    let mut request = text_request(&body(json!({})), Protocol::Messages, json!({"betas": ["a", "b"]}));
    for names in ["b, x", "a,b"] {
        request.headers.push(("anthropic-beta".to_owned(), names.to_owned()));
    }
    let prepared = both().prepare::<Messages>(&request).expect("good");
    assert_eq!(prepared.call.headers[1].value, "b,a");
}

#[test]
fn fields_beyond_the_specification_pass_if_listed() {
    let fields = json!({"output_config": {"effort": "low"}, "service_tier": "auto", "cache_control": {"type": "ephemeral"}});
    let rules = json!({"pass": ["output_config", "cache_control", "service_tier"]});
    let got = sent(fields.clone(), Protocol::Messages, rules);
    for name in ["output_config", "service_tier", "cache_control"] {
        assert_eq!(got[name], fields[name]);
    }
}

/// Without it a client that marks its messages for the cache, as other servers take it, is a 400 at the provider, or pays for
/// its whole prompt each time.
#[test]
fn a_mark_at_a_message_is_that_of_its_last_block() {
    let mark = json!({"type": "ephemeral"});
    let text = |text: &str| json!({"type": "text", "text": text});
    let marked = |mut block: Value| {
        block["cache_control"] = json!({"type": "ephemeral"});
        block
    };
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let messages = json!([
        {"cache_control": mark, "role": "user", "content": "long"},
        {"role": "assistant", "content": [text("b"), call], "cache_control": mark},
        {"role": "user", "cache_control": null, "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}, text("c")]},
        {"role": "assistant", "content": [text("d"), {"type": "thinking", "thinking": "hm", "signature": "s"}], "cache_control": mark},
        {"role": "user", "content": [marked(text("e"))], "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    ]);
    let expected = json!([
        {"role": "user", "content": [marked(text("long"))]},
        {"role": "assistant", "content": [text("b"), marked(call)]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}, text("c")]},
        {"role": "assistant", "content": [text("d"), {"type": "thinking", "thinking": "hm", "signature": "s"}]},
        {"role": "user", "content": [marked(text("e"))]},
    ]);
    assert_eq!(sent(json!({"messages": messages}), Protocol::Messages, json!({}))["messages"], expected);
    let over_chat = sent(json!({"messages": messages}), Protocol::Chat, json!({}));
    assert!(!over_chat.to_string().contains("cache_control"), "{over_chat}");
}

/// Without it a provider is told to read a file of its own, or a small picture in the place of a link is a 400.
#[test]
fn the_link_of_a_picture_is_one_or_the_picture_itself() {
    let png = "iVBORw0KGgoAAAANSUhEUg==";
    let asked = |url: &str| {
        let image = json!({"type": "image", "source": {"type": "url", "url": url}});
        json!({"messages": [{"role": "user", "content": [image]}]})
    };
    for url in [format!("data:image/jpeg;base64,{png}"), png.to_owned()] {
        let got = sent(asked(&url), Protocol::Messages, json!({}));
        let source = json!({"type": "base64", "media_type": "image/png", "data": png});
        assert_eq!(got["messages"][0]["content"][0]["source"], source, "{url}");
        let got = sent(asked(&url), Protocol::Chat, json!({}));
        let link = format!("data:image/png;base64,{png}");
        assert_eq!(got["messages"][0]["content"][0]["image_url"]["url"], json!(link), "{url}");
    }
    for protocol in [Protocol::Messages, Protocol::Chat] {
        let sent = sent(asked("HTTPS://example.com/a.png"), protocol, json!({})).to_string();
        assert!(sent.contains("\"https://example.com/a.png\""), "{sent}");
        for url in [
            "file:///etc/passwd",
            "gs://b/a.png",
            "//example.com/a",
            "",
            "blob:1",
            "data:text/html;base64,PGI+",
        ] {
            let said = refused(&body(asked(url)), protocol, json!({}));
            assert!(said.contains("source.url`: expected an http(s) URL"), "{url}: {said}");
        }
    }
}

/// Without it a client that writes out the default of `top_p` could set no temperature.
#[test]
fn a_default_is_no_second_setting_and_a_whole_number_an_integer() {
    let either = json!({"sampling": "either"});
    let got = sent(json!({"temperature": 0.5, "top_p": 1.0}), Protocol::Messages, either.clone());
    assert_eq!((&got["temperature"], got.get("top_p")), (&json!(0.5), None));
    let got = sent(json!({"top_p": 1.0}), Protocol::Messages, either);
    assert_eq!(got["top_p"], 1.0);
    let got = sent(json!({"max_tokens": 64.0, "top_k": 5.0}), Protocol::Messages, json!({}));
    assert_eq!((&got["max_tokens"], &got["top_k"]), (&json!(64), &json!(5)));
}

#[test]
fn sampling_follows_the_model() {
    let fields = json!({"temperature": 0.5, "top_p": 0.9, "top_k": 3});
    let table = [
        ("free", fields.clone(), true),
        ("either", json!({"temperature": 0.5, "top_k": 3}), true),
        ("none", fields, false),
    ];
    for (sampling, fields, kept) in table {
        for protocol in [Protocol::Messages, Protocol::Chat] {
            let got = sent(fields.clone(), protocol, json!({"sampling": sampling}));
            for name in ["temperature", "top_p"] {
                let expected = if kept { fields.get(name) } else { None };
                assert_eq!(got.get(name), expected, "{sampling} {name}");
            }
            let top_k = if kept && protocol == Protocol::Messages { fields.get("top_k") } else { None };
            assert_eq!(got.get("top_k"), top_k);
        }
    }
}

#[test]
fn thinking_follows_the_model() {
    let enabled = |budget: u32| json!({"type": "enabled", "budget_tokens": budget});
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let both = json!(["enabled", "adaptive"]);
    let table = [
        (enabled(2048), both.clone(), enabled(2048), Value::Null),
        (enabled(2048), json!(["adaptive"]), adaptive.clone(), json!({"effort": "low"})),
        (enabled(4096), json!(["adaptive"]), adaptive.clone(), json!({"effort": "medium"})),
        (enabled(16_384), json!(["adaptive"]), adaptive, json!({"effort": "high"})),
        (
            json!({"type": "enabled", "budget_tokens": 1024, "display": "omitted"}),
            json!(["adaptive"]),
            json!({"type": "adaptive", "display": "omitted"}),
            json!({"effort": "low"}),
        ),
        (json!({"type": "adaptive"}), both.clone(), json!({"type": "adaptive"}), Value::Null),
        (json!({"type": "disabled"}), both, json!({"type": "disabled"}), Value::Null),
        (json!({"type": "disabled"}), json!([]), Value::Null, Value::Null),
    ];
    for (given, kinds, thinking, config) in table {
        let fields = json!({"thinking": given, "max_tokens": 32_000});
        let got = sent(fields, Protocol::Messages, json!({"thinking": kinds}));
        assert_eq!((&got["thinking"], &got["output_config"]), (&thinking, &config), "{given}");
    }
    let own = json!({"thinking": enabled(2048), "output_config": {"effort": "max", "format": 1}});
    let rules = json!({"thinking": ["adaptive"], "pass": ["output_config"]});
    let prepared = prepare(&body(own.clone()), Protocol::Messages, rules).expect("good");
    let text = written(&prepared.call);
    assert_eq!(text.matches("output_config").count(), 1, "{text}");
    let got: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(got["output_config"], own["output_config"], "the client's own effort stands");
}

#[test]
fn the_alias_switches_thinking_on() {
    let fields = json!({"model": "lm-sonnet-4-6-thinking", "max_tokens": 10_000, "temperature": 0.2, "top_k": 1, "top_p": 1});
    let got = sent(fields.clone(), Protocol::Messages, json!({}));
    assert_eq!(got["model"], "upstream-model");
    assert_eq!(got["thinking"], json!({"type": "enabled", "budget_tokens": 8000}));
    for name in ["temperature", "top_p", "top_k", "output_config"] {
        assert_eq!(got.get(name), None, "{name}");
    }
    let got = sent(
        fields,
        Protocol::Messages,
        json!({"thinking": ["adaptive"], "sampling": "none", "strict": true}),
    );
    assert_eq!(got["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    assert_eq!(got["output_config"], json!({"effort": "high"}));

    let small = json!({"model": "lm-sonnet-4-6-thinking", "max_tokens": 100});
    let prepared = prepare(&body(small), Protocol::Messages, json!({})).expect("good");
    let got = prepared.call.json_body();
    assert_eq!((&got["max_tokens"], &got["thinking"]["budget_tokens"]), (&json!(1280), &json!(1024)));
    assert_eq!(prepared.max_output_tokens, 1280);

    let own =
        json!({"model": "lm-sonnet-4-6-thinking", "thinking": {"type": "enabled", "budget_tokens": 1500}});
    assert_eq!(sent(own, Protocol::Messages, json!({}))["thinking"]["budget_tokens"], 1500);
}

//! Fields that a protocol does not have, fields that ask for nothing, and names in another case: one rule for every client of
//! texts and every provider's protocol.

use std::sync::LazyLock;

use chat::Chat;
use gatehouse_play::{Both, Component};
use gatehouse_sdk::{Context, Protocol, Refusal, UnixMs};
use messages::Messages;
use serde_json::{Value, json};

static CHAT: LazyLock<Component> = LazyLock::new(|| crate::component("chat"));
static MESSAGES: LazyLock<Component> = LazyLock::new(|| crate::component("messages"));

/// Every client with every protocol of a provider.
const ROUTES: [(&str, Protocol); 6] = [
    (chat::SURFACE, Protocol::Chat),
    (chat::SURFACE, Protocol::Messages),
    (chat::RESPONSES, Protocol::Chat),
    (chat::RESPONSES, Protocol::Messages),
    (messages::SURFACE, Protocol::Chat),
    (messages::SURFACE, Protocol::Messages),
];

fn body(surface: &str, fields: Value) -> Value {
    let message = json!([{"role": "user", "content": "hi"}]);
    let body = match surface {
        chat::RESPONSES => json!({"model": "m", "input": "hi"}),
        chat::SURFACE => json!({"model": "m", "messages": message}),
        _ => json!({"model": "m", "max_tokens": 100, "messages": message}),
    };
    crate::over(body, fields)
}

/// What the provider is sent, or the refusal.
fn asked(surface: &str, protocol: Protocol, rules: Value, body: String) -> Result<Value, String> {
    let request = crate::text_request(surface, &body, crate::route("m", "u", protocol, rules));
    let cx = Context::at(UnixMs(1_790_000_000_500));
    let prepared = match surface {
        messages::SURFACE => Both::new(&MESSAGES, cx).prepare::<Messages>(&request),
        _ => Both::new(&CHAT, cx).prepare::<Chat>(&request),
    };
    match prepared {
        Ok(prepared) => Ok(prepared.call.json_body()),
        Err(Refusal::Invalid { message, .. }) => Err(message),
        Err(other) => panic!("{other:?}"),
    }
}

fn with(surface: &str, protocol: Protocol, rules: Value, fields: Value) -> Result<Value, String> {
    asked(surface, protocol, rules, body(surface, fields).to_string())
}

/// Without it a field is an error for one client and silently nothing for another, and a fallback changes which.
#[test]
fn a_field_that_no_protocol_has_is_refused_or_passed_by_one_rule() {
    for (surface, protocol) in ROUTES {
        let at = format!("{surface} over {protocol:?}");
        let unknown = json!({"x_new": {"a": 1}});
        // Clients of responses send notes of their own and what is newer than the gateway: that is ignored.
        let is_lenient = surface == chat::RESPONSES;
        match with(surface, protocol, json!({}), unknown.clone()) {
            Ok(sent) => assert!(is_lenient && sent.get("x_new").is_none(), "{at}: {sent}"),
            Err(said) => assert!(!is_lenient && said.contains("x_new"), "{at}: {said}"),
        }
        let sent = with(surface, protocol, json!({"pass": ["x_new"]}), unknown.clone()).expect(&at);
        assert_eq!(sent["x_new"], unknown["x_new"], "{at}");
        if is_lenient {
            let of_messages = json!({"output_config": {"effort": "low"}, "thinking": {"type": "enabled"}});
            with(surface, protocol, json!({}), of_messages).expect(&at);
        }
        // How tokens are chosen: a provider that has no word for it answers without it.
        let sent = with(surface, protocol, json!({}), json!({"min_p": 0.1})).expect(&at);
        assert_eq!(sent.get("min_p").is_some(), protocol == Protocol::Chat, "{at}");
        // What bounds the answer is not left out.
        let bound = with(surface, protocol, json!({}), json!({"guided_regex": "a*"}));
        assert_eq!(bound.is_ok(), protocol == Protocol::Chat || is_lenient, "{at}: {bound:?}");
        for (name, known) in [("Model", "model"), ("STREAM", "stream"), ("Service_Tier", "service_tier")] {
            let said = with(surface, protocol, json!({"pass": [name]}), json!({name: "x"})).expect_err(&at);
            assert!(said.contains(&format!("the name `{known}`")), "{at}: {said}");
        }
        let mut twice = body(surface, json!({})).to_string();
        twice.insert_str(1, r#""x_new":1,"x_new":2,"#);
        let said = asked(surface, protocol, json!({"pass": ["x_new"]}), twice).expect_err(&at);
        assert!(said.contains("x_new"), "{at}: {said}");
    }
}

/// Without it clients that write every field they have get an error for what they did not ask for.
#[test]
fn what_asks_for_nothing_is_refused_nowhere() {
    let nothing = [json!(null), json!(false), json!(""), json!([]), json!({}), json!("none"), json!("auto")];
    let names = [
        "mcp_servers",
        "container",
        "plugins",
        "models",
        "provider",
        "enable_search",
        "search_parameters",
        "x_new",
        "inference_geo",
    ];
    for (surface, protocol) in ROUTES {
        for value in &nothing {
            let at = format!("{surface} over {protocol:?}: {value}");
            let fields: serde_json::Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
            let sent = with(surface, protocol, json!({}), fields.into())
                .unwrap_or_else(|said| panic!("{at}: {said}"));
            assert!(names.iter().all(|name| sent.get(name).is_none()), "{at}: {sent}");
        }
    }
    let of_chat = [
        json!({"functions": [], "function_call": "none"}),
        json!({"function_call": "auto"}),
        json!({"function_call": {}}),
        json!({"audio": {}, "modalities": ["text"]}),
        json!({"modalities": []}),
        json!({"audio": null, "prediction": null, "web_search_options": null, "moderation": {}}),
        json!({"stream_options": {}}),
        json!({"stream_options": {"include_usage": false}}),
        json!({"top_logprobs": 0, "logprobs": false}),
        json!({"n": 1, "stop": [], "logit_bias": {}, "tools": [], "tool_choice": "none"}),
        json!({"tools": [], "tool_choice": "auto", "parallel_tool_calls": true}),
        json!({"response_format": {"type": "text"}, "metadata": {}, "store": false}),
        json!({"service_tier": "auto", "seed": null, "user": null, "reasoning_effort": null}),
        json!({"messages": [{"role": "user", "content": "a", "name": null},
            {"role": "assistant", "content": "b", "tool_calls": [], "function_call": null, "refusal": null, "audio": null,
             "annotations": []},
            {"role": "user", "content": "c"}]}),
        json!({"tools": [{"type": "function", "function": {"name": "f", "description": null, "parameters": null, "strict": null}}]}),
    ];
    let of_responses = [
        json!({"prompt": null, "conversation": null, "context_management": null}),
        json!({"prompt": {}, "conversation": "", "context_management": []}),
        json!({"background": false, "include": [], "tools": [], "tool_choice": "auto", "text": {}, "reasoning": {}}),
        json!({"functions": [], "function_call": "none", "n": 1, "logprobs": false, "modalities": ["text"]}),
        json!({"messages": [], "stop": null, "response_format": null, "system": ""}),
        json!({"top_logprobs": 0, "stream_options": {}, "max_tool_calls": null, "truncation": "disabled", "metadata": {}}),
        json!({"client_metadata": {"a": "b"}, "prompt_cache_options": {"ttl": "1h"}, "moderation": {}}),
        json!({"reasoning": {"effort": null, "summary": null}, "text": {"format": null, "verbosity": null}}),
    ];
    let of_messages = [
        json!({"mcp_servers": [], "container": null, "context_management": {}, "speed": null, "cache_control": null}),
        json!({"tools": [], "tool_choice": {"type": "auto"}, "stop_sequences": [], "system": [], "metadata": {}}),
        json!({"tools": [], "tool_choice": {"type": "none"}}),
        json!({"tools": null, "tool_choice": null, "stop_sequences": null, "system": null, "metadata": null}),
        json!({"thinking": {"type": "disabled"}, "temperature": null, "top_p": null, "top_k": null, "stream": null}),
        json!({"output_config": {}, "service_tier": "auto"}),
        json!({"output_config": {"format": null, "effort": null}, "output_format": null, "thread": null}),
        json!({"tools": [{"name": "f", "input_schema": {"type": "object"}, "type": null, "cache_control": null, "strict": null,
            "defer_loading": false, "input_examples": []}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "citations": null, "cache_control": null}]}]}),
    ];
    for (surface, protocol) in ROUTES {
        let table = match surface {
            chat::SURFACE => of_chat.as_slice(),
            chat::RESPONSES => &of_responses,
            _ => &of_messages,
        };
        for fields in table {
            let at = format!("{surface} over {protocol:?}: {fields}");
            let sent = with(surface, protocol, json!({}), fields.clone())
                .unwrap_or_else(|said| panic!("{at}: {said}"));
            for name in
                ["functions", "function_call", "mcp_servers", "prompt", "conversation", "stream_options"]
            {
                assert_eq!(sent.get(name), None, "{at}");
            }
        }
    }
    // An empty object switches this one on.
    with(chat::SURFACE, Protocol::Chat, json!({}), json!({"web_search_options": {}})).unwrap_err();
    with(chat::SURFACE, Protocol::Messages, json!({}), json!({"web_search_options": {}})).unwrap_err();
    // A word of a text, or of how hard to think, is what it says.
    for foreign in [json!({"system": "none"}), json!({"instructions": "auto"})] {
        with(chat::SURFACE, Protocol::Chat, json!({}), foreign).unwrap_err();
    }
    with(chat::RESPONSES, Protocol::Chat, json!({}), json!({"reasoning_effort": "none"})).unwrap_err();
}

//! `reasoning_effort` and the `-thinking` alias, and thinking that comes back with the conversation.

use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use crate::chat::{MODEL, answer, asked, prepared, refusal, sent, text_of, written};

/// `thinking` and `output_config` as sent.
fn depth(rules: Value, fields: Value) -> (Value, Value) {
    let mut sent = sent(Protocol::Messages, rules, fields);
    (sent["thinking"].take(), sent["output_config"].take())
}

fn alias() -> String {
    format!("{MODEL}-thinking")
}

fn adaptive() -> Value {
    json!({"type": "adaptive", "display": "summarized"})
}

fn budget(tokens: u32) -> Value {
    json!({"type": "enabled", "budget_tokens": tokens})
}

#[test]
fn efforts_of_a_model_that_adapts() {
    for rules in [json!({}), json!({"thinking": ["adaptive"]}), json!({"thinking": ["enabled", "adaptive"]})]
    {
        for (effort, expected) in [
            ("minimal", "low"),
            ("low", "low"),
            ("medium", "medium"),
            ("high", "high"),
            ("xhigh", "xhigh"),
            ("max", "max"),
        ] {
            let got = depth(rules.clone(), json!({"reasoning_effort": effort}));
            assert_eq!(got, (adaptive(), json!({"effort": expected})), "{rules}");
        }
        let none = depth(rules, json!({"reasoning_effort": "none"}));
        assert_eq!(none, (Value::Null, Value::Null));
    }
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {}}});
    let (_, config) = depth(json!({}), json!({"reasoning_effort": "low", "response_format": schema}));
    assert_eq!(config, json!({"effort": "low", "format": {"type": "json_schema", "schema": {}}}));
}

#[test]
fn budgets_of_a_model_that_does_not() {
    let rules = json!({"thinking": ["enabled"]});
    for (effort, tokens) in
        [("minimal", 1024), ("low", 2000), ("medium", 5000), ("high", 8000), ("xhigh", 9000), ("max", 9000)]
    {
        let got = depth(rules.clone(), json!({"reasoning_effort": effort, "max_tokens": 10_000}));
        assert_eq!(got, (budget(tokens), Value::Null), "{effort}");
    }
    let least = depth(rules.clone(), json!({"reasoning_effort": "max", "max_tokens": 1025}));
    assert_eq!(least.0, budget(1024));
    let said =
        refusal(asked(Protocol::Messages, rules, json!({"reasoning_effort": "low", "max_tokens": 1024})));
    let words = "`max_tokens` must be greater than `thinking.budget_tokens`: expected more than 1024 for an answer \
                 with thinking, got 1024";
    assert_eq!(said, ("max_tokens".to_owned(), words.to_owned()));
}

#[test]
fn the_alias_thinks_with_80_percent_or_adaptively() {
    let fields = json!({"model": alias(), "max_tokens": 10_000});
    assert_eq!(depth(json!({}), fields.clone()), (budget(8000), Value::Null));
    assert_eq!(depth(json!({"thinking": ["enabled"]}), fields.clone()).0, budget(8000));
    assert_eq!(depth(json!({"thinking": ["adaptive"]}), fields), (adaptive(), json!({"effort": "high"})));
    let low = depth(json!({}), json!({"model": alias(), "reasoning_effort": "low"}));
    assert_eq!(low, (adaptive(), json!({"effort": "low"})));
    let off = depth(json!({}), json!({"model": alias(), "reasoning_effort": "none"}));
    assert_eq!(off, (Value::Null, Value::Null));
    assert_eq!(depth(json!({}), json!({"model": alias(), "max_tokens": 1279})).0, budget(1024));
    // A name that only ends like an alias is no alias.
    assert_eq!(depth(json!({}), json!({"model": "other-thinking"})).0, Value::Null);
    let said = refusal(asked(Protocol::Messages, json!({"thinking": []}), json!({"model": alias()})));
    assert_eq!(said.1, "`model`: this model does not think, use its name without `-thinking`");
    let said =
        refusal(asked(Protocol::Messages, json!({"thinking": []}), json!({"reasoning_effort": "low"})));
    assert_eq!(
        said.1,
        "`reasoning_effort`: expected `none` or nothing, this model does not think; got the string \"low\""
    );
}

#[test]
fn thinking_excludes_sampling_and_forced_calls() {
    let fields = json!({"reasoning_effort": "low", "temperature": 0.5, "top_p": 0.5});
    let sent = sent(Protocol::Messages, json!({}), fields);
    assert_eq!((sent.get("temperature"), sent.get("top_p")), (None, None));
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let forced = json!({"reasoning_effort": "low", "tools": tools, "tool_choice": "required"});
    assert_eq!(depth(json!({}), forced.clone()), (Value::Null, json!({"effort": "low"})));
    assert_eq!(depth(json!({"thinking": ["enabled"]}), forced).0, Value::Null);
}

/// A tool loop; `said` has further members of the model's message.
fn in_a_loop(said: Value) -> Value {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let turn = crate::over(json!({"role": "assistant", "content": null, "tool_calls": [call]}), said);
    json!([{"role": "user", "content": "x"}, turn, {"role": "tool", "tool_call_id": "c", "content": "r"}])
}

#[test]
fn a_tool_loop_without_thinking_continues_without() {
    let enabled = json!({"thinking": ["enabled"]});
    let bare = json!({"reasoning_effort": "high", "messages": in_a_loop(json!({}))});
    assert_eq!(depth(enabled.clone(), bare.clone()).0, Value::Null);
    assert_eq!(depth(json!({}), bare).0, adaptive());
    let blocks = json!([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]);
    let whole =
        json!({"reasoning_effort": "high", "messages": in_a_loop(json!({"thinking_blocks": blocks}))});
    assert_eq!(depth(enabled.clone(), whole).0, budget(6553));
    let mut over = in_a_loop(json!({}));
    over.as_array_mut().unwrap().push(json!({"role": "user", "content": "and now?"}));
    assert_eq!(depth(enabled, json!({"reasoning_effort": "high", "messages": over})).0, budget(6553));
}

#[test]
fn thinking_blocks_return_byte_for_byte() {
    let thinking = r#"{"type":"thinking","thinking":"h\u006d \/ \u00e9","signature":"c2ln+/=","new": 1.50}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"ZGF0YQ\u003d"}"#;
    let provided = format!(
        r#"{{"id":"msg_1","type":"message","content":[{thinking},{redacted},{{"type":"tool_use","id":"toolu_1","name":"f","input":{{"a":1.0}}}}],"stop_reason":"tool_use"}}"#
    );
    let answered = answer(Protocol::Messages, 200, &provided).unwrap();
    assert!(
        answered.body.contains(&format!("\"thinking_blocks\":[{thinking},{redacted}]")),
        "{}",
        answered.body
    );
    let start = answered.body.find("\"message\":").unwrap() + "\"message\":".len();
    let end = answered.body.find(",\"logprobs\"").unwrap();
    let message = &answered.body[start..end];
    let next = format!(
        r#"{{"model":"{MODEL}","messages":[{{"role":"user","content":"x"}},{message},{{"role":"tool","tool_call_id":"toolu_1","content":"r"}}]}}"#
    );
    let sent = prepared(written(Protocol::Messages, json!({}), &next)).call;
    let turn = format!(
        r#"{{"role":"assistant","content":[{thinking},{redacted},{{"type":"tool_use","id":"toolu_1","name":"f","input":{{"a":1.0}}}}]}}"#
    );
    assert!(text_of(&sent).contains(&turn), "{}", text_of(&sent));
    let unthinking = prepared(written(Protocol::Messages, json!({"thinking": []}), &next)).call;
    assert!(!text_of(&unthinking).contains("thinking"));
}

#[test]
fn the_stream_index_is_not_sent_back() {
    let blocks = json!([{"index": 0, "type": "thinking", "thinking": "hm", "signature": "s"}]);
    let sent = sent(
        Protocol::Messages,
        json!({}),
        json!({"messages": in_a_loop(json!({"thinking_blocks": blocks}))}),
    );
    let block = &sent["messages"][1]["content"][0];
    assert_eq!(block, &json!({"type": "thinking", "thinking": "hm", "signature": "s"}));
}

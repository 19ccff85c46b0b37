//! What agents send without being asked to: hints, messages of role `system`, thinking that no model was asked for.
//! Each model gets what it takes, and none refuses the rest.

use gatehouse_sdk::{Protocol, TextRequest};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, prepare, refused, sent, text_request, written};

/// The fields that Claude Code adds to every request.
fn agent(fields: Value) -> Value {
    let request = json!({
        "max_tokens": 32000,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "high"},
        "metadata": {"user_id": "x".repeat(120)},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "run echo"}]},
            {"role": "system", "content": [
                {"type": "text", "text": "It is dawn.", "cache_control": {"type": "ephemeral"}},
            ]},
        ],
    });
    crate::over(request, fields)
}

const REMINDER: &str = "<system-reminder>\nIt is dawn.\n</system-reminder>";

#[test]
fn a_provider_gets_the_hints_it_takes_and_no_others() {
    let all = json!({"pass": ["cache_control", "context_management", "output_config", "service_tier"]});
    let hints = json!({"cache_control": {"type": "ephemeral"}, "service_tier": "auto", "speed": "fast"});
    let names = |rules: &Value, protocol: Protocol| {
        let got = sent(agent(hints.clone()), protocol, rules.clone());
        let mut names: Vec<String> = got.as_object().expect("an object").keys().cloned().collect();
        names.retain(|name| !["model", "messages", "metadata", "thinking"].contains(&name.as_str()));
        names.sort();
        names
    };
    assert_eq!(
        names(&all, Protocol::Messages),
        ["cache_control", "context_management", "max_tokens", "output_config", "service_tier"]
    );
    assert_eq!(
        names(&json!({}), Protocol::Messages),
        ["cache_control", "max_tokens", "output_config", "service_tier"],
        "an operator's model whose table says nothing"
    );
    assert_eq!(names(&json!({"pass": []}), Protocol::Messages), ["max_tokens"]);
    assert_eq!(names(&json!({}), Protocol::Chat), ["max_completion_tokens"]);
    assert_eq!(
        names(&json!({"thinking": ["adaptive"]}), Protocol::Chat),
        ["max_completion_tokens", "reasoning_effort"]
    );
}

#[test]
fn what_would_change_the_answer_is_refused() {
    let format = json!({"format": {"type": "json_schema", "schema": {}}});
    let fields = json!({"output_config": format});
    let said = refused(&body(fields.clone()), Protocol::Messages, json!({"pass": []}));
    assert_eq!(said, "output_config: Extra inputs are not permitted");
    assert_eq!(sent(fields, Protocol::Chat, json!({}))["response_format"]["type"], "json_schema");
    for protocol in [Protocol::Messages, Protocol::Chat] {
        let said = refused(&body(json!({"container": "c"})), protocol, json!({}));
        assert_eq!(said, "container: Extra inputs are not permitted");
    }
}

#[test]
fn a_field_that_needs_a_beta_comes_with_it() {
    let beta = |rules: Value| {
        let request = text_request(&body(agent(json!({}))), Protocol::Messages, rules);
        let headers = vec![("anthropic-beta".to_owned(), "claude-code-20250219".to_owned())];
        let prepared = both().prepare::<Messages>(&TextRequest { headers, ..request }).expect("good");
        prepared
            .call
            .headers
            .into_iter()
            .find(|header| header.name == "anthropic-beta")
            .map(|header| header.value)
    };
    let passing = json!({"pass": ["context_management", "output_config"]});
    assert_eq!(beta(passing).as_deref(), Some("context-management-2025-06-27"));
    assert_eq!(beta(json!({})), None);
}

#[test]
fn a_system_message_is_passed_or_becomes_the_users() {
    let passed = sent(agent(json!({})), Protocol::Messages, json!({"system_messages": true}));
    assert_eq!(passed["messages"], agent(json!({}))["messages"]);
    let folded = sent(agent(json!({})), Protocol::Messages, json!({}));
    assert_eq!(
        folded["messages"][1],
        json!({"role": "user", "content": [
            {"type": "text", "text": REMINDER, "cache_control": {"type": "ephemeral"}},
        ]})
    );
    let chat = sent(agent(json!({})), Protocol::Chat, json!({}));
    assert_eq!(chat["messages"], json!([{"role": "user", "content": format!("run echo\n{REMINDER}")}]));
    let kept = sent(agent(json!({})), Protocol::Chat, json!({"system_messages": true}));
    assert_eq!(kept["messages"][1], json!({"role": "system", "content": "It is dawn."}));
}

#[test]
fn a_folded_system_message_never_parts_a_call_from_its_result() {
    let call = json!({"type": "tool_use", "id": "t", "name": "f", "input": {}});
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "ok"});
    let messages = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [call]},
        {"role": "system", "content": "It is dawn."},
        {"role": "user", "content": [result]},
    ]);
    let folded = sent(json!({"messages": messages}), Protocol::Messages, json!({}));
    assert_eq!(folded["messages"][2], messages[3]);
    assert_eq!(folded["messages"][3], json!({"role": "user", "content": REMINDER}));
    let chat = sent(json!({"messages": messages}), Protocol::Chat, json!({}));
    let roles: Vec<&str> = chat["messages"].as_array().expect("a list").iter().map(role).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
}

fn role(message: &Value) -> &str {
    message["role"].as_str().expect("a role")
}

#[test]
fn a_system_message_of_anything_but_text_is_refused_in_the_providers_words() {
    let picture = json!([{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}]);
    let messages = json!([{"role": "user", "content": "hi"}, {"role": "system", "content": picture}]);
    let said = refused(&body(json!({"messages": messages})), Protocol::Messages, json!({}));
    assert!(said.starts_with("messages: Unexpected role \"system\". The Messages API accepts a top-level"));
}

#[test]
fn adaptive_thinking_of_a_model_with_budgets_has_one() {
    let rules = json!({"thinking": ["enabled"]});
    let thinking = |fields: Value| sent(agent(fields), Protocol::Messages, rules.clone())["thinking"].clone();
    let budget = |tokens: u32| json!({"type": "enabled", "budget_tokens": tokens, "display": "omitted"});
    assert_eq!(thinking(json!({})), budget(25600));
    assert_eq!(thinking(json!({"output_config": {"effort": "low"}})), budget(6400));
    assert_eq!(thinking(json!({"max_tokens": 1024})), Value::Null, "no room for the smallest budget");
    let loop_ = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
    ]);
    assert_eq!(thinking(json!({"messages": loop_})), Value::Null, "the provider wants the turn's thinking");
}

#[test]
fn a_chat_provider_is_asked_for_no_effort_unless_its_model_takes_one() {
    let effort =
        |rules: Value, fields: Value| sent(agent(fields), Protocol::Chat, rules)["reasoning_effort"].clone();
    for rules in [json!({}), json!({"thinking": []})] {
        assert_eq!(effort(rules.clone(), json!({})), Value::Null);
        let enabled = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
        assert_eq!(effort(rules, enabled), Value::Null);
    }
    assert_eq!(effort(json!({"thinking": ["adaptive"]}), json!({})), "high");
    let strict = json!({"thinking": [], "strict": true});
    let said = refused(&body(agent(json!({}))), Protocol::Chat, strict);
    assert_eq!(said, r#""thinking.type.adaptive" is not supported for this model."#);
}

#[test]
fn a_limit_above_the_models_own_is_lowered() {
    let rules = json!({"max_output": 8192});
    assert_eq!(sent(agent(json!({})), Protocol::Chat, rules.clone())["max_completion_tokens"], 8192);
    assert_eq!(sent(agent(json!({})), Protocol::Messages, rules)["max_tokens"], 8192);
    let strict = json!({"max_output": 8192, "strict": true});
    let said = refused(&body(agent(json!({}))), Protocol::Messages, strict);
    assert!(said.starts_with("max_tokens: 32000 > 8192"), "{said}");
}

/// Without it a provider refuses every request whose budget is above the limit that its model has.
#[test]
fn a_budget_is_lowered_with_the_limit() {
    let enabled = |budget: u64| json!({"type": "enabled", "budget_tokens": budget});
    let shown = |budget: u64| json!({"type": "enabled", "budget_tokens": budget, "display": "omitted"});
    for (max_output, max_tokens, given, expected) in [
        (64_000, 128_000_u64, enabled(100_000), enabled(50_000)),
        (64_000, 128_000, shown(64_000), shown(32_000)),
        (64_000, 128_000, enabled(63_999), enabled(63_999)),
        (1025, 128_000, enabled(2000), enabled(1024)),
        (1024, 128_000, enabled(2000), Value::Null),
        (64_000, u64::MAX, enabled(u64::MAX - 1), enabled(1024)),
    ] {
        let rules = json!({"max_output": max_output, "thinking": ["enabled"]});
        let fields = json!({"max_tokens": max_tokens, "thinking": given});
        let got = sent(fields, Protocol::Messages, rules);
        assert_eq!((&got["max_tokens"], &got["thinking"]), (&json!(max_output), &expected), "{given}");
    }
    let above = json!({"max_tokens": 128_000, "thinking": enabled(128_000)});
    let said = refused(&body(above), Protocol::Messages, json!({"max_output": 64_000}));
    assert!(said.contains("`max_tokens` must be greater than"), "{said}");
}

#[test]
fn a_user_longer_than_chat_providers_take_is_left_out() {
    assert_eq!(sent(agent(json!({})), Protocol::Chat, json!({}))["user"], Value::Null);
    let prepared = prepare(&body(agent(json!({}))), Protocol::Messages, json!({})).expect("good");
    assert!(written(&prepared.call).contains(&"x".repeat(120)));
}

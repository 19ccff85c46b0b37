//! What is refused, and in which words: the fields of the specification, the rules of a model.

use gatehouse_sdk::{Protocol, Refusal};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, prepare, refused, text_request};

/// The same words over both protocols.
fn check(fields: Value, rules: Value, expected: &str) {
    for protocol in [Protocol::Messages, Protocol::Chat] {
        assert_eq!(refused(&body(fields.clone()), protocol, rules.clone()), expected, "{fields}");
    }
}

fn turn(content: Value) -> Value {
    json!({"messages": [{"role": "user", "content": content}]})
}

#[test]
fn every_field_has_its_rule() {
    let table = [
        (json!({"model": 7}), "`model`: expected a string, got 7"),
        (json!({"messages": null}), "messages: Field required"),
        (json!({"messages": "hi"}), "`messages`: expected an array, got the string \"hi\""),
        (json!({"messages": []}), "messages: at least one message is required"),
        (json!({"messages": ["hi"]}), "`messages.0`: expected an object, got the string \"hi\""),
        (json!({"messages": [{"content": "hi"}]}), "messages.0.role: Field required"),
        (json!({"messages": [{"role": "user"}]}), "messages.0.content: Field required"),
        (
            json!({"messages": [{"role": "system", "content": "hi"}]}),
            "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` parameter, not \"system\" as an input message role.",
        ),
        (turn(json!(7)), "`messages.0.content`: expected a string or an array of blocks, got 7"),
        (
            turn(json!("")),
            "messages.0: all messages must have non-empty content except for the optional final assistant message",
        ),
        (
            turn(json!([])),
            "messages.0: all messages must have non-empty content except for the optional final assistant message",
        ),
        (json!({"max_tokens": null}), "max_tokens: Field required"),
        (json!({"max_tokens": 0}), "`max_tokens`: expected at least 1, got 0"),
        (json!({"max_tokens": -1}), "`max_tokens`: expected an integer of at least 1, got -1"),
        (json!({"max_tokens": "9"}), "`max_tokens`: expected an integer of at least 1, got the string \"9\""),
        (json!({"max_tokens": 1.5}), "`max_tokens`: expected an integer of at least 1, got 1.5"),
        (json!({"max_tokens": 4294967296_u64}), "`max_tokens`: expected at most 4294967295, got 4294967296"),
        (json!({"system": 1}), "`system`: expected a string or an array of text blocks, got 1"),
        (
            json!({"system": [{"type": "image"}]}),
            "`system.0.type`: expected `text`, got the string \"image\"",
        ),
        (json!({"temperature": 1.5}), "`temperature`: expected a number from 0 to 1, got 1.5"),
        (json!({"temperature": "1"}), "`temperature`: expected a number from 0 to 1, got the string \"1\""),
        (json!({"top_p": -0.1}), "`top_p`: expected a number from 0 to 1, got -0.1"),
        (json!({"top_k": 0.5}), "`top_k`: expected an integer of at least 0, got 0.5"),
        (json!({"stream": "yes"}), "`stream`: expected true or false, got the string \"yes\""),
        (json!({"stop_sequences": "x"}), "`stop_sequences`: expected an array, got the string \"x\""),
        (
            json!({"stop_sequences": ["1", "2", "3", "4", "5"]}),
            "`stop_sequences`: expected at most 4 strings, got an array of 5",
        ),
        (json!({"stop_sequences": [1]}), "`stop_sequences.0`: expected a string, got 1"),
        (json!({"stop_sequences": [" "]}), "stop_sequences: each stop sequence must contain non-whitespace"),
        (json!({"metadata": "me"}), "`metadata`: expected an object, got the string \"me\""),
        (json!({"metadata": {"user_id": 7}}), "`metadata.user_id`: expected a string, got 7"),
        (json!({"tools": {}}), "`tools`: expected an array, got an object"),
        (json!({"tool_choice": "auto"}), "`tool_choice`: expected an object, got the string \"auto\""),
        (
            json!({"tool_choice": {"type": "some"}}),
            "`tool_choice.type`: expected `auto`, `any`, `tool` or `none`, got the string \"some\"",
        ),
        (json!({"tool_choice": {"type": "tool"}}), "tool_choice.name: Field required"),
        (
            json!({"tool_choice": {"type": "any", "disable_parallel_tool_use": 1}}),
            "`tool_choice.disable_parallel_tool_use`: expected true or false, got 1",
        ),
        (json!({"container": "c"}), "container: Extra inputs are not permitted"),
        (json!({"shade": 1}), "shade: Extra inputs are not permitted"),
    ];
    for (fields, expected) in table {
        check(fields, json!({}), expected);
    }
}

#[test]
fn every_block_has_its_rule() {
    let table = [
        (json!([7]), "`messages.0.content.0`: expected an object, got 7"),
        (json!([{}]), "messages.0.content.0.type: Field required"),
        (json!([{"type": "text"}]), "messages.0.content.0.text: Field required"),
        (json!([{"type": "text", "text": 1}]), "`messages.0.content.0.text`: expected a string, got 1"),
        (json!([{"type": "text", "text": ""}]), "messages: text content blocks must be non-empty"),
        (json!([{"type": "image"}]), "messages.0.content.0.source: Field required"),
        (
            json!([{"type": "image", "source": {"type": "disk"}}]),
            "`messages.0.content.0.source.type`: expected `base64` or `url`, got the string \"disk\"",
        ),
        (
            json!([{"type": "image", "source": {"type": "base64", "media_type": "image/tiff", "data": "AA"}}]),
            "`messages.0.content.0.source.media_type`: expected `image/jpeg`, `image/png`, `image/gif` or \
             `image/webp`, got the string \"image/tiff\"",
        ),
        (
            json!([{"type": "image", "source": {"type": "base64", "media_type": "image/png"}}]),
            "messages.0.content.0.source.data: Field required",
        ),
        (
            json!([{"type": "image", "source": {"type": "url"}}]),
            "messages.0.content.0.source.url: Field required",
        ),
        (
            json!([{"type": "document", "source": 1}]),
            "`messages.0.content.0.source`: expected an object, got 1",
        ),
        (
            json!([{"type": "thinking", "thinking": "", "signature": ""}]),
            "messages.0.content.0: `thinking` blocks can only be in `assistant` messages",
        ),
        (
            json!([{"type": "tool_use", "id": "a", "name": "b", "input": {}}]),
            "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
        ),
        (json!([{"type": "tool_result"}]), "messages.0.content.0.tool_use_id: Field required"),
        (
            json!([{"type": "tool_result", "tool_use_id": "a", "is_error": "no"}]),
            "`messages.0.content.0.is_error`: expected true or false, got the string \"no\"",
        ),
        (
            json!([{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image"}]}]),
            "messages.0.content.0.content.0.source: Field required",
        ),
    ];
    for (content, expected) in table {
        check(turn(content), json!({}), expected);
    }
    let assistant = |block: Value| json!({"messages": [{"role": "assistant", "content": [block]}, {"role": "user", "content": "go on"}]});
    let table = [
        (json!({"type": "thinking", "thinking": "a"}), "messages.0.content.0.signature: Field required"),
        (json!({"type": "redacted_thinking"}), "messages.0.content.0.data: Field required"),
        (
            json!({"type": "tool_use", "id": "a", "name": "b", "input": "{}"}),
            "`messages.0.content.0.input`: expected an object, got the string \"{}\"",
        ),
        (
            json!({"type": "tool_result", "tool_use_id": "a"}),
            "messages.0.content.0: `tool_result` blocks can only be in `user` messages",
        ),
    ];
    for (block, expected) in table {
        check(assistant(block), json!({}), expected);
    }
}

#[test]
fn every_tool_has_its_rule() {
    let table = [
        (json!({"input_schema": {}}), "tools.0.custom.name: Field required"),
        (
            json!({"name": "a b", "input_schema": {}}),
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (json!({"name": "a"}), "tools.0.custom.input_schema: Field required"),
        (
            json!({"type": "custom", "name": "a", "input_schema": []}),
            "`tools.0.custom.input_schema`: expected an object, got an array of 0",
        ),
        (
            json!({"name": "a", "input_schema": {}, "description": 1}),
            "`tools.0.custom.description`: expected a string, got 1",
        ),
        (json!({"type": "bash_20241022"}), "tools.0.name: Field required"),
    ];
    for (tool, expected) in table {
        check(json!({"tools": [tool]}), json!({}), expected);
    }
    let strange = json!({"tools": [{"type": "hammer_1", "name": "hammer"}]});
    let said = refused(
        &body(strange),
        Protocol::Messages,
        json!({"tools": {"bash_20241022": null, "saw_1": {"type": "saw_1"}}}),
    );
    let opening =
        "tools.0: Input tag 'hammer_1' found using 'type' does not match any of the expected tags: ";
    let tags = said.strip_prefix(opening).expect("the upstream's words");
    assert!(
        tags.contains("'computer_20241022'") && tags.contains("'saw_1'") && tags.contains("'custom'"),
        "{tags}"
    );
    assert!(!tags.contains("'bash_20241022'"), "{tags}");
}

#[test]
fn refuses_a_tool_the_operator_disabled() {
    let rules = json!({"tools": {"bash_20241022": null}});
    let said = refused(
        &body(json!({"tools": [{"type": "bash_20241022", "name": "bash"}]})),
        Protocol::Messages,
        rules,
    );
    assert!(said.starts_with("tools.0: Input tag 'bash_20241022' found using 'type'"), "{said}");
}

#[test]
fn model_rules_refuse_in_the_providers_words() {
    let prefill = json!({"messages": [
        {"role": "user", "content": "hello"}, {"role": "assistant", "content": "{"}]});
    let enabled = |budget: u32| json!({"thinking": {"type": "enabled", "budget_tokens": budget}});
    let table = [
        (
            json!({"temperature": 0.5, "top_p": 0.9}),
            json!({"sampling": "either"}),
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ),
        (
            json!({"temperature": 1}),
            json!({"sampling": "none", "strict": true}),
            "`temperature` is deprecated for this model",
        ),
        (
            json!({"top_k": 1}),
            json!({"sampling": "none", "strict": true}),
            "`top_k` is deprecated for this model",
        ),
        (
            prefill,
            json!({"prefill": "refuse"}),
            "This model does not support assistant message prefill. The conversation must end with a user message.",
        ),
        (enabled(4096), json!({}), "`max_tokens` must be greater than `thinking.budget_tokens`."),
        (
            enabled(1023),
            json!({}),
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        ),
        (
            json!({"thinking": {"type": "enabled"}}),
            json!({}),
            "thinking.enabled.budget_tokens: Field required",
        ),
        (
            json!({"thinking": {"type": "deep"}}),
            json!({}),
            "`thinking.type`: expected `enabled`, `adaptive` or `disabled`, got the string \"deep\"",
        ),
        (
            json!({"model": "lm-sonnet-4-6-thinking"}),
            json!({"thinking": []}),
            "the model does not think: leave `-thinking` out of `model`",
        ),
        (
            json!({"model": "lm-sonnet-4-6-thinking", "max_tokens": 100}),
            json!({"max_output": 1000}),
            "max_tokens: 1280 > 1000, which is the maximum allowed number of output tokens for lm-sonnet-4-6",
        ),
    ];
    for (fields, rules, expected) in table {
        check(fields, rules, expected);
    }
    // A chat provider does without, unless the operator wants it told.
    let at_messages = [
        (
            enabled(1024),
            json!({"thinking": []}),
            "\"thinking.type.enabled\" is not supported for this model.",
        ),
        (
            json!({"thinking": {"type": "adaptive"}}),
            json!({"thinking": []}),
            "\"thinking.type.adaptive\" is not supported for this model.",
        ),
    ];
    for (fields, rules, expected) in at_messages {
        assert_eq!(refused(&body(fields.clone()), Protocol::Messages, rules.clone()), expected, "{fields}");
        assert!(prepare(&body(fields.clone()), Protocol::Chat, rules.clone()).is_ok(), "{fields}");
        let mut strict = rules;
        strict["strict"] = true.into();
        assert_eq!(refused(&body(fields.clone()), Protocol::Chat, strict), expected, "{fields}");
    }
    for tokens in [65_537, 64_001] {
        let expected = format!(
            "max_tokens: {tokens} > 64000, which is the maximum allowed number of output tokens for lm-sonnet-4-6"
        );
        check(json!({"max_tokens": tokens}), json!({"max_output": 64_000, "strict": true}), &expected);
    }
}

#[test]
fn accepts_values_at_the_limit() {
    let table = [
        (json!({"max_tokens": 64_000}), json!({"max_output": 64_000})),
        (json!({"temperature": 1, "top_k": 0, "stop_sequences": ["1", "2", "3", "4"]}), json!({})),
        (json!({"temperature": 0.0, "top_p": 1.0}), json!({})),
        (json!({"temperature": 0.5, "top_p": 1.0}), json!({"sampling": "either"})),
        (json!({"temperature": 0.5, "top_p": 1}), json!({"sampling": "either"})),
        (json!({"max_tokens": 64.0, "top_k": 5.0}), json!({})),
        (json!({"max_tokens": 4096, "thinking": {"type": "enabled", "budget_tokens": 1024.0}}), json!({})),
        (json!({"max_tokens": 1}), json!({})),
        (json!({"thinking": {"type": "enabled", "budget_tokens": 4095}}), json!({})),
        (json!({"tools": [{"name": "f".repeat(128), "input_schema": {}}]}), json!({})),
    ];
    for (fields, rules) in table {
        for protocol in [Protocol::Messages, Protocol::Chat] {
            assert!(prepare(&body(fields.clone()), protocol, rules.clone()).is_ok(), "{protocol:?} {fields}");
        }
    }
}

#[test]
fn only_some_models_take_prefill() {
    let prefill = body(json!({"messages": [
        {"role": "user", "content": "hello"}, {"role": "assistant", "content": "{"}]}));
    let table = [
        (Protocol::Messages, json!({"prefill": true}), true),
        (Protocol::Messages, json!({"prefill": "native"}), true),
        (Protocol::Messages, json!({}), true),
        (Protocol::Messages, json!({"continues": true, "prefill": false}), false),
        (Protocol::Chat, json!({"prefill": false}), false),
        (Protocol::Chat, json!({"prefill": "refuse"}), false),
        (Protocol::Chat, json!({"continues": true, "prefill": "refuse"}), true),
    ];
    for (protocol, rules, accepted) in table {
        assert_eq!(prepare(&prefill, protocol, rules.clone()).is_ok(), accepted, "{protocol:?} {rules}");
    }
    let paused = body(json!({"messages": [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "n", "input": {}}]}]}));
    assert!(prepare(&paused, Protocol::Messages, json!({})).is_ok(), "a paused turn is gone on with");
}

#[test]
fn refuses_a_body_that_is_not_an_object() {
    let table = [
        ("{", "The request body is not valid JSON: "),
        ("", "The request body is not valid JSON: "),
        ("[]", "the request body: expected a JSON object"),
        (r#"{"max_tokens":1,"max_tokens":2}"#, "the request body: the field `max_tokens` stands twice"),
    ];
    for (text, expected) in table {
        match both().prepare::<Messages>(&text_request(&text, Protocol::Messages, json!({}))) {
            Err(Refusal::Invalid { message, .. }) => assert!(message.starts_with(expected), "{message}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn wrong_rules_make_the_model_absent() {
    let refusal = prepare(&body(json!({})), Protocol::Chat, json!({"max_output": "many"})).unwrap_err();
    assert!(matches!(&refusal, Refusal::NotFound(words) if words.contains("do not read")), "{refusal:?}");
    let mut request = text_request(&body(json!({})), Protocol::Chat, json!({}));
    request.surface = "images.generate".to_owned();
    assert!(matches!(both().prepare::<Messages>(&request), Err(Refusal::NotFound(_))));
}

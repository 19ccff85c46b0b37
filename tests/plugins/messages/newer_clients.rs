//! What newer clients send, and older ones: each is translated, or refused in the words after which they do without it.

use gatehouse_sdk::{Protocol, Refusal};
use serde_json::json;

use crate::messages::{body, prepare, refused, sent};

/// Without it clients of later versions would fail where a model can do what they want.
#[test]
fn values_of_later_versions_become_known_ones() {
    for (thinking, expected) in [
        (json!({"type": "between_tools"}), json!({"type": "adaptive"})),
        (
            json!({"type": "adaptive", "display": "updates"}),
            json!({"type": "adaptive", "display": "summarized"}),
        ),
        (
            json!({"type": "adaptive", "display": "omitted"}),
            json!({"type": "adaptive", "display": "omitted"}),
        ),
        (
            json!({"type": "enabled", "budget_tokens": 1024, "display": "updates"}),
            json!({"type": "enabled", "budget_tokens": 1024, "display": "summarized"}),
        ),
    ] {
        let got = sent(json!({"thinking": thinking}), Protocol::Messages, json!({}));
        assert_eq!(got["thinking"], expected, "{thinking}");
        prepare(&body(json!({"thinking": thinking})), Protocol::Chat, json!({})).expect("a wish");
    }
    match prepare(&body(json!({"thread": {"type": "create"}})), Protocol::Messages, json!({})) {
        Err(Refusal::Invalid { field, .. }) => {
            assert_eq!(field.as_deref(), Some("thread"), "the host says how to go on");
        }
        other => panic!("{other:?}"),
    }
    let format = json!({"type": "json_schema", "schema": {"type": "object"}});
    let got = sent(json!({"output_format": format}), Protocol::Messages, json!({}));
    assert_eq!((&got["output_config"]["format"], got.get("output_format")), (&format, None));
    let got = sent(json!({"output_format": format}), Protocol::Chat, json!({}));
    assert_eq!(got["response_format"]["json_schema"]["schema"], format["schema"]);
}

/// Without it a default, which changes nothing, is a 400.
#[test]
fn a_default_is_no_second_setting() {
    let either = json!({"sampling": "either"});
    for (temperature, top_p, kept) in
        [(0.5, 1.0, (true, false)), (1.0, 0.5, (false, true)), (1.0, 1.0, (true, false))]
    {
        let got =
            sent(json!({"temperature": temperature, "top_p": top_p}), Protocol::Messages, either.clone());
        assert_eq!(
            (got.get("temperature").is_some(), got.get("top_p").is_some()),
            kept,
            "{temperature} {top_p}"
        );
    }
    let said = refused(&body(json!({"temperature": 0.5, "top_p": 0.5})), Protocol::Messages, either);
    assert!(said.contains("cannot both be specified"), "{said}");
}

/// Without it blocks that have a text are refused by chat models.
#[test]
fn blocks_of_texts_are_texts_at_a_chat_provider() {
    let document = json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}});
    let found = json!({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "tool_reference", "tool_name": "get_weather"}]});
    let messages = json!([
        {"role": "user", "content": [document]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
        {"role": "user", "content": [found]},
    ]);
    let got = sent(json!({"messages": messages}), Protocol::Chat, json!({}));
    assert_eq!(got["messages"][0]["content"], "a\nb");
    assert_eq!(got["messages"][2], json!({"role": "tool", "tool_call_id": "t", "content": "get_weather"}));
    assert_eq!(sent(json!({"messages": messages}), Protocol::Messages, json!({}))["messages"], messages);
}

//! Names in another letter case, which servers written in Go read as the protocol's own.

use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use crate::messages::{body, refused, sent};

/// Without it such a server reads another text, cap or tool than the one that was checked and priced.
#[test]
fn a_known_name_in_another_case_is_refused_wherever_it_stands() {
    let user = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    for (fields, path) in [
        (json!({"Model": "dear"}), "Model"),
        (json!({"MAX_TOKENS": 9000}), "MAX_TOKENS"),
        (json!({"messages": [{"role": "user", "content": "hi", "Content": "long"}]}), "messages.0.Content"),
        (user(json!({"type": "text", "text": "a", "TEXT": "b"})), "messages.0.content.0.TEXT"),
        (
            user(
                json!({"type": "image", "source": {"type": "url", "url": "https://e.com/a.png", "Type": "file"}}),
            ),
            "messages.0.content.0.source.Type",
        ),
        (
            json!({"thinking": {"type": "enabled", "budget_tokens": 1024, "Budget_Tokens": 9000}}),
            "thinking.Budget_Tokens",
        ),
        (
            json!({"tools": [{"name": "f", "input_schema": {"type": "object"}, "Type": "web"}]}),
            "tools.0.Type",
        ),
    ] {
        for protocol in [Protocol::Messages, Protocol::Chat] {
            let said = refused(&body(fields.clone()), protocol, json!({}));
            assert!(said.contains(path), "{protocol:?}: {said}");
        }
    }
    let schema = json!({"type": "object", "properties": {"Name": {"type": "string"}}, "Title": "x"});
    for protocol in [Protocol::Messages, Protocol::Chat] {
        sent(json!({"tools": [{"name": "f", "input_schema": schema}]}), protocol, json!({}));
    }
}

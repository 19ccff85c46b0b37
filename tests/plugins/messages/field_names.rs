//! What a chat provider says of a field of its request is told in the fields of the client's Messages request.

use gatehouse_sdk::{Protocol, Reply};
use messages::Messages;
use serde_json::json;

use crate::messages::{body, both, prepare};

/// Without it a client reads of fields that its request does not have.
#[test]
fn a_messages_client_reads_its_own_fields() {
    let png = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgoAAAANSUhEUg=="});
    let asked = body(json!({
        "system": "Be brief.", "stop_sequences": ["x"],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}, {"type": "text", "text": "go on"}]},
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image", "source": png}]},
        ],
    }));
    let prepared = prepare(&asked, Protocol::Chat, json!({})).expect("a good request");
    for (param, field) in [
        ("max_completion_tokens", "max_tokens"),
        ("messages[0].content", "system"),
        ("messages[1]", "messages.0"),
        ("messages[2].tool_calls[0].function.arguments", "messages.1"),
        ("messages[3].content", "messages.2"),
        ("messages[4].content", "messages.2"),
        ("messages[6].content[1].image_url.url", "messages.4.content.1"),
        ("messages[9]", "messages"),
        ("tools[0].function.parameters.type", "tools.0.input_schema.type"),
        ("tools[0].function.name", "tools.0.name"),
        ("stop", "stop_sequences"),
        ("response_format", "output_config.format"),
    ] {
        let error = json!({"error": {"type": "invalid_request_error", "param": param, "message": format!("Invalid '{param}': no.")}});
        let failure = both()
            .answer::<Messages>(&prepared.state, &Reply::raw(400, error.to_string()))
            .expect_err("an error");
        assert_eq!(
            (failure.field.as_deref(), failure.message),
            (Some(field), format!("Invalid '{field}': no.")),
            "{param}"
        );
    }
}

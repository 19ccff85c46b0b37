//! What a provider says of a field of its request is told in the client's own fields, and so is what a check says.

use chat::{Chat, RESPONSES, SURFACE};
use gatehouse_sdk::{Protocol, TextRequest};
use serde_json::{Value, json};

use crate::chat::{both, refusal, reply, written_to};

fn request(protocol: Protocol, surface: &str, body: &Value) -> TextRequest {
    written_to(surface, protocol, json!({}), body)
}

/// What the client reads of a provider's 400: the field, and the message.
fn told(protocol: Protocol, surface: &str, body: &Value, error: &Value) -> (Option<String>, String) {
    let prepared = both().prepare::<Chat>(&request(protocol, surface, body)).expect("a good request");
    let failure =
        both().answer::<Chat>(&prepared.state, &reply(400, &error.to_string())).expect_err("an error");
    (failure.field, failure.message)
}

fn anthropic(message: &str) -> Value {
    json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
}

fn openai(param: Value, message: &str) -> Value {
    json!({"error": {"type": "invalid_request_error", "code": null, "param": param, "message": message}})
}

const PNG: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==";

fn completion() -> Value {
    let function = json!({"name": "f", "parameters": {"type": "object"}});
    json!({
        "model": "m", "max_completion_tokens": 50, "tools": [{"type": "function", "function": function}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": PNG}}]},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
            {"role": "user", "content": "go on"},
        ],
    })
}

fn response() -> Value {
    json!({
        "model": "m", "max_output_tokens": 50, "instructions": "Be brief.",
        "tools": [{"type": "web_search", "external_web_access": false}, {"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "input": [
            {"role": "user", "content": "hi"},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
            {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_text", "text": ""}, {"type": "input_image", "image_url": PNG}]},
            {"type": "function_call", "call_id": "d", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "d", "output": [{"type": "input_image", "image_url": PNG}, {"type": "input_text", "text": "so"}]},
        ],
    })
}

/// Without it a client reads of fields that its request does not have.
#[test]
fn a_chat_client_reads_its_own_fields() {
    let body = completion();
    for (said, field, message) in [
        ("max_tokens: 9 > 8", "max_completion_tokens", "max_completion_tokens: 9 > 8"),
        (
            "messages.0.content.1.image.source.base64: bad",
            "messages[1].content[1].image_url.url",
            "messages[1].content[1].image_url.url: bad",
        ),
        (
            "messages.1.content.0.tool_use.id: bad",
            "messages[2].tool_calls[0]",
            "messages[2].tool_calls[0]: bad",
        ),
        ("messages.2.content.0.tool_result: bad", "messages[3]", "messages[3]: bad"),
        ("messages.2.content.1.text: bad", "messages[4]", "messages[4]: bad"),
        ("messages.2: bad", "messages", "messages: bad"),
        (
            "tools.0.custom.input_schema: bad",
            "tools[0].function.parameters",
            "tools[0].function.parameters: bad",
        ),
        ("system: bad", "messages", "messages: bad"),
    ] {
        let found = told(Protocol::Messages, SURFACE, &body, &anthropic(said));
        assert_eq!(found, (Some(field.to_owned()), message.to_owned()), "{said}");
    }
    let own = openai(json!("messages[1].content[1]"), "Invalid 'messages[1].content[1]'.");
    let found = told(Protocol::Chat, SURFACE, &body, &own);
    assert_eq!(
        found,
        (Some("messages[1].content[1]".to_owned()), "Invalid 'messages[1].content[1]'.".to_owned())
    );
}

#[test]
fn a_responses_client_reads_its_own_fields() {
    let body = response();
    for (said, field) in [
        (openai(json!("max_completion_tokens"), "`max_completion_tokens` is too large"), "max_output_tokens"),
        (
            openai(
                json!("messages[4].content[1].image_url.url"),
                "Invalid 'messages[4].content[1].image_url.url'",
            ),
            "input[3].content[2].image_url",
        ),
        (openai(json!("messages[3].content"), "Invalid 'messages[3].content'"), "input[2]"),
        (
            openai(json!("messages[6].content[0].text"), "Invalid 'messages[6].content[0].text'"),
            "input[5].output[1]",
        ),
        (
            openai(json!("messages[7].content[0].image_url"), "Invalid 'messages[7].content[0].image_url'"),
            "input[5].output[0].image_url",
        ),
        (openai(json!("messages[2].tool_calls[0].id"), "Invalid 'messages[2].tool_calls[0].id'"), "input[1]"),
        (openai(json!("messages[0].content"), "Invalid 'messages[0].content'"), "instructions"),
        (
            openai(json!("tools[0].function.parameters"), "Invalid 'tools[0].function.parameters'"),
            "tools[1].parameters",
        ),
        (openai(json!("reasoning_effort"), "Unknown `reasoning_effort`"), "reasoning.effort"),
        (openai(json!("response_format"), "Unknown `response_format`"), "text.format"),
    ] {
        let (found, message) = told(Protocol::Chat, RESPONSES, &body, &said);
        let expected = said["error"]["param"].as_str().expect("a field");
        let expected = said["error"]["message"].as_str().expect("words").replace(expected, field);
        // An item of the model is told as a whole.
        assert_eq!((found.as_deref(), message), (Some(field), expected.clone()), "{said}");
    }
    for (said, field) in [
        ("max_tokens: 9 > 8", "max_output_tokens"),
        ("messages.2.content.2.image.source: bad", "input[3].content[2].image_url"),
        ("messages.2.content.0.tool_result: bad", "input[2]"),
        ("tools.0.input_schema: bad", "tools[1].parameters"),
        ("thinking.budget_tokens: bad", "reasoning.effort"),
        ("output_config.format.schema: bad", "text.format.schema"),
    ] {
        let (found, message) = told(Protocol::Messages, RESPONSES, &body, &anthropic(said));
        assert!(
            found.as_deref() == Some(field) && message.starts_with(&format!("{field}: ")),
            "{said}: {found:?}, {message}"
        );
    }
}

/// The gateway's own sentences name no other field than the client's either.
#[test]
fn a_check_of_a_response_names_its_own_fields_alone() {
    for (protocol, mut body, field) in [
        (Protocol::Messages, json!({"top_logprobs": 30}), "top_logprobs"),
        (
            Protocol::Chat,
            json!({"text": {"format": {"type": "json_schema", "name": "a", "schema": 5}}}),
            "text.format.schema",
        ),
        (
            Protocol::Chat,
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "cat.png"}]}]}),
            "input[0].content[0].image_url",
        ),
        (
            Protocol::Chat,
            json!({"input": [{"role": "user", "content": [{"type": "input_file", "file_data": "cat"}]}]}),
            "input[0].content[0].file_data",
        ),
    ] {
        body["model"] = json!("m");
        if body.get("input").is_none() {
            body["input"] = json!("hi");
        }
        let (found, message) = refusal(request(protocol, RESPONSES, &body));
        assert_eq!(found, field, "{body}: {message}");
        for foreign in [
            "messages",
            "max_completion_tokens",
            "max_tokens",
            "reasoning_effort",
            "response_format",
            ".function",
        ] {
            assert!(!message.contains(foreign), "{body}: {message}");
        }
    }
}

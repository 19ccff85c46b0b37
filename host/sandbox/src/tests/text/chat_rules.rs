//! What the chat completions refuse, and in which words.

use serde_json::{Value, json};

use crate::tests::client::{JSON, TestSandbox};
use crate::tests::text::wire::{BEARER, Wire, X_KEY, question, user, with};

const WIRE: Wire = Wire::Chat;
/// As vLLM makes them.
const LONG_ID: &str = "chatcmpl-tool-0123456789abcdef0123456789abcdef";

fn base() -> Value {
    question(WIRE, "hi", false)
}

fn tool(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name } })
}

fn picture(url: &str) -> Value {
    user(json!([{ "type": "image_url", "image_url": { "url": url } }]))
}

fn or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

/// Change, `param`, `code` (both empty for null), and the beginning of the message.
#[rustfmt::skip]
fn table() -> Vec<(Value, &'static str, &'static str, &'static str)> {
    let calling = |ids: &[&str]| {
        let function = json!({ "name": "f", "arguments": "{}" });
        let call = |id: &&str| json!({ "id": id, "type": "function", "function": function });
        json!({ "role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>() })
    };
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "ok" });
    let hi = || json!({ "role": "user", "content": "hi" });
    let messages = |messages: &[Value]| json!({ "messages": messages });
    vec![
        (json!({ "model": null }), "", "", "you must provide a model parameter"),
        (json!({ "model": 5 }), "model", "invalid_type",
         "Invalid type for 'model': expected a string, but got an integer instead."),
        (json!({ "messages": null }), "messages", "missing_required_parameter",
         "Missing required parameter: 'messages'."),
        (json!({ "messages": [] }), "messages", "empty_array", "Invalid 'messages': empty array."),
        (json!({ "messages": "hi" }), "messages", "invalid_type",
         "Invalid type for 'messages': expected an array of objects, but got a string instead."),
        (json!({ "kite": 1 }), "kite", "unknown_parameter", "Unknown parameter: 'kite'."),
        (messages(&[json!({ "role": "robot", "content": "x" })]), "messages[0].role", "invalid_value",
         "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."),
        (messages(&[json!({ "content": "x" })]), "messages[0].role", "missing_required_parameter",
         "Missing required parameter: 'messages[0].role'."),
        (messages(&[json!({ "role": "user" })]), "messages[0].content", "missing_required_parameter",
         "Missing required parameter"),
        (messages(&[json!({ "role": "user", "content": "x", "x": 1 })]), "messages[0].x", "unknown_parameter",
         "Unknown parameter: 'messages[0].x'."),
        (user(json!(5)), "messages[0].content", "invalid_type",
         "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an integer instead."),
        (user(json!([])), "messages[0].content", "empty_array", "Invalid 'messages[0].content': empty array."),
        (user(json!([{ "type": "video" }])), "messages[0].content[0].type", "invalid_value",
         "Invalid value: 'video'. Supported values are: 'text', 'image_url', 'input_audio', and 'file'."),
        (picture("ftp://x"), "messages[0].content[0].image_url.url", "invalid_value",
         "Invalid 'messages[0].content[0].image_url.url'. Expected a valid URL"),
        (picture("https://nohost.invalid/x.png"), "", "invalid_image_url",
         "Error while downloading https://nohost.invalid/x.png."),
        (picture("data:image/png;base64,@@"), "messages[0].content[0].image_url.url", "invalid_base64",
         "Invalid base64 image_url."),
        (picture("data:image/png,abc"), "messages[0].content[0].image_url.url", "invalid_base64",
         "Invalid base64 image_url."),
        (picture("data:image/png;base64,aGVsbG8="), "messages[0].content[0].image_url.url", "invalid_image_format",
         "You uploaded an unsupported image."),
        (messages(&[hi(), json!({ "role": "assistant" })]), "messages[1].content", "",
         "Invalid value for 'content': expected a string, got null."),
        (messages(&[hi(), result("a")]), "messages.[1].role", "",
         "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."),
        (messages(&[hi(), calling(&[LONG_ID]), result(LONG_ID)]), "messages[1].tool_calls[0].id", "string_above_max_length",
         "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead."),
        (messages(&[hi(), calling(&["a"]), result(LONG_ID)]), "messages[2].tool_call_id", "string_above_max_length",
         "Invalid 'messages[2].tool_call_id': string too long."),
        (messages(&[hi(), calling(&["a"]), result("b")]), "messages.[2].role", "",
         "Invalid parameter: 'tool_call_id' not found"),
        (messages(&[hi(), calling(&["a", "b"]), result("a")]), "messages.[3].role", "",
         "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b"),
        (messages(&[hi(), calling(&["a", "b"]), result("a"), hi()]), "messages.[3].role", "",
         "An assistant message with 'tool_calls'"),
        (messages(&[hi(), json!({ "role": "assistant", "tool_calls": [] })]), "messages[1].tool_calls",
         "empty_array", "Invalid 'messages[1].tool_calls': empty array."),
        (messages(&[hi(), json!({ "role": "assistant", "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "f", "arguments": {} } }] })]),
         "messages[1].tool_calls[0].function.arguments", "invalid_type", "Invalid type for"),
        (json!({ "temperature": 2.5 }), "temperature", "decimal_above_max_value",
         "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead."),
        (json!({ "temperature": -1 }), "temperature", "decimal_below_min_value",
         "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead."),
        (json!({ "top_p": 1.5 }), "top_p", "decimal_above_max_value", "Invalid 'top_p'"),
        (json!({ "presence_penalty": 3 }), "presence_penalty", "decimal_above_max_value",
         "Invalid 'presence_penalty'"),
        (json!({ "n": 0 }), "n", "integer_below_min_value",
         "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead."),
        (json!({ "n": 129 }), "n", "integer_above_max_value", "Invalid 'n': integer above maximum value."),
        (json!({ "max_tokens": 0 }), "max_tokens", "integer_below_min_value", "Invalid 'max_tokens'"),
        (json!({ "max_tokens": 1.5 }), "max_tokens", "invalid_type",
         "Invalid type for 'max_tokens': expected an integer, but got a decimal instead."),
        (json!({ "max_tokens": 99_999 }), "max_tokens", "invalid_value",
         "max_tokens is too large: 99999. This model supports at most 16384 completion tokens"),
        (json!({ "max_tokens": 5, "max_completion_tokens": 5 }), "max_tokens", "invalid_parameter_combination",
         "Setting 'max_tokens' and 'max_completion_tokens' at the same time"),
        (json!({ "stop": ["a", "b", "c", "d", "e"] }), "stop", "array_above_max_length",
         "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead."),
        (json!({ "stop": 5 }), "stop", "invalid_type", "Invalid type for 'stop'"),
        (json!({ "top_logprobs": 2 }), "top_logprobs", "",
         "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled."),
        (json!({ "stream_options": { "include_usage": true } }), "stream_options", "",
         "The 'stream_options' parameter is only allowed when 'stream' is enabled."),
        (json!({ "stream": true, "stream_options": { "usage": true } }), "stream_options.usage", "unknown_parameter",
         "Unknown parameter: 'stream_options.usage'."),
        (json!({ "reasoning_effort": "low" }), "", "", "Unrecognized request argument supplied: reasoning_effort"),
        (json!({ "response_format": { "type": "yaml" } }), "response_format.type", "invalid_value",
         "Invalid value: 'yaml'."),
        (json!({ "response_format": { "type": "json_object" } }), "messages", "",
         "'messages' must contain the word 'json' in some form"),
        (json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "n" } } }),
         "response_format.json_schema.schema", "missing_required_parameter", "Missing required parameter"),
        (json!({ "tools": [] }), "tools", "empty_array", "Invalid 'tools': empty array."),
        (json!({ "tools": [{ "type": "web" }] }), "tools[0].type", "invalid_value",
         "Invalid value: 'web'. Supported values are: 'function'."),
        (json!({ "tools": [tool("no spaces")] }), "tools[0].function.name", "invalid_value",
         "Invalid 'tools[0].function.name': string does not match pattern."),
        (json!({ "tools": [{ "type": "function", "function": { "name": "f", "parameters": { "type": "string" } } }] }),
         "tools[0].function.parameters", "invalid_function_parameters", "Invalid schema for function 'f'"),
        (json!({ "tool_choice": "auto" }), "tool_choice", "",
         "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."),
        (json!({ "parallel_tool_calls": true }), "parallel_tool_calls", "",
         "Invalid value for 'parallel_tool_calls'"),
        (json!({ "tools": [tool("f")], "tool_choice": "must" }), "tool_choice", "invalid_value",
         "Invalid value: 'must'. Supported values are: 'none', 'auto', and 'required'."),
        (json!({ "tools": [tool("f")], "tool_choice": tool("g") }), "tool_choice", "",
         "Tool choice 'g' not found in 'tools' parameter."),
        (json!({ "functions": [] }), "functions", "unsupported_parameter", "Unsupported parameter: 'functions'"),
        (json!({ "model": "gpt-sim-reasoning", "max_tokens": 5 }), "max_tokens", "unsupported_parameter",
         "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        (json!({ "model": "gpt-sim-reasoning", "temperature": 0.2 }), "temperature", "unsupported_value",
         "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."),
        (json!({ "model": "gpt-sim-reasoning", "stop": "x" }), "stop", "unsupported_parameter",
         "Unsupported parameter: 'stop'"),
        (json!({ "model": "clone-sim", "max_completion_tokens": 5 }), "", "",
         "Unrecognized request argument supplied: max_completion_tokens"),
        (with(user(json!("a ".repeat(64_001))), &json!({ "model": "clone-sim" })), "messages",
         "context_length_exceeded",
         "This model's maximum context length is 64000 tokens. However, your messages resulted in 64001 tokens."),
    ]
}

#[tokio::test]
async fn refuses_invalid_bodies() {
    let test = TestSandbox::start().await;
    for (change, param, code, start) in table() {
        let reply = test.ask(WIRE, &with(base(), &change)).await;
        let shown = change.to_string().chars().take(300).collect::<String>();
        let body = reply.json();
        assert_eq!(reply.status, 400, "{shown}: {body}");
        let error = &body["error"];
        assert_eq!(
            (&error["type"], &error["param"], &error["code"]),
            (&json!("invalid_request_error"), &or_null(param), &or_null(code)),
            "{shown}: {body}"
        );
        let message = reply.message();
        assert!(message.starts_with(start), "{shown}\n  says {message}\n  not  {start}");
        assert_eq!(test.last(WIRE).usage, None, "nothing is billed");
    }
}

#[tokio::test]
async fn accepts_valid_bodies() {
    let test = TestSandbox::start().await;
    for change in [
        json!({ "temperature": 2, "top_p": 0.1, "seed": -5, "n": 2, "logprobs": true, "top_logprobs": 3 }),
        json!({ "stop": ["a", "b", "c", "d"], "max_tokens": 16_384, "user": "u", "store": false }),
        json!({ "max_completion_tokens": 5, "metadata": { "a": "b" }, "service_tier": "auto" }),
        json!({ "model": "gpt-sim-reasoning", "max_completion_tokens": 100, "reasoning_effort": "high", "temperature": 1 }),
        json!({ "model": "clone-sim", "max_tokens": 5, "temperature": 0.5 }),
        json!({ "tools": [tool("f")], "tool_choice": "none", "parallel_tool_calls": false }),
        json!({ "response_format": { "type": "text" }, "logit_bias": { "50256": -100 } }),
        json!({ "messages": [{ "role": "developer", "content": "be brief" }, { "role": "user", "content": [{ "type": "text", "text": "x" }], "name": "n" }] }),
        picture("https://pictures.example/kite.png"),
    ] {
        let reply = test.ask(WIRE, &with(base(), &change)).await;
        assert_eq!(reply.status, 200, "{change}: {}", reply.text());
    }
}

#[tokio::test]
async fn keys_and_routes() {
    let test = TestSandbox::start().await;
    let good = base().to_string();
    let path = "/v1/chat/completions";
    #[rustfmt::skip]
    let table = [
        (path, vec![BEARER, JSON], 200, "", ""),
        (path, vec![("authorization", "bearer sandbox-key"), JSON], 200, "", ""),
        (path, vec![X_KEY, JSON], 401, "invalid_request_error", ""),
        (path, vec![("authorization", "Bearer nobody"), JSON], 401, "invalid_request_error", "invalid_api_key"),
        (path, vec![("authorization", "Bearer sandbox-key-401"), JSON], 401, "invalid_request_error", "invalid_api_key"),
        (path, vec![("authorization", "Bearer sandbox-key-403"), JSON], 403, "invalid_request_error", "model_not_allowed"),
        (path, vec![("authorization", "Bearer sandbox-key-429"), JSON], 429, "requests", "rate_limit_exceeded"),
        (path, vec![("authorization", "Bearer sandbox-key-529"), JSON], 529, "server_error", ""),
        (path, vec![("authorization", "Bearer sandbox-key-broke"), JSON], 429, "insufficient_quota", "insufficient_quota"),
        (path, vec![BEARER, ("content-type", "text/plain")], 400, "invalid_request_error", ""),
        ("/v1/messages", vec![BEARER, JSON], 404, "invalid_request_error", "unknown_url"),
    ];
    for (path, headers, status, kind, code) in table {
        let reply = test.post(WIRE, path, &headers, &good).await;
        let error = &reply.json()["error"];
        assert_eq!(
            (reply.status, &error["type"], &error["code"]),
            (status, &or_null(kind), &or_null(code)),
            "{headers:?}"
        );
        assert!(reply.header("x-request-id").starts_with("req_"));
    }
    let unknown = test.ask(WIRE, &with(base(), &json!({ "model": "gpt-9" }))).await;
    let expected = json!({ "error": {
        "message": "The model `gpt-9` does not exist or you do not have access to it.",
        "type": "invalid_request_error",
        "param": null,
        "code": "model_not_found",
    } });
    assert_eq!((unknown.status, unknown.json()), (404, expected));
    let broken = test.post(WIRE, path, &[BEARER, JSON], b"{\"model\":").await;
    let is_explained = broken.text().contains("We could not parse the JSON body");
    assert!(broken.status == 400 && is_explained, "{}", broken.text());
    let large = vec![b' '; (64 << 20) + 1];
    assert_eq!(test.post(WIRE, path, &[BEARER, JSON], large).await.status, 413);
    let got = test.send("GET", WIRE, path, &[BEARER], "").await.try_read().await;
    assert_eq!(got.map(|reply| reply.status), Some(405));
}

//! What the chat completions refuse, and in which words.

use serde_json::{Value, json};

use crate::client::{BEARER, JSON, Wire, World, X_KEY, question, with};

const WIRE: Wire = Wire::Chat;

fn base() -> Value {
    question(WIRE, "hi", false)
}

fn user(content: Value) -> Value {
    json!({ "messages": [{ "role": "user", "content": content }] })
}

fn tool(name: &str) -> Value {
    json!({ "type": "function", "function": { "name": name } })
}

fn picture(url: &str) -> Value {
    user(json!([{ "type": "image_url", "image_url": { "url": url } }]))
}

/// Change, `param`, `code`, and how the message begins.
fn table() -> Vec<(Value, Value, Value, &'static str)> {
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let asks = |ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({ "role": "assistant", "content": null, "tool_calls": calls })
    };
    let answers = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "ok" });
    let hi = || json!({ "role": "user", "content": "hi" });
    let talk = |messages: &[Value]| json!({ "messages": messages });
    let n = || Value::Null;
    vec![
        (json!({ "model": null }), n(), n(), "you must provide a model parameter"),
        (
            json!({ "model": 5 }),
            json!("model"),
            json!("invalid_type"),
            "Invalid type for 'model': expected a string, but got an integer instead.",
        ),
        (
            json!({ "messages": null }),
            json!("messages"),
            json!("missing_required_parameter"),
            "Missing required parameter: 'messages'.",
        ),
        (
            json!({ "messages": [] }),
            json!("messages"),
            json!("empty_array"),
            "Invalid 'messages': empty array.",
        ),
        (
            json!({ "messages": "hi" }),
            json!("messages"),
            json!("invalid_type"),
            "Invalid type for 'messages': expected an array of objects, but got a string instead.",
        ),
        (json!({ "kite": 1 }), json!("kite"), json!("unknown_parameter"), "Unknown parameter: 'kite'."),
        (
            talk(&[json!({ "role": "robot", "content": "x" })]),
            json!("messages[0].role"),
            json!("invalid_value"),
            "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
        ),
        (
            talk(&[json!({ "content": "x" })]),
            json!("messages[0].role"),
            json!("missing_required_parameter"),
            "Missing required parameter: 'messages[0].role'.",
        ),
        (
            talk(&[json!({ "role": "user" })]),
            json!("messages[0].content"),
            json!("missing_required_parameter"),
            "Missing required parameter",
        ),
        (
            talk(&[json!({ "role": "user", "content": "x", "x": 1 })]),
            json!("messages[0].x"),
            json!("unknown_parameter"),
            "Unknown parameter: 'messages[0].x'.",
        ),
        (
            user(json!(5)),
            json!("messages[0].content"),
            json!("invalid_type"),
            "Invalid type for 'messages[0].content': expected one of a string or array of objects, but got an integer instead.",
        ),
        (
            user(json!([])),
            json!("messages[0].content"),
            json!("empty_array"),
            "Invalid 'messages[0].content': empty array.",
        ),
        (
            user(json!([{ "type": "video" }])),
            json!("messages[0].content[0].type"),
            json!("invalid_value"),
            "Invalid value: 'video'. Supported values are: 'text', 'image_url', 'input_audio', and 'file'.",
        ),
        (
            picture("ftp://x"),
            json!("messages[0].content[0].image_url.url"),
            json!("invalid_value"),
            "Invalid 'messages[0].content[0].image_url.url'. Expected a valid URL",
        ),
        (
            picture("data:image/png;base64,@@"),
            json!("messages[0].content[0].image_url.url"),
            json!("invalid_base64"),
            "Invalid base64 image_url.",
        ),
        (
            picture("data:image/png,abc"),
            json!("messages[0].content[0].image_url.url"),
            json!("invalid_base64"),
            "Invalid base64 image_url.",
        ),
        (
            picture("data:image/png;base64,aGVsbG8="),
            json!("messages[0].content[0].image_url.url"),
            json!("invalid_image_format"),
            "You uploaded an unsupported image.",
        ),
        (
            talk(&[hi(), json!({ "role": "assistant" })]),
            json!("messages[1].content"),
            n(),
            "Invalid value for 'content': expected a string, got null.",
        ),
        (
            talk(&[hi(), answers("a")]),
            json!("messages.[1].role"),
            n(),
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        ),
        (
            talk(&[hi(), asks(&["a"]), answers("b")]),
            json!("messages.[2].role"),
            n(),
            "Invalid parameter: 'tool_call_id' not found",
        ),
        (
            talk(&[hi(), asks(&["a", "b"]), answers("a")]),
            json!("messages.[3].role"),
            n(),
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
        ),
        (
            talk(&[hi(), asks(&["a", "b"]), answers("a"), hi()]),
            json!("messages.[3].role"),
            n(),
            "An assistant message with 'tool_calls'",
        ),
        (
            talk(&[hi(), json!({ "role": "assistant", "tool_calls": [] })]),
            json!("messages[1].tool_calls"),
            json!("empty_array"),
            "Invalid 'messages[1].tool_calls': empty array.",
        ),
        (
            talk(&[
                hi(),
                json!({ "role": "assistant", "tool_calls": [{ "id": "a", "type": "function", "function": { "name": "f", "arguments": {} } }] }),
            ]),
            json!("messages[1].tool_calls[0].function.arguments"),
            json!("invalid_type"),
            "Invalid type for",
        ),
        (
            json!({ "temperature": 2.5 }),
            json!("temperature"),
            json!("decimal_above_max_value"),
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
        ),
        (
            json!({ "temperature": -1 }),
            json!("temperature"),
            json!("decimal_below_min_value"),
            "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got -1 instead.",
        ),
        (json!({ "top_p": 1.5 }), json!("top_p"), json!("decimal_above_max_value"), "Invalid 'top_p'"),
        (
            json!({ "presence_penalty": 3 }),
            json!("presence_penalty"),
            json!("decimal_above_max_value"),
            "Invalid 'presence_penalty'",
        ),
        (
            json!({ "n": 0 }),
            json!("n"),
            json!("integer_below_min_value"),
            "Invalid 'n': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        ),
        (
            json!({ "n": 129 }),
            json!("n"),
            json!("integer_above_max_value"),
            "Invalid 'n': integer above maximum value.",
        ),
        (
            json!({ "max_tokens": 0 }),
            json!("max_tokens"),
            json!("integer_below_min_value"),
            "Invalid 'max_tokens'",
        ),
        (
            json!({ "max_tokens": 1.5 }),
            json!("max_tokens"),
            json!("invalid_type"),
            "Invalid type for 'max_tokens': expected an integer, but got a decimal instead.",
        ),
        (
            json!({ "max_tokens": 99_999 }),
            json!("max_tokens"),
            json!("invalid_value"),
            "max_tokens is too large: 99999. This model supports at most 16384 completion tokens",
        ),
        (
            json!({ "max_tokens": 5, "max_completion_tokens": 5 }),
            json!("max_tokens"),
            json!("invalid_parameter_combination"),
            "Setting 'max_tokens' and 'max_completion_tokens' at the same time",
        ),
        (
            json!({ "stop": ["a", "b", "c", "d", "e"] }),
            json!("stop"),
            json!("array_above_max_length"),
            "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length 5 instead.",
        ),
        (json!({ "stop": 5 }), json!("stop"), json!("invalid_type"), "Invalid type for 'stop'"),
        (
            json!({ "top_logprobs": 2 }),
            json!("top_logprobs"),
            n(),
            "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.",
        ),
        (
            json!({ "stream_options": { "include_usage": true } }),
            json!("stream_options"),
            n(),
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ),
        (
            json!({ "stream": true, "stream_options": { "usage": true } }),
            json!("stream_options.usage"),
            json!("unknown_parameter"),
            "Unknown parameter: 'stream_options.usage'.",
        ),
        (
            json!({ "reasoning_effort": "low" }),
            n(),
            n(),
            "Unrecognized request argument supplied: reasoning_effort",
        ),
        (
            json!({ "response_format": { "type": "yaml" } }),
            json!("response_format.type"),
            json!("invalid_value"),
            "Invalid value: 'yaml'.",
        ),
        (
            json!({ "response_format": { "type": "json_object" } }),
            json!("messages"),
            n(),
            "'messages' must contain the word 'json' in some form",
        ),
        (
            json!({ "response_format": { "type": "json_schema", "json_schema": { "name": "n" } } }),
            json!("response_format.json_schema.schema"),
            json!("missing_required_parameter"),
            "Missing required parameter",
        ),
        (json!({ "tools": [] }), json!("tools"), json!("empty_array"), "Invalid 'tools': empty array."),
        (
            json!({ "tools": [{ "type": "web" }] }),
            json!("tools[0].type"),
            json!("invalid_value"),
            "Invalid value: 'web'. Supported values are: 'function'.",
        ),
        (
            json!({ "tools": [tool("no spaces")] }),
            json!("tools[0].function.name"),
            json!("invalid_value"),
            "Invalid 'tools[0].function.name': string does not match pattern.",
        ),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "f", "parameters": { "type": "string" } } }] }),
            json!("tools[0].function.parameters"),
            json!("invalid_function_parameters"),
            "Invalid schema for function 'f'",
        ),
        (
            json!({ "tool_choice": "auto" }),
            json!("tool_choice"),
            n(),
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        ),
        (
            json!({ "parallel_tool_calls": true }),
            json!("parallel_tool_calls"),
            n(),
            "Invalid value for 'parallel_tool_calls'",
        ),
        (
            json!({ "tools": [tool("f")], "tool_choice": "must" }),
            json!("tool_choice"),
            json!("invalid_value"),
            "Invalid value: 'must'. Supported values are: 'none', 'auto', and 'required'.",
        ),
        (
            json!({ "tools": [tool("f")], "tool_choice": tool("g") }),
            json!("tool_choice"),
            n(),
            "Tool choice 'g' not found in 'tools' parameter.",
        ),
        (
            json!({ "functions": [] }),
            json!("functions"),
            json!("unsupported_parameter"),
            "Unsupported parameter: 'functions'",
        ),
        (
            json!({ "model": "gpt-sim-reasoning", "max_tokens": 5 }),
            json!("max_tokens"),
            json!("unsupported_parameter"),
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        ),
        (
            json!({ "model": "gpt-sim-reasoning", "temperature": 0.2 }),
            json!("temperature"),
            json!("unsupported_value"),
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        ),
        (
            json!({ "model": "gpt-sim-reasoning", "stop": "x" }),
            json!("stop"),
            json!("unsupported_parameter"),
            "Unsupported parameter: 'stop'",
        ),
        (
            json!({ "model": "clone-sim", "max_completion_tokens": 5 }),
            n(),
            n(),
            "Unrecognized request argument supplied: max_completion_tokens",
        ),
        (
            with(user(json!("a ".repeat(64_001))), &json!({ "model": "clone-sim" })),
            json!("messages"),
            json!("context_length_exceeded"),
            "This model's maximum context length is 64000 tokens. However, your messages resulted in 64001 tokens.",
        ),
    ]
}

#[tokio::test]
async fn bodies_that_are_refused() {
    let world = World::start().await;
    for (change, param, code, words) in table() {
        let reply = world.ask(WIRE, &with(base(), &change)).await;
        let shown = change.to_string().chars().take(300).collect::<String>();
        let told = reply.json();
        assert_eq!(reply.status, 400, "{shown}: {told}");
        let error = &told["error"];
        assert_eq!(
            (&error["type"], &error["param"], &error["code"]),
            (&json!("invalid_request_error"), &param, &code),
            "{shown}: {told}"
        );
        let message = error["message"].as_str().expect("a message");
        assert!(message.starts_with(words), "{shown}\n  told {message}\n  not  {words}");
        assert_eq!(world.last(WIRE).usage, None, "nothing is billed");
    }
}

#[tokio::test]
async fn bodies_that_pass() {
    let world = World::start().await;
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
        let reply = world.ask(WIRE, &with(base(), &change)).await;
        assert_eq!(reply.status, 200, "{change}: {}", reply.text());
    }
}

#[tokio::test]
async fn keys_and_routes() {
    let world = World::start().await;
    let good = base().to_string();
    let path = "/v1/chat/completions";
    for (path, headers, status, kind, code) in [
        (path, vec![BEARER, JSON], 200, Value::Null, Value::Null),
        (path, vec![("authorization", "bearer sandbox-key"), JSON], 200, Value::Null, Value::Null),
        (path, vec![X_KEY, JSON], 401, json!("invalid_request_error"), Value::Null),
        (
            path,
            vec![("authorization", "Bearer nobody"), JSON],
            401,
            json!("invalid_request_error"),
            json!("invalid_api_key"),
        ),
        (
            path,
            vec![("authorization", "Bearer sandbox-key-401"), JSON],
            401,
            json!("invalid_request_error"),
            json!("invalid_api_key"),
        ),
        (
            path,
            vec![("authorization", "Bearer sandbox-key-403"), JSON],
            403,
            json!("invalid_request_error"),
            json!("model_not_allowed"),
        ),
        (
            path,
            vec![("authorization", "Bearer sandbox-key-429"), JSON],
            429,
            json!("requests"),
            json!("rate_limit_exceeded"),
        ),
        (
            path,
            vec![("authorization", "Bearer sandbox-key-529"), JSON],
            529,
            json!("server_error"),
            Value::Null,
        ),
        (
            path,
            vec![("authorization", "Bearer sandbox-key-broke"), JSON],
            429,
            json!("insufficient_quota"),
            json!("insufficient_quota"),
        ),
        (
            path,
            vec![BEARER, ("content-type", "text/plain")],
            400,
            json!("invalid_request_error"),
            Value::Null,
        ),
        ("/v1/messages", vec![BEARER, JSON], 404, json!("invalid_request_error"), json!("unknown_url")),
    ] {
        let reply = world.post(WIRE, path, &headers, good.as_bytes()).await.finish().await;
        let told = reply.json();
        assert_eq!(
            (reply.status, &told["error"]["type"], &told["error"]["code"]),
            (status, &kind, &code),
            "{headers:?}"
        );
        assert!(reply.header("x-request-id").starts_with("req_"));
    }
    let unknown = world.ask(WIRE, &with(base(), &json!({ "model": "gpt-9" }))).await;
    let expected = json!({ "error": {
        "message": "The model `gpt-9` does not exist or you do not have access to it.",
        "type": "invalid_request_error",
        "param": null,
        "code": "model_not_found",
    } });
    assert_eq!((unknown.status, unknown.json()), (404, expected));
    let broken = world.post(WIRE, path, &[BEARER, JSON], b"{\"model\":").await.finish().await;
    assert!(
        broken.status == 400 && broken.text().contains("We could not parse the JSON body"),
        "{}",
        broken.text()
    );
    let large = vec![b' '; (64 << 20) + 1];
    assert_eq!(world.post(WIRE, path, &[BEARER, JSON], &large).await.finish().await.status, 413);
    let got = crate::client::Conversation::open("GET", &world.origin(WIRE), path, &[BEARER], b"").await;
    assert_eq!(got.finish().await.status, 405);
}

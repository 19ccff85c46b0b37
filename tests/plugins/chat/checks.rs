//! Every field's shape and limits, by its JSON path, what was expected and what came.

use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use crate::chat::{asked, prepared, refusal, written};

/// Refused for both protocols.
fn refused(fields: Value, message: &str) {
    for protocol in [Protocol::Chat, Protocol::Messages] {
        let (field, said) = refusal(asked(protocol, json!({}), fields.clone()));
        assert_eq!(said, message);
        assert!(message.starts_with(&format!("`{field}`")), "{field:?} is not where {message:?} begins");
    }
}

fn refused_message(message: Value, expected: &str) {
    refused(json!({"messages": [{"role": "user", "content": "hi"}, message]}), expected);
}

fn refused_part(part: Value, expected: &str) {
    refused(json!({"messages": [{"role": "user", "content": [part]}]}), expected);
}

/// Accepted for a provider of the same protocol.
fn taken(fields: Value) {
    prepared(asked(Protocol::Chat, json!({}), fields));
}

#[test]
fn a_body_is_an_object() {
    for (body, said) in [
        ("[1]", "expected a JSON object, got an array of 1"),
        ("\"m\"", "expected a JSON object, got the string \"m\""),
        ("null", "expected a JSON object, got null"),
    ] {
        assert_eq!(refusal(written(Protocol::Chat, json!({}), body)), (String::new(), said.to_owned()));
    }
    for body in ["", "{", "{\"a\":}", "{\"model\":\"m\"} x"] {
        let (_, said) = refusal(written(Protocol::Chat, json!({}), body));
        assert!(said.starts_with("The request body is not valid JSON: "), "{said}");
    }
    let beyond = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"temperature":1e999}"#;
    let (_, said) = refusal(written(Protocol::Chat, json!({}), beyond));
    assert_eq!(said, "`temperature`: expected a number, got what cannot be read");
    let twice = r#"{"model":"a","messages":[{"role":"user","content":"hi"}],"model":"b"}"#;
    let (field, said) = refusal(written(Protocol::Chat, json!({}), twice));
    assert_eq!(
        (field.as_str(), said.as_str()),
        ("model", "`model`: expected one value, not the same field twice, got the string \"a\"")
    );
}

#[test]
fn no_object_has_a_field_twice() {
    for (body, path) in [
        (r#"{"model":"m","messages":[{"role":"user","role":"system","content":"hi"}]}"#, "messages[0].role"),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]}"#,
            "messages[0].content[0].text",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url",
                "image_url":{"url":"https://a.test/","url":"https://b.test/"}}]}]}"#,
            "messages[0].content[0].image_url.url",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],
                "tools":[{"type":"function","function":{"name":"a","name":"b"}}]}"#,
            "tools[0].function.name",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],
                "stream":true,"stream_options":{"include_usage":true,"include_usage":false}}"#,
            "stream_options.include_usage",
        ),
        (
            r#"{"model":"m","messages":[{"role":"user","content":"hi"}],
                "tools":[{"type":"function","function":{"name":"a"}}],
                "tool_choice":{"type":"function","type":"custom","function":{"name":"a"}}}"#,
            "tool_choice.type",
        ),
    ] {
        let (field, said) = refusal(written(Protocol::Chat, json!({}), body));
        assert_eq!(field, path, "{said}");
        assert!(said.contains("one value, not the same field twice"), "{said}");
    }
}

#[test]
fn plain_fields() {
    refused(json!({"model": 1}), "`model`: expected a string, got 1");
    refused(json!({"model": null}), "`model`: expected a string, got null");
    for name in ["max_completion_tokens", "max_tokens"] {
        refused(json!({name: 0}), &format!("`{name}`: expected an integer from 1 to 4294967295, got 0"));
        refused(json!({name: "9"}), &format!("`{name}`: expected an integer, got the string \"9\""));
        refused(json!({name: 1.5}), &format!("`{name}`: expected an integer, got 1.5"));
    }
    refused(json!({"temperature": 2.1}), "`temperature`: expected a number from 0 to 2, got 2.1");
    refused(json!({"temperature": -0.1}), "`temperature`: expected a number from 0 to 2, got -0.1");
    refused(json!({"temperature": "1"}), "`temperature`: expected a number, got the string \"1\"");
    refused(json!({"top_p": 1.1}), "`top_p`: expected a number from 0 to 1, got 1.1");
    for name in ["frequency_penalty", "presence_penalty"] {
        refused(json!({name: 3}), &format!("`{name}`: expected a number from -2 to 2, got 3"));
    }
    refused(json!({"n": 0}), "`n`: expected an integer from 1 to 128, got 0");
    refused(json!({"n": 129}), "`n`: expected an integer from 1 to 128, got 129");
    refused(json!({"seed": 1.5}), "`seed`: expected an integer, got 1.5");
    refused(json!({"stream": "true"}), "`stream`: expected true or false, got the string \"true\"");
    refused(json!({"logprobs": 1}), "`logprobs`: expected true or false, got 1");
    refused(
        json!({"logprobs": true, "top_logprobs": 21}),
        "`top_logprobs`: expected an integer from 0 to 20, got 21",
    );
    refused(json!({"top_logprobs": 2}), "`top_logprobs`: expected nothing unless `logprobs` is true, got 2");
    refused(
        json!({"logit_bias": {"50256": -101}}),
        "`logit_bias.50256`: expected a number from -100 to 100, got -101",
    );
    refused(json!({"parallel_tool_calls": 0}), "`parallel_tool_calls`: expected true or false, got 0");
    refused(json!({"user": 7}), "`user`: expected a string, got 7");
    refused(json!({"metadata": {"a": 1}}), "`metadata.a`: expected a string, got 1");
    refused(json!({"store": "no"}), "`store`: expected true or false, got the string \"no\"");
    refused(
        json!({"verbosity": "loud"}),
        "`verbosity`: expected one of `low`, `medium`, `high`, got the string \"loud\"",
    );
    refused(
        json!({"modalities": ["smell"]}),
        "`modalities[0]`: expected `text` or `audio`, got the string \"smell\"",
    );
    refused(json!({"service_tier": 1}), "`service_tier`: expected a string, got 1");
    refused(
        json!({"function_call": "any"}),
        "`function_call`: expected `none` or `auto`, got the string \"any\"",
    );
    refused(
        json!({"reasoning_effort": "hard"}),
        "`reasoning_effort`: expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, got the string \"hard\"",
    );
}

#[test]
fn stops_and_stream_options() {
    let stops = "expected a string or an array of at most 4 strings";
    refused(json!({"stop": ["a", "b", "c", "d", "e"]}), &format!("`stop`: {stops}, got an array of 5"));
    refused(json!({"stop": 1}), &format!("`stop`: {stops}, got 1"));
    refused(json!({"stop": ["a", 2]}), "`stop[1]`: expected a string, got 2");
    taken(json!({"stop": ["a", "b", "c", "d"]}));
    refused(
        json!({"stream": true, "stream_options": true}),
        "`stream_options`: expected an object, got true",
    );
    refused(
        json!({"stream": true, "stream_options": {"include_usage": 1}}),
        "`stream_options.include_usage`: expected true or false, got 1",
    );
    refused(
        json!({"stream_options": {"include_usage": true}}),
        "`stream_options`: expected nothing unless `stream` is true, got an object",
    );
    taken(json!({"stream": false, "stream_options": null}));
}

#[test]
fn messages_by_role() {
    refused(
        json!({"messages": []}),
        "`messages`: expected an array of 1 to 100000 messages, got an array of 0",
    );
    refused(json!({"messages": "hi"}), "`messages`: expected an array, got the string \"hi\"");
    refused_message(json!("hi"), "`messages[1]`: expected an object, got the string \"hi\"");
    let roles = "expected one of `developer`, `system`, `user`, `assistant`, `tool`, `function`";
    refused_message(json!({"content": "x"}), &format!("`messages[1].role`: {roles}, got nothing"));
    refused_message(
        json!({"role": "robot"}),
        &format!("`messages[1].role`: {roles}, got the string \"robot\""),
    );
    for role in ["system", "developer", "user"] {
        let expected = "`messages[1].content`: expected a string or an array of parts, got";
        refused_message(json!({"role": role}), &format!("{expected} nothing"));
        refused_message(json!({"role": role, "content": null}), &format!("{expected} null"));
        refused_message(json!({"role": role, "content": 5}), &format!("{expected} 5"));
        refused_message(
            json!({"role": role, "content": []}),
            "`messages[1].content`: expected a string or an array of at least one part, got an array of 0",
        );
        refused_message(
            json!({"role": role, "content": "x", "name": 1}),
            "`messages[1].name`: expected a string, got 1",
        );
    }
    refused_message(
        json!({"role": "system", "content": [{"type": "image_url"}]}),
        "`messages[1].content[0].type`: expected `text`, got the string \"image_url\"",
    );
    refused_message(
        json!({"role": "assistant", "content": 5}),
        "`messages[1].content`: expected a string or an array of parts, got 5",
    );
    refused_message(
        json!({"role": "tool", "content": "x"}),
        "`messages[1].tool_call_id`: expected a string, got nothing",
    );
    refused_message(
        json!({"role": "tool", "tool_call_id": "", "content": "x"}),
        "`messages[1].tool_call_id`: expected a string that is not empty, got an empty string",
    );
    refused_message(
        json!({"role": "tool", "tool_call_id": "c", "content": [{"type": "image_url", "image_url": {}}]}),
        "`messages[1].content[0].image_url.url`: expected an http(s) URL or a base64 `data:` URI, got nothing",
    );
    refused_message(
        json!({"role": "function", "content": "x"}),
        "`messages[1].name`: expected a string, got nothing",
    );
}

#[test]
fn calls_of_the_model() {
    let call = |call: Value| json!({"role": "assistant", "tool_calls": [call]});
    let at = "`messages[1].tool_calls[0]";
    refused_message(call(json!({"type": "function"})), &format!("{at}.id`: expected a string, got nothing"));
    refused_message(
        call(json!({"id": "a"})),
        &format!("{at}.type`: expected `function` or `custom`, got nothing"),
    );
    refused_message(
        call(json!({"id": "a", "type": "function", "function": {"arguments": "{}"}})),
        &format!("{at}.function.name`: expected a string, got nothing"),
    );
    refused_message(
        call(json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": [1]}})),
        &format!("{at}.function.arguments`: expected a string, got an array of 1"),
    );
    refused_message(
        json!({"role": "assistant", "content": "x", "thinking_blocks": [{"type": "thinking", "thinking": "x"}]}),
        "`messages[1].thinking_blocks[0].signature`: expected a string, got nothing",
    );
    refused_message(
        json!({"role": "assistant", "content": "x", "thinking_blocks": [{"type": "redacted_thinking"}]}),
        "`messages[1].thinking_blocks[0].data`: expected a string, got nothing",
    );
}

#[test]
fn parts_of_users() {
    let kinds = "expected one of `text`, `image_url`, `input_audio`, `file`";
    let at = "`messages[0].content[0]";
    refused_part(json!({"type": "video"}), &format!("{at}.type`: {kinds}, got the string \"video\""));
    refused_part(json!({"type": "text"}), &format!("{at}.text`: expected a string, got nothing"));
    refused_part(json!("hi"), &format!("{at}`: expected an object, got the string \"hi\""));
    let url = "expected an http(s) URL or a base64 `data:` URI of an image";
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    for (given, came) in [
        ("kite.png", "the string \"kite.png\""),
        ("data:image/png,abc", "the string \"data:image/png,abc\""),
        ("data:image/png;base64,", "the string \"data:image/png;base64,\""),
        ("data:image/png;base64,a*b", "the string \"data:image/png;base64,a*b\""),
        ("data:;base64", "the string \"data:;base64\""),
        ("data:,", "the string \"data:,\""),
        ("blob:01ARZ3NDEKTSV4RRFFQ69G5FAV", "the string \"blob:01ARZ3NDEKTSV4RRFFQ69G5FAV\""),
    ] {
        refused_part(image(given), &format!("{at}.image_url.url`: {url}, got {came}"));
    }
    refused_part(
        image("data:text/html;base64,AAAA"),
        &format!("{at}.image_url.url`: expected an image, got text/html"),
    );
    refused_part(
        image("data:;base64,AAAA"),
        &format!("{at}.image_url.url`: expected an image, got data of no type"),
    );
    refused_part(
        json!({"type": "image_url", "image_url": ["https://e.com/a.png"]}),
        &format!("{at}.image_url`: expected an object, got an array of 1"),
    );
    refused_part(
        json!({"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "max"}}),
        &format!(
            "{at}.image_url.detail`: expected one of `auto`, `low`, `high`, `original`, got the string \"max\""
        ),
    );
    refused_part(
        json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "ogg"}}),
        &format!("{at}.input_audio.format`: expected `wav` or `mp3`, got the string \"ogg\""),
    );
    refused_part(
        json!({"type": "file", "file": {"filename": "a.pdf"}}),
        &format!("{at}.file`: expected `file_data` in it, got none"),
    );
    taken(json!({"messages": [{"role": "user", "content": [image("HTTPS://e.com/a.png")]}]}));
}

#[test]
fn tools_and_formats() {
    refused(json!({"tools": {}}), "`tools`: expected an array, got an object");
    refused(json!({"tools": [{}]}), "`tools[0].type`: expected `function` or `custom`, got nothing");
    refused(
        json!({"tools": [{"type": "bash_20241022"}]}),
        "`tools[0].type`: expected `function` or `custom`, got the string \"bash_20241022\"",
    );
    refused(json!({"tools": [{"type": "function"}]}), "`tools[0].function`: expected an object, got nothing");
    let function = |function: Value| json!({"tools": [{"type": "function", "function": function}]});
    refused(function(json!({})), "`tools[0].function.name`: expected a string, got nothing");
    refused(
        function(json!({"name": ""})),
        "`tools[0].function.name`: expected a string that is not empty, got an empty string",
    );
    refused(
        function(json!({"name": "f", "parameters": []})),
        "`tools[0].function.parameters`: expected an object, got an array of 0",
    );
    refused(
        function(json!({"name": "f", "description": 1})),
        "`tools[0].function.description`: expected a string, got 1",
    );
    refused(
        function(json!({"name": "f", "strict": 1})),
        "`tools[0].function.strict`: expected true or false, got 1",
    );
    refused(
        json!({"tool_choice": "all"}),
        "`tool_choice`: expected one of `none`, `auto`, `required`, got the string \"all\"",
    );
    refused(
        json!({"tool_choice": 1}),
        "`tool_choice`: expected `none`, `auto`, `required` or an object that names a function, got 1",
    );
    refused(
        json!({"tool_choice": {"type": "function"}}),
        "`tool_choice.function`: expected an object, got nothing",
    );
    refused(
        json!({"response_format": {"type": "xml"}}),
        "`response_format.type`: expected one of `text`, `json_object`, `json_schema`, got the string \"xml\"",
    );
    refused(
        json!({"response_format": {}}),
        "`response_format.type`: expected `text`, `json_object` or `json_schema`, got nothing",
    );
    refused(
        json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}),
        "`response_format.json_schema.name`: expected a string, got nothing",
    );
    refused(
        json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": 1}}}),
        "`response_format.json_schema.schema`: expected an object, got 1",
    );
}

//! What a request becomes at the provider, and what is refused by name.

use chat::{Chat, RESPONSES};
use gatehouse_sdk::{Family, Protocol, Refusal, run};
use serde_json::{Value, json};

use super::{asked, of_customer, prepared, refused, sent, whole};
use crate::chat::UPSTREAM;

use Protocol::{Chat as ChatWire, Messages};

/// The messages of a call to a chat provider.
fn messages(input: Value) -> Value {
    sent(ChatWire, json!({"input": input}))["messages"].clone()
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"})
}

fn output(id: &str, output: Value) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": output})
}

fn chat_call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}})
}

#[test]
fn a_request_is_a_chat_completion() {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
    let found = sent(
        ChatWire,
        json!({
            "instructions": "Be brief.", "max_output_tokens": 50, "temperature": 0.5, "top_p": 0.9,
            "user": "u", "safety_identifier": "s", "metadata": {"a": "b"}, "store": false, "stream": true,
            "reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"],
            "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "n", "strict": true, "schema": schema}},
            "tools": [
                {"type": "function", "name": "f", "description": null, "parameters": null, "strict": null},
                {"type": "function", "name": "g", "parameters": schema, "strict": true},
            ],
            "tool_choice": {"type": "function", "name": "g"}, "parallel_tool_calls": false,
            "prompt_cache_key": "k", "truncation": "auto", "unknown": [7], "previous_response_id": "resp_1",
        }),
    );
    let empty = json!({"type": "object", "properties": {}});
    assert_eq!(
        found,
        json!({
            "model": UPSTREAM, "stream": true, "stream_options": {"include_usage": true},
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": text("hi")}],
            "max_completion_tokens": 50, "temperature": 0.5, "top_p": 0.9, "user": "u", "safety_identifier": "s",
            "reasoning_effort": "low", "verbosity": "low", "prompt_cache_key": "k",
            "response_format": {"type": "json_schema", "json_schema": {"name": "n", "strict": true, "schema": schema}},
            "tools": [
                {"type": "function", "function": {"name": "f", "parameters": empty}},
                {"type": "function", "function": {"name": "g", "parameters": schema, "strict": true}},
            ],
            "tool_choice": {"type": "function", "function": {"name": "g"}}, "parallel_tool_calls": false,
        })
    );
}

#[test]
fn a_request_reaches_a_messages_provider() {
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let found = sent(
        Messages,
        json!({
            "instructions": "Be brief.", "max_output_tokens": 50, "text": {"format": {"type": "json_schema", "name": "n", "schema": open}},
            "tools": [{"type": "function", "name": "f", "parameters": open, "strict": true}],
            "tool_choice": "required", "prompt_cache_key": "k",
        }),
    );
    assert_eq!(
        found,
        json!({
            "model": UPSTREAM, "max_tokens": 50, "system": "Be brief.",
            "messages": [{"role": "user", "content": text("hi")}],
            "tools": [{"name": "f", "input_schema": open}], "tool_choice": {"type": "any"},
            "output_config": {"format": {"type": "json_schema", "schema": open}},
        })
    );
}

#[test]
fn adjacent_items_of_the_model_are_one_message_and_outputs_follow_it() {
    let said = |text: &str| {
        json!({"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [
            {"type": "output_text", "text": text, "annotations": [], "logprobs": []},
        ]})
    };
    let user = |text: &str| json!({"role": "user", "content": text});
    let found = messages(json!([
        user("a"), {"type": "reasoning", "id": "rs_1", "summary": []}, said("b"), call("c1"), call("c2"),
        user("late"), output("c2", json!("two")), output("c1", json!([{"type": "input_text", "text": "one"}])),
        said("c"),
    ]));
    assert_eq!(
        found,
        json!([
            {"role": "user", "content": text("a")},
            {"role": "assistant", "content": text("b"), "tool_calls": [chat_call("c1"), chat_call("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": text("one")},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "user", "content": text("late")},
            {"role": "assistant", "content": text("c")},
        ])
    );
    // Calls that were answered one after the other are two turns.
    let found = messages(json!([call("c1"), output("c1", json!("x")), call("c1"), output("c1", json!("y"))]));
    let contents: Vec<&Value> = found.as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(contents, [&Value::Null, &json!("x"), &Value::Null, &json!("y")]);
}

#[test]
fn a_picture_from_a_tool_comes_behind_all_outputs() {
    let picture = json!({"type": "input_image", "image_url": "https://e.com/a.png", "detail": "original"});
    let found =
        messages(json!([call("c1"), call("c2"), output("c1", json!([picture])), output("c2", json!("")),]));
    let image = json!({"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "high"}});
    assert_eq!(
        found,
        json!([
            {"role": "assistant", "content": null, "tool_calls": [chat_call("c1"), chat_call("c2")]},
            {"role": "tool", "tool_call_id": "c1", "content": "The output is attached below."},
            {"role": "tool", "tool_call_id": "c2", "content": ""},
            {"role": "user", "content": [image]},
        ])
    );
}

#[test]
fn a_call_and_its_output_come_together() {
    let cut = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{", "status": "incomplete"});
    assert_eq!(messages(json!([cut, {"role": "user", "content": "b"}])).as_array().unwrap().len(), 1);
    let free = json!({"type": "function_call_output", "name": "f", "output": "x"});
    assert_eq!(messages(json!([free])), json!([{"role": "user", "content": "x"}]));
    // Its words stay beside its pictures.
    let parts = json!([{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "https://e.com/a.png"}]);
    let free = json!({"type": "function_call_output", "name": "f", "output": parts});
    let image = json!({"type": "image_url", "image_url": {"url": "https://e.com/a.png"}});
    assert_eq!(
        messages(json!([free])),
        json!([{"role": "user", "content": [{"type": "text", "text": "x"}, image]}])
    );
    for (input, message) in [
        (json!([call("c")]), "No tool output found for function call c."),
        (json!([output("c", json!("x"))]), "No tool call found for function call output with call_id c."),
        (
            json!([call("c"), output("c", json!("x")), output("c", json!("y"))]),
            "No tool call found for function call output with call_id c.",
        ),
    ] {
        for protocol in [ChatWire, Messages] {
            assert_eq!(refused(protocol, json!({"input": input})), ("input".into(), message.to_owned()));
        }
    }
}

#[test]
fn earlier_items_come_before_the_input() {
    let history = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]);
    let found = sent(ChatWire, json!({"instructions": "now", "history": history}))["messages"].clone();
    let said: Vec<&Value> = found.as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(said, ["system", "user", "assistant", "user"]);
}

#[test]
fn custom_tools_and_namespaces_are_functions_inside() {
    let grammar = json!({"type": "grammar", "syntax": "lark", "definition": "start: \"x\""});
    let tools = json!([
        {"type": "custom", "name": "apply_patch", "description": "Edits.", "format": grammar},
        {"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]},
        {"type": "web_search", "external_web_access": false}, {"type": "tool_search", "execution": "client"},
    ]);
    let found =
        sent(ChatWire, json!({"tools": tools, "tool_choice": {"type": "custom", "name": "apply_patch"}}));
    let functions: Vec<&Value> =
        found["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    assert_eq!(functions.len(), 2, "{found}");
    assert_eq!(functions[0]["parameters"]["required"], json!(["input"]));
    assert!(
        functions[0]["description"].as_str().unwrap().ends_with("lark grammar:\nstart: \"x\""),
        "{found}"
    );
    assert_eq!(functions[1]["name"], "ns__f");
    assert_eq!(found["tool_choice"]["function"]["name"], "apply_patch");

    let input = json!([
        {"type": "custom_tool_call", "call_id": "c", "name": "apply_patch", "input": "a \"b\""},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "done"},
    ]);
    let arguments = &messages(input)[0]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, &json!(r#"{"input":"a \"b\""}"#));
}

#[test]
fn only_allowed_tools_are_offered() {
    let tools = json!([{"type": "function", "name": "f"}, {"type": "function", "name": "g"}]);
    let choice =
        json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]});
    let found = sent(ChatWire, json!({"tools": tools, "tool_choice": choice}));
    assert_eq!((found["tools"].as_array().unwrap().len(), &found["tool_choice"]), (1, &json!("required")));
    assert_eq!(found["tools"][0]["function"]["name"], "g");
}

/// The thinking of an answer comes back to the provider that signed it, and to nobody else.
#[test]
fn signed_thinking_comes_back_unchanged() {
    let block = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let answer = json!({
        "type": "message", "id": "msg_1", "role": "assistant", "stop_reason": "tool_use",
        "content": [block, {"type": "tool_use", "id": "c", "name": "f", "input": {}}],
        "usage": {"input_tokens": 3, "output_tokens": 4},
    });
    let tools = json!([{"type": "function", "name": "f"}]);
    let output_items = whole(Messages, json!({"tools": tools}), &answer)["output"].clone();
    let mut input = output_items.as_array().unwrap().clone();
    assert_eq!((&input[0]["type"], &input[0]["summary"][0]["text"]), (&json!("reasoning"), &json!("hm")));
    input.push(output("c", json!("x")));
    let back = sent(Messages, json!({"tools": tools, "input": input}))["messages"].clone();
    assert_eq!(back[0]["content"], json!([block, {"type": "tool_use", "id": "c", "name": "f", "input": {}}]));

    let other = asked(Messages, json!({}), json!({"tools": tools, "input": input}));
    let prepared = run::prepare::<Chat>(&of_customer("other"), other).unwrap();
    assert!(!crate::chat::text_of(&prepared.call).contains("c2ln"), "another customer's thinking is dropped");
    let sealed = input[0]["encrypted_content"].as_str().unwrap().to_owned();
    input[0]["encrypted_content"] = json!(format!("{}x", &sealed[..sealed.len() - 1]));
    let damaged = sent(Messages, json!({"tools": tools, "input": input}))["messages"].clone();
    assert_eq!(damaged[0]["content"].as_array().unwrap().len(), 1, "{damaged}");
}

#[test]
fn a_chat_provider_gets_its_reasoning_back_where_it_wants_it() {
    let input = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        call("c"), output("c", json!("x")),
    ]);
    for (rules, expected) in [(json!({}), Value::Null), (json!({"reasoning_history": true}), json!("hm"))] {
        let call = prepared(ChatWire, rules, json!({"input": input})).call;
        let body = call.json_body();
        assert_eq!(body["messages"][0]["reasoning_content"], expected);
    }
}

#[test]
fn what_is_wrong_or_not_offered_is_refused_by_its_own_name() {
    let hosted = "The tool type 'file_search' runs on OpenAI's servers and is not available here.";
    for (fields, field, expected) in [
        (
            json!({"max_output_tokens": 15}),
            "max_output_tokens",
            "Expected a value >= 16, but got 15 instead.",
        ),
        (json!({"max_output_tokens": 4_294_967_296_u64}), "max_output_tokens", "from 16 to 4294967295"),
        (json!({"Model": "dear"}), "Model", "expected the name `model`"),
        (json!({"Max_Output_Tokens": 90_000}), "Max_Output_Tokens", "expected the name `max_output_tokens`"),
        (json!({"INSTRUCTIONS": "long"}), "INSTRUCTIONS", "expected the name `instructions`"),
        (json!({"temperature": "1"}), "temperature", "expected a number"),
        (json!({"background": true}), "background", "use `stream`"),
        (json!({"conversation": "conv_1"}), "conversation", "use `previous_response_id`"),
        (json!({"prompt": {"id": "p"}}), "prompt", "no stored prompts"),
        (json!({"top_logprobs": 21}), "top_logprobs", "expected an integer from 0 to 20"),
        (json!({"include": ["x"]}), "include[0]", "expected one of"),
        (json!({"reasoning": {"effort": "most"}}), "reasoning.effort", "expected one of"),
        (json!({"text": {"format": {"type": "json_schema"}}}), "text.format.name", "expected a string"),
        (json!({"metadata": {"a": 1}}), "metadata.a", "expected a string"),
        (json!({"tools": [{"type": "file_search"}]}), "tools[0].type", hosted),
        (json!({"tools": [{"type": "web_search"}]}), "tools[0].type", "web_search = \"disabled\""),
        (json!({"tools": [{"type": "function"}]}), "tools[0].name", "expected a string"),
        (
            json!({"tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "f"}]}),
            "tools[1].name",
            "a name of its own",
        ),
        (json!({"tool_choice": "required"}), "tool_choice", "where there are no `tools`"),
        (json!({"tool_choice": {"type": "file_search"}}), "tool_choice.type", "`allowed_tools`"),
        (json!({"input": 7}), "input", "expected a string or an array"),
        (json!({"input": [{"type": "compaction"}]}), "input[0].type", "expected `message`"),
        (json!({"input": [{"role": "robot", "content": "x"}]}), "input[0].role", "expected one of"),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}),
            "input[0].content[0].file_id",
            "no Files API",
        ),
        (
            json!({"input": [{"role": "user", "content": "x"}, {"role": "user", "content": [{"type": "input_image", "image_url": "ftp://a"}]}]}),
            "input[1].content[0].image_url",
            "http(s) URL",
        ),
        (json!({"input": null, "messages": []}), "input", "this endpoint has no `messages`"),
        (json!({"model": null}), "model", "expected a string"),
        (json!({"max_tokens": 5}), "max_tokens", "expected nothing, use `max_output_tokens`, got 5"),
        (json!({"max_completion_tokens": 5}), "max_completion_tokens", "use `max_output_tokens`"),
        (json!({"response_format": {"type": "json_object"}}), "response_format", "use `text.format`"),
        (json!({"reasoning_effort": "low"}), "reasoning_effort", "use `reasoning.effort`"),
        (json!({"messages": [{"role": "user", "content": "x"}]}), "messages", "use `input`"),
        (json!({"stop": ["x"]}), "stop", "expected nothing, a response ends where the model ends it"),
    ] {
        let (named, message) = refused(ChatWire, fields);
        assert_eq!(named, field, "{message}");
        assert!(message.contains(expected), "{field}: {message}");
    }
    let rules = json!({"max_output": 100, "strict": true});
    let request = asked(Messages, rules, json!({"max_output_tokens": 101}));
    let Err(Refusal::Invalid { field, message }) = crate::chat::both().prepare::<Chat>(&request) else {
        panic!()
    };
    assert_eq!(field.as_deref(), Some("max_output_tokens"));
    assert!(message.starts_with("max_output_tokens: 101 > 100"), "{message}");
}

/// Every published field is checked: a value that no field accepts is refused by name.
#[test]
fn every_published_field_is_checked() {
    let surfaces = Chat::about().surfaces;
    let surface = surfaces.iter().find(|surface| surface.name == RESPONSES).expect("the surface");
    let schema = surface.parsed_schema();
    let fields = schema["properties"].as_object().expect("properties");
    assert_eq!(fields.len(), 26);
    for field in fields.keys() {
        let values = [json!([[7]]), json!({"type": [7]}), json!(-1.5e300)];
        let judged = values.into_iter().filter(|value| {
            crate::chat::both()
                .prepare::<Chat>(&asked(ChatWire, json!({}), json!({field.as_str(): value})))
                .is_err()
        });
        assert!(judged.count() > 0, "{field} is published and not judged");
    }
}

//! Requests: the call, and what stands in it.

use gatehouse_sdk::{Framing, Replay, Target};
use serde_json::json;

use super::{answer, prepared, refused, sent};

/// Without it a request goes to another model, or its answer comes in another form than the host reads.
#[test]
fn the_call_names_the_model_and_the_form_of_the_answer() {
    for (fields, path) in [
        (json!({}), "/v1beta/models/gemini-2.5-flash:generateContent"),
        (json!({"stream": true}), "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"),
        (json!({"model": "tunedModels/my-own"}), "/v1beta/tunedModels/my-own:generateContent"),
    ] {
        let prepared = prepared(fields);
        assert_eq!(prepared.call.target, Target::Path(path.to_owned()));
        assert_eq!((prepared.call.method.as_str(), prepared.framing), ("POST", Framing::Sse));
        assert_eq!((prepared.call.provider.as_str(), prepared.call.replay), ("google", Replay::Once));
    }
}

#[test]
fn a_plain_request_is_written_whole() {
    let found = sent(json!({
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "Rhyme."}],
        "messages": [
            {"role": "user", "content": "What is \"this\"?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Show me."}]},
            {"role": "user", "content": [
                {"type": "text", "text": "Here:"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "blob:7:base64"}},
            ]},
        ],
        "max_tokens": 500, "temperature": 0.7, "top_p": 0.9, "top_k": 40, "stop_sequences": ["END"],
        "metadata": {"user_id": "u"}, "service_tier": "auto",
    }));
    let expected = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "What is \"this\"?"}]},
            {"role": "model", "parts": [{"text": "Show me."}]},
            {"role": "user", "parts": [
                {"text": "Here:"},
                {"inlineData": {"mimeType": "image/png", "data": "blob:7:base64"}},
            ]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}, {"text": "Rhyme."}]},
        "generationConfig": {"maxOutputTokens": 500, "temperature": 0.7, "topP": 0.9, "topK": 40, "stopSequences": ["END"]},
    });
    assert_eq!(found, expected);
}

#[test]
fn tools_are_functions_with_schemas_that_google_reads() {
    let schema = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"city": {"type": ["string", "null"]}}, "additionalProperties": false});
    let tools = json!([
        {"name": "weather", "description": "Tells the weather.", "input_schema": schema},
        {"type": "custom", "name": "now", "input_schema": {"type": "object", "properties": {}}},
    ]);
    let declared = json!([{"functionDeclarations": [
        {"name": "weather", "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string", "nullable": true}}}},
        {"name": "now", "description": ""},
    ]}]);
    for (choice, expected) in [
        (json!(null), json!(null)),
        (json!({"type": "auto", "disable_parallel_tool_use": true}), json!({"mode": "AUTO"})),
        (json!({"type": "none"}), json!({"mode": "NONE"})),
        (json!({"type": "any"}), json!({"mode": "ANY"})),
        (json!({"type": "tool", "name": "now"}), json!({"mode": "ANY", "allowedFunctionNames": ["now"]})),
    ] {
        let found = sent(json!({"tools": tools, "tool_choice": choice}));
        assert_eq!(found["tools"], declared);
        assert_eq!(found["toolConfig"]["functionCallingConfig"], expected, "{choice}");
    }
    let none = sent(json!({"tools": [], "tool_choice": {"type": "auto"}}));
    assert!(none.get("tools").is_none() && none.get("toolConfig").is_none());
}

#[test]
fn a_structured_answer_has_a_schema_and_a_type() {
    let schema = json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "required": ["a"]});
    let found = sent(json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}));
    let config = &found["generationConfig"];
    assert_eq!(config["responseMimeType"], "application/json");
    let expected = json!({"type": "object", "properties": {"a": {"type": "integer", "nullable": true}}, "required": ["a"]});
    assert_eq!(config["responseSchema"], expected);
}

/// Without it Google answers with an error about a field that the client never wrote.
#[test]
fn what_google_does_not_have_is_refused_by_its_place() {
    let block = |block: serde_json::Value| json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, block]}]});
    for (fields, field) in [
        (
            block(json!({"type": "image", "source": {"type": "file", "file_id": "f"}})),
            "messages.0.content.1.source.type",
        ),
        (
            block(json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
            "messages.0.content.1.type",
        ),
        (json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}), "tools.0.type"),
    ] {
        assert_eq!(refused(fields), field);
    }
}

/// Without it a client with the tools of a server, whose names are long, is refused, or reads the name of a tool that it does not have.
#[test]
fn a_name_that_google_does_not_take_is_written_so_that_it_does() {
    let long = |end: &str| format!("mcp__{}{end}", "server_".repeat(12));
    let names = ["plain", "2fa", "-x", &long("a"), &long("b")];
    let tool = |name: &str| json!({"name": name, "input_schema": {"type": "object"}});
    for own in names {
        let block = json!({"type": "tool_use", "id": "a", "name": own, "input": {}});
        let fields = json!({"tools": names.map(tool), "tool_choice": {"type": "tool", "name": own}, "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [block]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]},
        ]});
        let sent = sent(fields.clone());
        let told = sent["contents"][1]["parts"][0]["functionCall"]["name"].as_str().expect("a name");
        let is_taken =
            told.len() <= 64 && told.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
        assert!(is_taken, "{own}: {told}");
        assert_eq!(sent["contents"][2]["parts"][0]["functionResponse"]["name"], told);
        assert_eq!(sent["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"], json!([told]));
        let declared = sent["tools"][0]["functionDeclarations"].as_array().expect("functions");
        assert_eq!(declared.iter().filter(|function| function["name"] == told).count(), 1, "{own}");
        let call = json!({"candidates": [{"content": {"parts": [{"functionCall": {"name": told, "args": {}}}]}, "finishReason": "STOP"}]});
        let message = answer(fields, 200, &call.to_string()).expect("an answer");
        assert_eq!(message["content"][0]["name"], own);
    }
}

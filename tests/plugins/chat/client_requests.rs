//! What clients send as a matter of course: each is taken for providers of both protocols, whatever of it a provider is sent.

use chat::{Chat, RESPONSES, SURFACE};
use gatehouse_sdk::Protocol;
use serde_json::{Value, json};

use crate::chat::{both, written_to};

/// Without it a client's every request is a 400.
#[test]
fn what_clients_send_is_taken() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}});
    let history = |assistant: Value, result: Value| json!({"messages": [{"role": "user", "content": "hi"}, assistant, {"role": "tool", "tool_call_id": "c", "content": result}], "tools": [tool]});
    let chat = [
        // Every optional field as `null`, as generated clients write it.
        json!({"temperature": null, "top_p": null, "n": null, "stop": null, "max_tokens": null, "tools": null, "tool_choice": null,
            "stream": null, "stream_options": null, "response_format": null, "user": null, "seed": null, "logit_bias": null,
            "parallel_tool_calls": null, "reasoning_effort": null, "metadata": null, "store": null, "logprobs": null, "top_logprobs": null}),
        // LangChain, LiteLLM.
        json!({"n": 1, "stream": false, "frequency_penalty": 0.0, "presence_penalty": 0, "logit_bias": {}, "stop": [], "user": ""}),
        history(
            json!({"role": "assistant", "content": "", "tool_calls": [call], "function_call": null}),
            json!("ok"),
        ),
        history(
            json!({"role": "assistant", "content": null, "tool_calls": [call], "refusal": null, "audio": null, "annotations": []}),
            json!(""),
        ),
        history(
            json!({"role": "assistant", "content": " ", "tool_calls": [call]}),
            json!([{"type": "text", "text": "ok"}]),
        ),
        history(json!({"role": "assistant", "tool_calls": [call]}), json!("ok")),
        // Cline, Continue, Zed.
        json!({"messages": [{"role": "system", "content": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]},
            {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "hi"}], "name": "ann"}]}),
        json!({"messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "hi"}, {"role": "user", "content": "and?"}]}),
        json!({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "so", "reasoning_content": "hm", "reasoning": "hm", "reasoning_details": []}, {"role": "user", "content": "and?"}]}),
        json!({"tools": [], "tool_choice": "auto", "parallel_tool_calls": true}),
        json!({"tools": [tool], "tool_choice": "none"}),
        json!({"tools": [{"type": "function", "function": {"name": "f"}}]}),
        json!({"tools": [{"type": "function", "function": {"name": "f", "description": null, "parameters": null, "strict": null}}]}),
        json!({"tools": [{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}], "tool_choice": {"type": "function", "function": {"name": "f"}}}),
        json!({"response_format": {"type": "text"}}),
        json!({"response_format": {"type": "json_object"}}),
        json!({"stream": true, "stream_options": {"include_usage": true, "include_obfuscation": false}}),
        json!({"stream": true, "stream_options": {}}),
        json!({"temperature": 1, "top_p": 1, "max_completion_tokens": 50, "max_tokens": 50}),
        json!({"safety_identifier": "u", "prompt_cache_key": "k", "service_tier": "auto", "store": false, "metadata": {}}),
        json!({"reasoning_effort": "none"}),
        json!({"max_tokens": 5.0}),
    ];
    let responses = [
        json!({"instructions": null, "tools": [], "tool_choice": "auto", "temperature": null, "top_p": null, "metadata": null,
            "previous_response_id": null, "reasoning": null, "text": null, "truncation": null, "user": null, "include": null,
            "parallel_tool_calls": null, "store": null, "stream": null, "max_output_tokens": null, "service_tier": null,
            "background": null, "max_tool_calls": null, "prompt": null, "conversation": null, "safety_identifier": null}),
        // Codex.
        json!({"instructions": "You are a coding agent.", "store": false, "stream": true, "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "k", "tool_choice": "auto", "parallel_tool_calls": false, "reasoning": {"effort": "medium", "summary": "auto"},
            "text": {"verbosity": "medium"}}),
        json!({"metadata": {}, "background": false, "truncation": "disabled", "service_tier": "auto", "include": []}),
        json!({"text": {"format": {"type": "text"}}, "reasoning": {"effort": null, "summary": null}}),
        json!({"tools": [{"type": "function", "name": "f", "description": null, "parameters": {"type": "object", "properties": {}}, "strict": null}]}),
        json!({"input": [{"role": "user", "content": "hi"}, {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "phase": null,
            "content": [{"type": "output_text", "text": "so", "annotations": [], "logprobs": []}]}, {"role": "user", "content": "and?"}]}),
        json!({"input": [{"role": "user", "content": "hi"}, {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": null, "content": null, "status": null},
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "", "status": "completed"},
            {"type": "function_call_output", "id": null, "call_id": "c", "output": [{"type": "input_text", "text": "ok"}], "status": null}]}),
    ];
    let mut refused = Vec::new();
    for protocol in [Protocol::Chat, Protocol::Messages] {
        for (surface, all) in [(SURFACE, &chat[..]), (RESPONSES, &responses[..])] {
            for fields in all {
                let body = if surface == SURFACE {
                    json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
                } else {
                    json!({"model": "m", "input": "hi"})
                };
                let body = crate::over(body, fields.clone());
                let request = written_to(surface, protocol, json!({}), &body);
                if let Err(refusal) = both().prepare::<Chat>(&request) {
                    refused.push(format!("{protocol:?}: {refusal:?}: {fields}"));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

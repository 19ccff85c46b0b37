//! Ids and names of tools between the protocols: what the client reads is valid for it, and what the provider reads is its own.

use gatehouse_sdk::{Obstacle, Protocol, Reply};
use messages::Messages;
use serde_json::{Value, json};

use crate::messages::{body, both, ended, play, prepare, rejected, sent};

fn history(id: &str, name: &str) -> Value {
    json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "y"}]},
    ])
}

fn is_valid(id: &str) -> bool {
    id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// Without it a provider does not know its own call again, or a client refuses the id.
#[test]
fn an_id_of_any_letters_comes_back_to_its_provider() {
    let own = "functions.Bash:0";
    let prepared = prepare(&body(json!({"stream": true})), Protocol::Chat, json!({})).expect("good");
    let call =
        json!({"index": 0, "id": own, "type": "function", "function": {"name": "Bash", "arguments": "{}"}});
    let whole = json!({"id": "c", "choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let answer = both().answer::<Messages>(&prepared.state, &Reply::new(200, &whole)).expect("an answer");
    let message: Value = serde_json::from_str(&answer.body).expect("JSON");
    let id = message["content"][0]["id"].as_str().expect("an id").to_owned();
    assert!(is_valid(&id), "{id}");
    let events = ended(&[
        json!({"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),
    ]);
    let started = play(&prepared.state, &events)
        .events()
        .into_iter()
        .find(|event| event["type"] == "content_block_start");
    assert_eq!(started.expect("a block")["content_block"]["id"], id.as_str());

    let back = sent(json!({"messages": history(&id, "Bash")}), Protocol::Chat, json!({}));
    assert_eq!(
        (&back["messages"][1]["tool_calls"][0]["id"], &back["messages"][2]["tool_call_id"]),
        (&json!(own), &json!(own))
    );
    for foreign in [own, "functions.Bash_0", "a|b", &id] {
        let there = sent(json!({"messages": history(foreign, "Bash")}), Protocol::Messages, json!({}));
        let used = there["messages"][1]["content"][0]["id"].as_str().expect("an id");
        assert!(
            is_valid(used) && there["messages"][2]["content"][0]["tool_use_id"] == used,
            "{foreign}: {used}"
        );
    }
}

/// Without it Claude Code's tools of servers are a 400 at every chat provider.
#[test]
fn a_long_name_is_short_at_a_chat_provider_alone() {
    let name = format!("mcp__{}", "plugin_server_".repeat(8));
    assert!((65..=128).contains(&name.len()));
    let fields = json!({
        "stream": true,
        "messages": history("toolu_1", &name),
        "tools": [{"name": name, "input_schema": {"type": "object"}}, {"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": name},
    });
    let got = sent(fields.clone(), Protocol::Chat, json!({}));
    let short = got["tools"][0]["function"]["name"].as_str().expect("a name");
    assert!(short.len() <= 64 && is_valid(short), "{short}");
    assert_eq!(got["tool_choice"]["function"]["name"], short);
    assert_eq!(got["messages"][1]["tool_calls"][0]["function"]["name"], short);
    assert_eq!(got["tools"][1]["function"]["name"], "f");
    let state = prepare(&body(fields.clone()), Protocol::Chat, json!({})).expect("good").state;
    let call = json!({"index": 0, "id": "a", "function": {"name": short, "arguments": "{}"}});
    let whole = json!({"id": "c", "choices": [{"index": 0, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    let answer = both().answer::<Messages>(&state, &Reply::new(200, &whole)).expect("an answer");
    assert!(answer.body.contains(&format!("\"name\":\"{name}\"")), "{}", answer.body);
    let events = ended(&[
        json!({"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]}),
    ]);
    let started =
        play(&state, &events).events().into_iter().find(|event| event["type"] == "content_block_start");
    assert_eq!(started.expect("a block")["content_block"]["name"], name.as_str());
    assert_eq!(sent(fields, Protocol::Messages, json!({}))["tools"][0]["name"], name.as_str());
}

/// Without it an error would name a tool type that the client never sent.
#[test]
fn an_error_about_a_successor_names_the_type_that_came() {
    let fields = json!({"tools": [{"type": "computer_20241022", "name": "computer", "display_width_px": 8, "display_height_px": 6}]});
    let rules = json!({"tools": {"computer_20241022": {"type": "computer_20251124", "beta": "b"}}});
    let prepared = prepare(&body(fields), Protocol::Messages, rules).expect("good");
    let said = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "'upstream-model' does not support tool types: computer_20251124."}});
    let failure = both().answer::<Messages>(&prepared.state, &Reply::new(400, &said)).expect_err("an error");
    assert_eq!(failure.message, "'lm-sonnet-4-6' does not support tool types: computer_20241022.");
}

/// Without it Claude Code does not shorten a conversation that its model cannot read.
#[test]
fn a_conversation_that_is_too_long_is_told_in_the_words_of_the_protocol() {
    let said = "Requested token count exceeds the model's maximum context length of 4096 tokens.";
    for protocol in [Protocol::Chat, Protocol::Messages] {
        let failed = |status: u16, got: Value| {
            let failure = rejected(protocol, status, &got);
            (failure.obstacle, failure.message)
        };
        let (obstacle, message) =
            failed(400, json!({"error": {"message": said, "type": "BadRequestError", "code": 400}}));
        assert_eq!((obstacle, message), (Obstacle::TooLong, format!("prompt is too long: {said}")));
        let known = "prompt is too long: 210000 tokens > 200000 maximum";
        let error = json!({"type": "invalid_request_error", "message": known});
        assert_eq!(failed(400, json!({"type": "error", "error": error})).1, known);
        let violates = "Content violates usage guidelines.";
        let own = failed(403, json!({"error": violates, "code": "x"}));
        assert_eq!(own, (Obstacle::Invalid, violates.to_owned()));
        let access = json!({"error": {"message": "Your API key has no access to this image model."}});
        assert_eq!(failed(403, access).0, Obstacle::Account);
        let qwen = "<400> InternalError.Algo: no such thing";
        assert_eq!(failed(400, json!({"error": {"message": qwen}})).1, qwen);
    }
}

/// Without it a history whose server counted its calls anew in each answer is refused on every further turn, or a result stands at
/// another call.
#[test]
fn a_messages_provider_gets_each_id_once_and_each_result_at_its_call() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let history = json!([
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [call("call_0"), call("call_0"), call("")]},
        {"role": "user", "content": [result("call_0", "a"), result("", "c"), result("call_0", "b")]},
        {"role": "assistant", "content": [call("call_0"), call("f:0")]},
        {"role": "user", "content": [result("f:0", "e"), result("call_0", "d"), result("lost", "?")]},
    ]);
    let sent = sent(json!({"messages": history}), Protocol::Messages, json!({}));
    let ids = |at: usize, name: &str| -> Vec<String> {
        let blocks = sent["messages"][at]["content"].as_array().expect("blocks");
        blocks.iter().map(|block| block[name].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(1, "id"), ["call_0", "call_0_2", "call"]);
    assert_eq!(ids(2, "tool_use_id"), ["call_0", "call", "call_0_2"]);
    assert_eq!(ids(3, "id"), ["call_0_3", "toolu_gw_Zjow"]);
    assert_eq!(ids(4, "tool_use_id"), [ids(3, "id")[1].as_str(), "call_0_3", "lost"]);
}

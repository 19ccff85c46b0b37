//! Forms of answers that servers have been seen with, or that stand in their documents, and that no bend of a recorded answer makes: the
//! same for every client, whole and as a stream.

use gatehouse_sdk::Obstacle;
use serde_json::{Value, json};

use super::client::Client;
use super::recorded::Provider;
use super::{Found, check_all};

/// What a client has of it.
#[derive(Clone, Copy)]
enum Has {
    Text(&'static str),
    /// A call of the tool, with its arguments.
    Call,
    /// The provider's failure.
    Failure,
}

const COUNTS: &str = r#"{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}"#;
const CITY: &str = r#"{"city":"Bergen"}"#;

fn counts() -> Value {
    serde_json::from_str(COUNTS).expect("JSON")
}

/// A completion, and the same as a stream.
fn said(message: &Value, reason: &Value) -> (Value, Vec<Value>) {
    let choice = |name: &str, message: &Value, reason: &Value| json!({"index": 0, name: message, "finish_reason": reason});
    let chunk = |delta: &Value, reason: &Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice("delta", delta, reason)]});
    let whole = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [choice("message", message, reason)], "usage": counts()});
    let last = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": counts()});
    (whole, vec![chunk(message, &Value::Null), chunk(&json!({}), reason), last])
}

/// What a client has, or what it has in place of that.
fn wrong(found: &Found, has: Has) -> Option<String> {
    let is_right = match (found, has) {
        (Ok(heard), Has::Text(text)) => heard.text == text && heard.calls.is_empty(),
        (Ok(heard), Has::Call) => {
            let arguments = heard.calls.first().map(|call| serde_json::from_str::<Value>(&call.1).ok());
            heard.calls.len() == 1 && arguments.flatten() == serde_json::from_str(CITY).ok()
        }
        (Err(failure), Has::Failure) => {
            matches!(failure.obstacle, Obstacle::Upstream | Obstacle::RateLimited | Obstacle::TooLong)
        }
        _ => false,
    };
    (!is_right).then(|| format!("{found:?}"))
}

/// Without it a client reads an empty answer, runs a tool without its arguments, or takes a broken answer for a whole one.
#[test]
fn odd_messages_are_read_or_fail() {
    let called = |call: Value| json!({"content": null, "tool_calls": [call]});
    let inner = |name: &str, arguments: Value| json!({"id": "a", "type": "function", "function": {"name": "find_harbour", name: arguments}});
    let object = || serde_json::from_str::<Value>(CITY).expect("JSON");
    let mut faults = Vec::new();
    for (message, reason, has) in [
        (json!({"content": {"parts": [{"text": "Hel"}, {"text": "lo"}]}}), json!("stop"), Has::Text("Hello")),
        (json!({"content": {"answer": 42}}), json!("stop"), Has::Text(r#"{"answer":42}"#)),
        (json!({"content": {"text": ""}}), json!("stop"), Has::Text("")),
        (json!({"text": "Hello"}), json!("stop"), Has::Text("Hello")),
        (json!({"content": null, "text": "Hello"}), json!("stop"), Has::Text("Hello")),
        (json!({"content": "Hello", "text": "other"}), json!("stop"), Has::Text("Hello")),
        (called(inner("parameters", object())), json!("tool_calls"), Has::Call),
        (called(inner("input", object())), json!("tool_calls"), Has::Call),
        (called(inner("parameters", json!(CITY))), json!("tool_calls"), Has::Call),
        (
            json!({"content": [{"type": "tool_use", "id": "a", "name": "find_harbour", "input": object()}]}),
            json!("stop"),
            Has::Call,
        ),
        (
            json!({"content": [{"type": "text", "text": "Hello"}, {"type": "tool_call", "id": "a", "name": "find_harbour", "arguments": CITY}]}),
            json!("stop"),
            Has::Call,
        ),
        (
            json!({"content": null, "tool_calls": json!([inner("arguments", json!(CITY))]).to_string()}),
            json!("tool_calls"),
            Has::Call,
        ),
        (json!({"content": "Hello"}), json!("null"), Has::Text("Hello")),
        (json!({"content": "Hello"}), json!("TIME_LIMIT"), Has::Failure),
        (json!({"content": "Hello"}), json!("engine_error"), Has::Failure),
        (json!({"content": "Hello"}), json!("interrupted"), Has::Failure),
        (json!({"content": "Hello"}), json!("length_capped"), Has::Text("Hello")),
        (json!({"content": "Hello"}), json!(7), Has::Text("Hello")),
        (json!({"content": "Hello"}), json!(["stop"]), Has::Text("Hello")),
    ] {
        let (whole, events) = said(&message, &reason);
        let mut data = Provider::Chat.data(&events);
        data.insert(0, "null".to_owned());
        let asks = |client: Client| {
            let whole = client.whole(Provider::Chat, &whole.to_string());
            [("whole", whole), ("stream", client.stream(Provider::Chat, &data))]
        };
        check_all(&mut faults, &format_args!("{message} {reason}"), asks, |_, found| wrong(found, has));
    }
    super::none(&faults);
}

/// Without it half an answer is taken for a whole one.
#[test]
fn an_error_of_any_form_fails_the_answer_in_which_it_stands() {
    let mut faults = Vec::new();
    for error in [
        json!({"detail": "overloaded"}),
        json!({"message": "Internal error"}),
        json!({"errors": [{"message": "bad", "code": 500}]}),
        json!({"error": 500}),
        json!({"error": true, "message": "bad"}),
        json!({"success": false, "errmsg": "bad"}),
        json!({"success": false}),
        json!({"fault": {"faultstring": "bad", "detail": {"errorcode": "policies.ratelimit.QuotaViolation"}}}),
        json!({"ResponseMetadata": {"RequestId": "r", "Error": {"Code": "InternalError", "Message": "bad"}}}),
        json!({"code": 50001, "msg": "busy", "data": null}),
        json!({"__type": "ThrottlingException", "message": "Too many requests"}),
        json!({"type": "about:blank", "title": "Too Many Requests", "status": 429}),
    ] {
        let (_, events) = said(&json!({"content": "Hel"}), &Value::Null);
        let data = [events[0].to_string(), error.to_string(), "[DONE]".to_owned()];
        let asks = |client: Client| {
            [
                ("whole", client.whole(Provider::Chat, &error.to_string())),
                ("first", client.stream(Provider::Chat, &data[1..])),
                ("amid", client.stream(Provider::Chat, &data)),
            ]
        };
        check_all(&mut faults, &error, asks, |_, found| wrong(found, Has::Failure));
    }
    super::none(&faults);
}

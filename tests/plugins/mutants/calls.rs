//! Calls of tools as servers write them, for every client, whole and as a stream: each call that was made, no other, under an id of
//! its own in letters that the client's next request may have.

use serde_json::{Value, json};

use super::client::Client;
use super::recorded::Provider;
use super::{Found, check_all};

/// Names and arguments.
type Calls = &'static [(&'static str, &'static str)];

fn wrong(client: Client, found: &Found, expected: Calls) -> Option<String> {
    let Ok(heard) = found else { return Some(format!("{found:?}")) };
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    let is_right = heard.calls.len() == expected.len()
        && heard
            .calls
            .iter()
            .zip(expected)
            .all(|(call, expected)| call.0 == expected.0 && read(&call.1) == read(expected.1));
    let mut ids = heard.ids.clone();
    ids.sort_unstable();
    ids.dedup();
    let is_valid = |id: &String| {
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
        !id.is_empty() && (is_plain || client != Client::Messages)
    };
    let are_valid = ids.len() == expected.len() && ids.iter().all(is_valid);
    (!is_right || !are_valid).then(|| format!("{heard:?}"))
}

fn check(
    faults: &mut Vec<String>,
    provider: Provider,
    whole: Option<&Value>,
    events: &[Value],
    expected: Calls,
) {
    let data = provider.data(events);
    let judge = |client: Client, found: &Found| wrong(client, found, expected);
    let given = format!("{events:?}");
    check_all(faults, &given, |client| [("stream", client.stream(provider, &data))], judge);
    if let Some(whole) = whole.map(Value::to_string) {
        check_all(faults, &given, |client| [("whole", client.whole(provider, &whole))], judge);
    }
}

/// Without it two calls are one with both names, one runs with the arguments of another, or a client cannot answer it.
#[test]
fn every_call_of_a_chat_provider_is_one() {
    let mut faults = Vec::new();
    let call = |index: Option<u64>, id: Option<&str>, name: Option<&str>, arguments: Option<&str>| {
        let mut call = json!({"type": "function", "function": {}});
        for (member, value) in [("index", index.map(Value::from)), ("id", id.map(Value::from))] {
            if let Some(value) = value {
                call[member] = value;
            }
        }
        for (member, value) in [("name", name), ("arguments", arguments)] {
            if let Some(value) = value {
                call["function"][member] = json!(value);
            }
        }
        call
    };
    let two: Calls = &[("f", r#"{"p":0}"#), ("g", r#"{"p":1}"#)];
    let alike: Calls = &[("f", r#"{"p":0}"#), ("f", r#"{"p":1}"#)];
    let none: Calls = &[("f", "{}"), ("g", "{}")];
    let (zero, one) = (Some(r#"{"p":0}"#), Some(r#"{"p":1}"#));
    let each = |calls: &[Value]| calls.iter().map(|call| vec![call.clone()]).collect::<Vec<_>>();
    for (lists, expected) in [
        // Numbered, and neither numbered nor named by an id.
        (each(&[call(Some(0), Some("a"), Some("f"), zero), call(Some(1), Some("b"), Some("g"), one)]), two),
        (each(&[call(None, None, Some("f"), zero), call(None, None, Some("g"), one)]), two),
        (each(&[call(None, None, Some("f"), zero), call(None, None, Some("f"), one)]), alike),
        (each(&[call(None, None, Some("f"), None), call(None, None, Some("g"), None)]), none),
        (each(&[call(None, None, Some("f"), Some("")), call(None, None, Some("g"), Some(""))]), none),
        // Several in one list, whole and in pieces.
        (vec![vec![call(None, None, Some("f"), zero), call(None, None, Some("g"), one)]], two),
        (vec![vec![call(None, None, Some("f"), zero), call(None, None, Some("f"), one)]], alike),
        (
            vec![vec![call(None, None, Some("f"), None), call(None, None, Some("f"), None)]],
            &[("f", "{}"), ("f", "{}")],
        ),
        (
            vec![
                vec![
                    call(None, None, Some("f"), Some(r#"{"p""#)),
                    call(None, None, Some("g"), Some(r#"{"p""#)),
                ],
                vec![call(None, None, None, Some(":0}")), call(None, None, None, Some(":1}"))],
            ],
            two,
        ),
        // A call and its arguments in one list.
        (
            vec![vec![
                call(None, Some("a"), Some("f"), Some("")),
                call(None, None, None, zero),
                call(None, Some("b"), Some("g"), one),
            ]],
            two,
        ),
        // Ids of odd letters, the same one twice, empty ones, and one for each piece.
        (
            each(&[
                call(Some(0), Some("functions.f:0"), Some("f"), zero),
                call(Some(1), Some("functions.g:1"), Some("g"), one),
            ]),
            two,
        ),
        (each(&[call(Some(0), Some("a"), Some("f"), zero), call(Some(1), Some("a"), Some("g"), one)]), two),
        (each(&[call(Some(0), Some(""), Some("f"), zero), call(Some(1), Some(""), Some("g"), one)]), two),
        (
            each(&[
                call(Some(0), Some("a"), Some("f"), Some("")),
                call(Some(0), Some("b"), Some(""), Some(r#"{"p""#)),
                call(Some(0), Some("c"), Some(""), Some(":0}")),
                call(Some(1), Some("d"), Some("g"), one),
            ]),
            two,
        ),
        // Numbered from 1, all 0, and in turns.
        (each(&[call(Some(1), Some("a"), Some("f"), zero), call(Some(2), Some("b"), Some("g"), one)]), two),
        (each(&[call(Some(0), Some("a"), Some("f"), zero), call(Some(0), Some("b"), Some("g"), one)]), two),
        (
            each(&[
                call(Some(0), Some("a"), Some("f"), Some("")),
                call(Some(1), Some("b"), Some("g"), Some(r#"{"p""#)),
                call(Some(0), None, None, Some(r#"{"p""#)),
                call(Some(1), None, None, Some(":1}")),
                call(Some(0), None, None, Some(":0}")),
            ]),
            two,
        ),
    ] {
        let chunk = |delta: Value, reason: Value| {
            json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        };
        let mut events: Vec<Value> = lists
            .iter()
            .map(|calls| chunk(json!({"role": "assistant", "tool_calls": calls}), Value::Null))
            .collect();
        events.push(chunk(json!({}), json!("tool_calls")));
        // Pieces are a stream's alone.
        let is_whole = lists.iter().flatten().all(|call| {
            let arguments = call["function"]["arguments"].as_str();
            call["function"]["name"].is_string()
                && arguments.is_none_or(|it| !it.is_empty() && it.ends_with('}') && it.starts_with('{'))
        });
        let whole = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [{"index": 0,
            "message": {"role": "assistant", "content": null, "tool_calls": lists.concat()}, "finish_reason": "tool_calls"}]});
        check(&mut faults, Provider::Chat, Some(&whole).filter(|_| is_whole), &events, expected);
    }
    super::none(&faults);
}

/// The same of Google's servers and those between.
#[test]
fn every_call_of_a_google_model_is_one() {
    let mut faults = Vec::new();
    let call = |id: Option<&str>, name: &str, number: u64| {
        let mut call = json!({"name": name, "args": {"p": number}});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        json!({"functionCall": call})
    };
    for ids in [
        [None, None],
        [Some("a"), Some("b")],
        [Some("a"), Some("a")],
        [Some(""), Some("")],
        [Some("f:0"), Some("g:1")],
    ] {
        let parts = [call(ids[0], "f", 0), call(ids[1], "g", 1)];
        let frame = |parts: &[Value], reason: Value| json!({"responseId": "r", "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]});
        let events = [frame(&parts[..1], Value::Null), frame(&parts[1..], json!("STOP"))];
        let expected = &[("f", r#"{"p":0}"#), ("g", r#"{"p":1}"#)];
        check(&mut faults, Provider::Google, Some(&frame(&parts, json!("STOP"))), &events, expected);
    }
    super::none(&faults);
}

/// The same of servers that speak Messages.
#[test]
fn every_call_of_a_messages_provider_is_one() {
    let mut faults = Vec::new();
    let block = |id: Value, name: &str, input: Value| json!({"type": "tool_use", "id": id, "name": name, "input": input});
    for ids in [
        [json!("a"), json!("b")],
        [json!("a"), json!("a")],
        [json!(""), json!("")],
        [Value::Null, Value::Null],
        [json!(7), json!(8)],
        [json!("f:0"), json!("g:1")],
    ] {
        let [first, second] = &ids;
        let message = |content: Value, reason: Value| {
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}})
        };
        let whole = message(
            json!([block(first.clone(), "f", json!({"p": 0})), block(second.clone(), "g", json!({"p": 1}))]),
            json!("tool_use"),
        );
        let mut events = vec![json!({"type": "message_start", "message": message(json!([]), Value::Null)})];
        for (at, (id, name)) in [(first, "f"), (second, "g")].into_iter().enumerate() {
            let piece = format!("{{\"p\":{at}}}");
            events.push(json!({"type": "content_block_start", "index": at, "content_block": block(id.clone(), name, json!({}))}));
            events.push(json!({"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": piece}}));
            events.push(json!({"type": "content_block_stop", "index": at}));
        }
        events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}));
        events.push(json!({"type": "message_stop"}));
        check(
            &mut faults,
            Provider::Messages,
            Some(&whole),
            &events,
            &[("f", r#"{"p":0}"#), ("g", r#"{"p":1}"#)],
        );
    }
    super::none(&faults);
}

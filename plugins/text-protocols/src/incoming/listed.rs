//! The events of a stream as the answer that they make: what a provider sends that was asked for one body and streams all the
//! same. Its events come as a list, with `"[DONE]"` for the end. What broke off is an error, never half an answer.

use serde_json::{Map, Value, json};

use super::chat::BROKE_OFF;
use super::forms::is_error;
use super::reasons;
use crate::json::{Object, Raw};
use crate::tools::{CallPiece, Taken, ToolCalls, places};

/// Whether an event says that the answer failed.
pub(super) fn is_failure(event: Raw<'_>) -> bool {
    let Some(event) = Object::parse(event.get()) else { return false };
    event.get("error").is_some_and(is_error) || event.text("type").is_some_and(|kind| kind == "error")
}

/// Whether an event is an answer of its own. Some servers say `message` for the pieces of a stream: that of an event which is
/// not `alone` has to say how it ended.
pub(super) fn is_whole(event: Raw<'_>, alone: bool) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(event.get()) else { return false };
    let is_whole = |choice: &Value| is_message(choice) && (alone || has_ended(choice));
    event["type"] == "message"
        || event["choices"].as_array().is_some_and(|choices| choices.iter().any(is_whole))
}

/// Whether events are the pieces of one answer that say `message`: the last of them says how it ended, and has the end of the
/// text alone.
pub(super) fn are_pieces(events: &[&Raw<'_>]) -> bool {
    let choice = |event: &&Raw<'_>| {
        let event: Value = serde_json::from_str(event.get()).ok()?;
        event["choices"].get(0).cloned()
    };
    let mut choices = events.iter().filter_map(choice);
    let is_begun = choices.next().is_some_and(|first| is_message(&first) && !has_ended(&first));
    is_begun && choices.any(|next| is_message(&next))
}

fn is_message(choice: &Value) -> bool {
    choice["message"].is_object() && choice.get("delta").is_none()
}

fn has_ended(choice: &Value) -> bool {
    choice["finish_reason"].as_str().is_some_and(|reason| !reasons::says_nothing(reason))
}

/// The answer that the events of a stream make, or the first failure among them.
pub(super) fn assembled<'e>(events: impl Iterator<Item = &'e str>, is_chat: bool) -> String {
    let broke_off = || format!("{{\"error\":{BROKE_OFF}}}");
    let (mut objects, mut is_done) = (Vec::new(), false);
    for data in events.filter(|data| !data.is_empty()) {
        if data == "[DONE]" {
            is_done = true;
            continue;
        }
        match serde_json::from_str::<Raw<'_>>(data).map(|raw| (is_failure(raw), serde_json::from_str(data))) {
            Ok((true, _)) => return data.to_owned(),
            Ok((false, Ok(Value::Object(event)))) => objects.push(Value::Object(event)),
            _ => return broke_off(),
        }
    }
    let whole = if is_chat { completion(&objects, is_done) } else { message(&objects) };
    whole.map_or_else(broke_off, |whole| whole.to_string())
}

/// One answer of a chat provider so far.
#[derive(Default)]
struct Choice {
    index: u64,
    rest: Map<String, Value>,
    message: Map<String, Value>,
    calls: ToolCalls,
    /// Of each call what is not its name and number, and its arguments.
    written: Vec<(Map<String, Value>, String)>,
}

fn completion(events: &[Value], is_done: bool) -> Option<Value> {
    let mut whole = Map::new();
    let mut choices: Vec<Choice> = Vec::new();
    for event in events {
        for (name, value) in
            event.as_object()?.iter().filter(|(name, value)| *name != "choices" && !value.is_null())
        {
            let known = whole.entry(name.as_str()).or_insert(Value::Null);
            if name == "usage" { most(known, value) } else { *known = value.clone() }
        }
        for given in event["choices"].as_array().into_iter().flatten() {
            let index = given["index"].as_u64().unwrap_or(0);
            let at = choices.iter().position(|choice| choice.index == index).unwrap_or_else(|| {
                choices.push(Choice { index, ..Choice::default() });
                choices.len() - 1
            });
            choices[at].add(given.as_object()?);
        }
    }
    let choices = choices.into_iter().map(|choice| choice.done(is_done)).collect::<Option<Vec<_>>>()?;
    if choices.is_empty() {
        return None;
    }
    whole.insert("object".to_owned(), json!("chat.completion"));
    whole.insert("choices".to_owned(), Value::Array(choices));
    Some(Value::Object(whole))
}

impl Choice {
    fn add(&mut self, given: &Map<String, Value>) {
        for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
            match (name.as_str(), value) {
                ("delta", Value::Object(delta)) => {
                    delta.iter().for_each(|(name, value)| self.say(name, value));
                }
                _ => join(self.rest.entry(name.as_str()).or_insert(Value::Null), name, value),
            }
        }
    }

    fn say(&mut self, name: &str, value: &Value) {
        match (name, value) {
            (_, Value::Null) => {}
            ("tool_calls", Value::Array(calls)) => {
                let place = places(calls.len());
                calls.iter().enumerate().for_each(|(at, call)| self.call(call, place(at)));
            }
            _ => join(self.message.entry(name).or_insert(Value::Null), name, value),
        }
    }

    fn call(&mut self, call: &Value, place: Option<u64>) {
        let (kind, text) = kind(call);
        let mut more = Some(call[kind][text].as_str().unwrap_or_default().to_owned());
        while let Some(arguments) = more {
            let piece = CallPiece {
                number: call["index"].as_u64(),
                place,
                id: call["id"].as_str(),
                name: call[kind]["name"].as_str(),
                arguments: &arguments,
            };
            let Taken { call: at, added, rest } = self.calls.take(&piece);
            self.written.resize_with(self.calls.len(), Default::default);
            let (other, written) = &mut self.written[at];
            written.push_str(&added);
            let is_other = |(name, value): &(&String, &Value)| {
                !matches!(name.as_str(), "index" | "id") && *name != kind && !value.is_null()
            };
            for (name, value) in call.as_object().into_iter().flatten().filter(is_other) {
                join(other.entry(name.as_str()).or_insert(Value::Null), name, value);
            }
            more = rest;
        }
    }

    /// `None` where the answer broke off.
    fn done(mut self, is_done: bool) -> Option<Value> {
        let has_called = !self.calls.is_empty();
        if has_called {
            let call = |(at, (other, text)): (usize, (Map<String, Value>, String))| {
                let (kind, text_name) = kind(&Value::Object(other.clone()));
                let mut call = Map::from_iter([
                    ("type".to_owned(), json!(kind)),
                    (kind.to_owned(), json!({"name": self.calls.name(at), text_name: text})),
                ]);
                call.extend(other);
                call.extend(self.calls.id(at).map(|id| ("id".to_owned(), json!(id))));
                Value::Object(call)
            };
            let calls: Vec<Value> =
                std::mem::take(&mut self.written).into_iter().enumerate().map(call).collect();
            self.message.insert("tool_calls".to_owned(), Value::Array(calls));
        }
        if self.rest.get("finish_reason").is_none_or(|reason| reason == "") {
            let usual = if has_called { "tool_calls" } else { "stop" };
            self.rest.insert("finish_reason".to_owned(), json!(is_done.then_some(usual)?));
        }
        for (name, usual) in [("role", json!("assistant")), ("content", Value::Null)] {
            self.message.entry(name).or_insert(usual);
        }
        self.rest.insert("index".to_owned(), json!(self.index));
        self.rest.insert("message".to_owned(), Value::Object(self.message));
        Some(Value::Object(self.rest))
    }
}

/// The kind of a call, under whose name it stands, and the name of its text there.
fn kind(call: &Value) -> (&'static str, &'static str) {
    if call["custom"].is_object() || call["type"] == "custom" {
        ("custom", "input")
    } else {
        ("function", "arguments")
    }
}

/// Adds a piece to what came before it: to a text or a list it is more, to an object its members are, of counts the greater one
/// counts, and of anything else the last that is not blank.
fn join(known: &mut Value, name: &str, piece: &Value) {
    let is_word = matches!(name, "role" | "finish_reason" | "type" | "id" | "name");
    match (known, piece) {
        (known, piece) if name == "usage" => most(known, piece),
        (_, Value::String(piece)) if is_word && piece.trim().is_empty() => {}
        (Value::String(known), Value::String(piece)) if !is_word => known.push_str(piece),
        (Value::Array(known), Value::Array(piece)) => known.extend(piece.iter().cloned()),
        (Value::Object(known), Value::Object(piece)) => {
            for (name, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
                join(known.entry(name.as_str()).or_insert(Value::Null), name, value);
            }
        }
        (known, piece) => *known = piece.clone(),
    }
}

/// Counts so far and later ones: they count up, so that a smaller one says nothing.
fn most(known: &mut Value, piece: &Value) {
    match (known, piece) {
        (Value::Object(known), Value::Object(piece)) => {
            for (name, value) in piece {
                most(known.entry(name.as_str()).or_insert(Value::Null), value);
            }
        }
        (Value::Number(known), Value::Number(piece)) if known.as_f64() >= piece.as_f64() => {}
        (known, piece) if !piece.is_null() => *known = piece.clone(),
        _ => {}
    }
}

fn message(events: &[Value]) -> Option<Value> {
    let mut message = Map::new();
    // Blocks by number, each with the JSON of its input so far.
    let mut blocks: Vec<(u64, Value, String)> = Vec::new();
    let mut is_complete = false;
    for event in events {
        let index = event["index"].as_u64().unwrap_or(0);
        if let Some(usage) = event.get("usage") {
            most(message.entry("usage").or_insert(Value::Null), usage);
        }
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => message.extend(event["message"].as_object()?.clone()),
            "content_block_start" => {
                let block = event["content_block"].as_object()?.clone();
                blocks.push((index, Value::Object(block), String::new()));
            }
            "content_block_delta" => {
                let (_, block, input) = blocks.iter_mut().rfind(|(known, ..)| *known == index)?;
                for (name, piece) in event["delta"].as_object()?.iter().filter(|(name, _)| *name != "type") {
                    match name.as_str() {
                        "partial_json" => input.push_str(piece.as_str()?),
                        "citation" => join(&mut block["citations"], "citations", &json!([piece])),
                        _ => join(&mut block[name], name, piece),
                    }
                }
            }
            "message_delta" => {
                message.extend(event["delta"].as_object().cloned().unwrap_or_default());
                is_complete |= message.get("stop_reason").is_some_and(|reason| !reason.is_null());
            }
            "message_stop" => is_complete = true,
            _ => {}
        }
    }
    let read = |(_, mut block, input): (u64, Value, String)| {
        if !input.trim().is_empty() {
            block["input"] = serde_json::from_str(&input).ok()?;
        }
        Some(block)
    };
    let content = blocks.into_iter().map(read).collect::<Option<Vec<_>>>()?;
    message.insert("content".to_owned(), Value::Array(content));
    (is_complete && message.contains_key("role")).then_some(Value::Object(message))
}

#[cfg(test)]
mod tests {
    use super::super::Incoming;
    use super::*;

    /// The answer that a list of events makes.
    fn read(is_chat: bool, events: &Value) -> Value {
        let whole = Incoming::new(is_chat, "").whole(&events.to_string()).expect("an answer");
        serde_json::from_str(&whole).expect("JSON")
    }

    /// Without it the answer of a server that always streams is lost.
    #[test]
    fn the_events_of_a_completion_are_one_completion() {
        let chunk = |delta: Value, reason: Value| json!({"id": "c", "model": "m", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let call = |arguments: &str| json!({"index": 0, "function": {"arguments": arguments}});
        let usage = json!({"prompt_tokens": 3, "completion_tokens": 2});
        let begun = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}});
        let events = json!([
            chunk(json!({"role": "assistant", "content": "Hel"}), Value::Null),
            chunk(json!({"content": "lo"}), Value::Null),
            chunk(json!({"tool_calls": [begun]}), Value::Null),
            chunk(json!({"tool_calls": [call("{\"p\"")]}), Value::Null),
            chunk(json!({"tool_calls": [call(":1}")]}), Value::Null),
            chunk(json!({}), json!("tool_calls")),
            {"choices": [], "usage": usage},
            "[DONE]",
        ]);
        let function = json!({"name": "f", "arguments": "{\"p\":1}"});
        let message = json!({"role": "assistant", "content": "Hello", "tool_calls": [{"id": "a", "type": "function", "function": function}]});
        let expected = json!({"id": "c", "model": "m", "object": "chat.completion", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
        assert_eq!(read(true, &events), expected);
        let cut = json!([chunk(json!({"content": "Hel"}), Value::Null)]);
        assert!(read(true, &cut)["error"].is_object(), "an answer that broke off");
        let ended = json!([chunk(json!({"content": "Hel"}), Value::Null), "[DONE]"]);
        assert_eq!(read(true, &ended)["choices"][0]["finish_reason"], "stop");
        let failed = json!([chunk(json!({"content": "Hel"}), Value::Null), {"error": {"message": "no"}}]);
        assert_eq!(read(true, &failed)["error"]["message"], "no");
        assert_eq!(read(true, &json!([expected])), expected, "a list of one answer");
    }

    /// Each lost something of the answer, or made one of a failure.
    #[test]
    fn nothing_of_the_events_is_lost() {
        let chunk = |delta: Value, reason: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let hel = chunk(json!({"role": "assistant", "content": "Hel"}), Value::Null);
        let end = chunk(json!({}), json!("length"));
        for (events, failed) in [
            (json!([hel, "Internal Server Error", "[DONE]"]), true),
            (json!([hel, "insufficient balance", "[DONE]"]), true),
            (json!([hel, "insufficient balance", end, "[DONE]"]), false),
            (json!([hel, [{"error": {"message": "no"}}], "[DONE]"]), true),
            (json!([hel, "[PING]", 5, "done"]), false),
            (
                json!([hel, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}"]),
                false,
            ),
        ] {
            assert_eq!(read(true, &events)["error"].is_object(), failed, "{events}");
        }
        let usage = |count: u64| json!({"choices": [], "usage": {"completion_tokens": count}});
        let blank = chunk(json!({"role": ""}), json!(""));
        let whole = read(true, &json!([hel, end, usage(7), blank, usage(0), "[DONE]"]));
        assert_eq!(whole["choices"][0]["finish_reason"], "length");
        assert_eq!(whole["choices"][0]["message"]["role"], "assistant");
        assert_eq!(whole["usage"]["completion_tokens"], 7);
        let signed = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": {"google": {"thought_signature": "s"}}});
        let custom = json!({"index": 1, "id": "b", "type": "custom", "custom": {"name": "g", "input": "x"}});
        let whole = read(true, &json!([chunk(json!({"tool_calls": [signed, custom]}), json!("tool_calls"))]));
        let calls = &whole["choices"][0]["message"]["tool_calls"];
        assert_eq!(calls[0]["extra_content"]["google"]["thought_signature"], "s");
        assert_eq!(calls[1], json!({"type": "custom", "id": "b", "custom": {"name": "g", "input": "x"}}));
        let piece = |text: &str, reason: Value| json!({"choices": [{"index": 0, "message": {"content": text}, "finish_reason": reason}]});
        // A server streams what was asked for as a whole: each piece what is new, or all so far.
        for pieces in [["Hel", "lo", "!"], ["Hel", "Hello", "Hello!"]] {
            let [first, next, last] = pieces;
            let all = [piece(first, Value::Null), piece(next, json!("")), piece(last, json!("stop"))];
            let whole = read(true, &json!(all));
            assert_eq!(whole["choices"][0]["message"]["content"], "Hello!", "{pieces:?}");
            assert_eq!(whole["choices"][0]["finish_reason"], "stop");
        }
        let whole = read(
            true,
            &json!([piece("Hel", Value::Null), {"error": {"message": "no"}}, piece("lo", json!("stop"))]),
        );
        assert_eq!(whole["error"]["message"], "no");
    }

    #[test]
    fn the_events_of_a_message_are_one_message() {
        let delta =
            |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
        let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
        let mut events = vec![
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1}}}),
            start(0, json!({"type": "text", "text": ""})),
            delta(0, json!({"type": "text_delta", "text": "Hel"})),
            delta(0, json!({"type": "text_delta", "text": "lo"})),
            stop(0),
            start(1, json!({"type": "tool_use", "id": "a", "name": "f", "input": {}})),
            delta(1, json!({"type": "input_json_delta", "partial_json": "{\"p\""})),
            delta(1, json!({"type": "input_json_delta", "partial_json": ":1}"})),
            stop(1),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ];
        let content = json!([{"type": "text", "text": "Hello"}, {"type": "tool_use", "id": "a", "name": "f", "input": {"p": 1}}]);
        let expected = json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use",
            "usage": {"input_tokens": 3, "output_tokens": 2}});
        assert_eq!(read(false, &json!(events)), expected);
        events.truncate(4);
        assert!(read(false, &json!(events))["error"].is_object(), "an answer that broke off");
        events[1]["content_block"] = json!("Hello");
        assert!(read(false, &json!(events))["error"].is_object(), "a block that is no object");
    }
}

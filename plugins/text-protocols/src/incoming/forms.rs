//! Completions and chunks whose members have other shapes than the protocol's, in its shapes: numbers for texts and texts for
//! numbers, calls that are flat or of the older kind, texts in the place of completions, empty errors beside good answers. What a member
//! says is not read here; `chat` does.

use crate::json::{JsonString, Object, Raw, Writer, is_null, items, quoted};

use super::chat::Said;
use super::message_forms::CALLS;
use super::reasons;

/// How the answer comes and what its client reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forms {
    /// It is whole, not a chunk.
    pub(super) is_whole: bool,
    /// The client asked with `functions`, and reads calls of that kind.
    pub(super) is_legacy: bool,
}

/// The names of a text of thinking, the usual one first.
pub(super) const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];
const DETAILS: &str = "reasoning_details";
/// What some servers put beside a text: pictures that the model made, a sound.
pub(super) const MEDIA: [&str; 2] = ["images", "audio"];

/// Whether a chunk may need a change. A text may look like a member; then the parser decides.
pub(super) fn is_odd(json: &str) -> bool {
    let found = Found::of(json);
    json.match_indices(':').any(|(at, _)| {
        let Some(before) = json[..at].trim_end().strip_suffix('"') else { return false };
        let name = before.rsplit('"').next().unwrap_or_default();
        is_odd_member(&found, name, json[at + 1..].trim_start())
    })
}

/// What a chunk has somewhere, looked for once.
struct Found {
    calls: bool,
    functions: bool,
    /// A content with a text.
    says: bool,
}

impl Found {
    fn of(json: &str) -> Self {
        let has = |part: &str| json.contains(part);
        Self {
            calls: has("\"tool_calls\""),
            functions: has("\"function\""),
            says: has("\"content\":\"") && !has("\"content\":\"\""),
        }
    }
}

fn is_odd_member(found: &Found, name: &str, value: &str) -> bool {
    let first = value.bytes().next().unwrap_or(b'n');
    let opens = matches!(first, b'[' | b'{');
    let is_text = first == b'"';
    match name {
        "content" | "refusal" => !is_text && first != b'n',
        "arguments" => !is_text,
        "finish_reason" => {
            first != b'n' && (!is_text || value.starts_with("\"function_call\"") || reasons::is_odd(value))
        }
        "error" | "thinking" => first != b'n',
        "reasoning_content" | "reasoning" | DETAILS | "data" => opens,
        "function_call" => first == b'{',
        _ if MEDIA.contains(&name) => opens && !value.starts_with("[]"),
        "tool_calls" => first == b'{' || is_text || (opens && !value.starts_with("[]") && !found.functions),
        "id" => first.is_ascii_digit(),
        "index" => is_text || first == b'-',
        "text" => is_text && !found.says,
        "delta" | "message" => is_text,
        "choices" => value.starts_with("[\""),
        // Arguments of a call under another name.
        "parameters" | "input" => found.calls,
        _ => false,
    }
}

/// Whether a value has a picture, a sound or a file in it: an address, or bytes.
pub(super) fn has_media(raw: Raw<'_>) -> bool {
    const BYTES: [&str; 6] = ["url", "image_url", "b64_json", "data", "file_data", "file_id"];
    let mut open = vec![raw];
    // A list of pictures, each of them an object with another in it.
    for _ in 0..64 {
        let Some(raw) = open.pop() else { return false };
        if JsonString::of(raw).is_some_and(|text| !text.is_empty()) {
            return true;
        }
        open.extend(items(raw).unwrap_or_default());
        let object = Object::parse(raw.get()).unwrap_or_default();
        open.extend(BYTES.iter().filter_map(|name| object.get(name)));
    }
    false
}

/// Whether one of the calls has no name.
pub(super) fn calls_nothing(message: &Object<'_>) -> bool {
    let mut functions = message.objects("tool_calls").filter_map(|call| call.object("function"));
    functions.any(|function| function.string("name").is_none_or(JsonString::is_empty))
}

/// Whether a member says that something failed: some servers always write one.
#[must_use]
pub fn is_error(raw: Raw<'_>) -> bool {
    !matches!(raw.get(), "null" | "false" | "\"\"" | "0" | "{}" | "[]")
}

/// The completion in the standard shapes; `None` where it has them already, or is something else.
pub(super) fn standard(json: &str, forms: Forms) -> Option<String> {
    let whole = Object::parse(json)?;
    // A gateway like this one wraps its answers.
    let inner =
        whole.object("data").filter(|it| it.get("choices").is_some() && whole.get("choices").is_none());
    let mut has_changed = inner.is_some();
    let whole = inner.as_ref().unwrap_or(&whole);
    let choices = whole.items("choices")?;
    let mut out = Writer::new(json.len() + 64);
    for (name, raw) in whole.iter() {
        match name {
            "choices" if !is_null(raw) => {
                let in_form = |raw: &Raw<'_>| {
                    // A text in the place of a choice.
                    let text = JsonString::of(raw).map(|_| format!("{{\"text\":{}}}", raw.get()));
                    choice(&Object::parse(text.as_deref().unwrap_or_else(|| raw.get()))?, forms).or(text)
                };
                let all: Vec<Option<String>> = choices.iter().map(in_form).collect();
                has_changed |= all.iter().any(Option::is_some);
                let written =
                    all.iter().zip(&choices).map(|(new, raw)| new.as_deref().unwrap_or_else(|| raw.get()));
                out.member(name, &format!("[{}]", written.collect::<Vec<_>>().join(",")));
            }
            "error" if !is_error(raw) => has_changed |= !is_null(raw),
            "id" => out.member(name, as_text(raw, &mut has_changed).as_deref().unwrap_or("null")),
            _ => out.member(name, raw.get()),
        }
    }
    has_changed.then(|| out.done())
}

fn choice(choice: &Object<'_>, forms: Forms) -> Option<String> {
    let own = if forms.is_whole { "message" } else { "delta" };
    let mut has_changed = false;
    let mut out = Writer::new(256);
    let message = ["message", "delta"].iter().find_map(|name| choice.object(name)).unwrap_or_default();
    let becomes_call = !forms.is_legacy && function_call(&message).is_some();
    let is_there = choice.get("message").is_some() || choice.get("delta").is_some();
    let says_nothing = |raw: Raw<'_>| {
        JsonString::of(raw)
            .is_none_or(|reason| !reason.is_empty() && reasons::says_nothing(&reason.decoded()))
    };
    let reason = choice.string("finish_reason").filter(|reason| !says_nothing(reason.raw()));
    let has_reason = reason.is_some_and(|reason| !reason.is_empty());
    for (name, raw) in choice.iter() {
        match name {
            "finish_reason" if forms.is_whole && !has_reason => {}
            "index" if is_negative(raw) => out.member(name, changed("0", &mut has_changed)),
            "index" => has_changed |= out.changed(name, raw, number(raw)),
            "finish_reason" if !is_null(raw) && says_nothing(raw) => {
                out.member(name, changed("null", &mut has_changed));
            }
            "finish_reason" if !forms.is_legacy && raw.get() == "\"function_call\"" => {
                out.member(name, changed("\"tool_calls\"", &mut has_changed));
            }
            "error" if !is_error(raw) => has_changed |= !is_null(raw),
            "text" if !is_there && JsonString::of(raw).is_some() => {
                out.member(own, changed(&said(raw), &mut has_changed));
            }
            "message" | "delta" if JsonString::of(raw).is_some() => {
                out.member(name, changed(&said(raw), &mut has_changed));
            }
            "delta" if forms.is_whole && choice.get("message").is_none() && !is_null(raw) => {
                let message = self::message(&message, forms);
                out.member(own, changed(message.as_deref().unwrap_or_else(|| raw.get()), &mut has_changed));
            }
            "message" | "delta" => {
                let message = Object::parse(raw.get()).and_then(|it| self::message(&it, forms));
                has_changed |= out.changed(name, raw, message.as_deref());
            }
            _ => out.member(name, raw.get()),
        }
    }
    // What is whole has ended.
    if forms.is_whole && !has_reason && (is_there || choice.get("text").is_some()) {
        let has_called = becomes_call || message.get("tool_calls").is_some_and(|raw| raw.get() != "[]");
        let reason = if has_called { "\"tool_calls\"" } else { "\"stop\"" };
        out.member("finish_reason", changed(reason, &mut has_changed));
    }
    // An answer that was held back may have no message at all.
    let is_held_back =
        choice.text("finish_reason").is_some_and(|reason| matches!(&*reason, "content_filter" | "length"));
    if forms.is_whole && !is_there && choice.get("text").is_none() && is_held_back {
        out.member(own, changed(r#"{"role":"assistant","content":""}"#, &mut has_changed));
    }
    has_changed.then(|| out.done())
}

/// A message of a text that stands in its place.
pub(super) fn said(text: Raw<'_>) -> String {
    format!("{{\"role\":\"assistant\",\"content\":{}}}", text.get())
}

fn message(message: &Object<'_>, forms: Forms) -> Option<String> {
    let mut has_changed = false;
    let mut out = Writer::new(256);
    let call = function_call(message).filter(|_| !forms.is_legacy);
    let says = |name: &str| message.string(name).is_some_and(|text| !text.is_empty());
    let mut has_thought = THOUGHTS[..2].iter().any(|name| says(name));
    // What completions without messages call their text.
    let is_text_content = message.get("content").is_none_or(is_empty_text) && says("text");
    let moved = calls_in_content(message);
    for (name, raw) in message.iter() {
        let first = raw.get().bytes().next().unwrap_or(b'n');
        match (name, &moved) {
            ("content", Some((rest, _))) => {
                out.member(name, changed(rest, &mut has_changed));
                continue;
            }
            ("tool_calls", Some(_)) => continue,
            _ => {}
        }
        match name {
            "content" if is_text_content => {}
            "text" if is_text_content => out.member("content", changed(raw.get(), &mut has_changed)),
            // An array or an object has a text somewhere.
            "content" if !matches!(first, b'"' | b'n' | b'[' | b'{') => {
                out.member(name, changed(&quoted(raw.get()), &mut has_changed));
            }
            "refusal" if !matches!(first, b'"' | b'n') => has_changed = true,
            "function_call" if call.is_some() => has_changed = true,
            "tool_calls" if call.is_some() => {}
            "tool_calls" => has_changed |= out.changed(name, raw, calls(raw, forms).as_deref()),
            _ if name == DETAILS || THOUGHTS.contains(&name) => {
                let is_usual = name != THOUGHTS[2] && name != DETAILS;
                let thought = (!is_usual || matches!(first, b'[' | b'{')).then(|| Said::all(raw));
                match thought {
                    Some(thought) if !thought.is_empty() && !has_thought => {
                        has_thought = true;
                        out.member(THOUGHTS[0], changed(&quoted(&thought), &mut has_changed));
                    }
                    Some(_) if is_usual => has_changed = true,
                    _ => out.member(name, raw.get()),
                }
            }
            _ => out.member(name, raw.get()),
        }
    }
    if let Some((_, list)) = moved {
        let list = serde_json::from_str(&list).ok().and_then(|raw| calls(raw, forms)).unwrap_or(list);
        out.member("tool_calls", &list);
    }
    if let Some(call) = call {
        let number = if forms.is_whole { "" } else { "\"index\":0," };
        out.member("tool_calls", &format!("[{{{number}\"type\":\"function\",\"function\":{}}}]", call.get()));
    }
    has_changed.then(|| out.done())
}

/// The content without the calls among its parts, and those: servers that translate another protocol leave them there.
fn calls_in_content(message: &Object<'_>) -> Option<(String, String)> {
    if message.items("tool_calls").is_some_and(|calls| !calls.is_empty()) {
        return None;
    }
    let (mut rest, mut list) = (Vec::new(), Vec::new());
    for raw in message.items("content")? {
        let part = Object::parse(raw.get()).filter(|part| {
            let is_call = part.text("type").is_some_and(|kind| CALLS.contains(&kind.as_ref()));
            is_call && (part.string("name").is_some() || part.object("function").is_some())
        });
        match part {
            Some(part) => {
                let members = part.iter().filter(|(name, _)| *name != "type");
                list.push(members.map(|(name, raw)| (name, raw.get())).collect::<Writer>().done());
            }
            None => rest.push(raw.get()),
        }
    }
    let rest = if rest.is_empty() { "null".to_owned() } else { format!("[{}]", rest.join(",")) };
    (!list.is_empty()).then(|| (rest, format!("[{}]", list.join(","))))
}

/// A call of the older kind, where the message has no other.
fn function_call<'a>(message: &Object<'a>) -> Option<Raw<'a>> {
    let has_calls = message.items("tool_calls").is_some_and(|calls| !calls.is_empty());
    message.get("function_call").filter(|raw| raw.get().starts_with('{') && !has_calls)
}

fn calls(raw: Raw<'_>, forms: Forms) -> Option<String> {
    // A list that was written as a text.
    if let Some(text) = JsonString::of(raw).map(JsonString::decoded) {
        let list =
            serde_json::from_str::<Raw<'_>>(&text).ok().filter(|list| list.get().starts_with(['[', '{']));
        return Some(list.map_or_else(
            || "[]".to_owned(),
            |list| calls(list, forms).unwrap_or_else(|| list.get().to_owned()),
        ));
    }
    let is_one = raw.get().starts_with('{');
    let all = if is_one { vec![raw] } else { items(raw)? };
    let mut has_changed = is_one;
    let mut known: Vec<String> = Vec::new();
    let mut list: Vec<String> = Vec::new();
    for raw in all {
        let Some(call) = Object::parse(raw.get()) else {
            list.push(raw.get().to_owned());
            continue;
        };
        let new = self::call(&call, forms, &mut known);
        has_changed |= new.is_some();
        list.push(new.unwrap_or_else(|| raw.get().to_owned()));
    }
    has_changed.then(|| format!("[{}]", list.join(",")))
}

/// One call; `known` are the ids of those before it in a whole answer.
fn call(call: &Object<'_>, forms: Forms, known: &mut Vec<String>) -> Option<String> {
    let is_flat =
        call.get("function").is_none() && call.get("custom").is_none() && call.get("name").is_some();
    let own = arguments_name(call);
    let mut has_changed = is_flat;
    let mut out = Writer::new(128);
    let mut function = Writer::new(128);
    for (name, raw) in call.iter() {
        match name {
            "index" if is_negative(raw) => has_changed = true,
            "index" => has_changed |= out.changed(name, raw, number(raw)),
            "id" => {
                let id = as_text(raw, &mut has_changed).filter(|id| id != "\"\"");
                match id {
                    // Two calls of one id would have one result.
                    Some(id) if forms.is_whole && known.contains(&id) => has_changed = true,
                    Some(id) => {
                        known.push(id.clone());
                        out.member(name, &id);
                    }
                    None => has_changed = true,
                }
            }
            "type" if JsonString::of(raw).is_none_or(JsonString::is_empty) => has_changed = true,
            "name" if is_flat => function.member(name, raw.get()),
            _ if is_flat && name == own => function.member(ARGUMENTS[0], raw.get()),
            _ if is_flat && ARGUMENTS.contains(&name) => {}
            "function" => {
                let inner = Object::parse(raw.get()).and_then(|inner| arguments_named(&inner));
                has_changed |= out.changed(name, raw, inner.as_deref());
            }
            _ => out.member(name, raw.get()),
        }
    }
    if is_flat {
        out.member("function", &function.done());
    }
    has_changed.then(|| out.done())
}

/// The names of a call's arguments, the usual one first.
const ARGUMENTS: [&str; 3] = ["arguments", "parameters", "input"];

/// The name of the arguments that a call has. An empty text does not count beside others.
fn arguments_name(call: &Object<'_>) -> &'static str {
    let says = |name: &&str| call.get(name).is_some_and(|raw| !is_empty_text(raw));
    ARGUMENTS.into_iter().find(says).unwrap_or(ARGUMENTS[0])
}

/// A called function whose arguments have another name.
fn arguments_named(function: &Object<'_>) -> Option<String> {
    let own = arguments_name(function);
    if own == ARGUMENTS[0] {
        return None;
    }
    let mut out = Writer::new(128);
    for (name, raw) in function.iter().filter(|(name, _)| *name != ARGUMENTS[0]) {
        out.member(if name == own { ARGUMENTS[0] } else { name }, raw.get());
    }
    Some(out.done())
}

fn is_empty_text(raw: Raw<'_>) -> bool {
    raw.get() == "\"\""
}

/// Whether a number is below zero: some servers have such an index where they know none.
fn is_negative(raw: Raw<'_>) -> bool {
    raw.get().starts_with('-')
}

/// Notes a change.
fn changed<'t>(new: &'t str, has_changed: &mut bool) -> &'t str {
    *has_changed = true;
    new
}

/// The digits of a number that is written as a text.
fn number(raw: Raw<'_>) -> Option<&str> {
    let digits = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    (!digits.is_empty() && digits.len() < 10 && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(digits)
}

/// A text, or a number as one; JSON.
fn as_text(raw: Raw<'_>, has_changed: &mut bool) -> Option<String> {
    if JsonString::of(raw).is_some() {
        return Some(raw.get().to_owned());
    }
    let is_number = raw.get().starts_with(|first: char| first.is_ascii_digit());
    *has_changed |= is_number;
    is_number.then(|| quoted(raw.get()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(given: &Value, is_whole: bool, is_legacy: bool) -> Value {
        let json = given.to_string();
        let forms = Forms { is_whole, is_legacy };
        assert!(is_whole || is_odd(&json) || standard(&json, forms).is_none(), "{json}");
        standard(&json, forms).map_or(Value::Null, |new| serde_json::from_str(&new).expect("JSON"))
    }

    /// Without it a call or a text would be lost in an answer that looks complete, or the answer would fail.
    #[test]
    fn every_shape_of_a_message_becomes_the_standard_one() {
        let function = json!({"name": "f", "arguments": "{}"});
        for (given, expected) in [
            (json!({"content": 42}), json!({"content": "42"})),
            (json!({"content": "a", "refusal": false}), json!({"content": "a"})),
            (
                json!({"content": "a", "reasoning_content": [{"type": "text", "text": "hm"}]}),
                json!({"content": "a", "reasoning_content": "hm"}),
            ),
            (
                json!({"content": "a", "reasoning": {"content": "hm"}}),
                json!({"content": "a", "reasoning_content": "hm"}),
            ),
            (
                json!({"tool_calls": [{"id": "a", "index": -1, "name": "f", "arguments": "", "parameters": "{}"}]}),
                json!({"tool_calls": [{"id": "a", "function": function}]}),
            ),
            (
                json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "", "parameters": {"a": 1}}}]}),
                json!({"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"a": 1}}}]}),
            ),
            (json!({"content": "a", "thinking": "hm"}), json!({"content": "a", "reasoning_content": "hm"})),
            (
                json!({"content": "a", "reasoning_details": [{"type": "reasoning.text", "text": "h"}, {"type": "reasoning.summary", "summary": "m"}]}),
                json!({"content": "a", "reasoning_content": "hm"}),
            ),
            (
                json!({"content": null, "function_call": function}),
                json!({"content": null, "tool_calls": [{"type": "function", "function": function}]}),
            ),
            (
                json!({"tool_calls": [{"id": "a", "name": "f", "arguments": "{}"}]}),
                json!({"tool_calls": [{"id": "a", "function": function}]}),
            ),
            (
                json!({"tool_calls": {"id": "a", "type": "function", "function": function}}),
                json!({"tool_calls": [{"id": "a", "type": "function", "function": function}]}),
            ),
            (
                json!({"tool_calls": [{"id": 7, "index": "0", "type": null, "function": function}, {"id": null, "function": function},
                                      {"id": "7", "function": function}]}),
                json!({"tool_calls": [{"id": "7", "index": 0, "function": function}, {"function": function}, {"function": function}]}),
            ),
            (json!({"content": "a", "reasoning": "hm", "reasoning_details": [{"text": "hm"}]}), Value::Null),
            (json!({"content": "a", "tool_calls": [], "refusal": null}), Value::Null),
            (json!({"tool_calls": [{"id": "a", "type": "function", "function": function}]}), Value::Null),
        ] {
            let body = |message: &Value| json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
            let expected = if expected.is_null() { Value::Null } else { body(&expected) };
            assert_eq!(read(&body(&given), true, false), expected, "{given}");
        }
        let legacy =
            json!({"choices": [{"message": {"function_call": function}, "finish_reason": "function_call"}]});
        assert_eq!(read(&legacy, true, true), Value::Null);
    }

    #[test]
    fn every_shape_of_a_choice_becomes_the_standard_one() {
        let said = json!({"role": "assistant", "content": "a"});
        for (given, expected, is_whole) in [
            (
                json!({"text": "a", "finish_reason": "stop"}),
                json!({"message": said, "finish_reason": "stop"}),
                true,
            ),
            (json!({"text": "a"}), json!({"delta": said}), false),
            (json!({"delta": said}), json!({"message": said, "finish_reason": "stop"}), true),
            (
                json!({"message": said, "finish_reason": null}),
                json!({"message": said, "finish_reason": "stop"}),
                true,
            ),
            (
                json!({"message": {"tool_calls": [{}]}, "finish_reason": ""}),
                json!({"message": {"tool_calls": [{}]}, "finish_reason": "tool_calls"}),
                true,
            ),
            (
                json!({"finish_reason": "content_filter"}),
                json!({"finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}),
                true,
            ),
            (json!({"index": "1", "delta": said}), json!({"index": 1, "delta": said}), false),
            (json!({"index": -1, "delta": said}), json!({"index": 0, "delta": said}), false),
            (
                json!({"delta": {"role": "assistant", "content": "", "text": "a"}}),
                json!({"delta": said}),
                false,
            ),
            (
                json!({"delta": said, "finish_reason": 0}),
                json!({"delta": said, "finish_reason": null}),
                false,
            ),
            (json!({"error": {}, "delta": said}), json!({"delta": said}), false),
            (json!({"delta": said, "finish_reason": null, "content_filter_results": {}}), Value::Null, false),
        ] {
            let body = |choice: &Value| json!({"id": "c", "choices": [choice]});
            let expected = if expected.is_null() { Value::Null } else { body(&expected) };
            assert_eq!(read(&body(&given), is_whole, false), expected, "{given}");
        }
        let wrapped = json!({"code": 200, "data": {"choices": [{"delta": said}]}});
        assert_eq!(read(&wrapped, false, false), wrapped["data"]);
        let odd = json!({"id": 12, "error": "", "choices": []});
        assert_eq!(read(&odd, false, false), json!({"id": "12", "choices": []}));
    }
}

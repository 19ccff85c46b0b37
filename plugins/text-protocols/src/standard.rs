//! Answers of providers by the shape of their protocol: members under its names, one value where one stands and a list where a list
//! does. Servers that write a name in other letters or twice, or put a list around an object, mean the same. Only such an answer
//! is written anew; another keeps its bytes, and of a stream only events that look unlike the one before are read at all.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json::{JsonString, Object, Raw, Writer, is_null, items, quoted};

/// What a value is in a protocol, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Read elsewhere.
    Any,
    /// The arguments of a call: an object, or a text of one.
    Input,
    /// A list of such.
    List(&'static Self),
    /// A number.
    Number,
    /// An object with these members, among others.
    Object(&'static [(&'static str, Self)]),
    /// A text.
    Text,
}

use Shape::{Any, Input, List, Number, Text};

const USAGE: Shape = Shape::Object(&[
    ("prompt_tokens", Any),
    ("completion_tokens", Any),
    ("total_tokens", Any),
    ("input_tokens", Any),
    ("output_tokens", Any),
    ("cache_read_input_tokens", Any),
    ("cache_creation_input_tokens", Any),
]);
const FUNCTION: Shape = Shape::Object(&[("name", Text), ("arguments", Input)]);
const CALL: Shape = Shape::Object(&[("index", Number), ("id", Any), ("type", Any), ("function", FUNCTION)]);
const CHAT_MESSAGE: Shape = Shape::Object(&[
    ("role", Any),
    ("content", Any),
    ("reasoning_content", Any),
    ("refusal", Any),
    ("tool_calls", List(&CALL)),
]);
const CHOICE: Shape = Shape::Object(&[
    ("index", Number),
    ("message", CHAT_MESSAGE),
    ("delta", CHAT_MESSAGE),
    ("finish_reason", Any),
    ("text", Any),
]);
/// A completion, or a chunk of one.
pub const CHAT: Shape =
    Shape::Object(&[("id", Any), ("choices", List(&CHOICE)), ("usage", USAGE), ("error", Any)]);

const BLOCK: Shape = Shape::Object(&[
    ("type", Any),
    ("text", Any),
    ("thinking", Any),
    ("signature", Any),
    ("id", Any),
    ("name", Text),
    ("input", Input),
]);
const BLOCK_DELTA: Shape = Shape::Object(&[
    ("type", Any),
    ("text", Text),
    ("thinking", Text),
    ("signature", Text),
    ("partial_json", Text),
    ("stop_reason", Any),
    ("stop_sequence", Any),
]);
const STARTED: Shape = Shape::Object(&[("id", Any), ("model", Any), ("content", Any), ("usage", USAGE)]);
/// A message, or an event of its stream.
pub const MESSAGES: Shape = Shape::Object(&[
    ("id", Any),
    ("type", Any),
    ("role", Any),
    ("model", Any),
    ("content", List(&BLOCK)),
    ("stop_reason", Any),
    ("stop_sequence", Any),
    ("usage", USAGE),
    ("error", Any),
    ("index", Number),
    ("message", STARTED),
    ("content_block", BLOCK),
    ("delta", BLOCK_DELTA),
]);

const FUNCTION_CALL: Shape = Shape::Object(&[("id", Any), ("name", Text), ("args", Input)]);
const PART: Shape = Shape::Object(&[
    ("text", Text),
    ("thought", Any),
    ("thoughtSignature", Any),
    ("functionCall", FUNCTION_CALL),
    ("function_call", FUNCTION_CALL),
    ("inlineData", Any),
    ("fileData", Any),
]);
const CONTENT: Shape = Shape::Object(&[("role", Any), ("parts", List(&PART))]);
const CANDIDATE: Shape =
    Shape::Object(&[("content", CONTENT), ("finishReason", Any), ("finish_reason", Any), ("index", Any)]);
const COUNTS: Shape = Shape::Object(&[
    ("promptTokenCount", Any),
    ("candidatesTokenCount", Any),
    ("thoughtsTokenCount", Any),
    ("cachedContentTokenCount", Any),
    ("totalTokenCount", Any),
]);
/// An answer of Google's, or a frame of one.
pub const GOOGLE: Shape = Shape::Object(&[
    ("candidates", List(&CANDIDATE)),
    ("promptFeedback", Any),
    ("usageMetadata", COUNTS),
    ("modelVersion", Any),
    ("responseId", Any),
    ("error", Any),
]);

/// The answers of one provider as they come.
#[derive(Debug)]
pub struct Standard {
    shape: Shape,
    /// The last one that was read and had the shape.
    last: String,
}

/// What an answer is.
#[derive(Debug, PartialEq, Eq)]
pub enum Form {
    /// It looks as the one before, which is known.
    Known,
    /// It has the shape, or is no JSON, or cannot be brought into it.
    Right,
    /// The same in the shape.
    Other(String),
}

/// Events longer than this are not kept to be compared.
const KEPT: usize = 4096;

impl Standard {
    /// For answers of that shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, last: String::new() }
    }

    /// Reads the next answer, or event.
    pub fn read(&mut self, json: &str) -> Form {
        if !self.last.is_empty() && looks_alike(&self.last, json) {
            return Form::Known;
        }
        self.last.clear();
        if fits(json.trim_ascii(), self.shape) {
            if json.len() <= KEPT {
                self.last.push_str(json);
            }
            return Form::Right;
        }
        let Ok(raw) = serde_json::from_str::<Raw<'_>>(json) else { return Form::Right };
        settled(raw, self.shape).map_or(Form::Right, Form::Other)
    }

    /// Has the next event read, even if it looks as the last one: that one was mended by what came before it.
    pub fn forget(&mut self) {
        self.last.clear();
    }
}

/// Whether two JSON texts differ in the digits of numbers and in what texts say, and in nothing else. An empty text is like no other.
fn looks_alike(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let (mut a, mut b) = (0, 0);
    while a < one.len() && b < other.len() {
        match (one[a], other[b]) {
            (b'"', b'"') => {
                let (Some(end_a), Some(end_b)) = (end_of_text(one, a + 1), end_of_text(other, b + 1)) else {
                    return false;
                };
                let (text_a, text_b) = (&one[a + 1..end_a], &other[b + 1..end_b]);
                let is_name = one[end_a + 1..].trim_ascii_start().starts_with(b":");
                if text_a.is_empty() != text_b.is_empty() || (is_name && text_a != text_b) {
                    return false;
                }
                (a, b) = (end_a + 1, end_b + 1);
            }
            (x, y) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let digits = |text: &[u8], at: usize| {
                    let end = text[at..].iter().position(|byte| !byte.is_ascii_digit());
                    end.map_or(text.len(), |end| at + end)
                };
                (a, b) = (digits(one, a), digits(other, b));
            }
            (x, y) if x == y => (a, b) = (a + 1, b + 1),
            _ => return false,
        }
    }
    a == one.len() && b == other.len()
}

/// Where the text ends whose first letter is there.
fn end_of_text(json: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match json.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn fits(json: &str, shape: Shape) -> bool {
    match shape {
        _ if json == "null" => true,
        Any => true,
        Input => !json.starts_with('[') || json == "[]",
        Number => json.starts_with(|first: char| first.is_ascii_digit() || first == '-'),
        Text => json.starts_with('"'),
        List(of) => serde_json::from_str::<Vec<Raw<'_>>>(json)
            .is_ok_and(|items| items.into_iter().all(|item| fits(item.get(), *of))),
        Shape::Object(members) => Object::parse(json).is_some_and(|object| {
            object.repeated().is_none()
                && object.iter().all(|(name, raw)| {
                    match members.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
                        Some((known, shape)) => *known == name && fits(raw.get(), *shape),
                        None => true,
                    }
                })
        }),
    }
}

/// The value in the shape as far as it can be meant so, with all else as it is written; `None` where it stays. A number that
/// is read and written anew may be another.
fn settled(raw: Raw<'_>, shape: Shape) -> Option<String> {
    match shape {
        Any => None,
        Input => unwrapped(raw).map(|one| one.get().to_owned()),
        Number => {
            let one = unwrapped(raw);
            let text = JsonString::of(one.unwrap_or(raw)).map(JsonString::decoded);
            let digits = text.filter(|text| text.len() < 10).and_then(|text| text.trim().parse::<u64>().ok());
            digits.map(|number| number.to_string()).or_else(|| one.map(|one| one.get().to_owned()))
        }
        Text if raw.get().starts_with(['[', '{']) => {
            let mut text = String::new();
            said(&serde_json::from_str(raw.get()).ok()?, &mut text);
            Some(quoted(&text))
        }
        Text => None,
        List(of) => match listed(raw) {
            Some(list) => {
                let settled = settled_items(serde_json::from_str(&list).ok()?, *of);
                Some(settled.unwrap_or(list))
            }
            None => settled_items(raw, *of),
        },
        Shape::Object(members) => match unwrapped(raw) {
            Some(one) => Some(settled_object(one, members).unwrap_or_else(|| one.get().to_owned())),
            None => settled_object(raw, members),
        },
    }
}

fn settled_items(list: Raw<'_>, of: Shape) -> Option<String> {
    let items = items(list)?;
    let new: Vec<Option<String>> = items.iter().map(|item| settled(item, of)).collect();
    if new.iter().all(Option::is_none) {
        return None;
    }
    let written = new.iter().zip(&items).map(|(new, item)| new.as_deref().unwrap_or_else(|| item.get()));
    Some(format!("[{}]", written.collect::<Vec<_>>().join(",")))
}

fn settled_object(raw: Raw<'_>, shapes: &[(&'static str, Shape)]) -> Option<String> {
    let object = Object::parse(raw.get())?;
    // The last of one name counts.
    let last: BTreeMap<&str, usize> =
        object.iter().enumerate().map(|(number, (name, _))| (name, number)).collect();
    let members = object.iter().enumerate().filter(|(number, (name, _))| last[name] == *number);
    let mut members: Vec<(&str, Raw<'_>)> = members.map(|(_, member)| member).collect();
    let mut has_changed = object.iter().count() != members.len();
    for (name, _) in shapes {
        has_changed |= rename(&mut members, name);
    }
    let mut out = Writer::new(raw.get().len() + 16);
    for (name, raw) in members {
        let shape = shapes.iter().find(|(known, _)| *known == name);
        let new = shape.and_then(|(_, shape)| settled(raw, *shape));
        has_changed |= out.changed(name, raw, new.as_deref());
    }
    has_changed.then(|| out.done())
}

/// Has the member under its name, where there only is one in other letters; whether that was so.
fn rename(members: &mut Vec<(&str, Raw<'_>)>, name: &'static str) -> bool {
    if members.iter().any(|(known, raw)| *known == name && !is_null(raw)) {
        return false;
    }
    let is_written = |(known, _): &(&str, Raw<'_>)| *known != name && known.eq_ignore_ascii_case(name);
    let Some(at) = members.iter().position(is_written) else { return false };
    let (_, raw) = members.remove(at);
    members.retain(|(known, _)| *known != name);
    members.insert(at.min(members.len()), (name, raw));
    true
}

/// So many lists around a value are taken off.
const MAX_LISTS: usize = 8;

/// A value out of a list that has no other; `None` where it is in none.
fn unwrapped(raw: Raw<'_>) -> Option<Raw<'_>> {
    let mut found = None;
    for _ in 0..MAX_LISTS {
        match items(found.unwrap_or(raw)).as_deref() {
            Some([one]) if !is_null(one) => found = Some(*one),
            _ => break,
        }
    }
    found
}

/// A list of an object that stands in its place, or that has its items by their numbers.
fn listed(raw: Raw<'_>) -> Option<String> {
    let object = Object::parse(raw.get())?;
    let numbered: Option<Vec<(usize, &str)>> =
        object.iter().map(|(name, raw)| Some((name.parse().ok()?, raw.get()))).collect();
    let Some(mut numbered) = numbered else { return Some(format!("[{}]", raw.get())) };
    numbered.sort_by_key(|(number, _)| *number);
    let items: Vec<&str> = numbered.into_iter().map(|(_, item)| item).collect();
    Some(format!("[{}]", items.join(",")))
}

/// All texts of a list or of a part.
fn said(value: &Value, text: &mut String) {
    match value {
        Value::String(one) => text.push_str(one),
        Value::Array(items) => items.iter().for_each(|item| said(item, text)),
        Value::Object(part) => {
            let inner = ["text", "value", "content"].iter().find_map(|name| part.get(*name));
            inner.into_iter().for_each(|it| said(it, text));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(shape: Shape, given: &str) -> Option<Value> {
        match Standard::new(shape).read(given) {
            Form::Other(other) => Some(serde_json::from_str(&other).expect("JSON")),
            Form::Known | Form::Right => None,
        }
    }

    /// Without it a text or a call is lost in an answer that looks complete.
    #[test]
    fn an_answer_is_brought_into_the_shape_of_its_protocol() {
        let choice = |message: Value| json!({"choices": [{"index": 0, "message": message}]});
        let call = json!({"id": "a", "function": {"name": "f", "arguments": "{}"}});
        for (given, expected) in [
            (r#"{"Choices":[{"index":0,"Message":{"CONTENT":"a"}}]}"#.to_owned(), choice(json!({"content": "a"}))),
            (r#"{"choices":{"index":"0","message":{"content":"a"}}}"#.to_owned(), choice(json!({"content": "a"}))),
            (r#"{"choices":{"0":[{"index":0,"message":{"content":"a"}}]}}"#.to_owned(), choice(json!({"content": "a"}))),
            (r#"{"choices":null,"choices":[{"index":0,"message":{"content":"a"}}]}"#.to_owned(), choice(json!({"content": "a"}))),
            (choice(json!({"tool_calls": {"0": {"id": "a", "function": {"name": ["f"], "arguments": ["{}"]}}}})).to_string(),
             choice(json!({"tool_calls": [call]}))),
        ] {
            assert_eq!(read(CHAT, &given), Some(expected), "{given}");
        }
        let google = |part: Value| json!({"candidates": [{"content": {"parts": [part]}}]});
        for (given, expected) in [
            (google(json!({"Text": "a"})), google(json!({"text": "a"}))),
            (google(json!({"text": [{"text": "a"}, "b"]})), google(json!({"text": "ab"}))),
            (
                google(json!([{"functionCall": [{"name": "f", "Args": [{"p": 1}]}]}])),
                google(json!({"functionCall": {"name": "f", "args": {"p": 1}}})),
            ),
        ] {
            assert_eq!(read(GOOGLE, &given.to_string()), Some(expected), "{given}");
        }
        for right in [
            choice(json!({"content": [{"type": "text", "text": "a"}], "tool_calls": [call], "Content-Filter": {}})).to_string(),
            json!({"error": {"message": "x"}}).to_string(),
            "no JSON".to_owned(),
            "[]".to_owned(),
        ] {
            assert!(read(CHAT, &right).is_none_or(|it| it == json!([])), "{right}");
        }
    }

    /// Without it a number of an input becomes another one, because something beside it is mended.
    #[test]
    fn what_has_its_shape_keeps_its_bytes() {
        let args =
            r#"{"id":123456789012345678901234567890,"price":1.10,"small":-9223372036854775809,"e":1E2}"#;
        for (shape, given) in [
            (MESSAGES, format!(r#"{{"Role":"assistant","content":[{{"type":"tool_use","input":{args}}}]}}"#)),
            (
                CHAT,
                format!(
                    r#"{{"choices":{{"message":{{"tool_calls":[{{"function":{{"arguments":[{args}]}}}}]}}}}}}"#
                ),
            ),
            (
                GOOGLE,
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":{{"functionCall":{{"Args":{args}}}}}}}}}]}}"#
                ),
            ),
        ] {
            let Form::Other(new) = Standard::new(shape).read(&given) else { panic!("{given}") };
            assert!(new.contains(args) && !new.contains(&format!("[{args}]")), "{new}");
        }
    }

    /// Without it every event of a stream is parsed once more.
    #[test]
    fn events_that_differ_in_texts_and_numbers_alone_look_alike() {
        let mut standard = Standard::new(MESSAGES);
        let delta = |index: u64, text: &str| {
            json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}).to_string()
        };
        assert_eq!(standard.read(&delta(0, "a")), Form::Right);
        assert_eq!(standard.read(&delta(12, "b \"c\" \u{1f600}\\")), Form::Known);
        assert_eq!(standard.read(&delta(0, "")), Form::Right);
        assert_eq!(
            standard.read(&delta(0, "a").replace("\"text\":", "\"Text\":")),
            Form::Other(delta(0, "a"))
        );
        for (one, other) in [
            ("{\"a\":1}", "{\"a\":null}"),
            ("{\"a\":1}", "{\"a\":\"1\"}"),
            ("{\"a\":\"1\"}", "{\"A\":\"1\"}"),
            ("{\"a\" : \"1\"}", "{\"A\" : \"1\"}"),
            ("{\"a\"\n:1}", "{\"A\"\n:1}"),
            ("{\"a\":\"1\"}", "{\"a\":\"1\",\"b\":2}"),
            ("{\"a\":\"1\"}", "{\"a\":\"1"),
        ] {
            assert!(!looks_alike(one, other), "{one} {other}");
        }
    }
}

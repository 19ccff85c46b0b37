//! Answers as values of JSON, before their protocol reads them: without words that are no JSON, each value by itself, out of the
//! envelope that its server puts around it, and in which protocol it speaks. Whatever else stands there is there for nobody.

use super::forms::{is_error, said};
use super::vendors;
use crate::json::{Object, Raw, Writer};

/// Words that some servers write where JSON has numbers, as Python's writer does for the odds of a token that cannot come. No reader of
/// JSON takes the answer with them.
const WORDS: [&str; 3] = ["-Infinity", "Infinity", "NaN"];

/// The JSON with `null` in the place of such words; `None` where it has no such word.
#[must_use]
pub fn without_number_words(json: &str) -> Option<String> {
    // One letter is found faster than a word, and most answers have neither.
    let has = |first: char, word: &str| json.contains(first) && json.contains(word);
    if !has('I', WORDS[1]) && !has('N', WORDS[2]) {
        return None;
    }
    let mut out = String::with_capacity(json.len());
    let (mut rest, mut has_changed) = (json, false);
    // Text is copied from one quotation mark to the next.
    while let Some(at) = rest.find(['"', '-', 'I', 'N']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let word = WORDS.iter().find(|word| rest.starts_with(**word));
        let length = match word {
            Some(word) => word.len(),
            None if rest.starts_with('"') => end_of_string(rest),
            None => 1,
        };
        has_changed |= word.is_some();
        out.push_str(if word.is_some() { "null" } else { &rest[..length] });
        rest = &rest[length..];
    }
    out.push_str(rest);
    has_changed.then_some(out)
}

/// Where a string ends that begins a text.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = true;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = !is_escaped && byte == b'\\';
        ends
    });
    end.map_or(text.len(), |end| end + 1)
}

/// Values behind one another. Parsers take none of it, though the answer is there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Values<'d> {
    pub(super) all: Vec<&'d str>,
    /// What stands behind them and is no whole value.
    pub(super) rest: &'d str,
}

/// Whether a body that begins with an object may be another than that one alone, by its braces.
fn may_be_several(body: &str) -> bool {
    let (mut open, mut before, mut is_followed) = (0_i64, 0, false);
    for byte in body.bytes() {
        match byte {
            b'{' => open += 1,
            b'}' => open -= 1,
            _ => {}
        }
        is_followed |= before == b'}' && matches!(byte, b'{' | b'\n');
        before = byte;
    }
    is_followed || open != 0 || !body.trim_end().ends_with('}')
}

/// The values of a body that begins with an object and is not that one alone.
pub(super) fn several(body: &str) -> Option<Values<'_>> {
    if !body.trim_start().starts_with('{') || !may_be_several(body) {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_str(body).into_iter::<Raw<'_>>();
    let (mut all, mut end) = (Vec::new(), 0);
    while let Some(Ok(value)) = stream.next() {
        if !value.get().starts_with('{') {
            break;
        }
        all.push(value.get());
        end = stream.byte_offset();
    }
    let rest = body[end..].trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    let is_other = all.len() > 1 || !all.is_empty() && body.trim_end().len() > end;
    is_other.then_some(Values { all, rest })
}

impl Values<'_> {
    /// Whether what stands behind them may be a part of the answer, or say that it failed.
    pub(super) fn is_cut(&self) -> bool {
        self.rest.starts_with(['{', '[']) && self.rest != "[DONE]"
    }
}

/// What servers put around a completion, as it is written.
const AROUND: [&str; 3] = ["\"result\"", "\"output\"", "\"response\""];
/// Where servers without choices have a message, or a piece of one.
const MESSAGES: [&str; 2] = ["delta", "message"];
/// Where they have a text.
const TEXTS: [&str; 5] = ["content", "response", "output_text", "generated_text", "text"];
/// What else such a server says of its answer.
const BESIDE: [&str; 4] = ["id", "created", "model", "usage"];

/// The completion or chunk; `None` where it stands at the top, or is something else. An event that says what it is, says so.
pub(super) fn lifted(json: &str) -> Option<String> {
    if json.contains("\"choices\"") && !AROUND.iter().any(|name| json.contains(name)) {
        return None;
    }
    let whole = Object::parse(json)?;
    let is_other = ["choices", "data", "type"].into_iter().any(|name| whole.get(name).is_some());
    if is_other || whole.get("error").is_some_and(is_error) {
        return None;
    }
    let mut out = Writer::new(json.len() + 64);
    let inner = |name: &&'static str| {
        let name = name.trim_matches('"');
        Some((name, whole.object(name).filter(|inner| inner.get("choices").is_some())?))
    };
    if let Some((around, inner)) = AROUND.iter().find_map(inner) {
        let own = inner.iter().filter(|(_, raw)| raw.get() != "null");
        let others = whole.iter().filter(|(name, _)| *name != around && inner.get(name).is_none());
        others.chain(own).for_each(|(name, raw)| out.member(name, raw.get()));
        return Some(out.done());
    }
    let text = TEXTS.iter().find_map(|name| whole.string(name).filter(|text| !text.is_empty()));
    let message =
        || MESSAGES.iter().find_map(|name| whole.get(name).filter(|raw| raw.get().starts_with('{')));
    let delta = match text {
        Some(text) => said(text.raw()),
        None => message()?.get().to_owned(),
    };
    let others = whole.iter().filter(|(name, _)| BESIDE.contains(name));
    others.for_each(|(name, raw)| out.member(name, raw.get()));
    out.member("choices", &format!("[{{\"index\":0,\"delta\":{delta}}}]"));
    Some(out.done())
}

/// Events that only a stream of messages has.
const EVENTS: [&str; 6] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
];

/// Whether an answer, or an event of one, of a provider that was asked in chat (`asked_chat`) or in Messages speaks chat; `None`
/// where it may speak either. What keeps to the protocol is known by a word.
#[must_use]
pub fn speaks_chat(data: &str, asked_chat: bool) -> Option<bool> {
    let has_choices = data.contains("\"choices\"");
    if !asked_chat && !has_choices && vendors::is_one(data) {
        return Some(true);
    }
    if has_choices == asked_chat {
        return (has_choices || data.contains("\"type\"")).then_some(asked_chat);
    }
    let whole = Object::parse(data)?;
    let kind = whole.text("type").unwrap_or_default();
    if EVENTS.contains(&&*kind) || kind == "message" && whole.get("content").is_some() {
        return Some(false);
    }
    let is_chat = whole.get("choices").is_some() && whole.get("content").is_none();
    is_chat.then_some(true)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Without it one token that cannot come, or a count that a server could not make, loses a whole answer.
    #[test]
    fn words_for_numbers_are_null_and_texts_stay() {
        for (json, expected) in [
            (r#"{"a":NaN,"b":[Infinity,-Infinity,1e400]}"#, Some(r#"{"a":null,"b":[null,null,1e400]}"#)),
            (r#"{"a": "NaN and \"-Infinity", "NaN": -1}"#, None),
            (r#"{"a":"\\","b":NaN}"#, Some(r#"{"a":"\\","b":null}"#)),
            ("{\"a\":\"\u{e9}\",\"b\":-Infinity}", Some("{\"a\":\"\u{e9}\",\"b\":null}")),
            (r#"{"a":"NaN"#, None),
            (r#"{"a":1}"#, None),
        ] {
            assert_eq!(without_number_words(json).as_deref(), expected, "{json}");
        }
    }

    /// Without it the second of two pieces is lost, or both.
    #[test]
    fn every_value_is_found_and_what_is_none() {
        for (data, expected) in [
            (r#"{"a":1}"#, None),
            ("{\"a\":1}\r\n", None),
            (r#"{"a":"}{"}"#, None),
            ("{\n\"a\": {}\n}", None),
            ("[DONE]", None),
            ("{\"a\"", None),
            (r#"{"a":1}{"b":2}"#, Some((vec![r#"{"a":1}"#, r#"{"b":2}"#], ""))),
            ("{\"a\":1}\n{\"b\":2}\n", Some((vec![r#"{"a":1}"#, r#"{"b":2}"#], ""))),
            (r#"{"a":1}[DONE]"#, Some((vec![r#"{"a":1}"#], "[DONE]"))),
            ("{\"a\":1}\0", Some((vec![r#"{"a":1}"#], ""))),
            (r#"{"a":1}{"b"#, Some((vec![r#"{"a":1}"#], r#"{"b"#))),
            (r#"{"a":1}}"#, Some((vec![r#"{"a":1}"#], "}"))),
            (r#"{"a":1} bye"#, Some((vec![r#"{"a":1}"#], "bye"))),
        ] {
            let expected = expected.map(|(all, rest)| Values { all, rest });
            assert_eq!(several(data), expected, "{data:?}");
        }
    }

    #[test]
    fn a_text_is_found_wherever_it_stands() {
        let chunk = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
        let text = chunk(json!({"role": "assistant", "content": "a"}));
        for (given, expected) in [
            (json!({"content": "a", "stop": false}), Some(text.clone())),
            (json!({"response": "a"}), Some(text.clone())),
            (json!({"delta": {"content": "a"}}), Some(chunk(json!({"content": "a"})))),
            (
                json!({"result": text, "success": true}),
                Some(json!({"choices": text["choices"], "success": true})),
            ),
            (
                json!({"output": text, "usage": {"total_tokens": 1}}),
                Some(json!({"choices": text["choices"], "usage": {"total_tokens": 1}})),
            ),
            (text.clone(), None),
            (json!({"data": text}), None),
            (json!({"type": "status", "content": "a"}), None),
            (json!({"content": "a", "error": {"message": "busy"}}), None),
            (json!({"message": "busy", "code": 500}), None),
            (json!({"content": ""}), None),
            (json!({}), None),
        ] {
            let found =
                lifted(&given.to_string()).map(|json| serde_json::from_str::<Value>(&json).expect("JSON"));
            assert_eq!(found, expected, "{given}");
        }
    }

    /// Without it a good answer is read by the wrong protocol, in which it says nothing.
    #[test]
    fn an_answer_tells_its_protocol() {
        for (data, asked_chat, expected) in [
            (r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#, true, Some(true)),
            (r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#, false, Some(true)),
            (r#"{"choices":[{"message":{"content":"a"}}],"type":"x"}"#, false, Some(true)),
            (r#"{"type":"message_start","message":{}}"#, true, Some(false)),
            (r#"{"type":"message_start","message":{}}"#, false, Some(false)),
            (r#"{"type":"message","content":[]}"#, true, Some(false)),
            (
                r#"{"type":"message","content":[{"type":"tool_use","input":{"choices":[]}}]}"#,
                false,
                Some(false),
            ),
            (r#"{"content":[{"input":{"choices":[]}}],"stop_reason":"tool_use"}"#, false, None),
            (r#"{"type":"ping"}"#, true, None),
            (r#"{"type":"error","error":{}}"#, true, None),
            (r#"{"candidates":[]}"#, true, None),
            (r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}"#, false, Some(true)),
            (r#"{"type":"message-start","delta":{}}"#, false, Some(true)),
            ("[DONE]", true, None),
            ("[DONE]", false, None),
        ] {
            assert_eq!(speaks_chat(data, asked_chat), expected, "{data}");
        }
    }
}

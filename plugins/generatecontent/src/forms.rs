//! Answers that no reader of Google's descriptions takes, in the form of those descriptions: both spellings of a name in one object,
//! a name twice, a value where a list of them stands, a number for a text. Only read where an answer cannot be read as it is; what
//! nobody can use is left out, so that nothing beside an answer fails it.

use serde_json::{Map, Value, json};

/// The answer in the standard form, JSON; `None` where it is no object.
pub(crate) fn standard(json: &str) -> Option<String> {
    let mut whole = match serde_json::from_str(json).ok()? {
        Value::Object(whole) => camel(whole),
        _ => return None,
    };
    texts(&mut whole, &["responseId"]);
    objects(&mut whole, &["promptFeedback", "usageMetadata"]);
    if let Some(Value::Object(feedback)) = whole.get_mut("promptFeedback") {
        *feedback = camel(std::mem::take(feedback));
        texts(feedback, &["blockReason"]);
    }
    if let Some(candidates) = whole.get_mut("candidates") {
        *candidates = listed(candidates.take(), candidate);
    }
    Some(Value::Object(whole).to_string())
}

fn candidate(value: Value) -> Option<Value> {
    let Value::Object(candidate) = value else { return None };
    let mut candidate = camel(candidate);
    texts(&mut candidate, &["finishReason"]);
    if let Some(content) = candidate.get_mut("content") {
        let parts = match content.take() {
            Value::Object(mut content) => content.remove("parts").unwrap_or_default(),
            parts => parts,
        };
        *content = json!({"parts": listed(parts, part)});
    }
    Some(Value::Object(candidate))
}

fn part(value: Value) -> Option<Value> {
    let part = match value {
        Value::Object(part) => part,
        Value::String(text) => return Some(json!({"text": text})),
        _ => return None,
    };
    let mut part = camel(part);
    texts(&mut part, &["text", "thoughtSignature"]);
    if let Some(thought) = part.get_mut("thought") {
        *thought = (*thought == json!(true) || *thought == json!("true")).into();
    }
    objects(&mut part, &["functionCall"]);
    if let Some(Value::Object(call)) = part.get_mut("functionCall") {
        texts(call, &["id", "name"]);
    }
    Some(Value::Object(part))
}

/// The members under Google's spelling of their names; that spelling wins.
fn camel(object: Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    let (plain, others): (Vec<_>, Vec<_>) = object.into_iter().partition(|(name, _)| !name.contains('_'));
    for (name, value) in plain.into_iter().chain(others) {
        let mut words = name.split('_');
        let mut own = words.next().unwrap_or_default().to_owned();
        for word in words {
            let mut letters = word.chars();
            own.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            own.extend(letters);
        }
        if all.get(&own).is_none_or(Value::is_null) {
            all.insert(own, value);
        }
    }
    all
}

/// The members of these names as texts; other types but numbers are left out.
fn texts(object: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        match object.get_mut(*name) {
            None | Some(Value::String(_)) => {}
            Some(number @ Value::Number(_)) => *number = Value::String(number.to_string()),
            Some(_) => _ = object.remove(*name),
        }
    }
}

/// The members of these names that are objects; the others are left out.
fn objects(object: &mut Map<String, Value>, names: &[&str]) {
    object.retain(|name, value| !names.contains(&name.as_str()) || value.is_object());
}

/// A list, or the one value in its place.
fn listed(value: Value, read: impl Fn(Value) -> Option<Value>) -> Value {
    let all = match value {
        Value::Array(all) => all,
        Value::Null => vec![],
        one => vec![one],
    };
    all.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it an answer that was paid is lost for a name or a type of something beside it.
    #[test]
    fn an_answer_is_read_whatever_stands_beside_it() {
        let text = json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]});
        for (given, expected) in [
            (r#"{"candidates":{"content":{"parts":{"text":"Hi"}}}}"#, text.clone()),
            (r#"{"candidates":[{"content":"Hi"},7]}"#, text.clone()),
            (r#"{"candidates":[{"content":{"parts":["Hi",null]}}]}"#, text.clone()),
            (r#"{"candidates":[{"content":[{"text":"Hi"}]}]}"#, text),
            (
                r#"{"candidates":[],"candidates":[{"finish_reason":"MAX_TOKENS","finishReason":"STOP","finish_message":1}]}"#,
                json!({"candidates": [{"finishReason": "STOP", "finishMessage": 1}]}),
            ),
            (
                r#"{"response_id":"a","responseId":null,"promptFeedback":"x","usage_metadata":[],"prompt_feedback":{"block_reason":4}}"#,
                json!({"responseId": "a"}),
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"thought":"true","text":1,"thoughtSignature":{},"function_call":{"id":7,"name":"f","args":{"a_b":1,"aB":2}}}]}}]}"#,
                json!({"candidates": [{"content": {"parts": [
                    {"thought": true, "text": "1", "functionCall": {"id": "7", "name": "f", "args": {"a_b": 1, "aB": 2}}},
                ]}}]}),
            ),
        ] {
            let read: Value = serde_json::from_str(&standard(given).expect("an object")).expect("JSON");
            assert_eq!(read, expected, "{given}");
        }
        assert_eq!(standard("[]"), None);
    }
}

//! JSON that a model did not write to its end, or not well: what can be kept of it.

use serde_json::value::RawValue;

use crate::incoming::without_halves;
use crate::json::quoted;

/// Where the text goes that is no part of an object.
const TEXT: &str = "arguments";

/// The arguments of a call as an object: the written one, or what can be kept of it. Such a call is in a client's history
/// for ever, so that it is never refused.
#[must_use]
pub fn object(written: &str) -> String {
    let text = written.trim();
    if text.is_empty() || text == "null" {
        return "{}".to_owned();
    }
    let mended = without_halves(text);
    let text = mended.as_deref().unwrap_or(text);
    let is_object = |json: &str| json.starts_with('{') && serde_json::from_str::<&RawValue>(json).is_ok();
    if is_object(text) {
        return text.to_owned();
    }
    // Some clients write the arguments as JSON of a text of JSON.
    if let Ok(inner) = serde_json::from_str::<String>(text)
        && is_object(inner.trim())
    {
        return inner.trim().to_owned();
    }
    match text.starts_with('{').then(|| closed(text)).filter(|json| is_object(json)) {
        Some(json) => json,
        None => format!("{{\"{TEXT}\":{}}}", quoted(text)),
    }
}

/// JSON up to where it still makes sense, closed there.
fn closed(text: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    // The longest beginning that can be closed, and the brackets that close it.
    let mut best = ("{".to_owned(), "}".to_owned());
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' => open.push(letter),
            '}' | ']' => {
                open.pop();
            }
            _ => {}
        }
        // A text may end anywhere; anything else only where a value has ended.
        let may_end = !is_escaped && (is_quoted || matches!(letter, '"' | '}' | ']' | '{' | '['));
        let is_last = end == text.len();
        if may_end && (is_last || !is_quoted) {
            let mut closing = String::from(if is_quoted { "\"" } else { "" });
            closing.extend(open.iter().rev().map(|bracket| if *bracket == '{' { '}' } else { ']' }));
            let candidate = format!("{}{closing}", &text[..end]);
            if serde_json::from_str::<&RawValue>(&candidate).is_ok() {
                best = (text[..end].to_owned(), closing);
            }
        } else if matches!(letter, ',') && !is_quoted {
            let closing: String =
                open.iter().rev().map(|bracket| if *bracket == '{' { '}' } else { ']' }).collect();
            best = (text[..at].to_owned(), closing);
        }
        if open.is_empty() {
            break;
        }
    }
    best.0 + &best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it one answer that was cut would make every further turn of its conversation a refusal.
    #[test]
    fn what_can_be_kept_is_kept() {
        for (written, kept) in [
            ("", "{}"),
            ("null", "{}"),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (r#"{"a": "b"#, r#"{"a": "b"}"#),
            (r#"{"a": "b", "c"#, r#"{"a": "b"}"#),
            (r#"{"a": "b", "c":"#, r#"{"a": "b"}"#),
            (r#"{"a": "b", "c": tr"#, r#"{"a": "b"}"#),
            (r#"{"a": 12"#, "{}"),
            (r#"{"a": [1, 2"#, r#"{"a": [1]}"#),
            (r#"{"a": {"b": "c"}, "d": [{"e": "f"#, r#"{"a": {"b": "c"}, "d": [{"e": "f"}]}"#),
            (r#"{"a": "b\"#, r#"{}"#),
            (r#"{"a": "b"} and more"#, r#"{"a": "b"}"#),
            ("{", "{}"),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            ("[1]", r#"{"arguments":"[1]"}"#),
            ("ls -l", r#"{"arguments":"ls -l"}"#),
        ] {
            assert_eq!(object(written), kept, "{written}");
        }
    }
}

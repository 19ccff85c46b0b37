//! JSON that a model did not write to its end, or not well: what can be kept of it.

use std::collections::VecDeque;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::halves::without_halves;
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
    let kept = || text.starts_with('{').then(|| closed(text)).flatten();
    match meant(text).or_else(kept) {
        // Where the text was cut may be within a character.
        Some(json) => without_halves(&json).unwrap_or(json),
        None => format!("{{\"{TEXT}\":{}}}", quoted(text)),
    }
}

/// The same of arguments that are no JSON, as a model leaves them that was cut off; `None` for others. Some servers read the arguments
/// of a history, and would refuse it on every further turn.
#[must_use]
pub fn kept(written: &str) -> Option<String> {
    let is_json = || serde_json::from_str::<IgnoredAny>(written).is_ok();
    (!written.trim().is_empty() && !is_json()).then(|| object(written))
}

/// The object that a text plainly means and loses nothing of: without the fence of Markdown around it, with the quotes, words
/// and commas of JSON, with the brackets that its end lacks. `None` where it is JSON already, or something is missing.
#[must_use]
pub fn meant(written: &str) -> Option<String> {
    read(written).map(|(json, _)| json)
}

/// The same, of a piece that ends where its object does: more may follow another.
#[must_use]
pub fn meant_by_piece(written: &str) -> Option<String> {
    read(written).filter(|(_, is_closed)| *is_closed).map(|(json, _)| json)
}

/// The object, and whether the text has closed all its brackets.
fn read(written: &str) -> Option<(String, bool)> {
    if serde_json::from_str::<&RawValue>(written).is_ok() {
        return None;
    }
    let mut text = written.trim();
    if text.starts_with('`') {
        text = text.get(text.find('{')?..)?.trim_end_matches('`').trim_end();
    }
    let mut reader = Reader { text, out: String::with_capacity(text.len() + 8), open: Vec::new() };
    text.starts_with('{').then(|| reader.object()).flatten()?;
    let Reader { mut out, open, .. } = reader;
    let is_closed = open.is_empty();
    out.extend(open.into_iter().rev());
    serde_json::from_str::<&RawValue>(&out).is_ok().then_some((out, is_closed))
}

/// Reads JSON as programs of other languages write it.
struct Reader<'t> {
    /// What is not read yet.
    text: &'t str,
    out: String,
    open: Vec<char>,
}

impl Reader<'_> {
    /// Reads one object; brackets behind it close nothing.
    fn object(&mut self) -> Option<()> {
        while let Some(letter) = self.text.chars().next() {
            match letter {
                '"' | '\'' => self.string(letter)?,
                '{' | '[' => {
                    self.open.push(if letter == '{' { '}' } else { ']' });
                    self.copy(letter);
                }
                '}' | ']' => {
                    self.without_comma();
                    self.open.pop().filter(|closing| *closing == letter)?;
                    self.copy(letter);
                    if self.open.is_empty() {
                        let rest = self.text.trim_start();
                        return rest.chars().all(|it| "}]` \r\n".contains(it)).then_some(());
                    }
                }
                _ if letter.is_ascii_alphabetic() || letter == '_' => self.word(),
                _ => self.copy(letter),
            }
        }
        // A value that has ended for sure: a number may have had more digits, and a comma another member.
        let ends = ["\"", "}", "]", "true", "false", "null"];
        ends.iter().any(|end| self.out.trim_end().ends_with(end)).then_some(())
    }

    fn copy(&mut self, letter: char) {
        self.out.push(letter);
        self.text = &self.text[letter.len_utf8()..];
    }

    /// Takes back a comma that nothing follows.
    fn without_comma(&mut self) {
        let end = self.out.trim_end().len();
        if self.out[..end].ends_with(',') {
            self.out.truncate(end - 1);
        }
    }

    /// A text in these quotes; its end must be there.
    fn string(&mut self, quote: char) -> Option<()> {
        let mut letters = self.text.char_indices().skip(1);
        self.out.push('"');
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.out.push('"');
                    self.text = &self.text[at + 1..];
                    return Some(());
                }
                '\\' => match letters.next()?.1 {
                    '\'' => self.out.push('\''),
                    escaped => self.out.extend(['\\', escaped]),
                },
                '"' => self.out.push_str("\\\""),
                letter if letter.is_control() => {
                    let escaped = quoted(letter.encode_utf8(&mut [0; 4]));
                    self.out.push_str(escaped.trim_matches('"'));
                }
                letter => self.out.push(letter),
            }
        }
        None
    }

    /// A name without quotes, or a constant in the words of Python.
    fn word(&mut self) {
        let end = self.text.find(|letter: char| !letter.is_ascii_alphanumeric() && !"_-.".contains(letter));
        let (word, rest) = self.text.split_at(end.unwrap_or(self.text.len()));
        let is_name = rest.trim_start().starts_with(':');
        self.text = rest;
        match word {
            _ if is_name => self.out.push_str(&quoted(word)),
            "True" => self.out.push_str("true"),
            "False" => self.out.push_str("false"),
            "None" | "NaN" | "undefined" => self.out.push_str("null"),
            word => self.out.push_str(word),
        }
    }
}

/// How many ends of a text are tried: each costs a look at all of it.
const MOST_ENDS: usize = 16;

/// Bytes of a letter by its number: `\u0041`.
const LONGEST_ESCAPE: usize = 6;

/// JSON up to where it still makes sense, closed there; `None` where it makes none near its end.
fn closed(text: &str) -> Option<String> {
    let mut open = 0_usize;
    let (mut is_quoted, mut is_escaped, mut escape) = (false, false, None);
    // Where a value has ended, the last ones: a text may end anywhere.
    let mut ends: VecDeque<usize> = VecDeque::with_capacity(MOST_ENDS + 1);
    for (at, letter) in text.char_indices() {
        let end = at + letter.len_utf8();
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => (is_escaped, escape) = (true, Some(at)),
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' => open += 1,
            '}' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        match letter {
            ',' if !is_quoted => ends.push_back(at),
            _ if is_escaped => {}
            '"' | '}' | ']' | '{' | '[' if !is_quoted => ends.push_back(end),
            _ => {}
        }
        if ends.len() > MOST_ENDS {
            ends.pop_front();
        }
        if open == 0 {
            break;
        }
    }
    if is_quoted {
        // An escape may lack its end, but none is longer than that of a number.
        ends.extend(escape.filter(|at| text.len() - at < LONGEST_ESCAPE));
        ends.push_back(text.len());
    }
    let candidates = ends.into_iter().rev().map(|end| format!("{}{}", &text[..end], closing(&text[..end])));
    candidates.into_iter().find(|json| serde_json::from_str::<&RawValue>(json).is_ok())
}

/// What closes all that is open at the end of a text.
fn closing(text: &str) -> String {
    let mut open = Vec::new();
    let (mut is_quoted, mut is_escaped) = (false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' => open.push('}'),
            '[' => open.push(']'),
            '}' | ']' => drop(open.pop()),
            _ => {}
        }
    }
    let quote = if is_quoted { "\"" } else { "" };
    quote.chars().chain(open.into_iter().rev()).collect()
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
            (r#"{"a": "b\"#, r#"{"a": "b"}"#),
            (r#"{"a": "b\u26"#, r#"{"a": "b"}"#),
            (r#"{"a": "b\n"#, r#"{"a": "b\n"}"#),
            (r#"{"a": "b\ud83d\ude0"#, r#"{"a": "b\ufffd"}"#),
            ("{\"a\": NaN, \"b\": 1}", r#"{"a": null, "b": 1}"#),
            (r#"{"a": "b"} and more"#, r#"{"a": "b"}"#),
            ("{", "{}"),
            (r#""{\"a\":1}""#, r#"{"a":1}"#),
            ("[1]", r#"{"arguments":"[1]"}"#),
            ("ls -l", r#"{"arguments":"ls -l"}"#),
            ("{'a': True}", r#"{"a": true}"#),
            (r#"{"a": 1} and more"#, r#"{"a": 1}"#),
        ] {
            assert_eq!(object(written), kept, "{written}");
        }
        for (written, expected) in [
            (r#"{"a": 1}"#, None),
            ("", None),
            ("[1]", None),
            (r#"{"a": "b"#, Some(r#"{"a": "b"}"#)),
            ("ls -l", Some(r#"{"arguments":"ls -l"}"#)),
        ] {
            assert_eq!(kept(written).as_deref(), expected, "{written}");
        }
    }

    /// Without it a tool is not called, or an answer fails, for a comma; where something is missing, nothing is made up.
    #[test]
    fn what_is_plainly_meant_is_read() {
        for (written, expected) in [
            (r#"{"a": 1}"#, None),
            ("```json\n{\"a\": 1}\n```", Some(r#"{"a": 1}"#)),
            ("`{\"a\": 1}`", Some(r#"{"a": 1}"#)),
            (
                "{'a': 'it\\'s \"b\"', 'c': True, 'd': None}",
                Some(r#"{"a": "it's \"b\"", "c": true, "d": null}"#),
            ),
            (r#"{"a": [1, 2,], }"#, Some(r#"{"a": [1, 2]}"#)),
            (r#"{a: "b", c_d: 1}"#, Some(r#"{"a": "b", "c_d": 1}"#)),
            ("{\"a\": \"one\ntwo\"}", Some(r#"{"a": "one\ntwo"}"#)),
            (r#"{"a": {"b": ["c""#, Some(r#"{"a": {"b": ["c"]}}"#)),
            (r#"{"a": 1}}"#, Some(r#"{"a": 1}"#)),
            (r#"{"a": "b"#, None),
            (r#"{"a": 12"#, None),
            (r#"{"a": "b","#, None),
            (r#"{"a": "b", "c""#, None),
            (r#"{"a":"#, None),
            (r#"{"a": tr"#, None),
            (r#"{"a": 1} {"b": 2}"#, None),
            ("{'a': 'it's'}", None),
            ("ls -l", None),
            ("", None),
            ("```", None),
        ] {
            assert_eq!(meant(written).as_deref(), expected, "{written}");
        }
        assert_eq!(meant_by_piece("{'a': 1}").as_deref(), Some(r#"{"a": 1}"#));
        assert_eq!(meant_by_piece(r#"{"a": {"b": ["c""#), None, "more may come");
    }
}

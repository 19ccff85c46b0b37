//! What a JSON text may hold beyond its grammar, for every listener that reads one. Readers differ in these: one takes what
//! another refuses, or reads another value.

use std::borrow::Cow;
use std::fmt::Write as _;

use thiserror::Error;

/// Arrays and objects that a text may have inside of each other. What reads JSON into trees follows 127.
const MAX_DEPTH: usize = 100;
/// Digits of the longest number below 2 to the power of 1024.
const MAX_DIGITS: usize = 309;
/// Fields of one object: all of them are in memory until it ends, and are sorted then.
const MAX_NAMES: usize = 10_000;
/// Values below a list that clients write for other programs, such as the input of a tool: models write them, and they come
/// back in every later request of a conversation.
const FREE: [&str; 4] = ["input", "input_schema", "parameters", "arguments"];
/// Bytes of a number, and characters of each name, that an error repeats.
const SHOWN: usize = 40;

/// Why a text is not read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnreadableJson {
    /// Half of a character that is written in two.
    #[error("expected whole characters in the names of fields, half of one stands in the name at byte {at}")]
    HalfName {
        /// Where the name begins.
        at: usize,
    },
    /// No reader has the number.
    #[error("expected numbers below 1.8e308, got {number} at byte {at}")]
    Number {
        /// As it is written, or its beginning.
        number: String,
        /// Where it begins.
        at: usize,
    },
    /// One reader takes the first of two values, another the last.
    #[error("{path}: expected one value, got the same field twice in an object")]
    Repeated {
        /// The field, such as `messages[0].role`.
        path: String,
    },
    /// What follows its tree later may recurse.
    #[error(
        "expected at most {MAX_DEPTH} arrays and objects inside of each other, one more begins at byte {at}"
    )]
    TooDeep {
        /// Where it begins.
        at: usize,
    },
    /// More than are compared with each other.
    #[error("expected at most {MAX_NAMES} fields in an object, one more begins at byte {at}")]
    TooManyNames {
        /// Where its name begins.
        at: usize,
    },
}

impl UnreadableJson {
    /// The field that it is about, where it is about one.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Repeated { path } => Some(path),
            _ => None,
        }
    }
}

/// Checks a text, in one pass. Its grammar is left to its reader.
///
/// # Errors
/// The first thing that not every reader takes.
pub fn check_json_text(text: &str) -> Result<(), UnreadableJson> {
    let bytes = text.as_bytes();
    let (mut at, mut open) = (0, Open::default());
    while let Some(byte) = bytes.get(at) {
        let from = at;
        at = match byte {
            b'"' => string_end(bytes, from),
            b'-' | b'0'..=b'9' => number_end(bytes, from),
            _ => from + 1,
        };
        match byte {
            b'[' | b'{' => open.begin(*byte == b'{', from)?,
            b']' | b'}' => open.end()?,
            b',' => open.next_item(),
            b'"' if is_name(bytes, at) && has_half(&bytes[from..at]) => {
                return Err(UnreadableJson::HalfName { at: from });
            }
            b'"' if is_name(bytes, at) => open.name(&text[from..at], from)?,
            b'-' | b'0'..=b'9' if is_too_large(&text[from..at]) => {
                let number = text[from..at].chars().take(SHOWN).collect();
                return Err(UnreadableJson::Number { number, at: from });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The arrays and objects around one place of a text.
#[derive(Default)]
struct Open<'a> {
    around: Vec<Container>,
    /// The names so far of each object among them, one object after the other.
    names: Vec<Cow<'a, str>>,
}

struct Container {
    is_object: bool,
    /// It is in a value that is not looked into for names that stand twice.
    is_free: bool,
    /// Of an object its first name among all names.
    first: usize,
    /// Of an array the number of the present item.
    item: usize,
}

impl<'a> Open<'a> {
    fn begin(&mut self, is_object: bool, at: usize) -> Result<(), UnreadableJson> {
        if self.around.len() == MAX_DEPTH {
            return Err(UnreadableJson::TooDeep { at });
        }
        let is_free = self.is_free();
        self.around.push(Container { is_object, is_free, first: self.names.len(), item: 0 });
        Ok(())
    }

    /// Whether a container that begins here is in one of [`FREE`].
    fn is_free(&self) -> bool {
        let Some(parent) = self.around.last() else { return false };
        let is_in_list = || self.around.iter().any(|container| !container.is_object);
        let name = self.names[parent.first..].last().filter(|_| parent.is_object);
        parent.is_free || (name.is_some_and(|name| FREE.contains(&&**name)) && is_in_list())
    }

    /// Looks for a name that stands twice, as soon as all of an object are there.
    fn end(&mut self) -> Result<(), UnreadableJson> {
        let Some(ended) = self.around.pop() else { return Ok(()) };
        if ended.is_free {
            self.names.truncate(ended.first);
            return Ok(());
        }
        let own = &mut self.names[ended.first..];
        own.sort_unstable();
        if let Some(pair) = own.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = pair[0].clone();
            let mut path = self.path(ended.first);
            if !path.is_empty() {
                path.push('.');
            }
            path.extend(name.chars().take(SHOWN));
            return Err(UnreadableJson::Repeated { path });
        }
        self.names.truncate(ended.first);
        Ok(())
    }

    fn next_item(&mut self) {
        if let Some(container) = self.around.last_mut() {
            container.item += 1;
        }
    }

    /// A name with its quotation marks.
    fn name(&mut self, quoted: &'a str, at: usize) -> Result<(), UnreadableJson> {
        let Some(object) = self.around.last().filter(|container| container.is_object) else { return Ok(()) };
        if self.names.len() - object.first == MAX_NAMES {
            return Err(UnreadableJson::TooManyNames { at });
        }
        let written = &quoted[1..quoted.len() - 1];
        // The reader refuses what cannot be decoded.
        let decoded = || serde_json::from_str(quoted).map_or_else(|_| written.into(), Cow::Owned);
        self.names.push(if written.contains('\\') { decoded() } else { written.into() });
        Ok(())
    }

    /// Where the containers stand that are still open, `behind` the names of which the one within begins.
    fn path(&self, behind: usize) -> String {
        let mut path = String::new();
        let firsts = self.around.iter().skip(1).map(|container| container.first).chain([behind]);
        for (container, behind) in self.around.iter().zip(firsts) {
            if !container.is_object {
                // A text takes whatever is written to it.
                let _ = write!(path, "[{}]", container.item);
            } else if let Some(name) = self.names[container.first..behind].last() {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.extend(name.chars().take(SHOWN));
            }
        }
        path
    }
}

/// Behind the quotation mark that ends the string.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn number_end(bytes: &[u8], from: usize) -> usize {
    let is_more = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
    from + bytes[from..].iter().take_while(|byte| is_more(byte)).count()
}

fn is_too_large(number: &str) -> bool {
    // Shorter ones without an exponent fit.
    (number.len() >= MAX_DIGITS || number.contains(['e', 'E'])) && number.parse().is_ok_and(f64::is_infinite)
}

/// Whether the string before is the name of a member.
fn is_name(bytes: &[u8], behind: usize) -> bool {
    bytes[behind..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':')
}

/// Whether a string has half of a character that is written in two.
fn has_half(string: &[u8]) -> bool {
    let unit = |at: usize| {
        let hex = string.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(str::from_utf8(hex).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(byte) = string.get(at) {
        at += match (byte, unit(at)) {
            (b'\\', Some(0xd800..=0xdbff)) => match unit(at + 6) {
                Some(0xdc00..=0xdfff) => 12,
                _ => return true,
            },
            (b'\\', Some(0xdc00..=0xdfff)) => return true,
            (b'\\', _) => 2,
            _ => 1,
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it whatever follows the tree of a body may be made to run out of stack.
    #[test]
    fn a_text_may_nest_as_deep_as_one_limit_says() {
        let nested = |depth: usize| {
            let (open, close): (String, String) =
                (0..depth).map(|level| if level % 2 == 0 { ("{\"a\":", '}') } else { ("[", ']') }).unzip();
            format!("{open}\"]]}}}}\\\"[[{{{{\"{}", close.chars().rev().collect::<String>())
        };
        let many = format!("{{\"a\":[{}]}}", "[[{}]],".repeat(1000).trim_end_matches(','));
        for text in [nested(1), nested(MAX_DEPTH), many] {
            assert_eq!(check_json_text(&text), Ok(()), "{text}");
        }
        for text in [nested(MAX_DEPTH + 1), nested(100_000), "[".repeat(100_000)] {
            assert!(matches!(check_json_text(&text), Err(UnreadableJson::TooDeep { .. })));
        }
    }

    /// Without it one reader takes what another refuses, and the error depends on who comes first.
    #[test]
    fn what_readers_differ_in_is_found_wherever_it_stands() {
        let digits = |count: usize| format!("[1{}]", "0".repeat(count));
        let names = |count: usize| (0..count).map(|at| format!("\"{at}\":1")).collect::<Vec<_>>().join(",");
        for good in [
            "",
            "{",
            "\"",
            "\"\\",
            "{\"a\": -0, \"b\": 1E2, \"c\": 1e-400, \"d\": 123456789012345678901234567890}",
            r#"{"\ud83d\ude00": "\ud800", "a\\ud800": 1}"#,
            r#"["\ud800", "1e400"]"#,
            "{\"a1e400\": 1e308}",
            &digits(308),
            &format!("[{{{0}}},{{{0}}}]", names(MAX_NAMES)),
            "[1e, -]",
            r#"[{"a": 1}, {"a": {"a": "a"}}, "a", ["a", "a"]]"#,
            r#"{"messages": [{"content": [{"input": {"a": 1, "a": [{"b": 1, "b": 2}]}, "type": "tool_use"}]}]}"#,
            r#"{"tools": [{"function": {"parameters": {"a": 1, "a": 2}}}, {"input_schema": {"a": 1, "a": 2}}]}"#,
            "{\"a\": 1, \"a\": 2",
            "[\"a\": 1, \"a\": 2]}]",
        ] {
            assert_eq!(check_json_text(good), Ok(()), "{good}");
        }
        for (bad, expected) in [
            ("{\"a\": [1e400]}", "got 1e400 at byte 7"),
            ("[-1E999]", "got -1E999 at byte 1"),
            (&digits(309), "got 1000000000000000000000000000000000000000 at byte 1"),
            (r#"{"a": {"\ud800x" : 1}}"#, "name at byte 7"),
            (r#"{"\ude00\ud83d": 1}"#, "name at byte 1"),
            (r#"{"\ud800\n": 1}"#, "name at byte 1"),
            (r#"{"a": 1, "b": 2, "a" : 1}"#, "a: expected one value, got the same field twice in an object"),
            (r#"{"a": [[], [0, {"b\"": {"c": [1, 2], "\u0063": 2}}]]}"#, "a[1][1].b\".c: expected one value"),
            (r#"[{"": 1, "": 2}]"#, "[0].: expected one value"),
            (r#"{"input": {"prompt": 1, "prompt": 2}}"#, "input.prompt: expected one value"),
            (r#"{"input": [{"role": 1, "role": 2}]}"#, "input[0].role: expected one value"),
            (r#"[{"input": {}, "input": {}}]"#, "[0].input: expected one value"),
            (r#"[{"input": {}, "a": {"b": 1, "b": 2}}]"#, "[0].a.b: expected one value"),
            (&format!("{{{}}}", names(MAX_NAMES + 1)), "expected at most 10000 fields in an object"),
        ] {
            let said = check_json_text(bad).unwrap_err().to_string();
            assert!(said.contains(expected), "{bad}: {said}");
        }
    }
}

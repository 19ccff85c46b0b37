//! What a JSON text may hold beyond its grammar, for every listener that reads one. Readers differ in these: one takes what
//! another refuses, or reads another value.

use thiserror::Error;

/// Arrays and objects that a text may have inside of each other. What reads JSON into trees follows 127.
const MAX_DEPTH: usize = 100;
/// Digits of the longest number below 2 to the power of 1024.
const MAX_DIGITS: usize = 309;
/// Bytes of a number that an error repeats.
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
    /// What follows its tree later may recurse.
    #[error(
        "expected at most {MAX_DEPTH} arrays and objects inside of each other, one more begins at byte {at}"
    )]
    TooDeep {
        /// Where it begins.
        at: usize,
    },
}

/// Checks a text, in one pass and without memory. Its grammar is left to its reader.
///
/// # Errors
/// The first thing that not every reader takes.
pub fn check_json_text(text: &str) -> Result<(), UnreadableJson> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        let from = at;
        at = match byte {
            b'"' => string_end(bytes, from),
            b'-' | b'0'..=b'9' => number_end(bytes, from),
            _ => from + 1,
        };
        match byte {
            b'[' | b'{' if depth == MAX_DEPTH => return Err(UnreadableJson::TooDeep { at: from }),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' if is_name(bytes, at) && has_half(&bytes[from..at]) => {
                return Err(UnreadableJson::HalfName { at: from });
            }
            b'-' | b'0'..=b'9' if is_too_large(&text[from..at]) => {
                let number = text[from..at].chars().take(SHOWN).collect();
                return Err(UnreadableJson::Number { number, at: from });
            }
            _ => {}
        }
    }
    Ok(())
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
            "[1e, -]",
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
        ] {
            let said = check_json_text(bad).unwrap_err().to_string();
            assert!(said.ends_with(expected), "{bad}: {said}");
        }
    }
}

//! Text of others without what controls a terminal, ends a line or turns the direction of a text.

use std::borrow::Cow;

/// Whether a character controls a terminal, ends a line or changes the direction of the text.
fn controls(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// JSON with the control characters of its texts escaped: JSON itself demands it below U+0020 only, and a terminal obeys
/// U+009B as it does the escape character. Lines and indents stay.
#[must_use]
pub fn escape_control_in_json(json: &str) -> Cow<'_, str> {
    let escapes = |c: char| controls(c) && !matches!(c, '\n' | '\t' | '\r');
    // All of them are in the plane that one escape can name.
    escaped(json, escapes, |c, shown| shown.push_str(&format!("\\u{:04x}", u32::from(c))))
}

/// `text` with its control characters escaped: a plugin's text must not begin a log line of its own nor control an
/// operator's terminal.
#[must_use]
pub fn escape_control(text: &str) -> Cow<'_, str> {
    escaped(text, controls, |c, shown| shown.extend(c.escape_default()))
}

fn escaped(text: &str, escapes: impl Fn(char) -> bool, write: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.chars().any(&escapes) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if escapes(c) { write(c, &mut shown) } else { shown.push(c) }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let check = |text, expected| assert_eq!(escape_control(text), expected);
        check("quiet \u{e9}", "quiet \u{e9}");
        check("a\r\n2026 ERROR b\u{1b}[2J\u{202e}", "a\\r\\n2026 ERROR b\\u{1b}[2J\\u{202e}");
    }

    #[test]
    fn control_characters_in_json_are_escaped_as_json() {
        let json = "{\n  \"name\": \"quiet \u{e9}\u{9b}2J\u{7f}\u{85}\u{202e}\u{2028}\\n\"\n}";
        let shown = escape_control_in_json(json);
        assert_eq!(shown, "{\n  \"name\": \"quiet \u{e9}\\u009b2J\\u007f\\u0085\\u202e\\u2028\\n\"\n}");
        assert!(matches!(escape_control_in_json("{\"a\": \"b\"}\n"), Cow::Borrowed(_)));
    }
}

//! Text for the person at the terminal: standard output and standard error. Logs are `telemetry`'s.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::exit::Exit;

/// Writes to standard output; a reader that went away ends the command.
pub(crate) fn print(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.is_ok() { Exit::Done } else { Exit::Broken }
}

/// Writes an error to standard error. A failure to write has no further reader, so it is ignored.
pub(crate) fn print_error(text: &str) {
    drop(writeln!(io::stderr().lock(), "gatehouse: {}", without_control(text, true)));
}

/// `text` with its control characters written out: what somebody called a key must not move the cursor, change a title or
/// hide a line. Ends of lines stay where `keeps_lines`.
pub(crate) fn without_control(text: &str, keeps_lines: bool) -> Cow<'_, str> {
    let is_plain = |c: char| {
        (keeps_lines && c == '\n')
            || !(c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
    };
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_plain(c) { shown.push(c) } else { shown.extend(c.escape_default()) }
    }
    Cow::Owned(shown)
}

/// A writer of text for people, without control characters but the ends of lines.
pub(crate) struct PlainText<'a>(pub(crate) &'a mut dyn Write);

impl Write for PlainText<'_> {
    /// Every piece of formatted text is whole characters.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(without_control(&text, true).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        for (text, expected) in [
            ("a key\nof 5 \u{20ac}", "a key\nof 5 \u{20ac}"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("a\rb\tc", "a\\rb\\tc"),
            ("\u{9b}2J \u{202e}x", "\\u{9b}2J \\u{202e}x"),
        ] {
            let mut out = Vec::new();
            write!(PlainText(&mut out), "{text}").unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
        assert_eq!(without_control("a\nb", false), "a\\nb");
    }
}

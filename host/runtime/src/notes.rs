//! What a plugin says while it runs (`log`, standard output and error): bounded, passed on to tracing, and
//! its last words kept for the fault that may follow.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use gatehouse_model::TaskId;

use crate::config::Limits;

/// Who is speaking: put on every line.
#[derive(Clone, Debug)]
pub(crate) struct Speaker {
    pub(crate) family: Arc<str>,
    pub(crate) version: Arc<str>,
    pub(crate) task: Option<TaskId>,
}

/// How loud a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

/// One call's log: at most so many lines of so many bytes.
#[derive(Debug)]
pub(crate) struct Notes {
    speaker: Speaker,
    lines_left: u32,
    line_bytes: usize,
    dropped: u64,
    /// The end of everything said at level error, lines joined.
    last_words: String,
    /// A line of standard output or error that has no end yet.
    open: String,
}

/// Enough of the last words to name a cause.
const LAST_WORDS: usize = 600;

impl Notes {
    pub(crate) fn new(speaker: Speaker, limits: &Limits) -> Self {
        Self {
            speaker,
            lines_left: limits.log_lines.get(),
            line_bytes: limits.log_line(),
            dropped: 0,
            last_words: String::new(),
            open: String::new(),
        }
    }

    /// One line through the `log` import.
    pub(crate) fn line(&mut self, level: Level, message: &str, fields: &[(String, String)]) {
        let message = &*visible(shorten(message, self.line_bytes));
        if level == Level::Error {
            self.remember(message);
        }
        if self.lines_left == 0 {
            self.dropped += 1;
            return;
        }
        self.lines_left -= 1;
        let message = shorten(message, self.line_bytes);
        let mut rest = String::new();
        for (name, value) in fields {
            let _ = write!(rest, "{}{name}={value}", if rest.is_empty() { "" } else { " " });
            if rest.len() > self.line_bytes {
                break;
            }
        }
        self.emit(level, message, shorten(&rest, self.line_bytes));
    }

    /// Bytes of standard output or error; whole lines are passed on.
    pub(crate) fn print(&mut self, level: Level, bytes: &[u8]) {
        for piece in String::from_utf8_lossy(bytes).split_inclusive('\n') {
            let room = self.line_bytes.saturating_sub(self.open.len());
            self.open.push_str(shorten(piece.trim_end_matches('\n'), room));
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.open);
                self.line(level, &line, &[]);
            }
        }
    }

    /// Ends the call's log; what the plugin said last if it was an error, for the fault.
    pub(crate) fn close(&mut self) -> Option<String> {
        if !self.open.is_empty() {
            let line = std::mem::take(&mut self.open);
            self.line(Level::Info, &line, &[]);
        }
        if self.dropped > 0 {
            let said = format!("{} more lines were dropped", self.dropped);
            self.emit(Level::Warn, &said, "");
            self.dropped = 0;
        }
        let words = std::mem::take(&mut self.last_words);
        (!words.is_empty()).then_some(words)
    }

    fn remember(&mut self, message: &str) {
        if !self.last_words.is_empty() {
            self.last_words.push_str("; ");
        }
        self.last_words.push_str(shorten(message, LAST_WORDS));
        let surplus = self.last_words.len().saturating_sub(LAST_WORDS);
        self.last_words.drain(..self.last_words.ceil_char_boundary(surplus));
    }

    fn emit(&self, level: Level, message: &str, fields: &str) {
        let Speaker { family, version, task } = &self.speaker;
        let task = task.map(|task| task.to_string());
        macro_rules! say {
            ($name:ident) => {
                tracing::$name!(target: "plugin", %family, %version, task, fields, "{message}")
            };
        }
        match level {
            Level::Error => say!(error),
            Level::Warn => say!(warn),
            Level::Info => say!(info),
            Level::Debug => say!(debug),
        }
    }
}

/// `text` with its control characters written out: a plugin's words may not begin a line of their own in the
/// log, nor steer the terminal of whoever reads it.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let is_plain =
        |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}');
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_plain(c) { shown.push(c) } else { shown.extend(c.escape_default()) }
    }
    Cow::Owned(shown)
}

/// The longest beginning of `text` that has at most `most` bytes and ends between characters.
pub(crate) fn shorten(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most.min(text.len()))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> Notes {
        let speaker = Speaker { family: "f".into(), version: "1.0.0".into(), task: None };
        Notes::new(speaker, &Limits::default())
    }

    #[test]
    fn text_is_cut_between_characters() {
        let check = |text, most, expected| assert_eq!(shorten(text, most), expected, "{text} {most}");
        check("abc", 5, "abc");
        check("abc", 2, "ab");
        check("a\u{e9}c", 2, "a");
        check("", 0, "");
    }

    #[test]
    fn control_characters_are_written_out() {
        let check = |text, expected| assert_eq!(visible(text), expected);
        check("quiet \u{e9}", "quiet \u{e9}");
        check("a\r\n2026 ERROR b\u{1b}[2J\u{202e}", "a\\r\\n2026 ERROR b\\u{1b}[2J\\u{202e}");
        let mut notes = notes();
        notes.line(Level::Error, "one\ntwo", &[]);
        assert_eq!(notes.close().as_deref(), Some("one\\ntwo"));
    }

    #[test]
    fn a_flood_is_cut_off_and_counted() {
        let mut notes = notes();
        for _ in 0..1000 {
            notes.line(Level::Info, &"x".repeat(10_000), &[("a".to_owned(), "b".repeat(10_000))]);
        }
        assert_eq!((notes.lines_left, notes.dropped), (0, 1000 - 64));
        assert_eq!(notes.close(), None);
    }

    #[test]
    fn the_last_error_is_remembered_even_when_the_budget_is_gone() {
        let mut notes = notes();
        for _ in 0..100 {
            notes.line(Level::Warn, "w", &[]);
        }
        notes.line(Level::Error, "at x.rs:1", &[]);
        notes.line(Level::Error, "cause", &[]);
        assert_eq!(notes.close().as_deref(), Some("at x.rs:1; cause"));
        notes.line(Level::Error, &"e".repeat(2000), &[]);
        notes.line(Level::Error, "end", &[]);
        let words = notes.close().unwrap();
        assert!(words.len() == LAST_WORDS && words.ends_with("e; end"), "{words}");
    }

    #[test]
    fn printed_bytes_become_lines() {
        let mut notes = notes();
        notes.print(Level::Error, b"one\ntw");
        assert_eq!((notes.lines_left, notes.open.as_str()), (63, "tw"));
        notes.print(Level::Error, &vec![b'z'; 100_000]);
        assert_eq!(notes.open.len(), 4096);
        notes.print(Level::Error, b"\n");
        assert_eq!((notes.lines_left, notes.open.as_str()), (62, ""));
        assert!(notes.close().unwrap().ends_with("zz"));
    }
}

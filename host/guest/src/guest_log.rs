//! The log of one call: the `log` import, standard output and standard error. Bounded in lines and bytes, passed on
//! to tracing; the end of its error lines is kept for the fault that may follow.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gatehouse_model::{TaskId, escape_control};
use tracing::Level;

use crate::guest::GuestLimits;

/// The fields of every line.
#[derive(Clone, Debug)]
pub struct LogSource {
    /// The plugin's family.
    pub family: Arc<str>,
    /// The plugin's version.
    pub version: Arc<str>,
    /// The task that the call is about, if it is about one.
    pub task: Option<TaskId>,
    /// Whether the call's answer is dropped, as in a rehearsal: every line is one for the plugin's author then.
    pub is_trial: bool,
}

/// One call's log.
#[derive(Debug)]
pub struct GuestLog {
    source: LogSource,
    lines_left: u32,
    line_bytes: usize,
    dropped: u64,
    /// The end of the error lines, joined.
    last_error: String,
    /// The unfinished line of standard output or error.
    partial_line: String,
}

/// Shared with the output streams, which live in the resource table.
pub(crate) type SharedGuestLog = Arc<Mutex<GuestLog>>;

pub(crate) fn lock(log: &SharedGuestLog) -> MutexGuard<'_, GuestLog> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enough of the error lines to name a cause.
const LAST_ERROR_BYTES: usize = 600;

impl GuestLog {
    pub(crate) fn new(source: LogSource, limits: &GuestLimits) -> Self {
        Self {
            source,
            lines_left: limits.log_lines,
            line_bytes: limits.log_line,
            dropped: 0,
            last_error: String::new(),
            partial_line: String::new(),
        }
    }

    /// One line through the `log` import.
    pub fn line(&mut self, level: Level, message: &str, fields: &[(String, String)]) {
        let message = &*escape_control(shorten(message, self.line_bytes));
        if level == Level::ERROR {
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

    /// What follows is about that task.
    pub fn about(&mut self, task: Option<TaskId>) {
        self.source.task = task;
    }

    /// Takes bytes of standard output or error and logs each whole line.
    pub(crate) fn print(&mut self, level: Level, bytes: &[u8]) {
        for piece in String::from_utf8_lossy(bytes).split_inclusive('\n') {
            let room = self.line_bytes.saturating_sub(self.partial_line.len());
            self.partial_line.push_str(shorten(piece.trim_end_matches('\n'), room));
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.partial_line);
                self.line(level, &line, &[]);
            }
        }
    }

    /// Ends the call's log; returns the last errors, for the fault.
    pub fn close(&mut self) -> Option<String> {
        if !self.partial_line.is_empty() {
            let line = std::mem::take(&mut self.partial_line);
            self.line(Level::INFO, &line, &[]);
        }
        if self.dropped > 0 {
            let message = format!("{} more lines were dropped", self.dropped);
            self.emit(Level::WARN, &message, "");
            self.dropped = 0;
        }
        let errors = std::mem::take(&mut self.last_error);
        (!errors.is_empty()).then_some(errors)
    }

    fn remember(&mut self, message: &str) {
        if !self.last_error.is_empty() {
            self.last_error.push_str("; ");
        }
        self.last_error.push_str(shorten(message, LAST_ERROR_BYTES));
        let surplus = self.last_error.len().saturating_sub(LAST_ERROR_BYTES);
        self.last_error.drain(..self.last_error.ceil_char_boundary(surplus));
    }

    /// The level of a line in the gateway's log.
    fn shown(&self, level: Level) -> Level {
        if self.source.is_trial { Level::DEBUG } else { level }
    }

    fn emit(&self, level: Level, message: &str, fields: &str) {
        let LogSource { family, version, task, .. } = &self.source;
        let task = task.map(|task| task.to_string());
        macro_rules! event {
            ($name:ident) => {
                tracing::$name!(target: "plugin", %family, %version, task, fields, "{message}")
            };
        }
        match self.shown(level) {
            Level::ERROR => event!(error),
            Level::WARN => event!(warn),
            Level::INFO => event!(info),
            _ => event!(debug),
        }
    }
}

/// The longest prefix of `text` that has at most `limit` bytes and ends between characters.
#[must_use]
pub fn shorten(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit.min(text.len()))]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: GuestLimits =
        GuestLimits { memory: 0, table_elements: 0, handles: 0, log_lines: 64, log_line: 4096 };

    fn log() -> GuestLog {
        let source = LogSource { family: "f".into(), version: "1.0.0".into(), task: None, is_trial: false };
        GuestLog::new(source, &LIMITS)
    }

    /// A rehearsal with the states of live tasks would fill the log with errors of tasks that go on as ever.
    #[test]
    fn lines_of_a_trial_are_for_the_plugins_author() {
        let mut log = log();
        assert_eq!(log.shown(Level::ERROR), Level::ERROR);
        log.source.is_trial = true;
        assert_eq!(log.shown(Level::ERROR), Level::DEBUG);
        log.line(Level::ERROR, "no such model", &[]);
        assert_eq!(log.close().as_deref(), Some("no such model"), "the fault names it all the same");
    }

    #[test]
    fn text_is_cut_between_characters() {
        let check = |text, limit, expected| assert_eq!(shorten(text, limit), expected, "{text} {limit}");
        check("abc", 5, "abc");
        check("abc", 2, "ab");
        check("a\u{e9}c", 2, "a");
        check("", 0, "");
    }

    #[test]
    fn a_line_stays_one() {
        let mut log = log();
        log.line(Level::ERROR, "one\ntwo", &[]);
        assert_eq!(log.close().as_deref(), Some("one\\ntwo"));
    }

    #[test]
    fn lines_over_the_limit_are_dropped_and_counted() {
        let mut log = log();
        for _ in 0..1000 {
            log.line(Level::INFO, &"x".repeat(10_000), &[("a".to_owned(), "b".repeat(10_000))]);
        }
        assert_eq!((log.lines_left, log.dropped), (0, 1000 - 64));
        assert_eq!(log.close(), None);
    }

    #[test]
    fn the_last_errors_are_kept_after_the_line_limit() {
        let mut log = log();
        for _ in 0..100 {
            log.line(Level::WARN, "w", &[]);
        }
        log.line(Level::ERROR, "at x.rs:1", &[]);
        log.line(Level::ERROR, "cause", &[]);
        assert_eq!(log.close().as_deref(), Some("at x.rs:1; cause"));
        log.line(Level::ERROR, &"e".repeat(2000), &[]);
        log.line(Level::ERROR, "end", &[]);
        let errors = log.close().unwrap();
        assert!(errors.len() == LAST_ERROR_BYTES && errors.ends_with("e; end"), "{errors}");
    }

    #[test]
    fn printed_bytes_become_lines() {
        let mut log = log();
        log.print(Level::ERROR, b"one\ntw");
        assert_eq!((log.lines_left, log.partial_line.as_str()), (63, "tw"));
        log.print(Level::ERROR, &vec![b'z'; 100_000]);
        assert_eq!(log.partial_line.len(), 4096);
        log.print(Level::ERROR, b"\n");
        assert_eq!((log.lines_left, log.partial_line.as_str()), (62, ""));
        assert!(log.close().unwrap().ends_with("zz"));
    }
}

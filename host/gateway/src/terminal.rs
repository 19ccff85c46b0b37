//! What a command tells those who started it: text on standard output and standard error, and the exit code. What logs say is
//! `gatehouse-process`'s.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process::ExitCode;

use gatehouse_model::escape_control;
use gatehouse_store::OpenError;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The command was refused, or the doctor found something.
    Refused = 1,
    /// An error on the command line or in the configuration.
    Misconfigured = 2,
    /// The store failed.
    Store = 3,
    /// A part of the gateway could not start, or ended by itself.
    Broken = 4,
}

impl From<&OpenError> for Exit {
    /// Why a store was not opened.
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::Database { passes: false, .. } => Self::Misconfigured,
            OpenError::Locked { .. } | OpenError::Taken { .. } | OpenError::Leased { .. } => Self::Refused,
            _ => Self::Store,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Writes text for people to standard output; a reader that went away ends the command. What it quotes of a
/// file, a package, a registry or a server does nothing to the terminal.
pub(crate) fn print(text: &str) -> Exit {
    print_as_it_is(&plain_lines(text))
}

/// Writes text exactly as it is, for programs: whatever of it comes from elsewhere is escaped already.
pub(crate) fn print_as_it_is(text: &str) -> Exit {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if written.is_ok() { Exit::Done } else { Exit::Broken }
}

/// Writes an error to standard error. A failure to write has no further reader, so it is ignored.
pub(crate) fn print_error(text: &str) {
    drop(writeln!(io::stderr().lock(), "gatehouse: {}", plain_lines(text)));
}

/// An error with the file that it is about.
pub(crate) fn at<E: Display>(path: &Path) -> impl Fn(E) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// Ends a command that cannot go on: says why.
pub(crate) fn fail(exit: Exit, why: impl Display) -> Exit {
    print_error(&why.to_string());
    exit
}

/// Ends a command with the text that it came to, or with `failed`.
pub(crate) fn end(done: Result<String, impl Display>, failed: Exit) -> Exit {
    done.map_or_else(|why| fail(failed, why), |text| print(&text))
}

/// Writes how far a command is over what it wrote of that before; nothing where nobody sits before the terminal. An empty
/// text takes it away.
pub(crate) fn show_progress(text: &str) {
    let mut out = io::stderr().lock();
    if out.is_terminal() {
        drop(write!(out, "\r\x1b[K{}", escape_control(text)).and_then(|()| out.flush()));
    }
}

/// `text` with the control characters of its lines written out: the name of a key must not move the cursor, change a title
/// or hide a line.
fn plain_lines(text: &str) -> String {
    text.split('\n').map(escape_control).collect::<Vec<_>>().join("\n")
}

/// A writer of text for people, without control characters but the ends of lines.
pub(crate) struct PlainText<'a>(pub(crate) &'a mut dyn Write);

impl Write for PlainText<'_> {
    /// Every piece of formatted text is whole characters.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        self.0.write_all(plain_lines(&text).as_bytes())?;
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
            ("\u{9b}2J \u{202e}x\u{2066}", "\\u{9b}2J \\u{202e}x\\u{2066}"),
        ] {
            let mut out = Vec::new();
            write!(PlainText(&mut out), "{text}").unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}

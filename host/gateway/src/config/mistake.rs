//! A configuration mistake as an operator reads it: where, what, and the remedy.

use std::fmt;
use std::ops::Range;

use super::remedy;

/// Where a wrong value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A place in the file.
    Text {
        /// The file.
        name: String,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The line's text.
        shown: String,
    },
    /// An environment variable.
    Variable(String),
    /// The file does not speak of it.
    Absent(String),
}

/// One mistake in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Mistake {
    /// Boxed: a mistake travels through many results.
    origin: Box<Origin>,
    key: String,
    what: String,
    remedy: String,
}

impl Origin {
    /// The place of a byte range in `text`.
    pub(super) fn in_text(name: &str, text: &str, span: Range<usize>) -> Self {
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let shown = text[line_start..].lines().next().unwrap_or_default();
        Self::Text {
            name: name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            shown: shown.to_owned(),
        }
    }

    /// The same place without the value, where the value or its line speaks of a secret.
    fn hidden(self, path: &str) -> Self {
        match self {
            Self::Text { name, line, column, shown }
                if remedy::touches_secret(&format!("{path} {shown}")) =>
            {
                let key = shown.split('=').next().unwrap_or_default().trim_end();
                Self::Text { name, line, column, shown: format!("{key} = (hidden)") }
            }
            other => other,
        }
    }
}

impl Mistake {
    /// From a parser's message. One about a secret is replaced whole: it may quote it.
    pub(super) fn from_parser(origin: Origin, path: &str, message: &str) -> Self {
        let (what, remedy) = remedy::advise(path, message);
        Self { origin: Box::new(origin.hidden(path)), key: path.to_owned(), what, remedy }
    }

    /// From the message of a room, which knows what it expects and never quotes a secret. What follows its
    /// semicolon is the remedy.
    pub(super) fn from_room(origin: Origin, path: &str, message: &str) -> Self {
        let (what, remedy) = match message.split_once("; ") {
            Some((what, remedy)) => (what.to_owned(), remedy.to_owned()),
            None => (message.to_owned(), format!("correct the value; {}", remedy::GUIDE)),
        };
        Self { origin: Box::new(origin.hidden(path)), key: path.to_owned(), what, remedy }
    }

    /// A file that cannot be read, and the like.
    pub(super) fn of_file(name: &str, what: String, remedy: &str) -> Self {
        let origin = Box::new(Origin::Absent(name.to_owned()));
        Self { origin, key: String::new(), what, remedy: remedy.to_owned() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        match self.origin.as_ref() {
            Origin::Text { name, line, column, shown } => {
                let (margin, gap) = (line.to_string(), " ".repeat(column.saturating_sub(1)));
                let blank = " ".repeat(margin.len());
                writeln!(f, "{name}:{line}:{column}: {key}{}", self.what)?;
                writeln!(f, "  {margin} | {shown}")?;
                writeln!(f, "  {blank} | {gap}^")?;
            }
            Origin::Variable(variable) => writeln!(f, "environment variable {variable}: {key}{}", self.what)?,
            Origin::Absent(name) => writeln!(f, "{name}: {key}{}", self.what)?,
        }
        write!(f, "  remedy: {}", self.remedy)
    }
}

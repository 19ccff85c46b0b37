//! An error in the configuration, as text for the operator: the line, the problem, and the remedy.

use std::fmt;
use std::ops::Range;

use super::remedy;

/// The origin of a wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A position in the file.
    Text {
        /// The file.
        name: String,
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// The line's text.
        source_line: String,
    },
    /// An environment variable.
    Variable(String),
    /// The value is not in the file.
    Absent(String),
}

/// One error in the configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) struct ConfigError {
    /// Boxed, so that results stay small.
    origin: Box<Origin>,
    key: String,
    problem: String,
    remedy: String,
}

/// Every error found in the configuration, in the order of the file; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Nothing is wrong without an error.
    pub(crate) fn check(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self::from(errors)) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.0.iter()
    }
}

impl From<Vec<ConfigError>> for ConfigErrors {
    fn from(mut errors: Vec<ConfigError>) -> Self {
        errors.sort_by_key(ConfigError::line);
        errors.dedup();
        Self(errors)
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, error) in self.0.iter().enumerate() {
            let gap = if at == 0 { "" } else { "\n" };
            write!(f, "{gap}{error}")?;
        }
        Ok(())
    }
}

impl Origin {
    /// The position of a byte range in `text`.
    pub(super) fn in_text(name: &str, text: &str, span: Range<usize>) -> Self {
        let mut start = span.start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let source_line = text[line_start..].lines().next().unwrap_or_default();
        Self::Text {
            name: name.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            source_line: source_line.to_owned(),
        }
    }

    /// The same origin without the value, where the path or the line mentions a secret.
    fn hidden(self, path: &str) -> Self {
        match self {
            Self::Text { name, line, column, source_line }
                if remedy::touches_secret(&format!("{path} {source_line}")) =>
            {
                let key = source_line.split('=').next().unwrap_or_default().trim_end();
                Self::Text { name, line, column, source_line: format!("{key} = (hidden)") }
            }
            other => other,
        }
    }
}

impl ConfigError {
    /// Whether another error is the same, on whatever line.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        (&self.key, &self.problem) == (&other.key, &other.problem)
    }

    /// From a parser's message. A message about a secret is replaced whole, because it may quote the secret.
    pub(super) fn from_parser(origin: Origin, path: &str, message: &str) -> Self {
        let (problem, remedy) = remedy::advise(path, message);
        Self { origin: Box::new(origin.hidden(path)), key: path.to_owned(), problem, remedy }
    }

    /// From a service's message, which never quotes a secret. The text after its semicolon is the remedy.
    pub(super) fn from_service(origin: Origin, path: &str, message: &str) -> Self {
        let (problem, remedy) = match message.split_once("; ") {
            Some((problem, remedy)) => (problem.to_owned(), remedy.to_owned()),
            None => (message.to_owned(), format!("correct the value; {}", remedy::GUIDE)),
        };
        Self { origin: Box::new(origin.hidden(path)), key: path.to_owned(), problem, remedy }
    }

    /// On one line, for the log.
    #[must_use]
    pub(crate) fn short(&self) -> String {
        let at = match self.origin.as_ref() {
            Origin::Text { name, line, .. } => format!("{name}:{line}"),
            Origin::Variable(variable) => format!("environment variable {variable}"),
            Origin::Absent(name) => name.clone(),
        };
        format!("{at}: {}: {}; {}", self.key, self.problem, self.remedy)
    }

    /// Whether it is about the file of that name.
    pub(super) fn is_in(&self, file: &str) -> bool {
        match self.origin.as_ref() {
            Origin::Text { name, .. } | Origin::Absent(name) => name == file,
            Origin::Variable(_) => false,
        }
    }

    fn line(&self) -> usize {
        match *self.origin {
            Origin::Text { line, .. } => line,
            // After the errors that have a line.
            Origin::Variable(_) | Origin::Absent(_) => usize::MAX,
        }
    }

    /// About a file as a whole.
    pub(super) fn of_file(name: &str, problem: String, remedy: &str) -> Self {
        let origin = Box::new(Origin::Absent(name.to_owned()));
        Self { origin, key: String::new(), problem, remedy: remedy.to_owned() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        match self.origin.as_ref() {
            Origin::Text { name, line, column, source_line } => {
                let (margin, gap) = (line.to_string(), " ".repeat(column.saturating_sub(1)));
                let blank = " ".repeat(margin.len());
                writeln!(f, "{name}:{line}:{column}: {key}{}", self.problem)?;
                writeln!(f, "  {margin} | {source_line}")?;
                writeln!(f, "  {blank} | {gap}^")?;
            }
            Origin::Variable(variable) => {
                writeln!(f, "environment variable {variable}: {key}{}", self.problem)?;
            }
            Origin::Absent(name) => writeln!(f, "{name}: {key}{}", self.problem)?,
        }
        write!(f, "  remedy: {}", self.remedy)
    }
}

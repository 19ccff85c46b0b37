//! An error in the configuration, as text for the operator: the line, the problem, and the remedy, which follows from the parser's
//! message.

use std::fmt;
use std::ops::Range;

use gatehouse_admin::nearest;

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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
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

    /// The file and the line, or the variable.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Text { name, line, .. } => format!("{name}:{line}"),
            Self::Variable(variable) => format!("environment variable {variable}"),
            Self::Absent(name) => name.clone(),
        }
    }

    /// The same origin without the value, where the path or the line mentions a secret.
    fn hidden(self, path: &str) -> Self {
        match self {
            Self::Text { name, line, column, source_line }
                if touches_secret(&format!("{path} {source_line}")) =>
            {
                // What stands before a `=` may be the secret, too.
                Self::Text { name, line, column, source_line: "(hidden)".to_owned() }
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
        let (problem, remedy) = advise(path, message);
        let origin = origin.hidden(if is_reference(path, message) { "secret" } else { path });
        Self { origin: Box::new(origin), key: shown_path(path, message).to_owned(), problem, remedy }
    }

    /// From the parser, of a text that is not TOML. Only the table around the line tells what the line may hold.
    pub(super) fn of_syntax(name: &str, text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        let around = around(text, span.start);
        let (problem, remedy) = advise("", error.message());
        let origin = Origin::in_text(name, text, span).hidden(&around);
        Self { origin: Box::new(origin), key: String::new(), problem, remedy }
    }

    /// From a service's message, which quotes no secret, except in an address. The text after its semicolon is the remedy.
    pub(super) fn from_service(origin: Origin, path: &str, message: &str) -> Self {
        let message = without_login(message);
        let (problem, remedy) = match message.split_once("; ") {
            Some((problem, remedy)) => (problem.to_owned(), remedy.to_owned()),
            None => (message.to_owned(), format!("correct the value; {GUIDE}")),
        };
        Self { origin: Box::new(origin.hidden(path)), key: path.to_owned(), problem, remedy }
    }

    /// On one line, for the log.
    pub(crate) fn short(&self) -> String {
        format!("{}: {}: {}; {}", self.origin.place(), self.key, self.problem, self.remedy)
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
            other => writeln!(f, "{}: {key}{}", other.place(), self.problem)?,
        }
        write!(f, "  remedy: {}", self.remedy)
    }
}

/// The document that explains every key.
pub(super) const GUIDE: &str = "every key is explained in gatehouse.example.toml";

/// The line at a position, with the table that it is in and the lines above it by which its value begins, without quotes and spaces.
fn around(text: &str, position: usize) -> String {
    let (mut table, mut end) = ("", 0);
    let mut open: Vec<&str> = Vec::new();
    for whole in text.split_inclusive('\n') {
        end += whole.len();
        let line = whole.trim();
        if let Some(header) = line.strip_prefix('[') {
            table = header.trim_start_matches('[').split(']').next().unwrap_or_default().trim();
        }
        if end > position || end == text.len() {
            let around = format!("{table}.{} {table}.{line}", open.concat());
            // A key begins after a brace or a comma, too.
            return around.replace(['"', '\'', ' ', '\t'], "").replace(['{', ','], ".");
        }
        if line.starts_with('[') {
            open.clear();
        }
        let without_comment = line.split('#').next().unwrap_or_default();
        for bracket in without_comment.matches(['{', '[', '}', ']']) {
            if matches!(bracket, "{" | "[") {
                open.push(line);
            } else {
                open.pop();
            }
        }
        if ["\"\"\"", "'''"].iter().any(|quotes| !line.matches(*quotes).count().is_multiple_of(2)) {
            open.push(line);
        }
    }
    String::new()
}

/// Names of references and of tables that hold some, and names that secrets have elsewhere.
const SECRETS: [&str; 12] = [
    "secret",
    "token",
    "password",
    "api_key",
    "apikey",
    "authorization",
    "key_id",
    "eab_hmac",
    "proxy_login",
    ".accounts",
    ".headers",
    ".query",
];

/// Whether a path or a line mentions a value that must not be shown.
pub(super) fn touches_secret(text: &str) -> bool {
    // An address, not a token.
    let text = text.to_lowercase().replace("token_url", "");
    SECRETS.iter().any(|word| text.contains(word)) || has_password(&text)
}

/// Whether it mentions an address with a user and a password, whatever letters these have.
pub(super) fn has_password(text: &str) -> bool {
    let rests = text.split("://").skip(1);
    rests.filter_map(|rest| rest.rsplit_once('@')).any(|(user, _)| user.contains(':'))
}

/// The same message, unless it quotes an address with a user and a password.
fn without_login(message: &str) -> &str {
    if has_password(message) { "expected another address, without a user and a password" } else { message }
}

/// The problem with the value at `path`, and its remedy, from a parser's message.
pub(super) fn advise(path: &str, message: &str) -> (String, String) {
    if is_reference(path, message) || path.rsplit('.').next().is_some_and(touches_secret) {
        let problem = "a secret is never written into the configuration itself".to_owned();
        let remedy = "write a reference: { env = \"VARIABLE\" } or { file = \"/path/to/file\" }".to_owned();
        return (problem, remedy);
    }
    let message = without_login(message);
    let message = &if touches_secret(path) { without_value(message) } else { message.to_owned() };
    if let Some(known) =
        quoted_after(message, "unknown field `").or_else(|| quoted_after(message, "unknown variant `"))
    {
        return unknown(message, &known);
    }
    if let Some(missing) = quoted_after(message, "missing field `") {
        return (format!("`{missing}` is missing"), format!("add `{missing} = ...`; {GUIDE}"));
    }
    if let Some(rest) = message.strip_prefix("invalid type: ") {
        return (format!("wrong type: {rest}"), retype(rest));
    }
    if message.contains("duplicate key") {
        return (message.to_owned(), "keep one of the two".to_owned());
    }
    if path.is_empty() {
        let remedy = "check the quotes, brackets and `=` of this line; strings need double quotes";
        return (message.to_owned(), remedy.to_owned());
    }
    (message.to_owned(), format!("correct the value; {GUIDE}"))
}

/// Whether it is about a reference to a secret, whatever the name of its field is.
fn is_reference(path: &str, message: &str) -> bool {
    message.contains("expected `env` or `file`") || path.starts_with("traces.headers.")
}

/// The path without what stands where `env` or `file` should: it may be the secret.
fn shown_path<'a>(path: &'a str, message: &str) -> &'a str {
    let unknown = message.strip_prefix("unknown variant `").and_then(|rest| rest.rsplit_once("`, expected "));
    let unknown = unknown.filter(|_| is_reference(path, message));
    unknown
        .and_then(|(unknown, _)| path.strip_suffix(unknown))
        .map_or(path, |rest| rest.trim_end_matches('.'))
}

/// The same message without the value that it quotes.
fn without_value(message: &str) -> String {
    match message.rsplit_once(", expected ") {
        Some((got, expected)) if got.starts_with("invalid ") => {
            let kind = got.split(['"', '`']).next().unwrap_or(got).trim_end();
            format!("{kind}, expected {expected}")
        }
        _ => message.to_owned(),
    }
}

fn unknown(message: &str, word: &str) -> (String, String) {
    let kind = if message.starts_with("unknown field") { "key" } else { "value" };
    let problem = format!("unknown {kind} `{word}`");
    let known: Vec<&str> = message.split_once(", expected").map_or(vec![], |(_, rest)| backticked(rest));
    let remedy = match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if !known.is_empty() => format!("known here: {}", known.join(", ")),
        None => "remove it".to_owned(),
    };
    (problem, remedy)
}

fn retype(rest: &str) -> String {
    let (got, expected) = rest.split_once(", expected ").unwrap_or((rest, ""));
    let number = expected.starts_with(['u', 'i', 'f']) || expected.contains("integer");
    if got.starts_with("string") && (number || expected.contains("bool")) {
        return "write it without quotes".to_owned();
    }
    if !got.starts_with("string") && (expected.contains("string") || expected.contains("as text")) {
        return "write it in double quotes".to_owned();
    }
    if expected.contains("sequence") {
        return "write a list: [ ... ]".to_owned();
    }
    if expected.starts_with("struct") || expected.contains("map") {
        return "write a table: { key = value }".to_owned();
    }
    format!("correct the value; {GUIDE}")
}

fn quoted_after(message: &str, lead: &str) -> Option<String> {
    let rest = message.strip_prefix(lead)?;
    rest.split_once('`').map(|(word, _)| word.to_owned())
}

fn backticked(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_key_where_there_are_none_is_to_be_removed() {
        assert_eq!(super::advise("a", "unknown field `b`, there are no fields").1, "remove it");
    }
}

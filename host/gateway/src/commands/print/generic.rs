//! What a command shows: the API's JSON as it is, and the same for people, in a table or line by line. Which fields a command
//! shows, and in which order, is a list of texts: `head=path|empty`, of which only the path in the JSON must be there.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use gatehouse_model::{Credits, escape_control, escape_control_in_json};
use serde_json::Value;

use crate::terminal::{Exit, PlainText};

/// Amounts are told in credits for people, and in millionths in JSON.
const MICRO: &str = "_micro";

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Shown {
    /// For programs.
    pub(crate) json: Value,
    /// For people.
    pub(crate) text: String,
    pub(crate) exit: Exit,
}

impl Shown {
    /// In these words.
    pub(crate) fn told(json: Value, text: String) -> Self {
        Self { json, text, exit: Exit::Done }
    }
}

/// Writes it to standard output. A failure has no further reader.
pub(crate) fn print_shown(shown: &Shown, as_json: bool) -> Exit {
    let mut out = io::stdout().lock();
    let is_said = shown.json.is_null() && shown.text.is_empty();
    let written = match as_json && !is_said {
        true => serde_json::to_string_pretty(&shown.json)
            .map_err(io::Error::from)
            .and_then(|text| writeln!(out, "{}", escape_control_in_json(&text))),
        false => PlainText(&mut out).write_all(shown.text.as_bytes()),
    };
    if written.and_then(|()| out.flush()).is_ok() { shown.exit } else { Exit::Broken }
}

/// One field that is shown.
struct Field<'f> {
    head: String,
    path: &'f str,
    /// What stands for nothing.
    empty: &'f str,
}

impl<'f> Field<'f> {
    fn parse(text: &'f str) -> Self {
        let (rest, empty) = text.split_once('|').unwrap_or((text, "-"));
        let (head, path) = rest.split_once('=').unwrap_or((rest, rest));
        let head = head.strip_suffix(MICRO).unwrap_or(head).replace(['_', '.'], " ");
        Self { head, path, empty }
    }

    /// A cell is one line.
    fn cell(&self, object: &Value) -> String {
        let text = self.find(object).unwrap_or_default();
        let text = if text.is_empty() { self.empty } else { &text };
        escape_control(text).into_owned()
    }

    /// `#` in a path is the length of an array, `$` its last value.
    fn find(&self, object: &Value) -> Option<String> {
        let mut value = object;
        for part in self.path.split('.') {
            value = match (part, value) {
                ("#", Value::Array(values)) => return Some(values.len().to_string()),
                ("$", Value::Array(values)) => values.last()?,
                _ => value.get(part)?,
            };
        }
        Some(words(self.path, value))
    }
}

/// A value in words; nothing for one that is not there.
fn words(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_i64().filter(|_| name.ends_with(MICRO)) {
            Some(micro) => Credits(micro).to_string(),
            None => number.to_string(),
        },
        Value::Array(values) => values.iter().map(|value| words(name, value)).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let part = |(name, value): (&String, &Value)| {
                let text = words(name, value);
                let text = if value.is_object() { format!("({text})") } else { text };
                (!text.is_empty() && text != "()").then(|| format!("{} {text}", name.replace('_', " ")))
            };
            fields.iter().filter_map(part).collect::<Vec<_>>().join(", ")
        }
    }
}

/// Columns as wide as their widest cell.
pub(crate) fn table(rows: &[Value], fields: &[&str]) -> String {
    let fields: Vec<Field<'_>> = fields.iter().map(|text| Field::parse(text)).collect();
    let heads = fields.iter().map(|field| field.head.to_uppercase()).collect();
    let cells = rows.iter().map(|row| fields.iter().map(|field| field.cell(row)).collect());
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(cells).collect();
    let wide = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..fields.len()).map(wide).collect();
    lines.iter().fold(String::new(), |mut text, line| {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
        text
    })
}

/// A line for each field.
pub(crate) fn details(object: &Value, fields: &[&str]) -> String {
    let fields: Vec<Field<'_>> = fields.iter().map(|text| Field::parse(text)).collect();
    let width = fields.iter().map(|field| field.head.chars().count()).max().unwrap_or(0);
    fields.iter().fold(String::new(), |mut text, field| {
        // A String takes every write.
        let _ = writeln!(text, "{:<width$}  {}", field.head, field.cell(object));
        text
    })
}

/// The text at a field; empty where the field is missing or no text.
pub(crate) fn text_at<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_default()
}

/// The values of the list at a field; none where the field is missing or no list.
pub(crate) fn rows_at<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// The texts among them.
pub(crate) fn texts_at<'v>(value: &'v Value, field: &str) -> impl Iterator<Item = &'v str> {
    rows_at(value, field).iter().filter_map(Value::as_str)
}

/// Millionths as credits.
pub(crate) fn credits(micro: &Value) -> String {
    words(MICRO, micro)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_line_up_and_amounts_are_credits() {
        let rows = [
            json!({"id": "a", "available_micro": 1_500_000, "expires": null}),
            json!({"id": "longer-name", "available_micro": 0, "expires": "2026-11-21T09:30:00.000Z"}),
        ];
        let expected = "\
ACCOUNT      AVAILABLE  EXPIRES
a            1.5        never
longer-name  0          2026-11-21T09:30:00.000Z
";
        assert_eq!(table(&rows, &["account=id", "available_micro", "expires|never"]), expected);
    }

    #[test]
    fn what_is_inside_a_field_is_told_in_words() {
        let object = json!({
            "models": [], "networks": ["10.0.0.0/8", "::1/128"], "drained": true,
            "limits": {"requests_per_minute": 5, "concurrency": null},
            "model_limits": {"ctx-pro": {"concurrency": 2}, "ctx-max": {"concurrency": null}},
            "next": {"phase": "run"},
            "attempts": [{"status": 503}, {"status": 200}],
        });
        let fields = [
            "models|all",
            "networks",
            "drained",
            "limits",
            "of models=model_limits",
            "next.phase",
            "gone",
            "attempts=attempts.#",
            "last=attempts.$.status",
        ];
        let expected = "\
models      all
networks    10.0.0.0/8, ::1/128
drained     yes
limits      requests per minute 5
of models   ctx-pro (concurrency 2)
next phase  run
gone        -
attempts    2
last        200
";
        assert_eq!(details(&object, &fields), expected);
    }

    /// Names come from customers and plugins, and a terminal obeys what it is sent.
    #[test]
    fn no_name_reaches_the_terminal_as_it_is() {
        let row = json!({"text": "key \u{1b}[2J\nforged line"});
        assert_eq!(table(&[row], &["text"]), "TEXT\nkey \\u{1b}[2J\\nforged line\n");
    }
}

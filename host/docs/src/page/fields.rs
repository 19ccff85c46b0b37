//! Fields as rows of a table: name, type, limits, default and help. Fields of objects inside follow their object.

use gatehouse_schema::{Choice, Field, Kind, Limits};
use maud::{Markup, html};
use serde_json::{Number, Value};

/// One field of a table.
pub(super) struct Row {
    path: String,
    kind: String,
    /// `required`, or where a parameter is.
    note: &'static str,
    required: bool,
    default: Option<String>,
    /// Values and what they mean.
    choices: Vec<Choice>,
    help: Option<String>,
}

impl Row {
    pub(super) fn of(field: &Field, prefix: String, note: &'static str) -> Self {
        let choices = match &field.kind {
            Kind::Choice(choices) if choices.iter().any(|choice| choice.help.is_some()) => choices.clone(),
            _ => Vec::new(),
        };
        Self {
            path: prefix + &field.name,
            kind: kind_text(&field.kind),
            note,
            required: field.required,
            default: field.default.as_ref().map(Value::to_string),
            choices,
            help: field.help.clone(),
        }
    }
}

/// The fields of an object, and of objects inside of it down to `depth`.
pub(super) fn rows(fields: &[Field], prefix: &str, depth: usize) -> Vec<Row> {
    let mut all = Vec::new();
    for field in fields {
        all.push(Row::of(field, prefix.to_owned(), ""));
        if depth > 0 {
            inside(&field.kind, &format!("{prefix}{}", field.name), depth - 1, &mut all);
        }
    }
    all
}

fn inside(kind: &Kind, path: &str, depth: usize, all: &mut Vec<Row>) {
    match kind {
        Kind::Object(fields) => all.extend(rows(fields, &format!("{path}."), depth)),
        Kind::List { item, .. } => inside(item, &format!("{path}[]"), depth, all),
        Kind::Map(value) => inside(value, &format!("{path}.<name>"), depth, all),
        Kind::Variants(variants) => {
            for variant in variants {
                inside(&variant.kind, path, depth, all);
            }
        }
        _ => {}
    }
}

/// The rows as a table with that name.
pub(super) fn table(name: &str, rows: &[Row]) -> Markup {
    html! {
        table.fields {
            caption { "Fields of " (name) }
            thead { tr { th scope="col" { "Field" } th scope="col" { "Type" } th scope="col" { "Meaning" } } }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" {
                            code { (row.path) }
                            @if row.required { " " span.required { "required" } }
                            @if !row.note.is_empty() { " " span.note { (row.note) } }
                        }
                        td { (row.kind) }
                        td {
                            @if let Some(help) = &row.help { (help) }
                            @if let Some(default) = &row.default { " Default: " code { (default) } "." }
                            @for choice in &row.choices {
                                div { code { (choice.value) } " " (choice.help.as_deref().unwrap_or_default()) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A type with its limits, in a few words.
fn kind_text(kind: &Kind) -> String {
    match kind {
        Kind::Text { length, pattern, format } => {
            let mut text = "text".to_owned();
            if let Some(limits) = limits_text(length) {
                text += &format!(", {limits} characters");
            }
            if let Some(format) = format {
                text += &format!(" ({format})");
            }
            match pattern.as_deref() {
                Some(r"\S") => text + ", not blank",
                Some(pattern) => text + &format!(" like {pattern}"),
                None => text,
            }
        }
        Kind::Choice(choices) => {
            let values: Vec<String> = choices.iter().map(|choice| choice.value.to_string()).collect();
            if values.len() == 1 { format!("only {}", values[0]) } else { values.join(" | ") }
        }
        Kind::Boolean => "true | false".to_owned(),
        Kind::Number { integer, range, exclusive, .. } => {
            let name = if *integer { "integer" } else { "number" };
            let (above, below) = *exclusive;
            number_range(range, above, below)
                .map_or_else(|| name.to_owned(), |range| format!("{name}, {range}"))
        }
        Kind::List { item, length, unique } => {
            let mut text = format!("list of {}", kind_text(item));
            if let Some(limits) = limits_text(length) {
                text += &format!("; {limits} items");
            }
            if *unique {
                text += ", no two alike";
            }
            text
        }
        Kind::Object(_) => "object".to_owned(),
        Kind::Variants(variants) => {
            let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
            format!("one of: {}", names.join(", "))
        }
        Kind::Map(value) => format!("object of {}", kind_text(value)),
        Kind::Json => "JSON".to_owned(),
    }
}

fn limits_text(limits: &Limits<u64>) -> Option<String> {
    match (limits.min, limits.max) {
        (None | Some(0), None) => None,
        (Some(min), Some(max)) if min == max => Some(format!("exactly {min}")),
        (Some(min), Some(max)) => Some(format!("{min} to {max}")),
        (Some(min), None) => Some(format!("at least {min}")),
        (None, Some(max)) => Some(format!("at most {max}")),
    }
}

fn number_range(range: &Limits<Number>, above: bool, below: bool) -> Option<String> {
    let least = range.min.as_ref().map(|min| format!("{} {min}", if above { "above" } else { "from" }));
    let most = range.max.as_ref().map(|max| format!("{} {max}", if below { "below" } else { "to" }));
    match (least, most) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one),
        (Some(least), Some(most)) => Some(format!("{least} {most}")),
    }
}

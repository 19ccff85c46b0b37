//! Which control a field has, and the names of its parts in a form.

use gatehouse_schema::{Choice, Field, Kind, Variant};
use serde_json::{Map, Value};

use super::address;

/// Objects inside of objects that are shown as fields; deeper ones are JSON.
const MAX_DEPTH: usize = 2;
/// A text that may have more characters gets several lines.
const LONG: u64 = 200;
/// What the choice of a form is called that is none of the schema's: JSON.
pub(super) const AS_JSON: &str = "json";

/// A control.
#[derive(Clone, Copy, Debug)]
pub(super) enum Control<'k> {
    /// One line of text.
    Line,
    /// Several lines of text.
    Lines,
    /// One of a few values.
    Choice(&'k [Choice]),
    /// Unset, yes or no.
    Boolean,
    /// Digits; whether it has no fraction.
    Number(bool),
    /// A row for each item.
    Rows(&'k Kind),
    /// The fields of an object for each item.
    Items(&'k [Field]),
    /// The fields of an object.
    Group(&'k [Field]),
    /// A name and a value a row.
    Pairs(&'k Kind),
    /// One of several forms.
    Variants(&'k [Variant]),
    /// A role and a text a row.
    Messages(&'k [Choice]),
    /// Any JSON.
    Json,
}

/// The control of a field with that widget, `depth` objects deep.
pub(super) fn control<'k>(widget: Option<&str>, name: &str, kind: &'k Kind, depth: usize) -> Control<'k> {
    match kind {
        Kind::Text { length, .. } if is_long(widget, name, length.max) => Control::Lines,
        Kind::Text { .. } => Control::Line,
        Kind::Choice(choices) => Control::Choice(choices),
        Kind::Boolean => Control::Boolean,
        Kind::Number { integer, .. } => Control::Number(*integer),
        Kind::List { item, .. } => match (&**item, roles(item)) {
            (_, Some(roles)) if name == "messages" || widget == Some("messages") => Control::Messages(roles),
            (item, _) if is_scalar(item) => Control::Rows(item),
            // JSON takes no files.
            (Kind::Object(fields), _) if depth < MAX_DEPTH && hold_media(fields, name) => {
                Control::Items(fields)
            }
            _ => Control::Json,
        },
        Kind::Object(fields) if depth < MAX_DEPTH && !fields.is_empty() => Control::Group(fields),
        Kind::Map(value) if is_scalar(value) => Control::Pairs(value),
        Kind::Variants(variants) if depth < MAX_DEPTH => Control::Variants(variants),
        Kind::Object(_) | Kind::Map(_) | Kind::Variants(_) | Kind::Json => Control::Json,
    }
}

/// The control of a field.
pub(super) fn of_field(field: &Field, depth: usize) -> Control<'_> {
    control(field.widget.as_deref(), &field.name, &field.kind, depth)
}

fn is_long(widget: Option<&str>, name: &str, max: Option<u64>) -> bool {
    let is_prose = widget == Some("text") || ["prompt", "input", "text", "content", "system"].contains(&name);
    is_prose && max.is_none_or(|max| max > LONG)
}

fn hold_media(fields: &[Field], within: &str) -> bool {
    fields.iter().any(|field| address::of(field, within).is_some())
}

/// A field that a form always sends, because it has one value.
pub(super) fn is_constant(field: &Field) -> bool {
    field.required && matches!(&field.kind, Kind::Choice(choices) if choices.len() == 1)
}

/// Whether an item has a value beside what a form always sends.
pub(super) fn has_value(fields: &[Field], members: &Map<String, Value>) -> bool {
    let sent = |field: &Field| match members.get(&field.name) {
        Some(Value::Object(inside)) => !inside.is_empty(),
        Some(_) => !is_constant(field),
        None => false,
    };
    fields.iter().any(sent)
}

/// Whether one control without parts holds a value of this kind.
pub(super) fn is_scalar(kind: &Kind) -> bool {
    matches!(kind, Kind::Text { .. } | Kind::Choice(_) | Kind::Boolean | Kind::Number { .. })
}

/// The roles of messages, where an item is an object with a role and a content that may be a text.
fn roles(item: &Kind) -> Option<&[Choice]> {
    let Kind::Object(fields) = item else { return None };
    let named = |name: &str| fields.iter().find(|field| field.name == name).map(|field| &field.kind);
    let is_text = |kind: &Kind| matches!(kind, Kind::Text { .. });
    let takes_text = match named("content")? {
        Kind::Variants(variants) => variants.iter().any(|variant| is_text(&variant.kind)),
        kind => is_text(kind) || *kind == Kind::Json,
    };
    match named("role")? {
        Kind::Choice(roles) if takes_text => Some(roles),
        _ => None,
    }
}

/// The pointer of a member.
pub(super) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The name at the end of a pointer.
pub(super) fn last_name(pointer: &str) -> &str {
    pointer.rsplit('/').next().unwrap_or_default()
}

/// The pointer of an item.
pub(super) fn item(pointer: &str, index: usize) -> String {
    format!("{pointer}/{index}")
}

/// The name of the text area of a value as JSON.
pub(super) fn json(pointer: &str) -> String {
    format!("{pointer}|json")
}

/// The name of the choice among forms.
pub(super) fn variant(pointer: &str) -> String {
    format!("{pointer}|form")
}

/// The name of a row's name.
pub(super) fn pair_name(pointer: &str, index: usize) -> String {
    format!("{pointer}|name/{index}")
}

/// The id of the control of that name.
pub(super) fn id(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
    format!("f{}", name.chars().map(plain).collect::<String>())
}

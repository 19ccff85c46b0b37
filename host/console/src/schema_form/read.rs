//! The JSON that a sent form means. What was left empty is left out.

use std::str::FromStr;

use gatehouse_schema::{Field, Kind};
use serde_json::{Map, Number, Value};

use super::control::{
    AS_JSON, Control, control, has_value, item, json, member, of_field, pair_name, variant,
};
use crate::form::Form;

/// The name of the text area for members that are no fields.
pub(crate) const REST: &str = "|rest";
/// Rows of one list, at most: a form has as many as were shown.
const MAX_ROWS: usize = 1000;

/// What is wrong: the pointer of the value, and what was expected.
type Wrong = Vec<(String, String)>;

/// The object that the form means.
///
/// # Errors
/// The values that are none: number or JSON that cannot be read.
pub(crate) fn read(fields: &[Field], form: &Form) -> Result<Map<String, Value>, Wrong> {
    let mut wrong = Wrong::new();
    let mut members = read_fields(fields, form, "", 0, &mut wrong);
    if let Some(text) = form.given(REST) {
        match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(rest) => {
                for (name, value) in rest {
                    members.entry(name).or_insert(value);
                }
            }
            Err(error) => wrong.push((REST.to_owned(), format!("expected a JSON object: {error}"))),
        }
    }
    if wrong.is_empty() { Ok(members) } else { Err(wrong) }
}

fn read_fields(
    fields: &[Field],
    form: &Form,
    pointer: &str,
    depth: usize,
    wrong: &mut Wrong,
) -> Map<String, Value> {
    let mut members = Map::new();
    for field in fields {
        let pointer = member(pointer, &field.name);
        let value = read_value(of_field(field, depth), form, &pointer, depth, wrong);
        // An object that must be there is, also without any member.
        let needed = field.required && matches!(field.kind, Kind::Object(_));
        let value = value.or_else(|| needed.then(|| Value::Object(Map::new())));
        if let Some(value) = value {
            members.insert(field.name.clone(), value);
        }
    }
    members
}

fn read_value(
    with: Control<'_>,
    form: &Form,
    pointer: &str,
    depth: usize,
    wrong: &mut Wrong,
) -> Option<Value> {
    // JSON beside a control stands for a value that the control does not hold.
    if let Some(text) = form.given(&json(pointer)) {
        return read_json(text, pointer, wrong);
    }
    match with {
        Control::Line | Control::Lines => form.given(pointer).map(|text| text.replace("\r\n", "\n").into()),
        Control::Choice(_) | Control::Boolean => {
            form.given(pointer).and_then(|text| read_json(text, pointer, wrong))
        }
        Control::Number(integer) => {
            form.given(pointer).and_then(|text| read_number(text.trim(), integer, pointer, wrong))
        }
        Control::Rows(kind) => {
            let with = control(None, "", kind, depth);
            let read = |at| read_value(with, form, &item(pointer, at), depth, wrong);
            let items: Vec<Value> = (0..rows(form, pointer)).filter_map(read).collect();
            (!items.is_empty()).then(|| items.into())
        }
        Control::Items(fields) => {
            let read = |at| read_fields(fields, form, &item(pointer, at), depth + 1, wrong);
            let rows = (0..item_rows(form, pointer)).map(read).filter(|row| has_value(fields, row));
            let items: Vec<Value> = rows.map(Value::Object).collect();
            (!items.is_empty()).then(|| items.into())
        }
        Control::Group(fields) => {
            let members = read_fields(fields, form, pointer, depth + 1, wrong);
            (!members.is_empty()).then(|| members.into())
        }
        Control::Pairs(kind) => {
            let with = control(None, "", kind, depth);
            let mut members = Map::new();
            for at in 0..rows(form, pointer) {
                let Some(name) = form.given(&pair_name(pointer, at)) else { continue };
                if let Some(value) = read_value(with, form, &item(pointer, at), depth, wrong) {
                    members.insert(name.to_owned(), value);
                }
            }
            (!members.is_empty()).then(|| members.into())
        }
        Control::Messages(_) => read_messages(form, pointer, wrong),
        Control::Variants(variants) => {
            let chosen = form.given(&variant(pointer)).filter(|word| *word != AS_JSON)?;
            let kind = &variants.get(usize::from_str(chosen).ok()?)?.kind;
            read_value(control(None, "", kind, depth + 1), form, pointer, depth + 1, wrong)
        }
        Control::Json => None,
    }
}

fn read_messages(form: &Form, pointer: &str, wrong: &mut Wrong) -> Option<Value> {
    let mut rows = Vec::new();
    for at in 0..message_rows(form, pointer) {
        let row = item(pointer, at);
        let Some(text) = form.given(&member(&row, "content")) else { continue };
        let role = form.given(&member(&row, "role")).and_then(|role| read_json(role, &row, wrong));
        let mut message = Map::new();
        message.insert("role".to_owned(), role.unwrap_or_else(|| "user".into()));
        message.insert("content".to_owned(), text.replace("\r\n", "\n").into());
        rows.push(Value::Object(message));
    }
    (!rows.is_empty()).then(|| rows.into())
}

/// Rows of a list that the form has, empty ones included.
pub(super) fn rows(form: &Form, pointer: &str) -> usize {
    (0..MAX_ROWS).take_while(|at| form.has(&item(pointer, *at))).count()
}

/// Rows of objects that the form has.
pub(super) fn item_rows(form: &Form, pointer: &str) -> usize {
    (0..MAX_ROWS).take_while(|at| form.has_below(&item(pointer, *at))).count()
}

/// Rows of messages that the form has.
pub(super) fn message_rows(form: &Form, pointer: &str) -> usize {
    (0..MAX_ROWS).take_while(|at| form.has(&member(&item(pointer, *at), "content"))).count()
}

fn read_json(text: &str, pointer: &str, wrong: &mut Wrong) -> Option<Value> {
    let value = serde_json::from_str(text);
    value.map_err(|error| wrong.push((pointer.to_owned(), format!("expected JSON: {error}")))).ok()
}

/// Exact: no number passes through a fraction that it is not.
fn read_number(text: &str, integer: bool, pointer: &str, wrong: &mut Wrong) -> Option<Value> {
    let whole = text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
    let number = if integer { whole } else { whole.or_else(|| serde_json::from_str(text).ok()) };
    if number.is_none() {
        let what = if integer { "a whole number" } else { "a number" };
        wrong.push((pointer.to_owned(), format!("expected {what}, got {text:?}")));
    }
    number.map(Value::Number)
}

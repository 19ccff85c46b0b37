//! The JSON that a sent form means, and the form that a JSON value means. What was left empty is left out.

use std::str::FromStr;

use gatehouse_schema::{Field, Kind};
use serde_json::{Map, Number, Value};

use super::control::{
    AS_JSON, Control, control, has_value, is_constant, item, json, member, of_field, pair_name, variant,
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
            let rows = (0..rows(form, pointer)).map(read).filter(|row| has_value(fields, row));
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
    let mut messages = Vec::new();
    for at in 0..rows(form, pointer) {
        let row = item(pointer, at);
        let Some(text) = form.given(&member(&row, "content")) else { continue };
        let role = form.given(&member(&row, "role")).and_then(|role| read_json(role, &row, wrong));
        let mut message = Map::new();
        message.insert("role".to_owned(), role.unwrap_or_else(|| "user".into()));
        message.insert("content".to_owned(), text.replace("\r\n", "\n").into());
        messages.push(Value::Object(message));
    }
    (!messages.is_empty()).then(|| messages.into())
}

/// Rows of a list that the form has, empty ones included: with a value, with parts of one, or with its JSON.
pub(super) fn rows(form: &Form, pointer: &str) -> usize {
    let has = |row: &str| form.has(row) || form.has_below(row) || form.has(&json(row));
    (0..MAX_ROWS).take_while(|at| has(&item(pointer, *at))).count()
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

/// The form that shows this object. Members that are no fields stay in the JSON of [`rest`](REST).
pub(crate) fn fill(fields: &[Field], value: &Map<String, Value>) -> Form {
    let mut form = Form::default();
    fill_fields(fields, value, "", 0, &mut form);
    let is_known = |name: &String| fields.iter().any(|field| field.name == *name);
    let rest: Map<String, Value> = value
        .iter()
        .filter(|(name, _)| !is_known(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !rest.is_empty() {
        form.push(REST, pretty(&Value::Object(rest)));
    }
    form
}

fn fill_fields(fields: &[Field], value: &Map<String, Value>, pointer: &str, depth: usize, form: &mut Form) {
    for field in fields {
        if let Some(value) = value.get(&field.name).filter(|value| !value.is_null()) {
            let pointer = member(pointer, &field.name);
            fill_value(of_field(field, depth), value, &pointer, depth, form);
        }
    }
}

fn fill_value(with: Control<'_>, value: &Value, pointer: &str, depth: usize, form: &mut Form) {
    match (with, value) {
        (Control::Line | Control::Lines, Value::String(text)) => form.push(pointer, text.clone()),
        (Control::Choice(_) | Control::Boolean | Control::Number(_), value) => {
            form.push(pointer, value.to_string());
        }
        (Control::Rows(kind), Value::Array(items)) => {
            for (at, one) in items.iter().enumerate() {
                fill_value(control(None, "", kind, depth), one, &item(pointer, at), depth, form);
            }
        }
        (Control::Items(fields), Value::Array(rows)) if rows.iter().all(|row| is_row(fields, row)) => {
            for (at, members) in rows.iter().filter_map(Value::as_object).enumerate() {
                fill_fields(fields, members, &item(pointer, at), depth + 1, form);
            }
        }
        (Control::Group(fields), Value::Object(members)) => {
            fill_fields(fields, members, pointer, depth + 1, form);
        }
        (Control::Pairs(kind), Value::Object(members)) => {
            for (at, (name, one)) in members.iter().enumerate() {
                form.push(&pair_name(pointer, at), name.clone());
                fill_value(control(None, "", kind, depth), one, &item(pointer, at), depth, form);
            }
        }
        (Control::Messages(_), Value::Array(rows)) if rows.iter().all(is_plain_message) => {
            for (at, row) in rows.iter().enumerate() {
                let row_pointer = item(pointer, at);
                form.push(&member(&row_pointer, "role"), row["role"].to_string());
                let text = row["content"].as_str().unwrap_or_default();
                form.push(&member(&row_pointer, "content"), text.to_owned());
            }
        }
        (Control::Variants(variants), value) => {
            let fitting = variants.iter().position(|one| fits(&one.kind, value));
            let chosen = fitting.map(|at| (at, control(None, "", &variants[at].kind, depth + 1)));
            match chosen {
                Some((at, with)) if !matches!(with, Control::Json) => {
                    form.push(&variant(pointer), at.to_string());
                    fill_value(with, value, pointer, depth + 1, form);
                }
                _ => {
                    form.push(&variant(pointer), AS_JSON.to_owned());
                    form.push(&json(pointer), pretty(value));
                }
            }
        }
        // Whatever the control does not hold is JSON beside it.
        (_, value) => form.push(&json(pointer), pretty(value)),
    }
}

/// A message of a role and a text, and nothing else.
fn is_plain_message(row: &Value) -> bool {
    let Some(members) = row.as_object() else { return false };
    members.len() == 2 && row["role"].is_string() && row["content"].is_string()
}

/// An object that the fields of a row hold as it is. What is missing may be missing: a form shows it.
fn is_row(fields: &[Field], row: &Value) -> bool {
    let Some(members) = row.as_object() else { return false };
    let holds = |(name, value): (&String, &Value)| {
        let field = fields.iter().find(|field| field.name == *name);
        let is_blank = value.as_str().is_some_and(|text| text.trim().is_empty());
        field.is_some_and(|field| fits(&field.kind, value)) && !is_blank
    };
    members.iter().all(holds)
        && has_value(fields, members)
        && fields.iter().all(|field| !is_constant(field) || members.contains_key(&field.name))
}

/// Whether a value is of that kind, as far as a form is concerned.
pub(super) fn fits(kind: &Kind, value: &Value) -> bool {
    match (kind, value) {
        (Kind::Text { .. }, Value::String(_)) | (Kind::Boolean, Value::Bool(_)) | (Kind::Json, _) => true,
        (Kind::Choice(choices), value) => choices.iter().any(|choice| choice.value == *value),
        (Kind::Number { integer, .. }, Value::Number(number)) => !integer || !number.is_f64(),
        (Kind::List { item, .. }, Value::Array(items)) => items.iter().all(|one| fits(item, one)),
        (Kind::Object(fields), Value::Object(members)) => {
            let known = |name: &String| fields.iter().find(|field| field.name == *name);
            let fit = |(name, one): (&String, &Value)| {
                known(name).is_some_and(|field| (field.nullable && one.is_null()) || fits(&field.kind, one))
            };
            members.iter().all(fit)
                && fields.iter().all(|field| !field.required || members.contains_key(&field.name))
        }
        (Kind::Map(kind), Value::Object(members)) => members.values().all(|one| fits(kind, one)),
        (Kind::Variants(variants), value) => variants.iter().any(|one| fits(&one.kind, value)),
        _ => false,
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

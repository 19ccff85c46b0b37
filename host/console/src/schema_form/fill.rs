//! The form that a JSON value means.

use gatehouse_schema::{Field, Kind};
use serde_json::{Map, Value};

use super::control::{
    AS_JSON, Control, control, has_value, is_constant, item, json, member, of_field, pair_name, variant,
};
use crate::form::Form;

/// The form that shows this object. Members that are no fields stay in the JSON of [`rest`](super::read::REST).
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
        form.push(super::read::REST, pretty(&Value::Object(rest)));
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

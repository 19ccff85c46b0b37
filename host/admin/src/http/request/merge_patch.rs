//! JSON Merge Patch (RFC 7396), and which fields it changed. Pure.

use gatehouse_tasks::FieldChange;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::{ApiError, Kind};

/// The object with the patch applied: `null` clears a field, an array replaces the array.
pub(crate) fn patched(current: &impl Serialize, patch: Value) -> Result<Value, ApiError> {
    let mut value =
        serde_json::to_value(current).map_err(|error| ApiError::new(Kind::Internal, error.to_string()))?;
    let Value::Object(patch) = patch else {
        return Err(ApiError::new(Kind::Invalid, format!("the body: expected an object, got {patch}")));
    };
    let known = value.as_object().cloned().unwrap_or_default();
    if let Some(unknown) = patch.keys().find(|field| !known.contains_key(*field)) {
        let mut names: Vec<&str> = known.keys().map(String::as_str).collect();
        names.sort_unstable();
        let message = format!("{unknown}: cannot be edited; expected {}", names.join(", "));
        return Err(ApiError::field(unknown.as_str(), message));
    }
    let top = Value::Object(patch);
    json_patch::merge(&mut value, &top);
    // A field of the top level that is cleared is null, not absent: the object keeps its fields.
    if let Value::Object(fields) = &mut value {
        for field in known.keys() {
            fields.entry(field.clone()).or_insert(Value::Null);
        }
    }
    Ok(value)
}

/// The fields that differ, for the audit record.
pub(crate) fn changes(before: &impl Serialize, after: &impl Serialize) -> Vec<FieldChange> {
    let object = |value| match value {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let (before, after) = (object(serde_json::to_value(before)), object(serde_json::to_value(after)));
    let text = |value: Option<&Value>| value.filter(|value| !value.is_null()).map(Value::to_string);
    let mut fields: Vec<&String> = before.keys().chain(after.keys()).collect();
    fields.sort();
    fields.dedup();
    let differing = fields.into_iter().filter(|field| text(before.get(*field)) != text(after.get(*field)));
    differing
        .map(|field| FieldChange {
            field: field.clone(),
            before: text(before.get(field)),
            after: text(after.get(field)),
        })
        .collect()
}

/// The fields of a new object, for the audit record.
pub(crate) fn created(object: &impl Serialize) -> Vec<FieldChange> {
    changes(&Map::new(), object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_sets_clears_and_replaces() {
        let current = json!({"name": "a", "quota": 5, "models": ["x", "y"], "rates": {"rpm": 1, "tpm": 2}});
        for (patch, expected) in [
            (json!({}), current.clone()),
            (
                json!({"quota": null}),
                json!({"name": "a", "quota": null, "models": ["x", "y"], "rates": {"rpm": 1, "tpm": 2}}),
            ),
            (
                json!({"models": ["z"], "rates": {"rpm": null, "tpm": 9}}),
                json!({"name": "a", "quota": 5, "models": ["z"], "rates": {"tpm": 9}}),
            ),
        ] {
            assert_eq!(patched(&current, patch.clone()).unwrap(), expected, "{patch}");
        }
        for (patch, expected) in [
            (json!([1]), "the body: expected an object"),
            (json!({"used": 1}), "used: cannot be edited; expected models, name, quota, rates"),
        ] {
            let message = patched(&current, patch).unwrap_err().message().to_owned();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn differing_fields_are_listed() {
        let found = changes(&json!({"a": 1, "b": null, "c": [1]}), &json!({"a": 1, "b": "x", "c": null}));
        let change = |field: &str, before: Option<&str>, after: Option<&str>| FieldChange {
            field: field.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        assert_eq!(found, [change("b", None, Some("\"x\"")), change("c", Some("[1]"), None)]);
    }
}

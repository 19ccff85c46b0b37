//! The body of a request: read within its size and its time, then as JSON; and a body that is a merge patch (RFC 7396), with the
//! fields that it changed. An error names the field.

use std::fmt::Display;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use gatehouse_model::{Clock, check_json_text};
use gatehouse_tasks::FieldChange;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{ApiError, Kind};

/// Of JSON; nothing an operator writes is as large.
pub(crate) const MAX_JSON_BYTES: usize = 1 << 20;
/// Enough for the largest component that a configuration can allow (64 MiB), also in base64.
pub(crate) const MAX_UPLOAD_BYTES: usize = 88 << 20;
const TIMEOUT: Duration = Duration::from_secs(60);
/// The type of a body that is a file's bytes.
pub(crate) const OCTET_STREAM: &str = "application/octet-stream";

/// Reads the whole body.
pub(crate) async fn read(body: Body, most: usize, clock: &dyn Clock) -> Result<Bytes, ApiError> {
    let read = tokio::select! {
        biased;
        read = Limited::new(body, most).collect() => read,
        () = clock.pause(TIMEOUT) => {
            return Err(ApiError::new(Kind::RequestTimeout, "the body did not arrive in time"));
        }
    };
    read.map(http_body_util::Collected::to_bytes).map_err(|error| {
        if error.is::<LengthLimitError>() {
            return ApiError::new(Kind::TooLarge, format!("the body is larger than {most} bytes"));
        }
        ApiError::new(Kind::Invalid, format!("the body could not be read: {error}"))
    })
}

/// The content type without its parameters; empty where the head has no content type.
fn essence(headers: &HeaderMap) -> &str {
    let sent = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    sent.split(';').next().unwrap_or_default().trim()
}

/// Whether a body with these headers is of this type. Types are the same in any case of their letters.
#[must_use]
pub fn is_of_type(headers: &HeaderMap, kind: &str) -> bool {
    essence(headers).eq_ignore_ascii_case(kind)
}

/// Checks the content type against those that fit.
pub(crate) fn check_type(head: &Parts, accepted: &[&str]) -> Result<(), ApiError> {
    let essence = essence(&head.headers);
    if accepted.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let message = format!("content-type: expected {}, got {essence:?}", accepted.join(" or "));
    Err(ApiError::new(Kind::WrongMediaType, message).with_param("content-type"))
}

/// Reads JSON. The error names the field by its path.
pub(crate) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let invalid = |why: &dyn Display| ApiError::new(Kind::Invalid, format!("the body: {why}"));
    let text = str::from_utf8(body).map_err(|error| invalid(&error))?;
    check_json_text(text).map_err(|why| match why.field() {
        Some(field) => ApiError::field(field, why.to_string()),
        None => invalid(&why),
    })?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        match path.as_str() {
            "." | "?" => invalid(&problem),
            path => ApiError::field(path, format!("{path}: {problem}")),
        }
    })?;
    reader.end().map_err(|error| invalid(&error))?;
    Ok(value)
}

/// The same from a value that is read already.
pub(crate) fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, ApiError> {
    json(&serde_json::to_vec(&value).map_err(|error| ApiError::new(Kind::Invalid, error.to_string()))?)
}

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
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(rename = "names")]
        _names: Vec<String>,
    }

    #[test]
    fn an_error_names_its_field() {
        for (body, expected) in [
            (r#"{"names":["a",7]}"#, "names[1]: invalid type: integer `7`, expected a string"),
            (r#"{"names":[],"nammes":1}"#, "unknown field `nammes`"),
            (r#"{}"#, "missing field `names`"),
            (r#"{"names":[]} x"#, "the body: trailing characters"),
            ("", "the body: EOF"),
            (r#"{"names":[1e400]}"#, "the body: expected numbers below 1.8e308, got 1e400 at byte 10"),
            (r#"{"names":[],"names":[]}"#, "names: expected one value, got the same field twice"),
        ] {
            let message = json::<Sample>(body.as_bytes()).unwrap_err().message().to_owned();
            assert!(message.contains(expected), "{body}: {message}");
        }
    }

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

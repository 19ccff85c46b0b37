//! Reading what stands beside what matters in a provider's answer: for `serde`'s `deserialize_with`. A value of another type than
//! the usual one says nothing, and makes nothing beside it unreadable: the answer may have been paid.
//!
//! ```
//! use gatehouse_sdk::lenient;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Job {
//!     #[serde(default, deserialize_with = "lenient::word")]
//!     id: Option<String>,
//!     #[serde(default, deserialize_with = "lenient::value")]
//!     progress: Option<f64>,
//! }
//!
//! let job: Job = serde_json::from_str(r#"{"id": 7, "progress": "half"}"#).unwrap();
//! assert_eq!((job.id.as_deref(), job.progress), (Some("7"), None));
//! ```

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A text that is not blank, or a number as one.
///
/// # Errors
/// The body is no JSON.
pub fn word<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Value::deserialize(deserializer).map(|value| word_of(&value))
}

/// The same of a value that was read already.
#[must_use]
pub fn word_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A value of the type, also where it is written as a text.
///
/// # Errors
/// The body is no JSON.
pub fn value<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let quoted = value.as_str().and_then(|text| serde_json::from_str(text.trim()).ok());
    Ok(serde_json::from_value(value).ok().or(quoted))
}

/// The values of the type in a list, or the one that stands in its place; the others are left out.
///
/// # Errors
/// The body is no JSON.
pub fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let all = match Value::deserialize(deserializer)? {
        Value::Array(all) => all,
        one => vec![one],
    };
    Ok(all.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

/// Whether a member says that something failed: some servers always write one.
#[must_use]
pub fn is_error(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_i64() != Some(0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(is_error),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Default, Debug, PartialEq, Deserialize)]
    #[serde(default)]
    struct Odd {
        #[serde(deserialize_with = "word")]
        word: Option<String>,
        #[serde(deserialize_with = "value")]
        flag: Option<bool>,
        #[serde(deserialize_with = "value")]
        count: Option<u64>,
        #[serde(deserialize_with = "list")]
        list: Vec<String>,
    }

    /// Without it a result that was paid is lost for the type of something beside it.
    #[test]
    fn what_has_another_type_says_nothing() {
        let read = |value: Value| serde_json::from_value::<Odd>(value).expect("readable");
        for (given, expected) in [
            (json!({}), Odd::default()),
            (json!({"word": {}, "flag": "maybe", "count": -1, "list": {"a": 1}}), Odd::default()),
            (json!({"word": null, "flag": null, "count": null, "list": null}), Odd::default()),
            (json!({"word": " ", "list": []}), Odd::default()),
            (
                json!({"word": 7, "flag": "true", "count": " 3", "list": ["a", 1, "b"]}),
                Odd {
                    word: Some("7".into()),
                    flag: Some(true),
                    count: Some(3),
                    list: vec!["a".into(), "b".into()],
                },
            ),
            (json!({"list": "a"}), Odd { list: vec!["a".into()], ..Odd::default() }),
        ] {
            assert_eq!(read(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn an_empty_error_is_none() {
        for (value, expected) in [
            (json!(null), false),
            (json!(""), false),
            (json!({}), false),
            (json!({"code": "", "message": null}), false),
            (json!({"code": 0}), false),
            (json!(false), false),
            (json!("x"), true),
            (json!({"code": "x"}), true),
            (json!([{}]), true),
        ] {
            assert_eq!(is_error(&value), expected, "{value}");
        }
    }
}

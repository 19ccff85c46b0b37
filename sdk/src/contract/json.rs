//! JSON and time as the contract has them: text and milliseconds.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::bindings::gatehouse::family::types::{Problem, Refusal};

/// What a record says beyond its fields. The host ignores keys that it does not know, but for those that end in `!`: it
/// refuses the answer of a family that has one.
pub type Extra = Map<String, Value>;

/// JSON the host wrote; no text is an empty object.
pub(crate) fn of_host(text: &str) -> Value {
    if text.is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).expect("what the host writes is JSON")
}

/// JSON of a client's body.
pub(crate) fn of_client(text: &str) -> Result<Value, Refusal> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("expected a JSON object: {error}");
        Refusal::Invalid(vec![Problem { field: None, message }])
    })
}

/// An extra that the host wrote.
pub(crate) fn extra_of_host(text: &str) -> Extra {
    match of_host(text) {
        Value::Object(extra) => extra,
        _ => Extra::new(),
    }
}

/// An extra for the host; one that says nothing is no text.
pub(crate) fn extra(extra: Extra) -> String {
    if extra.is_empty() { String::new() } else { Value::Object(extra).to_string() }
}

/// Whole milliseconds, at most the largest number.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The same in the contract's smaller number.
pub(crate) fn short_millis(span: Duration) -> u32 {
    u32::try_from(millis(span)).unwrap_or(u32::MAX)
}

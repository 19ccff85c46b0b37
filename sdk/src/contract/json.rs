//! JSON and time as the contract has them: text and milliseconds.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::bindings::gatehouse::family::types::Refusal;

/// JSON the host wrote; no text is an empty object.
pub(crate) fn of_host(text: &str) -> Value {
    if text.is_empty() {
        return Value::Object(Map::new());
    }
    serde_json::from_str(text).expect("what the host writes is JSON")
}

/// JSON of a client's body.
pub(crate) fn of_client(text: &str) -> Result<Value, Refusal> {
    serde_json::from_str(text)
        .map_err(|error| Refusal::Invalid((None, format!("expected a JSON object: {error}"))))
}

/// Whole milliseconds, at most the largest number.
pub(crate) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// The same in the contract's smaller number.
pub(crate) fn short_millis(span: Duration) -> u32 {
    u32::try_from(millis(span)).unwrap_or(u32::MAX)
}

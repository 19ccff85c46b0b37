//! Bodies of requests for tables of tests.

use serde_json::Value;

/// `body` with `more` fields, which replace those of the same name.
///
/// # Panics
/// When `more` is not an object.
#[must_use]
pub fn with(mut body: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("expected an object, got {more}") };
    more.into_iter().for_each(|(field, value)| body[field] = value);
    body
}

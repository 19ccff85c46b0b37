//! Numbers of a body: JSON has one type for all of them, so `5.0` is as good an integer as `5`.

use serde_json::{Number, Value};

/// The integers that a double holds exactly lie between these.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Whether a whole number is written as a fraction somewhere in `value`.
pub(super) fn has_whole_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => integer(number).is_some(),
        Value::Array(items) => items.iter().any(has_whole_float),
        Value::Object(fields) => fields.values().any(has_whole_float),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The same value with such numbers as integers.
pub(super) fn with_integers(mut value: Value) -> Value {
    make_integers(&mut value);
    value
}

fn make_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = integer(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_integers),
        Value::Object(fields) => fields.values_mut().for_each(make_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The integer that a number written as a fraction is.
#[expect(clippy::cast_possible_truncation, reason = "a whole number that a double holds exactly")]
fn integer(number: &Number) -> Option<Number> {
    let value = number.as_f64().filter(|_| number.is_f64())?;
    (value.fract() == 0.0 && value.abs() <= EXACT).then(|| Number::from(value as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Without it a client whose language has one type of numbers could not send an integer.
    #[test]
    fn whole_numbers_are_integers() {
        for (value, expected) in [
            (json!(5.0), json!(5)),
            (json!(-0.0), json!(0)),
            (json!(5e3), json!(5000)),
            (json!({"a": [1.0, {"b": -2.0}]}), json!({"a": [1, {"b": -2}]})),
        ] {
            assert!(has_whole_float(&value), "{value}");
            assert_eq!(with_integers(value), expected);
        }
        for value in [json!(5.5), json!(5), json!("5.0"), json!(1e300), json!([true, null]), json!(u64::MAX)]
        {
            assert!(!has_whole_float(&value), "{value}");
            assert_eq!(with_integers(value.clone()), value);
        }
    }
}

//! Compares a part of an answer with the whole of it.

use serde_json::Value;

/// `Ok` when `came` has all that `expected` names: each field of an object, each item of a list, each other value as
/// it is.
///
/// # Errors
/// The path of the first difference, what was expected there and what came, then the whole answer.
pub fn difference(expected: &Value, came: &Value) -> Result<(), String> {
    let Some(found) = find(expected, came, "") else { return Ok(()) };
    Err(format!("{found}\n  the whole answer: {came}"))
}

fn find(expected: &Value, came: &Value, path: &str) -> Option<String> {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            expected.iter().find_map(|(name, expected)| match came.get(name) {
                Some(came) => find(expected, came, &below(name)),
                None => Some(differs(expected, "nothing", &below(name))),
            })
        }
        (Value::Array(expected), Value::Array(came)) if expected.len() == came.len() => {
            let mut pairs = expected.iter().zip(came).enumerate();
            pairs.find_map(|(at, (expected, came))| find(expected, came, &format!("{path}[{at}]")))
        }
        (expected, came) if same(expected, came) => None,
        (expected, came) => Some(differs(expected, &came.to_string(), path)),
    }
}

/// Numbers by value: 1 and 1.0 are one number.
fn same(expected: &Value, came: &Value) -> bool {
    expected == came || expected.as_f64().is_some_and(|number| came.as_f64() == Some(number))
}

fn differs(expected: &Value, came: &str, path: &str) -> String {
    let path = if path.is_empty() { "the answer" } else { path };
    format!("{path}: expected {expected}\n  came: {came}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_found_and_the_first_difference_named() {
        let came =
            json!({"call": {"json": {"text": "a kite", "sizes": [1, 2]}, "affinity": null}, "progress": 0});
        for (expected, problem) in [
            (json!({}), None),
            (json!({"call": {}}), None),
            (json!({"call": {"json": {"sizes": [1.0, 2]}}, "progress": 0}), None),
            (json!({"call": {"affinity": null}}), None),
            (json!({"wait": {}}), Some("wait: expected {}\n  came: nothing")),
            (
                json!({"call": {"json": {"text": "a boat"}}}),
                Some("call.json.text: expected \"a boat\"\n  came: \"a kite\""),
            ),
            (json!({"call": {"json": {"sizes": [1]}}}), Some("call.json.sizes: expected [1]\n  came: [1,2]")),
            (json!({"call": {"json": {"sizes": [1, 3]}}}), Some("call.json.sizes[1]: expected 3\n  came: 2")),
            (json!([]), Some("the answer: expected []\n  came: {")),
        ] {
            let found = difference(&expected, &came).err();
            match (&found, problem) {
                (None, None) => {}
                (Some(found), Some(problem)) => assert!(found.starts_with(problem), "{found}"),
                _ => panic!("{expected}: {found:?}"),
            }
        }
    }
}

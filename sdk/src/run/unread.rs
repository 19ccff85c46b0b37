//! Why a state cannot be read, in words that repeat nothing of it but names of fields: the rest may be a client's text.

use serde_json::Error;
use serde_json::error::Category;

/// The longest name of a field that is repeated.
const NAME_BYTES: usize = 64;

/// What is wrong with the state.
pub(super) fn what(error: &Error) -> String {
    if error.classify() != Category::Data {
        return format!("{:?} error", error.classify());
    }
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    // A missing or repeated field has this build's own name; an unknown one is the state's.
    for kind in ["missing field", "duplicate field", "unknown field"] {
        let name = text.strip_prefix(kind).and_then(|rest| rest.strip_prefix(" `")).and_then(quoted);
        if let Some(name) = name {
            return format!("{kind} `{name}`");
        }
    }
    let is_mismatch =
        ["invalid type:", "invalid value:", "invalid length", "unknown variant", "unknown field"]
            .iter()
            .any(|kind| text.starts_with(kind));
    // What was expected is this build's own text and stands last.
    match text.rsplit_once(", expected ").filter(|_| is_mismatch) {
        Some((_, expected)) => format!("expected {expected}"),
        None => "Data error".to_owned(),
    }
}

/// The name up to the closing quote, if it is one that a field has.
fn quoted(rest: &str) -> Option<&str> {
    let (name, _) = rest.split_once('`')?;
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    (plain && !name.is_empty() && name.len() <= NAME_BYTES).then_some(name)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::Value;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct State {
        job: String,
        #[serde(default)]
        part: Option<Part>,
        #[serde(default)]
        steps: u32,
    }

    #[derive(Debug, Deserialize)]
    enum Part {
        First,
        Second,
    }

    #[derive(Debug)]
    struct Picky;

    impl<'de> Deserialize<'de> for Picky {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let prompt = Value::deserialize(deserializer)?;
            Err(serde::de::Error::custom(format!("no such prompt {prompt}, expected {prompt}")))
        }
    }

    #[test]
    fn fields_are_named_and_nothing_else_of_the_state_is() {
        let check = |state: &str, expected: &str| {
            let error = serde_json::from_str::<State>(state).unwrap_err();
            assert_eq!(what(&error), expected, "{error}");
        };
        check("{}", "missing field `job`");
        check(r#"{"job":"a","job":"b"}"#, "duplicate field `job`");
        check(r#"{"job":"a","task-id":1}"#, "unknown field `task-id`");
        check(r#"{"job":"a","a secret, expected":1}"#, "expected one of `job`, `part`, `steps`");
        check(r#"{"job":"a","steps":"a secret"}"#, "expected u32");
        check(r#"{"job":"a","steps":-3}"#, "expected u32");
        check(r#"{"job":"a","part":"a secret, expected silence"}"#, "expected `First` or `Second`");
        check(r#"["a secret""#, "Eof error");
        check(r#"{"job": a secret}"#, "Syntax error");
        let error = serde_json::from_str::<Picky>("\"a secret\"").unwrap_err();
        assert_eq!(what(&error), "Data error", "an author's own words may quote the state");
    }
}

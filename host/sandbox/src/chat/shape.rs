//! One JSON object of a request, asked for its fields; what does not fit is refused in the API's words.

use serde_json::{Map, Value};

use super::refusal::Refusal;

pub(super) type Judged<T> = Result<T, Refusal>;

/// An object and where it stands, e.g. `messages[0].content[1]`.
#[derive(Clone, Debug)]
pub(super) struct Shape<'a> {
    pub(super) at: String,
    pub(super) fields: &'a Map<String, Value>,
}

impl<'a> Shape<'a> {
    pub(super) fn of(at: impl Into<String>, value: &'a Value) -> Judged<Self> {
        let at = at.into();
        match value {
            Value::Object(fields) => Ok(Self { at, fields }),
            other => Err(unfit(&at, "an object", other)),
        }
    }

    pub(super) fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    /// Refuses every field but these.
    pub(super) fn only(&self, known: &[&str]) -> Judged<()> {
        match self.fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => {
                let path = self.path(name);
                let words = format!("Unknown parameter: '{path}'.");
                Err(Refusal::invalid(&path, Some("unknown_parameter"), words))
            }
            None => Ok(()),
        }
    }

    /// The field, unless it is absent or null.
    pub(super) fn maybe(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn need(&self, name: &str) -> Judged<&'a Value> {
        self.maybe(name).ok_or_else(|| {
            let path = self.path(name);
            let words = format!("Missing required parameter: '{path}'.");
            Refusal::invalid(&path, Some("missing_required_parameter"), words)
        })
    }

    pub(super) fn text(&self, name: &str) -> Judged<Option<&'a str>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(unfit(&self.path(name), "a string", other)),
        }
    }

    pub(super) fn need_text(&self, name: &str) -> Judged<&'a str> {
        self.need(name)?;
        self.text(name).map(Option::unwrap_or_default)
    }

    pub(super) fn flag(&self, name: &str) -> Judged<Option<bool>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(unfit(&self.path(name), "a boolean", other)),
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(&self, name: &str, least: i64, most: i64) -> Judged<Option<i64>> {
        let Some(value) = self.maybe(name) else { return Ok(None) };
        let path = self.path(name);
        let number = value.as_i64().ok_or_else(|| unfit(&path, "an integer", value))?;
        if number < least {
            return Err(bounds(&path, "integer", "minimum", ">=", &least, &number));
        }
        if number > most {
            return Err(bounds(&path, "integer", "maximum", "<=", &most, &number));
        }
        Ok(Some(number))
    }

    /// A number within bounds.
    pub(super) fn number(&self, name: &str, least: f64, most: f64) -> Judged<Option<f64>> {
        let Some(value) = self.maybe(name) else { return Ok(None) };
        let path = self.path(name);
        let number = value.as_f64().ok_or_else(|| unfit(&path, "a decimal", value))?;
        if number < least {
            return Err(bounds(&path, "decimal", "minimum", ">=", &least, value));
        }
        if number > most {
            return Err(bounds(&path, "decimal", "maximum", "<=", &most, value));
        }
        Ok(Some(number))
    }

    pub(super) fn list(&self, name: &str) -> Judged<Option<&'a [Value]>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(other) => Err(unfit(&self.path(name), "an array of objects", other)),
        }
    }

    /// One of a few words.
    pub(super) fn word(&self, name: &str, expected: &[&str]) -> Judged<Option<&'a str>> {
        let Some(word) = self.text(name)? else { return Ok(None) };
        if expected.contains(&word) {
            return Ok(Some(word));
        }
        let path = self.path(name);
        let words = format!("Invalid value: '{word}'. Supported values are: {}.", listed(expected));
        Err(Refusal::invalid(&path, Some("invalid_value"), words))
    }

    /// As [`Self::word`], but it has to be there.
    pub(super) fn need_word(&self, name: &str, expected: &[&str]) -> Judged<&'a str> {
        self.need(name)?;
        self.word(name, expected).map(Option::unwrap_or_default)
    }
}

/// A value of the wrong kind.
pub(super) fn unfit(path: &str, expected: &str, found: &Value) -> Refusal {
    let found = match found {
        Value::Array(_) => "an array",
        Value::Bool(_) => "a boolean",
        Value::Null => "null",
        Value::Number(number) if number.is_f64() => "a decimal",
        Value::Number(_) => "an integer",
        Value::Object(_) => "an object",
        Value::String(_) => "a string",
    };
    let words = format!("Invalid type for '{path}': expected {expected}, but got {found} instead.");
    Refusal::invalid(path, Some("invalid_type"), words)
}

fn bounds(
    path: &str,
    kind: &str,
    bound: &'static str,
    sign: &str,
    limit: &dyn std::fmt::Display,
    got: &dyn std::fmt::Display,
) -> Refusal {
    let (side, code) = match (kind, bound) {
        ("integer", "minimum") => ("below minimum", "integer_below_min_value"),
        ("integer", _) => ("above maximum", "integer_above_max_value"),
        (_, "minimum") => ("below minimum", "decimal_below_min_value"),
        _ => ("above maximum", "decimal_above_max_value"),
    };
    let words = format!(
        "Invalid '{path}': {kind} {side} value. Expected a value {sign} {limit}, but got {got} instead."
    );
    Refusal::invalid(path, Some(code), words)
}

/// `'a', 'b', and 'c'`.
fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, rest)) if rest.len() > 1 => format!("{}, and {last}", rest.join(", ")),
        Some((last, [first])) => format!("{first} and {last}"),
        _ => quoted.concat(),
    }
}

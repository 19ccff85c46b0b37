//! One JSON object of a request, asked for its fields; what does not fit is refused in the API's words.

use serde_json::{Map, Value};

use super::refusal::Refusal;

pub(super) type Judged<T> = Result<T, Refusal>;

/// An object and where it stands, e.g. `messages.0.content.1.text`.
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
            _ => Err(wrong(&at, "Input should be a valid dictionary")),
        }
    }

    /// The path of a field.
    pub(super) fn path(&self, name: &str) -> String {
        if self.at.is_empty() { name.to_owned() } else { format!("{}.{name}", self.at) }
    }

    pub(super) fn wrong(&self, name: &str, words: &str) -> Refusal {
        wrong(&self.path(name), words)
    }

    /// Refuses every field but these.
    pub(super) fn only(&self, known: &[&str]) -> Judged<()> {
        match self.fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(self.wrong(name, "Extra inputs are not permitted")),
            None => Ok(()),
        }
    }

    /// The field, unless it is absent or null.
    pub(super) fn maybe(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn need(&self, name: &str) -> Judged<&'a Value> {
        self.fields.get(name).ok_or_else(|| self.wrong(name, "Field required"))
    }

    pub(super) fn text(&self, name: &str) -> Judged<Option<&'a str>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "Input should be a valid string")),
        }
    }

    pub(super) fn need_text(&self, name: &str) -> Judged<&'a str> {
        match self.need(name)? {
            Value::String(text) => Ok(text),
            _ => Err(self.wrong(name, "Input should be a valid string")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Judged<Option<bool>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.wrong(name, "Input should be a valid boolean")),
        }
    }

    /// A whole number that is not negative.
    pub(super) fn whole(&self, name: &str) -> Judged<Option<u64>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::Number(number)) => match number.as_u64() {
                Some(number) => Ok(Some(number)),
                None if number.is_i64() => {
                    Err(self.wrong(name, "Input should be greater than or equal to 0"))
                }
                None => Err(self.wrong(name, "Input should be a valid integer")),
            },
            Some(_) => Err(self.wrong(name, "Input should be a valid integer")),
        }
    }

    /// A number from 0 to 1.
    pub(super) fn share(&self, name: &str) -> Judged<Option<f64>> {
        let Some(value) = self.maybe(name) else { return Ok(None) };
        let number = value.as_f64().ok_or_else(|| self.wrong(name, "Input should be a valid number"))?;
        if number < 0.0 {
            return Err(self.wrong(name, "Input should be greater than or equal to 0"));
        }
        if number > 1.0 {
            return Err(self.wrong(name, "Input should be less than or equal to 1"));
        }
        Ok(Some(number))
    }

    pub(super) fn list(&self, name: &str) -> Judged<Option<&'a [Value]>> {
        match self.maybe(name) {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items)),
            Some(_) => Err(self.wrong(name, "Input should be a valid list")),
        }
    }

    /// The `type` that chooses between shapes.
    pub(super) fn tag(&self, expected: &[&str]) -> Judged<&'a str> {
        let Some(Value::String(tag)) = self.fields.get("type") else {
            return Err(wrong(&self.at, "Unable to extract tag using discriminator 'type'"));
        };
        if expected.contains(&tag.as_str()) {
            return Ok(tag);
        }
        let expected: Vec<String> = expected.iter().map(|tag| format!("'{tag}'")).collect();
        let words = format!(
            "Input tag '{tag}' found using 'type' does not match any of the expected tags: {}",
            expected.join(", ")
        );
        Err(wrong(&self.at, &words))
    }

    /// One of a few words.
    pub(super) fn word(&self, name: &str, expected: &[&str]) -> Judged<Option<&'a str>> {
        let Some(word) = self.text(name)? else { return Ok(None) };
        if expected.contains(&word) { Ok(Some(word)) } else { Err(self.wrong(name, &one_of(expected))) }
    }

    /// The lifetime that `cache_control` asks for.
    pub(super) fn cache_control(&self) -> Judged<Option<Ttl>> {
        let Some(value) = self.maybe("cache_control") else { return Ok(None) };
        let shape = Shape::of(self.path("cache_control"), value)?;
        let tag = shape.tag(&["ephemeral"])?;
        let shape = Shape { at: format!("{}.{tag}", shape.at), ..shape };
        shape.only(&["type", "ttl"])?;
        Ok(Some(match shape.word("ttl", &["5m", "1h"])? {
            Some("1h") => Ttl::Hour,
            _ => Ttl::FiveMinutes,
        }))
    }
}

/// How long a prompt is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ttl {
    FiveMinutes,
    Hour,
}

pub(super) fn wrong(at: &str, words: &str) -> Refusal {
    Refusal::invalid(if at.is_empty() { words.to_owned() } else { format!("{at}: {words}") })
}

/// `Input should be 'a', 'b' or 'c'`.
pub(super) fn one_of(expected: &[&str]) -> String {
    let quoted: Vec<String> = expected.iter().map(|word| format!("'{word}'")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("Input should be {} or {last}", rest.join(", ")),
        _ => format!("Input should be {}", quoted.concat()),
    }
}

//! Sentences for clients, made from the reports of `serde` and `garde`.
//!
//! `serde_json` reports a wrong type as text ("invalid type: string \"3\", expected u8"); the half after
//! "expected" is kept and written in JSON's terms; what came is read from the body.

use std::borrow::Cow;
use std::fmt::Display;

use garde::i18n::{I18n, InvalidCreditCard, InvalidEmail, InvalidPhoneNumber, InvalidUrl, IpKind};
use serde_json::Value;

use super::invalid_param::InvalidParam;

/// Characters of a string that are repeated to the client.
const MAX_QUOTED: usize = 60;

/// A wrong shape, from `serde`'s message at `path`.
pub(crate) fn of_shape(body: &Value, path: &str, message: &str) -> InvalidParam {
    if let Some(name) = quoted_after(message, "missing field `") {
        return InvalidParam::at(Some(&joined(path, name)), "expected a value, got nothing".to_owned());
    }
    if let Some(name) = quoted_after(message, "unknown field `") {
        return InvalidParam::at(Some(&joined(path, name)), "there is no such field".to_owned());
    }
    let Some((_, expected)) = message.split_once(", expected ") else {
        return of_rule(body, path, message);
    };
    let wrong = if message.starts_with("invalid value") { Wrong::Value } else { Wrong::Type };
    of_rule(body, path, &format!("expected {}", in_json_terms(expected, wrong)))
}

/// A broken rule: its message, and what came at `path`.
pub(crate) fn of_rule(body: &Value, path: &str, message: &str) -> InvalidParam {
    let found = lookup(body, path);
    let glue = if message.ends_with(';') { "" } else { "," };
    InvalidParam::at((!path.is_empty()).then_some(path), format!("{message}{glue} got {}", came(found)))
}

/// What came, as a client reads it: `"3"` is `the string "3"`, nothing is `nothing`.
///
/// ```
/// use gatehouse_sdk::params::came;
/// use serde_json::json;
///
/// assert_eq!(came(Some(&json!("3"))), "the string \"3\"");
/// assert_eq!(came(Some(&json!([1, 2]))), "an array of 2");
/// assert_eq!(came(None), "nothing");
/// assert_eq!(came(Some(&json!("blob:blob_01ARZ3NDEKTSV4RRFFQ69G5FAV"))), "an embedded file");
/// ```
#[must_use]
pub fn came(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::Null) => "null".to_owned(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) if text.is_empty() => "an empty string".to_owned(),
        Some(Value::String(text)) if is_cut(text) => "an embedded file".to_owned(),
        Some(Value::String(text)) => format!("the string {:?}", shortened(text)),
        Some(Value::Array(items)) => format!("an array of {}", items.len()),
        Some(Value::Object(_)) => "an object".to_owned(),
    }
}

/// Whether a text is the name that the host writes in place of a long file. The client has never seen it.
fn is_cut(text: &str) -> bool {
    let id = text.strip_prefix("blob:blob_").unwrap_or_default();
    id.len() == 26 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_QUOTED) {
        None => Cow::Borrowed(text),
        Some((at, _)) => Cow::Owned(format!("{}...", &text[..at])),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// Another JSON type.
    Type,
    /// The right type, a wrong value.
    Value,
}

/// Rust's name of what was expected, in JSON's terms.
fn in_json_terms(expected: &str, wrong: Wrong) -> Cow<'_, str> {
    let bounds: Option<(i128, i128)> = match expected {
        "u8" => Some((0, u8::MAX.into())),
        "u16" => Some((0, u16::MAX.into())),
        "u32" => Some((0, u32::MAX.into())),
        "u64" | "usize" => Some((0, u64::MAX.into())),
        "i8" => Some((i8::MIN.into(), i8::MAX.into())),
        "i16" => Some((i16::MIN.into(), i16::MAX.into())),
        "i32" => Some((i32::MIN.into(), i32::MAX.into())),
        "i64" | "isize" => Some((i64::MIN.into(), i64::MAX.into())),
        _ => None,
    };
    match (expected, bounds, wrong) {
        (_, Some((min, max)), Wrong::Value) => Cow::Owned(format!("an integer from {min} to {max}")),
        (_, Some(_), Wrong::Type) => Cow::Borrowed("an integer"),
        ("f32" | "f64", ..) => Cow::Borrowed("a number"),
        ("a boolean", ..) => Cow::Borrowed("true or false"),
        ("a sequence", ..) => Cow::Borrowed("an array"),
        ("a map", ..) => Cow::Borrowed("an object"),
        ("string or map" | "a borrowed string", ..) => Cow::Borrowed("a string"),
        _ if expected.starts_with("struct ") => Cow::Borrowed("an object"),
        _ => Cow::Borrowed(expected),
    }
}

fn quoted_after<'a>(message: &'a str, opening: &str) -> Option<&'a str> {
    message.strip_prefix(opening)?.split_once('`').map(|(name, _)| name)
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The value at a path such as `multi_shots[1].duration`.
fn lookup<'a>(body: &'a Value, path: &str) -> Option<&'a Value> {
    path.split(['.', '[']).filter(|part| !part.is_empty()).try_fold(body, |value, part| {
        match part.strip_suffix(']') {
            Some(index) => value.get(index.parse::<usize>().ok()?),
            None => value.get(part),
        }
    })
}

/// `garde`'s rules as "expected ..." phrases.
pub(crate) struct EnglishRules;

impl I18n for EnglishRules {
    fn length_lower_than(&self, min: usize) -> Cow<'static, str> {
        format!("expected a length of at least {min}").into()
    }

    fn length_greater_than(&self, max: usize) -> Cow<'static, str> {
        format!("expected a length of at most {max}").into()
    }

    fn range_lower_than(&self, min: &dyn Display) -> Cow<'static, str> {
        format!("expected at least {min}").into()
    }

    fn range_greater_than(&self, max: &dyn Display) -> Cow<'static, str> {
        format!("expected at most {max}").into()
    }

    fn credit_card_invalid(&self, reason: InvalidCreditCard) -> Cow<'static, str> {
        format!("expected a credit card number ({reason})").into()
    }

    fn pattern_no_match(&self, pattern: &dyn Display) -> Cow<'static, str> {
        format!("expected a text of the form /{pattern}/").into()
    }

    fn contains_missing(&self, pattern: &dyn Display) -> Cow<'static, str> {
        format!("expected a text with \"{pattern}\" in it").into()
    }

    fn url_invalid(&self, reason: InvalidUrl) -> Cow<'static, str> {
        format!("expected a URL ({reason})").into()
    }

    fn prefix_missing(&self, pattern: &dyn Display) -> Cow<'static, str> {
        format!("expected a text that begins with \"{pattern}\"").into()
    }

    fn suffix_missing(&self, pattern: &dyn Display) -> Cow<'static, str> {
        format!("expected a text that ends with \"{pattern}\"").into()
    }

    fn phone_number_invalid(&self, reason: InvalidPhoneNumber) -> Cow<'static, str> {
        format!("expected a phone number ({reason})").into()
    }

    fn ip_invalid(&self, kind: IpKind) -> Cow<'static, str> {
        format!("expected an {kind} address").into()
    }

    fn matches_field_mismatch(&self, field: &dyn Display) -> Cow<'static, str> {
        format!("expected the same value as `{field}`").into()
    }

    fn email_invalid(&self, reason: InvalidEmail) -> Cow<'static, str> {
        format!("expected an e-mail address ({reason})").into()
    }

    fn ascii_invalid(&self) -> Cow<'static, str> {
        Cow::Borrowed("expected ASCII characters only")
    }

    fn alphanumeric_invalid(&self) -> Cow<'static, str> {
        Cow::Borrowed("expected letters and digits only")
    }

    fn required_not_set(&self) -> Cow<'static, str> {
        Cow::Borrowed("expected a value")
    }
}

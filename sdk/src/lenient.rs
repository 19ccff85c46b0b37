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

/// A text that is not blank, without white space around it, or a number as one.
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
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
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

/// How far a job is, in percent: `45`, `45.0`, `"45"` and `"45% (fast)"`. A number below one with a point, such as `0.45`, is a
/// share; a whole `1.0` is one percent: servers that go to `100.0` write it so. Of several numbers in a text the one before `%`
/// counts. `None` where no number is.
///
/// ```
/// use gatehouse_sdk::lenient::percent;
/// use serde_json::json;
///
/// assert_eq!([json!("45%"), json!(0.45), json!(45)].map(|value| percent(&value)), [Some(45); 3]);
/// ```
#[must_use]
pub fn percent(value: &Value) -> Option<u8> {
    let written = word_of(value)?;
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut before_signs = written.match_indices('%').map(|(at, _)| written[..at].trim_end());
    let marked = before_signs.find(|text| text.ends_with(|letter: char| letter.is_ascii_digit()));
    let (before, text) = match marked {
        Some(text) => text.split_at(text.trim_end_matches(is_part).len()),
        None => {
            let (before, rest) = written.split_at(written.find(|letter: char| letter.is_ascii_digit())?);
            (before, rest.split(|letter: char| !is_part(letter)).next().unwrap_or(rest))
        }
    };
    // A dash after a word joins the two.
    let is_negative = before.strip_suffix('-').is_some_and(|left| !left.ends_with(char::is_alphanumeric));
    let number: f64 = text.trim_matches('.').parse().ok()?;
    let is_share = number < 1.0 && text.contains('.') && marked.is_none();
    let percent = if is_share { (number * 100.0).round() } else { number };
    Some(if is_negative { 0 } else { percent.clamp(0.0, 100.0) as u8 })
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

/// JSON in which each half of a surrogate pair that stands alone is marked as lost; `None` where it has none. Servers that cut texts
/// by tokens write them, and no reader of JSON takes them.
///
/// ```
/// use gatehouse_sdk::lenient::without_halves;
///
/// assert_eq!(without_halves(r#"{"a":"x\ud83d"}"#).as_deref(), Some(r#"{"a":"x\ufffd"}"#));
/// assert_eq!(without_halves(r#"{"a":"\ud83d\ude00"}"#), None);
/// ```
#[must_use]
pub fn without_halves(json: &str) -> Option<String> {
    // One letter is found faster than several, and many answers have no escape at all.
    if !json.contains('\\') || (!json.contains("\\ud") && !json.contains("\\uD")) {
        return None;
    }
    let (mut out, mut done, mut at) = (String::new(), 0, 0);
    while let Some(found) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += found;
        let code = half(&json[at..]);
        let next = json.get(at + ESCAPE..).and_then(half);
        at += match (code, next) {
            (Some(0xD800..0xDC00), Some(0xDC00..0xE000)) => 2 * ESCAPE,
            (Some(0xD800..0xE000), _) => {
                out.push_str(&json[done..at]);
                out.push_str("\\ufffd");
                done = at + ESCAPE;
                ESCAPE
            }
            _ => 2,
        };
    }
    (done > 0).then(|| out + &json[done..])
}

/// Bytes of an escape.
const ESCAPE: usize = 6;

/// The code of a `\u` escape at the beginning.
fn half(json: &str) -> Option<u32> {
    let hex = json.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(hex, 16).ok()
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
    fn progress_is_read_from_every_form() {
        for (progress, expected) in [
            (json!("35%"), Some(35)),
            (json!("0%"), Some(0)),
            (json!("100%"), Some(100)),
            (json!("46"), Some(46)),
            (json!("(46%)"), Some(46)),
            (json!("46% (fast)"), Some(46)),
            (json!("0.5 %"), Some(0)),
            (json!("0.5%"), Some(0)),
            (json!("4000%"), Some(100)),
            (json!(35.9), Some(35)),
            (json!(45.0), Some(45)),
            (json!(0.45), Some(45)),
            (json!("0.45"), Some(45)),
            (json!(0.5), Some(50)),
            (json!(1.0), Some(1)),
            (json!("1.0"), Some(1)),
            (json!("stage 0.5 of 3 (45%)"), Some(45)),
            (json!("stage 2 of 3: 45 %"), Some(45)),
            (json!("% done: 45"), Some(45)),
            (json!("drawing...45%"), Some(45)),
            (json!("stage 3-45%"), Some(45)),
            (json!("-3%"), Some(0)),
            (json!(1), Some(1)),
            (json!(-3), Some(0)),
            (json!(-0.3), Some(0)),
            (json!("Waiting to start"), None),
            (json!(""), None),
            (json!(null), None),
            (json!([35]), None),
        ] {
            assert_eq!(percent(&progress), expected, "{progress}");
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

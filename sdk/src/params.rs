//! Typed parameters: a JSON body becomes a struct, or an [`InvalidParam`] that names the field, what was
//! expected and what came.
//!
//! Shape comes from `serde` (a quoted number is invalid; unknown fields are ignored), rules from
//! `garde`, the published schema from `schemars`; all three read the same struct. JSON has one type of numbers: `5.0` is
//! the integer 5.

mod invalid_param;
mod media_names;
mod numbers;
mod sentences;

use std::borrow::Cow;

use garde::Validate;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use invalid_param::InvalidParam;
pub use media_names::known_media;
use sentences::EnglishRules;
pub use sentences::came;

use crate::source::Source;

/// Reads the parameters out of a request's body. `null` in an optional field counts as absent.
///
/// # Errors
/// [`InvalidParam`]: the first in the order of the fields, with those that follow.
///
/// ```
/// use gatehouse_sdk::params;
/// use garde::Validate;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, Validate)]
/// struct Params {
///     #[garde(length(chars, min = 1))]
///     prompt: String,
///     #[garde(range(min = 0, max = 6))]
///     safety_tolerance: Option<i64>,
/// }
///
/// let refused = |body| params::read::<Params>(&body).err().map(|invalid| invalid.to_string());
/// assert_eq!(refused(json!({"prompt": "a kite", "safety_tolerance": 6})), None);
/// assert_eq!(
///     refused(json!({"prompt": "a kite", "safety_tolerance": "3"})).unwrap(),
///     "`safety_tolerance`: expected an integer, got the string \"3\""
/// );
/// assert_eq!(
///     refused(json!({"prompt": "a kite", "safety_tolerance": 7})).unwrap(),
///     "`safety_tolerance`: expected at most 6, got 7"
/// );
/// assert_eq!(
///     refused(json!({"prompt": "", "safety_tolerance": 7})).unwrap(),
///     "`prompt`: expected a length of at least 1, got an empty string; `safety_tolerance`: expected at most 6, got 7"
/// );
/// assert_eq!(refused(json!({})).unwrap(), "`prompt`: expected a value, got nothing");
/// assert_eq!(refused(json!({"prompt": "a kite", "safety_tolerance": 6.0})), None);
/// assert_eq!(
///     refused(json!({"prompt": "a kite", "safety_tolerance": 5.5})).unwrap(),
///     "`safety_tolerance`: expected an integer, got 5.5"
/// );
/// ```
pub fn read<P>(body: &Value) -> Result<P, InvalidParam>
where
    P: DeserializeOwned + Validate,
    P::Context: Default,
{
    if !body.is_object() {
        return Err(InvalidParam::at(None, format!("expected a JSON object, got {}", came(Some(body)))));
    }
    let whole = numbers::has_whole_float(body).then(|| numbers::with_integers(body.clone()));
    let params: P = serde_path_to_error::deserialize(whole.as_ref().unwrap_or(body)).map_err(|error| {
        let path = error.path().to_string();
        sentences::of_shape(body, path.trim_start_matches('.'), &error.inner().to_string())
    })?;
    match garde::i18n::with_i18n(EnglishRules, || params.validate()) {
        Ok(()) => Ok(params),
        Err(report) => {
            let all =
                report.iter().map(|(path, rule)| sentences::of_rule(body, &path.to_string(), rule.message()));
            Err(InvalidParam::of(all)
                .unwrap_or_else(|| InvalidParam::at(None, "expected other parameters".to_owned())))
        }
    }
}

/// The body with no more than the first entry of a list. Where the rest of it is ignored, nothing of the rest is judged.
///
/// ```
/// use std::borrow::Cow;
/// use gatehouse_sdk::params;
/// use serde_json::json;
///
/// let body = json!({"pictures": ["a.png", 5]});
/// assert_eq!(*params::with_first_of(Cow::Borrowed(&body), "pictures"), json!({"pictures": ["a.png"]}));
/// ```
#[must_use]
pub fn with_first_of<'b>(mut body: Cow<'b, Value>, list: &str) -> Cow<'b, Value> {
    let is_longer = body.get(list).and_then(Value::as_array).is_some_and(|entries| entries.len() > 1);
    if is_longer && let Some(entries) = body.to_mut().get_mut(list).and_then(Value::as_array_mut) {
        entries.truncate(1);
    }
    body
}

/// A `garde` rule for a field the model does not support at all: it must be absent, or ask for nothing (`null`, `false`, or a text,
/// list or object with nothing in it), as clients that write every field they have write it.
///
/// ```
/// use gatehouse_sdk::params;
/// use garde::Validate;
/// use serde::Deserialize;
/// use serde_json::{Value, json};
///
/// #[derive(Deserialize, Validate)]
/// struct Params {
///     #[garde(custom(params::unsupported("use `size`")))]
///     width: Option<Value>,
/// }
///
/// let invalid = params::read::<Params>(&json!({"width": 640})).err().unwrap();
/// assert_eq!(invalid.to_string(), "`width`: not supported by this model, use `size`; got 640");
/// assert!(params::read::<Params>(&json!({"width": ""})).is_ok());
/// ```
pub fn unsupported<C>(advice: &'static str) -> impl Fn(&Option<Value>, &C) -> garde::Result {
    move |value, _| match value {
        None | Some(Value::Null | Value::Bool(false)) => Ok(()),
        Some(Value::String(text)) if text.is_empty() => Ok(()),
        Some(Value::Array(items)) if items.is_empty() => Ok(()),
        Some(Value::Object(members)) if members.is_empty() => Ok(()),
        Some(_) => Err(garde::Error::new(format!("not supported by this model, {advice};"))),
    }
}

/// The value of a field that has two names, and the name under which it came; each name stands before what came under it.
///
/// # Errors
/// Both came, and they differ.
///
/// ```
/// use gatehouse_sdk::params::either;
/// use serde_json::json;
///
/// let body = json!({"size": "16:9", "aspect_ratio": "9:16"});
/// assert_eq!(either(&body, "size", Some(1), "aspect_ratio", None), Ok(Some((1, "size"))));
/// assert_eq!(either(&body, "size", None, "aspect_ratio", Some(1)), Ok(Some((1, "aspect_ratio"))));
/// assert_eq!(
///     either(&body, "size", Some(1), "aspect_ratio", Some(2)).unwrap_err().to_string(),
///     "`aspect_ratio`: expected the same as `size`, the string \"16:9\", or nothing, got the string \"9:16\""
/// );
/// ```
pub fn either<'a, T: PartialEq>(
    body: &Value,
    name: &'a str,
    value: Option<T>,
    alias: &'a str,
    other: Option<T>,
) -> Result<Option<(T, &'a str)>, InvalidParam> {
    match (value, other) {
        (Some(value), Some(other)) if value != other => {
            let (one, other) = (came(body.get(name)), came(body.get(alias)));
            let problem = format!("expected the same as `{name}`, {one}, or nothing, got {other}");
            Err(InvalidParam::at(Some(alias), problem))
        }
        (Some(value), _) => Ok(Some((value, name))),
        (None, other) => Ok(other.map(|value| (value, alias))),
    }
}

/// A `garde` rule for a text that may not be empty or only white space.
///
/// ```
/// use gatehouse_sdk::params;
/// use garde::Validate;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// #[derive(Deserialize, Validate)]
/// struct Params {
///     #[garde(custom(params::not_blank))]
///     prompt: String,
/// }
///
/// let invalid = params::read::<Params>(&json!({"prompt": " \n"})).err().unwrap();
/// assert_eq!(invalid.to_string(), "`prompt`: expected a text that is not blank, got the string \" \\n\"");
/// ```
///
/// # Errors
/// The rule is broken.
pub fn not_blank<C>(text: &str, _: &C) -> garde::Result {
    rule(!text.trim().is_empty(), "expected a text that is not blank")
}

/// What [`link_or_file`] expects.
pub const LINK_OR_FILE: &str = "expected an http(s) URL, a base64 `data:` URI or base64";

/// A `garde` rule for a medium: an http(s) URL, or a file in the request itself.
///
/// # Errors
/// The rule is broken.
pub fn link_or_file<C>(source: &str, _: &C) -> garde::Result {
    let source = Source::of(source);
    rule(matches!(source, Some(Source::Link(_) | Source::Blob | Source::Embedded(_))), LINK_OR_FILE)
}

/// The result of a family's own `garde` rule: `expected` is the error if it does not hold.
///
/// # Errors
/// It does not hold.
pub fn rule(holds: bool, expected: &str) -> garde::Result {
    if holds { Ok(()) } else { Err(garde::Error::new(expected)) }
}

#[cfg(test)]
mod tests;

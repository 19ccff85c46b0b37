//! Typed parameters: a JSON body becomes a struct, or a [`Mistake`] that names the field, what was
//! expected and what came.
//!
//! Shape comes from `serde` (a quoted number is a mistake; unknown fields are ignored), rules from
//! `garde`, the published schema from `schemars`; all three read the same struct.

use std::fmt;

use garde::Validate;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::phrase::{self, EnglishRules};
use crate::{Failure, Refusal};

/// Reads the parameters out of a request's body. `null` in an optional field counts as absent.
///
/// # Errors
/// The first [`Mistake`], in the order of the fields.
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
/// let said = |body| params::read::<Params>(&body).err().map(|mistake| mistake.to_string());
/// assert_eq!(said(json!({"prompt": "a kite", "safety_tolerance": 6})), None);
/// assert_eq!(
///     said(json!({"prompt": "a kite", "safety_tolerance": "3"})).unwrap(),
///     "`safety_tolerance`: expected an integer, got the string \"3\""
/// );
/// assert_eq!(
///     said(json!({"prompt": "a kite", "safety_tolerance": 7})).unwrap(),
///     "`safety_tolerance`: expected at most 6, got 7"
/// );
/// assert_eq!(said(json!({})).unwrap(), "`prompt`: expected a value, got nothing");
/// ```
pub fn read<P>(body: &Value) -> Result<P, Mistake>
where
    P: DeserializeOwned + Validate,
    P::Context: Default,
{
    if !body.is_object() {
        return Err(Mistake::at(None, format!("expected a JSON object, got {}", phrase::came(Some(body)))));
    }
    let params: P = serde_path_to_error::deserialize(body).map_err(|error| {
        let path = error.path().to_string();
        phrase::shape(body, path.trim_start_matches('.'), &error.inner().to_string())
    })?;
    match garde::i18n::with_i18n(EnglishRules, || params.validate()) {
        Ok(()) => Ok(params),
        Err(report) => Err(report.iter().next().map_or_else(
            || Mistake::at(None, "expected other parameters".to_owned()),
            |(path, rule)| phrase::rule(body, &path.to_string(), rule.message()),
        )),
    }
}

/// A field that is not what it should be.
///
/// It turns into a [`Refusal`] where the family refuses bad parameters, and into a [`Failure`] where it
/// accepts them only to fail.
///
/// ```
/// use gatehouse_sdk::{Failure, Mistake, Refusal};
///
/// let mistake = Mistake::at(Some("size"), "expected a ratio, got \"big\"".to_owned());
/// let refusal = Refusal::from(mistake.clone());
/// let failure = Failure::from(mistake);
/// assert_eq!(failure.message, "`size`: expected a ratio, got \"big\"");
/// assert!(matches!(refusal, Refusal::Invalid { field: Some(field), .. } if field == "size"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// JSON path of the field, `None` for the whole body.
    pub field: Option<String>,
    /// What was expected and what came.
    pub problem: String,
}

impl Mistake {
    /// A mistake in `field`; `problem` says what was expected and what came.
    #[must_use]
    pub fn at(field: Option<&str>, problem: String) -> Self {
        Self { field: field.map(str::to_owned), problem }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "`{field}`: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for Mistake {}

impl From<Mistake> for Refusal {
    fn from(mistake: Mistake) -> Self {
        Self::Invalid { message: mistake.to_string(), field: mistake.field }
    }
}

impl From<Mistake> for Failure {
    fn from(mistake: Mistake) -> Self {
        Self::request(mistake.to_string())
    }
}

/// A `garde` rule for a field the model does not support at all: it must be absent or `null`.
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
/// let mistake = params::read::<Params>(&json!({"width": 640})).err().unwrap();
/// assert_eq!(mistake.to_string(), "`width`: not supported by this model, use `size`; got 640");
/// ```
pub fn unsupported<C>(advice: &'static str) -> impl Fn(&Option<Value>, &C) -> garde::Result {
    move |value, _| match value {
        None => Ok(()),
        Some(_) => Err(garde::Error::new(format!("not supported by this model, {advice};"))),
    }
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
/// ```
#[must_use]
pub fn came(value: Option<&Value>) -> String {
    phrase::came(value)
}

#[cfg(test)]
mod tests;

//! An invalid field of a request body.

use std::fmt;

use crate::contract::failure::{Failure, Refusal};

/// An invalid field.
///
/// It converts into a [`Refusal`] for a family that refuses bad parameters, and into a [`Failure`] for one that
/// accepts them and fails the task.
///
/// ```
/// use gatehouse_sdk::{Failure, InvalidParam, Refusal};
///
/// let invalid = InvalidParam::at(Some("size"), "expected a ratio, got \"big\"".to_owned());
/// let refusal = Refusal::from(invalid.clone());
/// let failure = Failure::from(invalid);
/// assert_eq!(failure.message, "`size`: expected a ratio, got \"big\"");
/// assert!(matches!(refusal, Refusal::Invalid { field: Some(field), .. } if field == "size"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidParam {
    /// JSON path of the field, `None` for the whole body.
    pub field: Option<String>,
    /// What was expected and what came.
    pub problem: String,
}

impl InvalidParam {
    /// An invalid `field`; `problem` says what was expected and what came.
    #[must_use]
    pub fn at(field: Option<&str>, problem: String) -> Self {
        Self { field: field.map(str::to_owned), problem }
    }
}

impl fmt::Display for InvalidParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) => write!(f, "`{field}`: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

impl std::error::Error for InvalidParam {}

impl From<InvalidParam> for Refusal {
    fn from(invalid: InvalidParam) -> Self {
        Self::Invalid { message: invalid.to_string(), field: invalid.field }
    }
}

impl From<InvalidParam> for Failure {
    fn from(invalid: InvalidParam) -> Self {
        Self::request(invalid.to_string())
    }
}

//! An invalid field of a request body.

use std::fmt;

use crate::contract::failure::{Failure, Problem, Refusal};

/// The most problems that a refusal tells.
const MAX_PROBLEMS: usize = 16;

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
    /// Other fields that are invalid too, in the order of the fields.
    pub others: Vec<InvalidParam>,
}

impl InvalidParam {
    /// An invalid `field`; `problem` says what was expected and what came.
    #[must_use]
    pub fn at(field: Option<&str>, problem: String) -> Self {
        Self { field: field.map(str::to_owned), problem, others: Vec::new() }
    }

    /// All of them as one: the first, with those that follow. At most 16 are told.
    #[must_use]
    pub fn of(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut all = all.into_iter().take(MAX_PROBLEMS);
        let first = all.next()?;
        Some(Self { others: all.collect(), ..first })
    }

    /// The sentence about this field alone.
    fn sentence(&self) -> String {
        match &self.field {
            Some(field) => format!("`{field}`: {}", self.problem),
            None => self.problem.clone(),
        }
    }
}

impl fmt::Display for InvalidParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence())?;
        self.others.iter().try_for_each(|other| write!(f, "; {other}"))
    }
}

impl std::error::Error for InvalidParam {}

impl From<InvalidParam> for Refusal {
    fn from(invalid: InvalidParam) -> Self {
        if invalid.others.is_empty() {
            return Self::Invalid { message: invalid.to_string(), field: invalid.field };
        }
        let problem = |one: &InvalidParam| Problem { field: one.field.clone(), message: one.sentence() };
        let mut problems = vec![problem(&invalid)];
        problems.extend(invalid.others.iter().map(problem));
        Self::Several(problems)
    }
}

impl From<InvalidParam> for Failure {
    fn from(invalid: InvalidParam) -> Self {
        Self::request(invalid.to_string())
    }
}

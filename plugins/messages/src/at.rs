//! Where in a request something stands, and the sentences about it. A path is only written out for a mistake.

use std::fmt;

use gatehouse_sdk::{Refusal, params};
use serde_json::Value;

use crate::raw::Raw;

/// A JSON path in the upstream's form: `messages.0.content.1.text`.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    /// The body.
    Top,
    /// A field of an object.
    Key(&'a At<'a>, &'a str),
    /// An item of an array.
    Item(&'a At<'a>, usize),
}

impl<'a> At<'a> {
    /// A field below this place.
    pub(crate) fn key(&'a self, name: &'a str) -> Self {
        Self::Key(self, name)
    }

    /// An item of this place.
    pub(crate) fn item(&'a self, index: usize) -> Self {
        Self::Item(self, index)
    }

    /// Expected one thing, another came.
    pub(crate) fn wrong(&self, expected: &str, came: Raw<'_>) -> Refusal {
        let came = match serde_json::from_str::<Value>(came.get()) {
            Ok(value) => params::came(Some(&value)),
            Err(_) => "what does not read".to_owned(),
        };
        Refusal::invalid(self.to_string(), format!("expected {expected}, got {came}"))
    }

    /// The upstream's own form, which clients match: the path, a colon, its words.
    pub(crate) fn says(&self, words: &str) -> Refusal {
        Refusal::Invalid { field: Some(self.to_string()), message: format!("{self}: {words}") }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (up, name): (_, &dyn fmt::Display) = match self {
            Self::Top => return Ok(()),
            Self::Key(up, name) => (up, name),
            Self::Item(up, index) => (up, index),
        };
        if !matches!(up, Self::Top) {
            write!(f, "{up}.")?;
        }
        name.fmt(f)
    }
}

/// A refusal in the upstream's own words, which name no path.
pub(crate) fn words(field: &str, message: impl Into<String>) -> Refusal {
    Refusal::Invalid { field: Some(field.to_owned()), message: message.into() }
}

//! The bearer token of the operators' door.

use std::fmt::Write as _;

use gatehouse_model::{Secret, Seed};
use serde::Deserialize;
use subtle::ConstantTimeEq;

/// A token made anew at each start; it opens every operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Token(Secret<String>);

impl Token {
    /// A fresh token of 256 random bits.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        let mut bytes = [0; 32];
        seed.fill(&mut bytes);
        let mut text = String::with_capacity(64);
        for byte in bytes {
            write!(text, "{byte:02x}").expect("a String takes every write");
        }
        Self(Secret::new(text))
    }

    /// Whether an `Authorization` header carries this token, in time that does not depend on where it differs.
    #[must_use]
    pub fn opens(&self, authorization: &str) -> bool {
        let Some((scheme, presented)) = authorization.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer")
            && bool::from(self.0.expose().as_bytes().ct_eq(presented.trim().as_bytes()))
    }

    /// The token as text, for the door's file and the `Authorization` header.
    pub(crate) fn reveal(&self) -> &str {
        self.0.expose()
    }
}

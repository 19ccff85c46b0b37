//! The bearer token of the admin API.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gatehouse_model::{Secret, Seed};
use serde::Deserialize;
use subtle::ConstantTimeEq;

/// A token, new at each start; it allows every operation.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub struct Token(Secret<String>);

impl Token {
    /// A fresh token of 256 random bits.
    #[must_use]
    pub fn mint(seed: &dyn Seed) -> Self {
        let mut bytes = [0; 32];
        seed.fill(&mut bytes);
        Self(Secret::new(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Whether an `Authorization` header holds this token; compared in constant time.
    #[must_use]
    pub fn matches(&self, authorization: &str) -> bool {
        let Some((scheme, presented)) = authorization.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case("bearer")
            && bool::from(self.0.expose().as_bytes().ct_eq(presented.trim().as_bytes()))
    }

    /// The token as text, for the endpoint file and the `Authorization` header.
    pub(crate) fn reveal(&self) -> &str {
        self.0.expose()
    }
}

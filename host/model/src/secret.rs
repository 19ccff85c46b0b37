//! A value that cannot be printed by accident, and where one is.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize};

/// Where a secret is. The gateway resolves it; no secret stands in the configuration file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretRef {
    /// An environment variable.
    Env(String),
    /// A file; white space around its content is ignored.
    File(PathBuf),
    /// In hand already: for configurations made by the program itself.
    #[serde(skip)]
    Given(Secret<String>),
}

/// Wraps a secret: no `Display`, no `Serialize`, and a `Debug` that says nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The secret itself; call it only where it is put on the wire or compared.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

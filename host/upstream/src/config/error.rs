//! What is told of a value that cannot be used. A secret's value never is.

/// A value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {problem}")]
pub struct ConfigError {
    /// The configuration key, e.g. `providers.bfl.base_url`.
    pub key: String,
    /// What was expected and what came, or what to do. What follows a semicolon is the remedy.
    pub problem: String,
}

pub(crate) fn error(key: String, problem: impl Into<String>) -> ConfigError {
    ConfigError { key, problem: problem.into() }
}

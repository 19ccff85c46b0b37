//! The process's environment: read here, and handed on as configuration.

/// Every variable whose name and value are text.
#[must_use]
pub(crate) fn variables() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// One variable; `None` when it is not set or not text.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one reader of the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

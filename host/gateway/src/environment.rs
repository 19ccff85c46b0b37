//! The process's environment: read here, and handed on as configuration.

/// What every overriding variable begins with: `GATEHOUSE__SERVER__LISTEN` sets `server.listen`.
pub(crate) const OVERRIDE: &str = "GATEHOUSE__";

/// The variables that override configuration; no other is kept, for it may be a secret.
pub(crate) fn overrides() -> Vec<(String, String)> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).filter(|(name, _)| name.starts_with(OVERRIDE)).collect()
}

/// One variable; `None` when it is not set or not text.
#[expect(clippy::disallowed_methods, reason = "the one reader of the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

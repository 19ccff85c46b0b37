//! What a run by hand asks for through the environment. Nothing here changes what a test expects.

/// A variable of the environment.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "larger runs by hand")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The gateway's binary: `built` by cargo for the test, or what `GATEHOUSE_BINARY` names, a release build for instance.
#[must_use]
pub fn binary(built: &str) -> String {
    variable("GATEHOUSE_BINARY").unwrap_or_else(|| built.to_owned())
}

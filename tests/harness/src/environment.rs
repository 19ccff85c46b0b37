//! What a run by hand asks for through the environment. Nothing here changes what a test expects.

use gatehouse_fault_injection::PostgresServer;

/// A variable of the environment.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "larger runs by hand")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The address of a new database, where gateways of tests shall keep their stores in one: `GATEHOUSE_STORE=postgres`. Tests about the
/// store's file fail then.
pub(crate) fn database() -> Option<String> {
    variable("GATEHOUSE_STORE").map(|kind| match kind.as_str() {
        "postgres" => PostgresServer::shared().database(),
        other => panic!("GATEHOUSE_STORE: expected postgres, found {other:?}"),
    })
}

/// The gateway's binary: `built` by cargo for the test, or what `GATEHOUSE_BINARY` names, a release build for instance.
#[must_use]
pub fn binary(built: &str) -> String {
    variable("GATEHOUSE_BINARY").unwrap_or_else(|| built.to_owned())
}

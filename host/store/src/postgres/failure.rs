//! What an error of PostgreSQL means: whether the same may be done later, and what an operator is told.
//!
//! A server that stops, starts, fails over or is full comes back: nobody's process ends for that. Anything else, such as a constraint or
//! the fence of the writer, is a failure. Details of the server's messages are left out: they may hold rows.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::error::{OpenError, StoreError};

/// Why none of the servers of an address took a connection.
#[derive(Debug, thiserror::Error)]
#[error("the database cannot be used: {reason}")]
pub(crate) struct ConnectError {
    pub(super) reason: String,
    /// Whether one of them may take it later, with the same settings.
    pub(super) passes: bool,
}

impl From<ConnectError> for OpenError {
    fn from(ConnectError { reason, passes }: ConnectError) -> Self {
        Self::Database { reason, passes }
    }
}

/// The store is open, so there was a connection: another one is tried until there is.
impl From<ConnectError> for StoreError {
    fn from(error: ConnectError) -> Self {
        tracing::debug!(%error, "no connection to the database");
        Self::Unavailable
    }
}

/// What went wrong while `doing` something.
pub(crate) fn store_error(doing: &str, error: &Error) -> StoreError {
    SessionError::of(error).of_store(doing)
}

/// Why a session did not do what it was asked.
#[derive(Debug)]
pub(crate) struct SessionError {
    pub(super) reason: String,
    /// Whether the same may be done later.
    pub(super) passes: bool,
}

impl SessionError {
    fn of(error: &Error) -> Self {
        Self { reason: describe(error), passes: passes(error) }
    }

    /// What went wrong while `doing` something.
    pub(super) fn of_store(self, doing: &str) -> StoreError {
        let Self { reason, passes } = self;
        if passes {
            tracing::debug!(doing, %reason, "the database cannot be reached");
            StoreError::Unavailable
        } else {
            StoreError::failed(format_args!("{doing}: {reason}"))
        }
    }
}

impl From<Error> for SessionError {
    fn from(error: Error) -> Self {
        Self::of(&error)
    }
}

impl From<SessionError> for OpenError {
    fn from(SessionError { reason, passes }: SessionError) -> Self {
        Self::Database { reason, passes }
    }
}

/// Whether the connection or the server is at fault, and not what was asked.
pub(crate) fn passes(error: &Error) -> bool {
    match error.as_db_error() {
        Some(answer) => is_passing(answer.code()),
        None => error.is_closed() || io_error(error).is_some(),
    }
}

/// The class of a state is its first two letters.
fn is_passing(state: &SqlState) -> bool {
    let code = state.code();
    // Connections, resources, an operator or a server that stops or starts.
    ["08", "53", "57"].iter().any(|class| code.starts_with(class))
        || [
            // Told at a connection alone, so by a server that was reached before.
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            SqlState::INVALID_PASSWORD,
            SqlState::INVALID_CATALOG_NAME,
            // A primary that has become a standby.
            SqlState::READ_ONLY_SQL_TRANSACTION,
            // The session ended for being idle inside a transaction.
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            // Another transaction was in the way.
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::LOCK_NOT_AVAILABLE,
        ]
        .contains(state)
}

/// Whether a server that refuses a connection with this error will go on refusing it until somebody changes settings.
pub(super) fn is_refusal(error: &Error) -> bool {
    match error.as_db_error() {
        Some(answer) => {
            let code = answer.code().code();
            !["08", "53", "57"].iter().any(|class| code.starts_with(class))
        }
        // A standby is a server that does not allow writes: it may become the primary.
        None => {
            io_error(error).is_none_or(|error| error.kind() == io::ErrorKind::InvalidData)
                && !error.is_closed()
        }
    }
}

fn io_error(error: &Error) -> Option<&io::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// For an operator: what failed, and why.
pub(crate) fn describe(error: &Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return describe_answer(answer);
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let _ = write!(text, ": {cause}");
        source = cause.source();
    }
    text
}

fn describe_answer(answer: &DbError) -> String {
    format!("{} (SQLSTATE {})", answer.message(), answer.code().code())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failover would end the process, or a broken rule would be tried for ever.
    #[test]
    fn a_server_that_comes_back_is_waited_for() {
        for code in [
            "08006", "25006", "25P03", "28P01", "3D000", "40001", "53100", "53300", "57014", "57P01",
            "57P02", "57P03",
        ] {
            assert!(is_passing(&SqlState::from_code(code)), "{code}");
        }
        for code in ["23505", "23514", "42P01", "42501", "GH001", "22003", "XX001"] {
            assert!(!is_passing(&SqlState::from_code(code)), "{code}");
        }
    }
}

//! The exit codes of the process.

use std::process::ExitCode;

use gatehouse_store::OpenError;

/// The end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The command was refused, or the doctor found something.
    Refused = 1,
    /// An error on the command line or in the configuration.
    Misconfigured = 2,
    /// The store failed.
    Store = 3,
    /// A part of the gateway could not start, or ended by itself.
    Broken = 4,
}

impl From<&OpenError> for Exit {
    /// Why a store was not opened.
    fn from(error: &OpenError) -> Self {
        match error {
            OpenError::Database { passes: false, .. } => Self::Misconfigured,
            OpenError::Locked { .. } | OpenError::Taken { .. } | OpenError::Leased { .. } => Self::Refused,
            _ => Self::Store,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

//! How the process ends: one table of exit codes.

use std::process::ExitCode;

use gatehouse_admin::OperationError;
use gatehouse_store::OpenError;

use crate::ask::AskError;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// The command was refused, or the doctor found something.
    Refused = 1,
    /// A mistake on the command line or in the configuration.
    Mistake = 2,
    /// The store failed.
    Store = 3,
    /// A part could not start, or ended by itself.
    Broken = 4,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&AskError> for Exit {
    fn from(error: &AskError) -> Self {
        match error {
            AskError::Open(OpenError::Locked { .. }) | AskError::NoStore(_) => Self::Refused,
            AskError::Open(_) => Self::Store,
            AskError::Data(_) | AskError::Door(_) | AskError::Operation(OperationError::Failed(_)) => {
                Self::Broken
            }
            AskError::Operation(_) => Self::Refused,
        }
    }
}

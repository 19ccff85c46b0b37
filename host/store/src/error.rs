//! What can go wrong with the file.

use std::path::PathBuf;

/// Why the store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the file.
    #[error(
        "{path}: another gatehouse process has this store open; stop it first, or use another data folder"
    )]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes to the database.
    #[error("database {database}: another gateway is at work on it; stop it first, or use another database")]
    Taken {
        /// Its servers and its name.
        database: String,
    },
    /// The gateway that writes to the database has lost its session, or has crashed.
    #[error(
        "database {database}: the gateway {node} has lost its connection or crashed, and may be about to come back; wait until its lease \
         ends in {seconds} s, or start it"
    )]
    Leased {
        /// Its servers and its name.
        database: String,
        /// What the gateway is called.
        node: String,
        /// What is left of its lease.
        seconds: i64,
    },
    /// Pages of the file are not what was written.
    #[error(
        "{path}: the file is damaged: {reason}; it was not changed. Restore the data folder from a backup, and look at the \
         disk that it is on"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// For the operator.
        reason: String,
    },
    /// A later release wrote the file.
    #[error("the store has schema {found}, this release reads up to {supported}; use the newer release")]
    Newer {
        /// The file's schema.
        found: u64,
        /// The newest this release knows.
        supported: u64,
    },
    /// A release before the present layout wrote the file.
    #[error(
        "the store has schema {found}, which was given up; this release reads schema {supported}. Use the release that wrote \
         it, or begin with an empty data folder and pay in again what its customers had free"
    )]
    Older {
        /// The file's schema.
        found: u64,
        /// The one this release knows.
        supported: u64,
    },
    /// An earlier release made the tables of the database.
    #[error(
        "the database has schema {found}, this release works with {supported}: stop the gateway that uses it, make a dump, and \
         run `gatehouse store migrate`"
    )]
    Migrate {
        /// The database's schema.
        found: u64,
        /// The one of this release.
        supported: u64,
    },
    /// The file cannot be read or made.
    #[error("{path}: {reason}")]
    Storage {
        /// The file.
        path: PathBuf,
        /// For the operator.
        reason: String,
    },
    /// The address of the database cannot be used.
    #[error("{problem}")]
    Address {
        /// Which part of it, what was expected and what came.
        problem: String,
    },
    /// No connection to the database.
    #[error("the database cannot be used: {reason}")]
    Database {
        /// Server by server, for the operator.
        reason: String,
        /// Whether one of them may take it later, with the same settings.
        passes: bool,
    },
    /// The writer's thread could not be started.
    #[error("the store's writer thread could not be started")]
    Thread(#[source] std::io::Error),
}

/// Why the store could not do its work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Too many commands are waiting; nothing was done. Passes by itself.
    #[error("the store is busy: its queue is full")]
    Busy,
    /// The disk is full, and a commit already waits for room; nothing was done. Passes once the disk has room.
    #[error("the store's disk is full: nothing can be written until it has room")]
    NoRoom,
    /// The engine under the store cannot be reached; nothing was done. Passes once it can.
    #[error("the store cannot be reached now")]
    Unavailable,
    /// [`crate::Store::close`] was called; nothing was done.
    #[error("the store is closed")]
    Closed,
    /// The file failed. The process must stop, and a restart recovers: it is not known whether the last
    /// batch became durable.
    #[error("the store failed: {reason}")]
    Failed {
        /// For the operator.
        reason: String,
    },
    /// A row has an encoding this release does not know, or is damaged.
    #[error("the store's table {table} holds a row this release cannot read: {problem}")]
    Unreadable {
        /// The table.
        table: String,
        /// What was expected and what came.
        problem: String,
    },
}

impl StoreError {
    /// Whether the same may be done later, by this process.
    #[must_use]
    pub fn passes(&self) -> bool {
        matches!(self, Self::Busy | Self::NoRoom | Self::Unavailable)
    }

    pub(crate) fn failed(reason: impl std::fmt::Display) -> Self {
        Self::Failed { reason: reason.to_string() }
    }
}

macro_rules! failed_from {
    ($($error:ident),*) => {$(
        impl From<redb::$error> for StoreError {
            fn from(error: redb::$error) -> Self {
                Self::failed(error)
            }
        }
    )*};
}

failed_from!(CommitError, StorageError, TableError, TransactionError);

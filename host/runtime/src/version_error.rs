//! Why a version cannot be had, and why one was not removed.

use std::sync::Arc;

use gatehouse_model::{Digest, UnixMs};

use crate::deploy::error::StageError;

/// A version that cannot be had.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VersionUnavailable {
    /// It is kept and does not load.
    #[error("plugin version {digest} cannot be loaded: {source}")]
    Broken {
        /// Its digest.
        digest: Digest,
        /// The stage that refused it.
        source: Arc<StageError>,
    },
    /// Its file cannot be read.
    #[error("plugin version {digest} cannot be read: {source}")]
    Unreadable {
        /// Its digest.
        digest: Digest,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// It was never installed here, or its file was removed.
    #[error("plugin version {0} is not in the data folder")]
    Unknown(Digest),
}

/// Why a version was not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoveError {
    /// It serves its family.
    #[error("plugin version {0} serves; activate another one first")]
    Active(Digest),
    /// It is not in the plugin store.
    #[error("plugin version {0} is not in the data folder")]
    NotKept(Digest),
    /// Live tasks need it.
    #[error("plugin version {0} finishes tasks it admitted; try again when they have ended")]
    Pinned(Digest),
    /// It takes over if a fresh version fails.
    #[error("plugin version {digest} is the standby of its successor; try again after {until}")]
    Standby {
        /// Its digest.
        digest: Digest,
        /// The end of the canary period.
        until: UnixMs,
    },
    /// The file system's.
    #[error("the plugin store: {0}")]
    Folder(#[from] std::io::Error),
}

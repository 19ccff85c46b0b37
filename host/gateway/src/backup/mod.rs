//! Backups: the store as of one moment with what belongs to it, in a folder of its own or below an address of a bucket, made while the
//! gateway serves; and the way back.
//!
//! A backup has the store, the pepper, plugins and their defaults. It has no media: these are in a folder or a bucket of
//! their own, live for hours, and no money depends on them. Calls block.

mod bucket;
mod make;
mod manifest;
mod restore;

use std::io;
use std::path::{Path, PathBuf};

use gatehouse_media::BucketFileError;
use gatehouse_store::{CopyError, OpenError, StoreError};

pub(crate) use bucket::{BackupConfig, BucketSettings};
pub(crate) use make::{BackupFolder, remove_unsent};
pub(crate) use restore::{Source, restore};

/// Why there is no backup, or nothing was restored.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackupError {
    /// The store is no file of this folder.
    #[error(
        "the store is in a database: back that up with pg_dump, and with it `pepper`, `plugins` and `defaults` of {}; without the \
         pepper no key of it works", .0.display()
    )]
    Database(PathBuf),
    /// A folder that must be new holds something.
    #[error("{}: expected a folder that is empty or not there yet; name another one", .0.display())]
    NotEmpty(PathBuf),
    /// The same of a bucket.
    #[error(
        "{0}: expected no object below it; name another prefix, or remove what is there (objects without manifest.json are no backup but \
         what one left that was cut short)"
    )]
    Taken(String),
    /// Another gateway has sent a backup to the same place meanwhile.
    #[error(
        "{0}: another gateway has written it meanwhile, so this backup and that one have mixed; nothing was removed; give each gateway a \
         prefix of its own, and make both backups again"
    )]
    Shared(String),
    /// A bucket cannot be used as it is configured.
    #[error("{0}")]
    Settings(#[from] gatehouse_media::Error),
    /// A bucket refused, or gave no answer.
    #[error(transparent)]
    Bucket(#[from] BucketFileError),
    /// A relative path, of which nobody knows where it begins.
    #[error("{}: expected a path that begins with a slash", .0.display())]
    Relative(PathBuf),
    /// A folder inside of what is copied.
    #[error("{}: expected a folder outside of {}", .0.display(), .1.display())]
    Inside(PathBuf, PathBuf),
    /// The disk of the folder has too little room, for a copy or for what is restored.
    #[error("{}: expected {needed} bytes free for the store, what is beside it and what must stay free, found {free}; make room, or name a folder on another disk", folder.display())]
    NoRoom {
        /// The folder.
        folder: PathBuf,
        /// What the copy takes, the store's file with what is beside it, and what stays free.
        needed: u64,
        /// What there is.
        free: u64,
    },
    /// There is no backup.
    #[error("{0}: no backup that this release can read: {1}")]
    NoBackup(String, String),
    /// A file is not the one that was written.
    #[error("{0}: its bytes are not those that the manifest names; nothing was restored")]
    Changed(String),
    /// A file of the copy is not what was sent.
    #[error("{0}: what was sent is not what was copied before; look at the disk of the data folder")]
    Sent(String),
    /// What was copied contradicts itself.
    #[error("the copy is not sound: {0}; `gatehouse doctor` looks at the store it is from")]
    Unsound(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    #[error(transparent)]
    Copy(#[from] CopyError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BackupError {
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.to_owned(), source }
    }
}

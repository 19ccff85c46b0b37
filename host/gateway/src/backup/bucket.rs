//! Backups in a bucket. The copy is made and examined in the data folder first, since a store is no stream; then its files are sent, the
//! manifest last: objects without one are no backup.

use std::fs;
use std::path::Path;

use gatehouse_admin::BackupProgress;
use gatehouse_driver::disk_mark;
use gatehouse_media::{BucketFileError, BucketFiles, S3Config};
use serde::Deserialize;

use super::BackupError;
use super::manifest::{FileDigest, MAX_BYTES, Manifest, NAME};
use crate::secrets::Outgoing;

/// The `[backup]` table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BackupConfig {
    /// The service of a bucket for backups; absent: that of media, where media are in a bucket.
    pub(crate) s3: Option<S3Config>,
}

/// How buckets of backups are reached.
#[derive(Clone, Debug)]
pub(crate) struct BucketSettings {
    s3: S3Config,
    /// The table that they are of.
    table: &'static str,
    /// Whether the operator wrote it.
    is_own: bool,
    /// MiB that must be free on the data folder's disk for a new task.
    min_free_mib: Option<u32>,
    outgoing: Outgoing,
}

impl BucketSettings {
    /// Those of a configuration, whose media are at `media_url`.
    pub(crate) fn new(
        backup: &BackupConfig,
        media_url: Option<&str>,
        media: &S3Config,
        min_free_mib: Option<u32>,
        outgoing: Outgoing,
    ) -> Self {
        let of_media = media_url.filter(|url| BucketFiles::is_address(url)).map(|_| media);
        let (s3, table) = match (&backup.s3, of_media) {
            (Some(own), _) => (own.clone(), "backup.s3"),
            (None, Some(media)) => (media.clone(), "media.s3"),
            (None, None) => (S3Config::default(), "backup.s3"),
        };
        Self { s3, table, is_own: backup.s3.is_some(), min_free_mib, outgoing }
    }

    /// Checks what `[backup.s3]` says, where it is there; nothing is sent.
    ///
    /// # Errors
    /// What cannot be used, with its key.
    pub(crate) fn check(&self) -> Result<(), gatehouse_media::Error> {
        match self.is_own {
            true => self.open("s3://any").map(drop),
            false => Ok(()),
        }
    }

    /// Bytes of the data folder's disk that a copy leaves free while it is sent, which may take hours: with less new tasks are refused.
    pub(super) fn spare(&self, size: u64) -> u64 {
        disk_mark(self.min_free_mib, size)
    }

    /// What is below an address. Nothing is sent yet.
    pub(crate) fn open(&self, address: &str) -> Result<BucketFiles, gatehouse_media::Error> {
        BucketFiles::open(address, &self.s3, self.table, &self.outgoing.route())
    }
}

/// Sends the backup in `folder`. Where that fails, what was sent is removed, unless it may be part of another gateway's backup.
pub(super) async fn send(
    bucket: &BucketFiles,
    folder: &Path,
    progress: &BackupProgress,
) -> Result<(), BackupError> {
    let manifest = Manifest::read(folder)?;
    progress.expect_bytes(manifest.bytes());
    let mut sent = Vec::new();
    let outcome = send_files(bucket, folder, &manifest, progress, &mut sent).await;
    match outcome {
        Ok(()) | Err(BackupError::Shared(_)) => {}
        Err(_) => bucket.take_back(&sent, NAME).await,
    }
    outcome
}

async fn send_files(
    bucket: &BucketFiles,
    folder: &Path,
    manifest: &Manifest,
    progress: &BackupProgress,
    sent: &mut Vec<String>,
) -> Result<(), BackupError> {
    for (name, expected) in &manifest.files {
        // One that the bucket took, and whose answer was lost, is removed too.
        sent.push(name.clone());
        let count = |bytes| progress.send_bytes(bytes);
        let (bytes, sha256) = bucket.upload(name, &folder.join(name), &count).await?;
        if (FileDigest { bytes, sha256 }) != *expected {
            return Err(BackupError::Sent(bucket.address_of(name)));
        }
    }
    let path = folder.join(NAME);
    let text = fs::read(&path).map_err(|error| BackupError::file(&path, error))?;
    sent.push(NAME.to_owned());
    match bucket.create(NAME, text).await? {
        true => Ok(()),
        false => Err(BackupError::Shared(bucket.address_of(NAME))),
    }
}

/// Reads the manifest of a backup.
pub(super) async fn manifest(bucket: &BucketFiles) -> Result<Manifest, BackupError> {
    let text = bucket.read(NAME, MAX_BYTES).await?;
    Manifest::parse(&text, bucket.address_of(NAME))
}

/// Reads a file of a backup into a new one, and compares it with the manifest.
pub(super) async fn fetch(
    bucket: &BucketFiles,
    name: &str,
    expected: &FileDigest,
    to: &Path,
) -> Result<(), BackupError> {
    match bucket.download(name, to, expected.bytes).await {
        Ok((bytes, sha256)) if (FileDigest { bytes, sha256 }) == *expected => Ok(()),
        Ok(_) | Err(BucketFileError::OtherLength { .. }) => {
            Err(BackupError::Changed(bucket.address_of(name)))
        }
        Err(error) => Err(error.into()),
    }
}

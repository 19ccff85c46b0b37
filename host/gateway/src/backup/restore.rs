//! The way back: a backup becomes a new data folder, or nothing changes.
//!
//! Everything is copied into a folder within the new one, looked at there, and gets its place last, the store after all else: a
//! folder with a pepper and without a store starts no gateway. The new folder itself may be where a disk is mounted.

use std::fs;
use std::path::Path;

use gatehouse_files::rename_durable;
use gatehouse_media::BucketFiles;
use gatehouse_store::Progress;
use tokio::runtime::Runtime;

use super::BackupError;
use super::bucket;
use super::make::{check_free, copy_file, folder_of, new_folder, remove_left, sync_folders};
use super::manifest::{FileDigest, Manifest};
use crate::data_folder::DataFolder;

/// Where a restore works, below the data folder.
const ASIDE: &str = ".restoring";

/// Where a backup is read from.
pub(crate) enum Source<'a> {
    /// A folder.
    Folder(&'a Path),
    /// A bucket, and what its calls run on.
    Bucket(BucketFiles, Runtime),
}

impl Source<'_> {
    fn manifest(&self) -> Result<Manifest, BackupError> {
        match self {
            Self::Folder(folder) => Manifest::read(folder),
            Self::Bucket(bucket, runtime) => runtime.block_on(bucket::manifest(bucket)),
        }
    }

    /// Copies a file below `aside`.
    fn fetch(&self, name: &str, expected: &FileDigest, aside: &Path) -> Result<(), BackupError> {
        let to = aside.join(name);
        match self {
            Self::Folder(folder) => copy_file(&folder.join(name), &to),
            Self::Bucket(bucket, runtime) => {
                folder_of(&to)?;
                runtime.block_on(bucket::fetch(bucket, name, expected, &to))
            }
        }
    }
}

/// Restores the backup of `source` into the data folder `root`, which must be empty or not there; `show` gets a sentence for each
/// part of the work. What the backup says of itself.
///
/// # Errors
/// [`BackupError`]; nothing has changed then.
pub(crate) fn restore(
    source: &Source<'_>,
    root: &Path,
    show: &dyn Fn(&str),
) -> Result<Manifest, BackupError> {
    let manifest = source.manifest()?;
    let aside = root.join(ASIDE);
    // What a try that was cut short has left.
    remove_left(&aside)?;
    let made = new_folder(root)?;
    let outcome = fill(source, &aside, &manifest, show).and_then(|()| put_in_place(&aside, root));
    if let Err(error) = outcome {
        drop(fs::remove_dir_all(if made { root } else { &aside }));
        return Err(error);
    }
    Ok(manifest)
}

fn fill(
    source: &Source<'_>,
    aside: &Path,
    manifest: &Manifest,
    show: &dyn Fn(&str),
) -> Result<(), BackupError> {
    new_folder(aside)?;
    check_free(aside, manifest.bytes())?;
    for (at, (name, expected)) in manifest.files.iter().enumerate() {
        show(&format!("copied {at} of {} files", manifest.files.len()));
        source.fetch(name, expected, aside)?;
    }
    show("comparing the files with the manifest");
    manifest.verify(aside)?;
    show("summing up the ledger");
    manifest.examine(aside, &Progress::default())?;
    sync_folders(aside)
}

/// Moves everything up, the store last.
fn put_in_place(aside: &Path, root: &Path) -> Result<(), BackupError> {
    let failed = |error| BackupError::file(root, error);
    let mut names = Vec::new();
    for entry in fs::read_dir(aside).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name());
    }
    let store = DataFolder::store(aside);
    names.sort_by_key(|name| aside.join(name) == store);
    for name in names {
        rename_durable(&aside.join(&name), &root.join(&name)).map_err(failed)?;
    }
    fs::remove_dir(aside).map_err(failed)
}

//! The way back: a backup becomes a new data folder, or nothing changes.
//!
//! Everything is copied into a folder within the new one, looked at there, and gets its place last, the store after all else: a
//! folder with a pepper and without a store starts no gateway. The new folder itself may be where a disk is mounted.

use std::fs;
use std::io;
use std::path::Path;

use gatehouse_files::rename_durable;
use gatehouse_store::Progress;

use super::BackupError;
use super::make::{copy_file, new_folder, sync_folders};
use super::manifest::Manifest;
use crate::data_folder::DataFolder;

/// Where a restore works, below the data folder.
const ASIDE: &str = ".restoring";

/// What was restored.
pub(crate) struct Restored {
    /// When the backup was made.
    pub(crate) made_at: String,
    /// The release that made it.
    pub(crate) release: String,
    /// Files that were copied.
    pub(crate) files: usize,
    /// The ledger, in words.
    pub(crate) ledger: String,
}

/// Restores the backup in `folder` into the data folder `root`, which must be empty or not there; `show` gets a sentence for each
/// part of the work.
///
/// # Errors
/// [`BackupError`]; nothing has changed then.
pub(crate) fn restore(folder: &Path, root: &Path, show: &dyn Fn(&str)) -> Result<Restored, BackupError> {
    let manifest = Manifest::read(folder)?;
    let aside = root.join(ASIDE);
    // What a try that was cut short has left.
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(BackupError::file(&aside, error));
        }
        _ => {}
    }
    let made = new_folder(root)?;
    let outcome = fill(folder, &aside, &manifest, show).and_then(|()| put_in_place(&aside, root));
    if let Err(error) = outcome {
        drop(fs::remove_dir_all(if made { root } else { &aside }));
        return Err(error);
    }
    Ok(Restored {
        made_at: manifest.made_at,
        release: manifest.gatehouse,
        files: manifest.files.len(),
        ledger: manifest.ledger.to_string(),
    })
}

fn fill(folder: &Path, aside: &Path, manifest: &Manifest, show: &dyn Fn(&str)) -> Result<(), BackupError> {
    new_folder(aside)?;
    for (at, name) in manifest.files.keys().enumerate() {
        show(&format!("copied {at} of {} files", manifest.files.len()));
        let (from, to) = (folder.join(name), aside.join(name));
        copy_file(&from, &to)?;
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

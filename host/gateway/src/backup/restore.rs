//! The way back: a backup becomes a new data folder, or nothing changes.
//!
//! Everything is copied beside the new folder, looked at there, and gets the folder's name last.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gatehouse_files::rename_durable;

use super::BackupError;
use super::make::{copy_file, new_folder};
use super::manifest::Manifest;

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
    expect_empty(root)?;
    let aside = aside(root)?;
    // What an earlier try has left.
    match fs::remove_dir_all(&aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(BackupError::file(&aside, error));
        }
        _ => {}
    }
    new_folder(&aside)?;
    let outcome = fill(folder, &aside, &manifest, show)
        .and_then(|()| rename_durable(&aside, root).map_err(|error| BackupError::file(root, error)));
    if let Err(error) = outcome {
        drop(fs::remove_dir_all(&aside));
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
    for (at, name) in manifest.files.keys().enumerate() {
        show(&format!("copied {at} of {} files", manifest.files.len()));
        let (from, to) = (folder.join(name), aside.join(name));
        copy_file(&from, &to)?;
    }
    show("comparing the files with the manifest");
    manifest.verify(aside)?;
    show("summing up the ledger");
    manifest.examine(aside)
}

fn expect_empty(root: &Path) -> Result<(), BackupError> {
    match fs::read_dir(root) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(BackupError::NotEmpty(root.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(BackupError::file(root, error)),
    }
}

/// A folder beside the data folder, on the same disk.
fn aside(root: &Path) -> Result<PathBuf, BackupError> {
    let name = root.file_name().ok_or_else(|| BackupError::NotEmpty(root.to_owned()))?;
    let mut aside = name.to_owned();
    aside.push(".restoring");
    Ok(root.with_file_name(aside))
}

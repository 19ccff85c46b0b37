//! Makes a backup: the store's copy, the files beside it, and the manifest last, so that a folder with one is whole.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gatehouse_admin::{BackupProgress, BackupView, Backups, Moment, OperationError};
use gatehouse_files::{Space, if_exists, write_atomic};
use gatehouse_media::BucketFiles;
use gatehouse_model::Clock;
use gatehouse_store::{Progress, Store};
use tokio::runtime::Handle;

use super::BackupError;
use super::bucket::{self, BucketSettings};
use super::manifest::{FileDigest, Manifest, NAME, files_below, name_of};
use crate::data_folder::DataFolder;

/// What a backup takes of the data folder beside the store.
const BESIDE: [&str; 3] = ["pepper", "plugins", DEFAULTS];
const DEFAULTS: &str = "defaults";
/// The end of a component's name; its digest is before it, so its bytes never change.
const COMPONENT: &str = ".wasm";
/// Where a copy is made that goes to a bucket, below the data folder.
const ASIDE: &str = ".sending";
/// Bytes that stay free beside a copy, at the least.
const SPARE: u64 = 64 << 20;
/// Code of plugins that is compiled again where it is missing, and files that were being written.
const LEFT_OUT: [&str; 2] = [".cwasm", ".tmp"];

/// The data folder as backups are made of it.
pub(crate) struct BackupFolder {
    root: PathBuf,
    /// Whether the store is in it, and not in a database.
    has_store: bool,
    buckets: BucketSettings,
    clock: Arc<dyn Clock>,
}

impl BackupFolder {
    pub(crate) fn new(root: &Path, has_store: bool, buckets: BucketSettings, clock: Arc<dyn Clock>) -> Self {
        Self { root: root.to_owned(), has_store, buckets, clock }
    }

    fn back_up(&self, store: &Store, to: &str, progress: &BackupProgress) -> Result<BackupView, BackupError> {
        if !self.has_store {
            return Err(BackupError::Database(self.root.clone()));
        }
        match BucketFiles::is_address(to) {
            true => self.to_bucket(store, to, progress),
            false => self.to_folder(store, Path::new(to), SPARE, &progress.rows),
        }
    }

    /// Makes the copy in the data folder, whose disk has to have room for it, and sends it.
    fn to_bucket(
        &self,
        store: &Store,
        address: &str,
        progress: &BackupProgress,
    ) -> Result<BackupView, BackupError> {
        let (bucket, runtime) = (self.buckets.open(address)?, Handle::current());
        if !runtime.block_on(bucket.is_empty())? {
            return Err(BackupError::Taken(address.to_owned()));
        }
        let aside = std::path::absolute(self.root.join(ASIDE));
        let aside = aside.map_err(|error| BackupError::file(&self.root, error))?;
        remove_unsent(&self.root)?;
        let disk =
            gatehouse_files::space(&self.root).map_err(|error| BackupError::file(&self.root, error))?;
        let spare = self.buckets.spare(disk.size).max(SPARE);
        let view = self.to_folder(store, &aside, spare, &progress.rows)?;
        let sent = runtime.block_on(async {
            // The copy took its time: another gateway may have begun to send to the same place.
            match bucket.is_empty().await? {
                true => bucket::send(&bucket, &aside, progress).await,
                false => Err(BackupError::Taken(address.to_owned())),
            }
        });
        clear(&aside, true);
        sent.map(|()| BackupView { location: address.to_owned(), ..view })
    }

    fn to_folder(
        &self,
        store: &Store,
        folder: &Path,
        spare: u64,
        progress: &Progress,
    ) -> Result<BackupView, BackupError> {
        if !folder.is_absolute() {
            return Err(BackupError::Relative(folder.to_owned()));
        }
        let made = new_folder(folder)?;
        let outcome = self
            .check_place(folder)
            .and_then(|()| self.check_room(folder, spare))
            .and_then(|()| self.fill(store, folder, progress));
        if outcome.is_err() {
            clear(folder, made);
        }
        outcome
    }

    fn fill(&self, store: &Store, folder: &Path, progress: &Progress) -> Result<BackupView, BackupError> {
        let made_at = self.clock.now();
        let copy = self.copy_all(folder, || Ok(store.copy_to(&DataFolder::store(folder), progress)?))?;
        let rows = copy.rows.values().sum();
        let mut manifest = Manifest::new(made_at.to_string(), copy);
        manifest.examine(folder, progress)?;
        for path in files_below(folder).map_err(|error| BackupError::file(folder, error))? {
            let Some(name) = name_of(&path, folder) else { continue };
            let digest = FileDigest::of(&path).map_err(|error| BackupError::file(&path, error))?;
            manifest.files.insert(name, digest);
        }
        let text = serde_json::to_vec_pretty(&manifest).expect("keys are texts");
        sync_folders(folder)?;
        let path = folder.join(NAME);
        write_atomic(&path, &text).map_err(|error| BackupError::file(&path, error))?;
        Ok(BackupView {
            location: folder.display().to_string(),
            made: Moment(made_at),
            files: manifest.files.len() as u64,
            bytes: manifest.bytes(),
            rows,
            ledger_entries: manifest.ledger.entries,
            ledger_digest: manifest.ledger.digest.to_string(),
        })
    }

    /// Copies the store by `copy_store`, which may take minutes, and what is beside it.
    fn copy_all<T>(
        &self,
        folder: &Path,
        copy_store: impl FnOnce() -> Result<T, BackupError>,
    ) -> Result<T, BackupError> {
        // A version that a live task of the store needs may be removed meanwhile, and another one installed: what is there before
        // is kept, and what says which versions are active is older than the components that are copied last. Defaults count for
        // as long as they are there, so those of a family that is uninstalled meanwhile must not be.
        self.copy_beside(folder, |name| !name.starts_with(DEFAULTS))?;
        let copy = copy_store()?;
        self.copy_beside(folder, |name| !name.ends_with(COMPONENT))?;
        self.copy_beside(folder, |name| name.ends_with(COMPONENT) && !folder.join(name).exists())?;
        Ok(copy)
    }

    /// A copy that fills the disk would stop what the gateway writes there.
    fn check_room(&self, folder: &Path, spare: u64) -> Result<(), BackupError> {
        let length = |path: &Path| fs::metadata(path).map(|found| found.len()).unwrap_or_default();
        let beside = BESIDE.iter().flat_map(|part| files_below(&self.root.join(part)).unwrap_or_default());
        let needed =
            length(&DataFolder::store(&self.root)) + beside.map(|path| length(&path)).sum::<u64>() + spare;
        check_free(folder, needed)
    }

    /// A backup within what is copied would be part of every later one.
    fn check_place(&self, folder: &Path) -> Result<(), BackupError> {
        let resolved = |path: &Path| fs::canonicalize(path).map_err(|error| BackupError::file(path, error));
        let (folder, root) = (resolved(folder)?, resolved(&self.root)?);
        match ["plugins", DEFAULTS, "media"]
            .map(|part| root.join(part))
            .iter()
            .find(|part| folder.starts_with(part))
        {
            Some(part) => Err(BackupError::Inside(folder, part.clone())),
            None => Ok(()),
        }
    }

    /// Copies the files beside the store whose names are `wanted`, each durably.
    fn copy_beside(&self, folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<(), BackupError> {
        for part in BESIDE {
            let from = self.root.join(part);
            let failed = |error| BackupError::file(&from, error);
            let files = match if_exists(fs::metadata(&from)).map_err(failed)? {
                None => continue,
                Some(found) if found.is_dir() => files_below(&from).map_err(failed)?,
                Some(_) => vec![from.clone()],
            };
            for file in files {
                let Some(name) = name_of(&file, &self.root) else { continue };
                if wanted(&name) && !LEFT_OUT.iter().any(|left| name.contains(left)) {
                    copy_file(&file, &folder.join(name))?;
                }
            }
        }
        Ok(())
    }
}

impl Backups for BackupFolder {
    fn make(&self, store: &Store, to: &str, progress: &BackupProgress) -> Result<BackupView, OperationError> {
        self.back_up(store, to, progress).map_err(|error| match error {
            BackupError::NotEmpty(_)
            | BackupError::Taken(_)
            | BackupError::Relative(_)
            | BackupError::Inside(..)
            | BackupError::Settings(_)
            | BackupError::NoRoom { .. } => OperationError::Invalid(format!("to: {error}")),
            error @ BackupError::Database(_) => OperationError::Refused(error.to_string()),
            other => OperationError::Failed(other.to_string()),
        })
    }
}

/// Removes the copy that a process has left which was killed while it sent it. Only for the one that has the store.
pub(crate) fn remove_unsent(root: &Path) -> Result<(), BackupError> {
    remove_left(&root.join(ASIDE))
}

/// Removes a folder that a process was killed over.
pub(super) fn remove_left(folder: &Path) -> Result<(), BackupError> {
    if_exists(fs::remove_dir_all(folder)).map(drop).map_err(|error| BackupError::file(folder, error))
}

/// Copies one file, readable by its owner alone. One that is gone meanwhile, as a plugin that was removed, is left out.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    let failed = |error| BackupError::file(to, error);
    let source = if_exists(fs::File::open(from)).map_err(|error| BackupError::file(from, error))?;
    let Some(mut source) = source else { return Ok(()) };
    folder_of(to)?;
    let mut options = fs::OpenOptions::new();
    std::os::unix::fs::OpenOptionsExt::mode(options.write(true).create(true).truncate(true), 0o600);
    let mut target = options.open(to).map_err(failed)?;
    io::copy(&mut source, &mut target).map_err(failed)?;
    target.sync_all().map_err(failed)
}

/// The disk of a folder has so many bytes free.
pub(super) fn check_free(folder: &Path, needed: u64) -> Result<(), BackupError> {
    let space = gatehouse_files::space(folder).map_err(|error| BackupError::file(folder, error));
    let Space { free, .. } = space?;
    match free < needed {
        true => Err(BackupError::NoRoom { folder: folder.to_owned(), needed, free }),
        false => Ok(()),
    }
}

/// Makes the folder of a file.
pub(super) fn folder_of(file: &Path) -> Result<(), BackupError> {
    file.parent().map_or(Ok(()), make_folder)
}

/// Makes a folder, with those above it, that only its owner reads.
fn make_folder(folder: &Path) -> Result<(), BackupError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| BackupError::file(folder, error))
}

/// Makes the names in a folder, and in those below it, durable.
pub(super) fn sync_folders(folder: &Path) -> Result<(), BackupError> {
    let failed = |error| BackupError::file(folder, error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// Makes a folder that only its owner reads, or takes an empty one; whether it was made.
pub(super) fn new_folder(folder: &Path) -> Result<bool, BackupError> {
    match if_exists(fs::read_dir(folder)).map_err(|error| BackupError::file(folder, error))? {
        Some(mut entries) => match entries.next() {
            None => Ok(false),
            Some(_) => Err(BackupError::NotEmpty(folder.to_owned())),
        },
        None => make_folder(folder).map(|()| true),
    }
}

/// Removes what was begun and did not become a backup.
fn clear(folder: &Path, made: bool) {
    let cleared = if made {
        fs::remove_dir_all(folder)
    } else {
        fs::read_dir(folder).and_then(|entries| {
            entries.flatten().try_for_each(|entry| match entry.file_type()?.is_dir() {
                true => fs::remove_dir_all(entry.path()),
                false => fs::remove_file(entry.path()),
            })
        })
    };
    if let Err(error) = cleared {
        tracing::warn!(folder = %folder.display(), %error, "what was begun of a backup was not removed");
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_media::S3Config;
    use gatehouse_process::SystemClock;
    use gatehouse_upstream::OutgoingConfig;

    use super::super::bucket::BackupConfig;
    use super::*;
    use crate::secrets::Outgoing;

    /// A restore would bring back prices and providers of a family that was uninstalled, or lose a version that a task needs.
    #[test]
    fn what_changes_while_the_store_is_copied_is_kept_as_it_is_then() {
        let outer = tempfile::tempdir().unwrap();
        let (root, copy) = (outer.path().join("data"), outer.path().join("copy"));
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in
            ["pepper", "plugins/active.json", "plugins/old.wasm", "defaults/gone.toml", "defaults/stays.toml"]
        {
            write(name, "before");
        }
        fs::create_dir(&copy).unwrap();
        let outgoing = Outgoing { extra_roots_file: None, config: OutgoingConfig::default() };
        let buckets =
            BucketSettings::new(&BackupConfig::default(), None, &S3Config::default(), None, outgoing);
        let backup = BackupFolder::new(&root, true, buckets, Arc::new(SystemClock));
        let meanwhile = || {
            fs::remove_file(root.join("plugins/old.wasm")).unwrap();
            fs::remove_file(root.join("defaults/gone.toml")).unwrap();
            for name in ["plugins/active.json", "plugins/new.wasm", "defaults/new.toml"] {
                write(name, "after");
            }
            Ok(())
        };
        backup.copy_all(&copy, meanwhile).unwrap();
        let text = |path: PathBuf| (name_of(&path, &copy).unwrap(), fs::read_to_string(&path).unwrap());
        let mut found: Vec<_> = files_below(&copy).unwrap().into_iter().map(text).collect();
        found.sort();
        let expected = [
            ("defaults/new.toml", "after"),
            ("defaults/stays.toml", "before"),
            ("pepper", "before"),
            ("plugins/active.json", "after"),
            ("plugins/new.wasm", "after"),
            ("plugins/old.wasm", "before"),
        ];
        assert_eq!(found, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }
}

//! The data folder: its path, its parts, their modes, and the pepper.
//!
//! Never opens the store, but says whether the folder has lost it, and whether it and the pepper belong
//! together. The folder belongs to one gateway; `backup` copies it.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use gatehouse_files::{close_to_others, if_exists, private_folder, write_atomic};
use gatehouse_model::{Pepper, Seed};
use gatehouse_store::{PepperFit, Store};

const STORE: &str = "core.redb";
const PEPPER: &str = "pepper";
const ACME: &str = "acme.json";
/// What an earlier version, or a copy from a backup, may have left open to others. The media folder is the media
/// store's.
const PARTS: [&str; 7] =
    [STORE, PEPPER, ACME, "admin.json", "admin-viewer.json", "sandbox-keys.json", "defaults"];

/// What is made after the store, or holds what its rows refer to. Compiled code of plugins is neither.
const LATER: [&str; 4] = [PEPPER, "plugins/active.json", "media", "defaults"];
/// The bytes at which a store that was ever used begins.
const HEAD: usize = 9;

/// Locked by the gateway whose store is no file.
const LOCK: &str = "lock";

/// Keeps other gateways out of a data folder, as long as it lives.
#[derive(Debug)]
pub(crate) struct FolderLock {
    _file: fs::File,
}

/// An existing data folder.
#[derive(Clone, Debug)]
pub(crate) struct DataFolder {
    root: PathBuf,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("data folder {}: {what}: {source}", path.display())]
pub(crate) struct DataError {
    path: PathBuf,
    what: &'static str,
    source: io::Error,
}

impl DataFolder {
    /// Opens the folder; creates it (0700) and its parts if they are missing. What others could use is closed to
    /// them, and `report` gets a sentence for each.
    ///
    /// # Errors
    /// The file system's, naming the part; a folder that stays open to others.
    pub(crate) fn open(root: &Path, report: &dyn Fn(&str)) -> Result<Self, DataError> {
        let folder = Self { root: root.to_owned() };
        let closed = |path: &Path, before: io::Result<Option<u32>>| {
            let wrong = |source| DataError { path: path.to_owned(), what: "cannot be used", source };
            if let Some(mode) = before.map_err(wrong)? {
                report(&format!(
                    "others could use {} (mode {mode:04o}); now only its owner can",
                    path.display()
                ));
            }
            Ok(())
        };
        closed(root, private_folder(root, &[STORE, PEPPER]))?;
        let plugins = folder.plugins();
        let created = fs::DirBuilder::new().recursive(true).mode(0o700).create(&plugins);
        closed(&plugins, created.and_then(|()| close_to_others(&plugins)))?;
        for part in PARTS {
            let path = root.join(part);
            closed(&path, close_to_others(&path))?;
        }
        Ok(folder)
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The store's file below `root`.
    pub(crate) fn store(root: &Path) -> PathBuf {
        root.join(STORE)
    }

    /// The account and the certificate of an authority.
    pub(crate) fn acme(&self) -> PathBuf {
        self.root.join(ACME)
    }

    /// Locks the folder; `None` while another process has it. Where the store is a file, that has a lock of its own.
    pub(crate) fn lock(&self) -> Result<Option<FolderLock>, DataError> {
        let path = Self::lock_file(&self.root);
        let wrong = |what| {
            let path = path.clone();
            move |source| DataError { path, what, source }
        };
        let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(wrong("cannot be made"))?;
        match file.try_lock() {
            // A gateway whose store is the file has the folder by the lock of that.
            Ok(()) if Store::is_in_use(&Self::store(&self.root)) => Ok(None),
            Ok(()) => Ok(Some(FolderLock { _file: file })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(source)) => Err(wrong("cannot be locked")(source)),
        }
    }

    /// What a gateway locks whose store is no file.
    pub(crate) fn lock_file(root: &Path) -> PathBuf {
        root.join(LOCK)
    }

    /// Whether a gateway uses the folder `root`.
    pub(crate) fn is_in_use(root: &Path) -> bool {
        Store::is_in_use(&Self::store(root)) || Self::is_locked(root)
    }

    /// Whether a gateway uses it whose store is no file.
    pub(crate) fn is_locked(root: &Path) -> bool {
        let is_locked = |file: fs::File| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
        fs::File::open(Self::lock_file(root)).is_ok_and(is_locked)
    }

    /// Components and their compiled forms.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The pepper: 32 random bytes, created once, readable by the owner only. No stored key and no link works without
    /// it, so it is durable before its first use, and another one than that of `store` is refused. So is an empty store in a folder that
    /// had another one.
    ///
    /// # Errors
    /// The file system's, a file that is not 32 bytes long, and one that is not the pepper of the store.
    pub(crate) fn pepper(&self, seed: &dyn Seed, store: &Store) -> Result<Pepper, DataError> {
        let path = self.root.join(PEPPER);
        let wrong = |what, source| DataError { path: path.clone(), what, source };
        let unreadable = |error| wrong("cannot be compared with the store", io::Error::other(error));
        let needs_its_pepper = store.needs_its_pepper().map_err(unreadable)?;
        if let Some(text) = self.lost_store().filter(|_| !needs_its_pepper) {
            return Err(wrong("is of another store", io::Error::other(text)));
        }
        let pepper = match self.read_pepper()? {
            Some(pepper) => pepper,
            None if needs_its_pepper => return Err(self.wrong_pepper(false)),
            None => {
                let mut bytes = [0; 32];
                seed.fill(&mut bytes);
                write_atomic(&path, &bytes).map_err(|source| wrong("cannot be written", source))?;
                Pepper::new(bytes)
            }
        };
        match store.fit_pepper(check_value(&pepper)).map_err(unreadable)? {
            PepperFit::Fits => Ok(pepper),
            PepperFit::Foreign => Err(self.wrong_pepper(true)),
        }
    }

    /// What to do where the store knows of no pepper and is not the first of this folder. A pepper alone says nothing: operators copy it,
    /// or make it, before a first start. What is written after a store has taken it says so.
    fn lost_store(&self) -> Option<String> {
        let later =
            LATER.iter().filter(|name| **name != PEPPER).find(|name| is_there(&self.root.join(name)))?;
        let file = Self::store(&self.root);
        let remedy = match file.exists() {
            true => format!(
                "the keys and balances in {} are not in it; copy them with `gatehouse store copy --to database`, or take data.url out",
                file.display()
            ),
            false => "see that data.url names the right one, or restore that from its backup".to_owned(),
        };
        Some(format!(
            "there is `{later}`, so this folder had a store with keys and balances, and the one that is configured is empty; {remedy}; to \
             begin with nothing, name a new folder with data.folder or move this one away"
        ))
    }

    /// The check value of the pepper, where there is one already.
    ///
    /// # Errors
    /// The file system's, a file that is not 32 bytes long.
    pub(crate) fn pepper_check(&self) -> Result<Option<u64>, DataError> {
        Ok(self.read_pepper()?.as_ref().map(check_value))
    }

    fn read_pepper(&self) -> Result<Option<Pepper>, DataError> {
        let path = self.root.join(PEPPER);
        let read = if_exists(fs::File::open(&path).and_then(|file| {
            let mut bytes = Vec::with_capacity(33);
            file.take(33).read_to_end(&mut bytes)?;
            <[u8; 32]>::try_from(bytes).map_err(|bytes| {
                let more = if bytes.len() > 32 { " or more" } else { "" };
                let text = format!("expected 32 bytes, found {}{more}", bytes.len());
                io::Error::new(io::ErrorKind::InvalidData, text)
            })
        }));
        let read = read.map_err(|source| DataError { path, what: "cannot be read", source })?;
        Ok(read.map(Pepper::new))
    }

    /// Why the pepper cannot be used: there is another one, or none.
    pub(crate) fn wrong_pepper(&self, is_there: bool) -> DataError {
        let (what, kind) = match is_there {
            true => ("is not the one of this store", io::ErrorKind::InvalidData),
            false => ("is missing", io::ErrorKind::NotFound),
        };
        DataError { path: self.root.join(PEPPER), what, source: io::Error::new(kind, RESTORE_PEPPER) }
    }

    /// Whether the folder `root` has lost its store: what is made later is there, and the store is not, or begins with
    /// zeros. A new one in its place would refuse every key and know of no balance.
    ///
    /// # Errors
    /// It has, with the remedy; the file system's.
    pub(crate) fn check_store(root: &Path) -> Result<(), DataError> {
        let path = Self::store(root);
        let failed = |source| DataError { path: path.clone(), what: "cannot be read", source };
        let what = match if_exists(fs::File::open(&path)).map_err(failed)? {
            Some(file) if begins_with_zeros(&file).map_err(failed)? => {
                "is empty or was overwritten with zeros"
            }
            Some(_) => return Ok(()),
            None => "is missing",
        };
        let Some(later) = LATER.iter().find(|name| is_there(&root.join(name))) else { return Ok(()) };
        let text = format!(
            "there is `{later}`, so this folder had a store with keys and balances; restore the folder from a backup, set data.url \
             where the store is in a database, or, to begin with nothing, name a new folder with data.folder or move this one away"
        );
        Err(DataError { path, what, source: io::Error::new(io::ErrorKind::NotFound, text) })
    }
}

const RESTORE_PEPPER: &str = "without the pepper that its rows were made with no key, no link and no webhook of this store works; \
                              restore it from the backup that the store is from, or copy it from another gateway on the same database";

/// A value that tells two peppers apart and nothing of either.
fn check_value(pepper: &Pepper) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = pepper.sign(&[b"store check"]);
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

fn begins_with_zeros(file: &fs::File) -> io::Result<bool> {
    let mut head = Vec::with_capacity(HEAD);
    file.take(u64::try_from(HEAD).unwrap_or_default()).read_to_end(&mut head)?;
    Ok(head.iter().all(|byte| *byte == 0))
}

/// A file, or a folder that is not empty. What a file system has of its own, on a disk that is mounted there, does not count.
fn is_there(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.any(|entry| !entry.is_ok_and(|entry| entry.file_name() == "lost+found")),
        Err(_) => path.is_file(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use gatehouse_process::SystemSeed;

    fn store_in(root: &Path) -> Store {
        Store::open(&DataFolder::store(root), &gatehouse_store::Config::default()).unwrap()
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_others_could_use_is_closed_and_reported() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("data");
        for folder in ["", "plugins", "defaults"] {
            fs::create_dir(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("file"), b"").unwrap();
        }
        let files = ["core.redb", "pepper", "admin.json", "sandbox-keys.json"];
        files.iter().for_each(|name| fs::write(root.join(name), b"").unwrap());
        let paths = || ["", "plugins", "defaults"].into_iter().chain(files);
        for path in paths() {
            fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o777)).unwrap();
        }
        let reports = std::cell::RefCell::new(Vec::new());
        let report = |text: &str| reports.borrow_mut().push(text.to_owned());
        DataFolder::open(&root, &report).unwrap();
        for path in paths() {
            assert_eq!(mode(&root.join(path)) & 0o077, 0, "{path}");
        }
        let reports = reports.into_inner();
        assert_eq!(reports.len(), 7, "{reports:?}");
        assert!(reports[0].contains("mode 0777"), "{reports:?}");
        DataFolder::open(&root, &|report| panic!("{report}")).unwrap();
    }

    /// A start with another pepper, or with a new one, would refuse every key with 401.
    #[test]
    fn another_pepper_than_that_of_the_store_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(outer.path(), &|_| ()).unwrap();
        let (store, path) = (store_in(outer.path()), outer.path().join("pepper"));
        folder.pepper(&SystemSeed, &store).unwrap();
        let own = fs::read(&path).unwrap();
        fs::write(&path, [7; 32]).unwrap();
        let error = folder.pepper(&SystemSeed, &store).unwrap_err().to_string();
        assert!(error.contains("is not the one of this store") && error.contains("restore it"), "{error}");
        fs::remove_file(&path).unwrap();
        let error = folder.pepper(&SystemSeed, &store).unwrap_err().to_string();
        assert!(error.contains("is missing") && !path.exists(), "{error}");
        fs::write(&path, own).unwrap();
        folder.pepper(&SystemSeed, &store).unwrap();
    }

    /// A mistyped database would start as if there had never been a customer: every key refused, every balance gone. A pepper that was
    /// brought before the first start is fine.
    #[test]
    fn an_empty_store_in_a_used_folder_is_refused_and_a_first_one_is_not() {
        let outer = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(outer.path(), &|_| ()).unwrap();
        fs::write(outer.path().join("pepper"), [7; 32]).unwrap();
        let store = store_in(outer.path());
        // As a first start that was cut short: nothing is active yet.
        fs::write(outer.path().join("plugins/code.cwasm"), b"x").unwrap();
        folder.pepper(&SystemSeed, &store).unwrap();
        fs::write(outer.path().join("plugins/active.json"), b"{}").unwrap();
        folder.pepper(&SystemSeed, &store).unwrap();
        let other = tempfile::tempdir().unwrap();
        let empty = store_in(other.path());
        let error = folder.pepper(&SystemSeed, &empty).unwrap_err().to_string();
        assert!(
            error.contains("plugins/active.json") && error.contains("store copy --to database"),
            "{error}"
        );
        store.close();
        fs::remove_file(outer.path().join("core.redb")).unwrap();
        let error = folder.pepper(&SystemSeed, &empty).unwrap_err().to_string();
        assert!(error.contains("see that data.url names the right one"), "{error}");
        assert!(empty.needs_its_pepper().is_ok_and(|needs| !needs), "nothing was written");
    }

    /// An empty store in a used folder would start as if there had never been a customer.
    #[test]
    fn a_folder_that_has_lost_its_store_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path();
        let folder = DataFolder::open(root, &|_| ()).unwrap();
        fs::create_dir_all(root.join("media/lost+found")).unwrap();
        DataFolder::check_store(root).unwrap();
        let store = store_in(root);
        DataFolder::check_store(root).unwrap();
        folder.pepper(&SystemSeed, &store).unwrap();
        store.close();
        DataFolder::check_store(root).unwrap();
        let file = DataFolder::store(root);
        let length = fs::metadata(&file).unwrap().len();
        for bytes in [vec![], vec![0; usize::try_from(length).unwrap()]] {
            fs::write(&file, bytes).unwrap();
            let error = DataFolder::check_store(root).unwrap_err().to_string();
            assert!(
                error.contains("core.redb") && error.contains("restore the folder from a backup"),
                "{error}"
            );
        }
        fs::remove_file(&file).unwrap();
        for later in ["pepper", "plugins/active.json", "media/x/y"] {
            let path = root.join(later);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, b"x").unwrap();
            let error = DataFolder::check_store(root).unwrap_err().to_string();
            assert!(error.contains("is missing"), "{later}: {error}");
            fs::remove_file(&path).unwrap();
        }
    }

    /// Two gateways on two databases would switch each other's plugins, and a command would not find the one that runs.
    #[test]
    fn a_folder_belongs_to_one_gateway() {
        let outer = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(outer.path(), &|_| ()).unwrap();
        assert!(!DataFolder::is_in_use(outer.path()));
        let lock = folder.lock().unwrap().unwrap();
        assert!(DataFolder::is_in_use(outer.path()));
        assert!(folder.lock().unwrap().is_none());
        drop(lock);
        assert!(!DataFolder::is_in_use(outer.path()));
        folder.lock().unwrap().unwrap();
    }

    #[test]
    fn a_damaged_pepper_is_not_replaced() {
        for length in [0, 31, 33, 4096] {
            let outer = tempfile::tempdir().unwrap();
            let folder = DataFolder::open(outer.path(), &|_| ()).unwrap();
            fs::write(outer.path().join("pepper"), vec![7; length]).unwrap();
            let error = folder.pepper(&SystemSeed, &store_in(outer.path())).unwrap_err().to_string();
            assert!(error.contains("expected 32 bytes"), "{error}");
        }
    }
}

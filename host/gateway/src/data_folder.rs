//! The data folder: its path, its parts, their modes, and the pepper.
//!
//! Never opens the store. The folder belongs to one gateway; a backup is a copy of the folder of a stopped gateway.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use gatehouse_files::{close_to_others, private_folder, write_atomic};
use gatehouse_model::{Pepper, Seed};

const STORE: &str = "core.redb";
const PEPPER: &str = "pepper";
/// What an earlier version, or a copy from a backup, may have left open to others. The media folder is the media
/// store's.
const PARTS: [&str; 6] = [STORE, PEPPER, "admin.json", "admin-viewer.json", "sandbox-keys.json", "defaults"];

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
    #[must_use]
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The store's file below `root`.
    #[must_use]
    pub(crate) fn store(root: &Path) -> PathBuf {
        root.join(STORE)
    }

    /// Components and their compiled forms.
    #[must_use]
    pub(crate) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The pepper: 32 random bytes, created once, readable by the owner only. No stored key and no link works without
    /// it, so it is durable before its first use.
    ///
    /// # Errors
    /// The file system's, and a file that is not 32 bytes long.
    pub(crate) fn pepper(&self, seed: &dyn Seed) -> Result<Pepper, DataError> {
        let path = self.root.join(PEPPER);
        match read_pepper(&path) {
            Ok(bytes) => Ok(Pepper::new(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut bytes = [0; 32];
                seed.fill(&mut bytes);
                write_atomic(&path, &bytes).map_err(|source| DataError {
                    path,
                    what: "cannot be written",
                    source,
                })?;
                Ok(Pepper::new(bytes))
            }
            Err(source) => Err(DataError { path, what: "cannot be read", source }),
        }
    }
}

fn read_pepper(path: &Path) -> io::Result<[u8; 32]> {
    let mut bytes = Vec::with_capacity(33);
    fs::File::open(path)?.take(33).read_to_end(&mut bytes)?;
    <[u8; 32]>::try_from(bytes).map_err(|bytes| {
        let text = format!(
            "expected 32 bytes, found {}{}",
            bytes.len(),
            if bytes.len() > 32 { " or more" } else { "" }
        );
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::system::SystemSeed;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_fresh_folder_is_readable_by_its_owner_only() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("a/b");
        let folder = DataFolder::open(&root, &|report| panic!("{report}")).unwrap();
        folder.pepper(&SystemSeed).unwrap();
        assert_eq!((mode(&root), mode(&folder.plugins()), mode(&root.join("pepper"))), (0o700, 0o700, 0o600));
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

    #[test]
    fn an_open_folder_of_other_things_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("holiday.jpg"), b"").unwrap();
        fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let error = DataFolder::open(outer.path(), &|_| ()).unwrap_err().to_string();
        assert!(error.contains("name a folder of its own"), "{error}");
        assert_eq!(mode(outer.path()), 0o755);
    }

    #[test]
    fn the_pepper_is_created_once() {
        let outer = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(outer.path(), &|_| ()).unwrap();
        let first = folder.pepper(&SystemSeed).unwrap().sign(&[b"x"]);
        assert_eq!(folder.pepper(&SystemSeed).unwrap().sign(&[b"x"]), first);
    }

    #[test]
    fn a_damaged_pepper_is_not_replaced() {
        for length in [0, 31, 33, 4096] {
            let outer = tempfile::tempdir().unwrap();
            let folder = DataFolder::open(outer.path(), &|_| ()).unwrap();
            fs::write(outer.path().join("pepper"), vec![7; length]).unwrap();
            let error = folder.pepper(&SystemSeed).unwrap_err().to_string();
            assert!(error.contains("expected 32 bytes"), "{error}");
        }
    }
}

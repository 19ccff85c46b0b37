//! The data folder: its path, its parts, their modes, and the pepper.
//!
//! Never opens the store. The folder belongs to one gateway; a backup is a copy of the folder of a stopped gateway.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use gatehouse_files::write_atomic;
use gatehouse_model::{Pepper, Seed};

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
    /// Opens the folder; creates it (0700) and its parts if they are missing.
    ///
    /// # Errors
    /// The file system's, naming the part.
    pub(crate) fn open(root: &Path) -> Result<Self, DataError> {
        let folder = Self { root: root.to_owned() };
        for part in [folder.root.clone(), folder.plugins()] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&part).map_err(|source| DataError {
                path: part,
                what: "cannot be created",
                source,
            })?;
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
        root.join("core.redb")
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
        let path = self.root.join("pepper");
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
        let folder = DataFolder::open(&root).unwrap();
        folder.pepper(&SystemSeed).unwrap();
        assert_eq!((mode(&root), mode(&folder.plugins()), mode(&root.join("pepper"))), (0o700, 0o700, 0o600));
    }

    #[test]
    fn the_pepper_is_created_once() {
        let outer = tempfile::tempdir().unwrap();
        let folder = DataFolder::open(outer.path()).unwrap();
        let first = folder.pepper(&SystemSeed).unwrap().sign(&[b"x"]);
        assert_eq!(folder.pepper(&SystemSeed).unwrap().sign(&[b"x"]), first);
    }

    #[test]
    fn a_damaged_pepper_is_not_replaced() {
        for length in [0, 31, 33, 4096] {
            let outer = tempfile::tempdir().unwrap();
            let folder = DataFolder::open(outer.path()).unwrap();
            fs::write(outer.path().join("pepper"), vec![7; length]).unwrap();
            let error = folder.pepper(&SystemSeed).unwrap_err().to_string();
            assert!(error.contains("expected 32 bytes"), "{error}");
        }
    }
}

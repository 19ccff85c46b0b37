//! The file that keeps the defaults of an installed family: written before the switch, taken back when that fails.

use std::cell::RefCell;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use gatehouse_files::write_atomic;

use crate::config::family_defaults_path;

/// The text to keep, and the text before.
pub(super) struct KeptFile {
    data: PathBuf,
    text: String,
    before: RefCell<Option<Vec<u8>>>,
}

impl KeptFile {
    pub(super) fn new(data: &Path, text: &str) -> Self {
        Self { data: data.to_owned(), text: text.to_owned(), before: RefCell::default() }
    }

    /// Durable when it returns.
    pub(super) fn write(&self, family: &str) -> io::Result<()> {
        let path = family_defaults_path(&self.data, family);
        if let Some(folder) = path.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let before = match fs::read(&path) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        *self.before.borrow_mut() = before;
        write_atomic(&path, self.text.as_bytes())
    }

    /// The file as it was before [`KeptFile::write`].
    pub(super) fn restore(&self, family: &str) {
        let path = family_defaults_path(&self.data, family);
        let restored = match self.before.borrow_mut().take() {
            Some(before) => write_atomic(&path, &before),
            None => fs::remove_file(&path),
        };
        if let Err(error) = restored {
            tracing::error!(path = %path.display(), %error, "the defaults of a refused plugin could not be taken back");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_is_for_its_owner_alone_and_can_be_taken_back() {
        let data = tempfile::tempdir().unwrap();
        let path = family_defaults_path(data.path(), "f");
        let (first, second) = (KeptFile::new(data.path(), "first"), KeptFile::new(data.path(), "second"));
        first.write("f").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        second.write("f").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        second.restore("f");
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        first.restore("f");
        assert!(!path.exists());
    }
}

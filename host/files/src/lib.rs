//! Files written whole and durably: a reader, or the next process after a crash, finds the old content or the
//! new one, never a part.
//!
//! Owns the one order of steps that promises it (temporary file in the same folder, fsync, rename, fsync of the
//! folder), and the look at the free space of a disk. Every file it writes is readable by its owner
//! alone. Never decides what is written or where; calls block, so an async caller runs them on a blocking thread.

mod private;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

pub use private::{close_to_others, private_folder};

/// The end of a temporary file's name.
const TEMPORARY: &str = ".tmp";

/// Writes `bytes` to `path`, in place of what the file held before. Durable when it returns.
///
/// # Errors
/// The file system's. The file is then as it was, or, when only the last fsync failed, holds the new content.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    // Mode 0600 from its first moment; removed again when a step fails.
    let mut file = tempfile::Builder::new().prefix(".").suffix(TEMPORARY).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_folder(path)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// A new name is durable once its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder_of(path))?.sync_all()
}

/// Gives the file `from` the name `to`, in the same folder, in place of what was there. Durable when it returns.
pub fn rename_durable(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder(to)
}

/// Removes the temporary files that a crash left in `folder`. Only for a folder without a writer, before its first
/// write.
pub fn remove_unfinished(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().ends_with(TEMPORARY) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// `None` for a file or a folder that does not exist.
pub fn if_exists<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Reads all of a file, or of what else can be read.
///
/// # Errors
/// The reader's, and `FileTooLarge` for more than `most` bytes.
pub fn read_at_most(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("expected at most {most} bytes, got more");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Whether an error means that a disk, or the owner's quota on it, has no room.
#[must_use]
pub fn is_disk_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// The free space of a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// What this process may still write there.
    pub free: u64,
    /// The size of the disk.
    pub size: u64,
}

/// The free space of the disk that `folder` is on.
pub fn space(folder: &Path) -> io::Result<Space> {
    let disk = rustix::fs::statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(disk.f_frsize);
    Ok(Space { free: bytes(disk.f_bavail), size: bytes(disk.f_blocks) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn replaces_the_content_and_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.json");
        for bytes in [&b"old"[..], b"", b"new"] {
            write_atomic(&path, bytes).unwrap();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
        assert_eq!(names(folder.path()), ["record.json"]);
    }

    #[test]
    fn a_renamed_file_replaces_the_one_of_that_name() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("staged"), folder.path().join("record.json"));
        fs::write(&to, b"old").unwrap();
        fs::write(&from, b"new").unwrap();
        rename_durable(&from, &to).unwrap();
        assert_eq!(
            (fs::read(&to).unwrap(), names(folder.path())),
            (b"new".to_vec(), vec!["record.json".to_owned()])
        );
        rename_durable(&from, &to).unwrap_err();
    }

    #[test]
    fn a_failed_write_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        // A folder cannot be replaced by a file.
        fs::create_dir_all(folder.path().join("taken/inside")).unwrap();
        assert!(write_atomic(&folder.path().join("taken"), b"new").is_err());
        assert!(write_atomic(&folder.path().join("missing/record.json"), b"new").is_err());
        assert_eq!(names(folder.path()), ["taken"]);
    }

    #[cfg(unix)]
    #[test]
    fn files_are_for_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        fs::write(&path, b"open to all").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write_atomic(&path, b"secret").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        for (bytes, expected) in [(&b""[..], Some(0)), (b"abc", Some(3)), (b"abcd", None)] {
            assert_eq!(read_at_most(bytes, 3).ok().map(|read| read.len()), expected, "{bytes:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(if_exists(fs::read(folder.path().join("missing"))).unwrap().is_none());
        if_exists(fs::read(folder.path())).unwrap_err();
    }

    #[test]
    fn a_disk_has_no_more_room_than_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let found = space(folder.path()).unwrap();
        assert!(found.size > 0 && found.free <= found.size, "{found:?}");
        assert_eq!(space(&folder.path().join("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn only_temporary_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".x1.tmp"), b"half").unwrap();
        fs::write(folder.path().join("a.wasm.tmp"), b"half").unwrap();
        fs::write(folder.path().join("a.wasm"), b"whole").unwrap();
        fs::create_dir(folder.path().join("folder.tmp")).unwrap();
        remove_unfinished(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["a.wasm", "folder.tmp"]);
    }
}

//! Folders and files that only their owner may use: what others may use is closed to them, or named as an error.
//!
//! A mode is changed only where the folder is evidently ours: a wrong path such as `/tmp` or `/` must never lose its
//! own.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

/// Group and others.
const OTHERS: u32 = 0o077;
/// A folder that many write to, such as `/tmp`.
const STICKY: u32 = 0o1000;
/// In a file system that was just made.
const NEW_FILE_SYSTEM: &str = "lost+found";

/// Creates a folder and its parents with mode 0700, or closes an existing one to others. `own` names what an earlier
/// run left in it. Returns the mode it had, if that was another.
///
/// # Errors
/// The file system's. `PermissionDenied` with the remedy where others may use the folder and it holds nothing of
/// `own` but other things, or its mode cannot be changed.
pub fn private_folder(folder: &Path, own: &[&str]) -> io::Result<Option<u32>> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let before = mode(folder)?;
    if before & OTHERS == 0 {
        return Ok(None);
    }
    if before & STICKY != 0 || !is_own(folder, own)? {
        return Err(denied(format!(
            "others may use it (mode {before:04o}) and it is not known to be the gateway's alone; run chmod 0700 on \
             it if it is, or name a folder of its own, such as one below it"
        )));
    }
    close(folder, before, 0o700).map(Some)
}

/// Closes a file or folder to others; what does not exist is left alone. Returns the mode it had, if that was
/// another.
pub fn close_to_others(path: &Path) -> io::Result<Option<u32>> {
    let Some(before) = crate::if_exists(mode(path))? else { return Ok(None) };
    if before & OTHERS == 0 {
        return Ok(None);
    }
    close(path, before, before & !OTHERS).map(Some)
}

fn close(path: &Path, before: u32, after: u32) -> io::Result<u32> {
    let remedy =
        format!("run chmod {after:04o} on it as its owner, or name another one, such as a folder below it");
    fs::set_permissions(path, Permissions::from_mode(after)).map_err(|error| {
        denied(format!("others may use it (mode {before:04o}) and that cannot be changed: {error}; {remedy}"))
    })?;
    if mode(path)? & OTHERS == 0 {
        return Ok(before);
    }
    Err(denied(format!(
        "others may use it (mode {before:04o}) and its file system keeps no modes; name one on another file system"
    )))
}

fn is_own(folder: &Path, own: &[&str]) -> io::Result<bool> {
    let mut is_empty = true;
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if own.iter().any(|known| name == *known) {
            return Ok(true);
        }
        is_empty &= name == NEW_FILE_SYSTEM;
    }
    Ok(is_empty)
}

fn mode(path: &Path) -> io::Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o7777)
}

fn denied(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(bits: u32, names: &[&str]) -> (tempfile::TempDir, std::path::PathBuf) {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("data");
        fs::create_dir(&folder).unwrap();
        for name in names {
            fs::write(folder.join(name), b"").unwrap();
        }
        fs::set_permissions(&folder, Permissions::from_mode(bits)).unwrap();
        (outer, folder)
    }

    #[test]
    fn a_new_folder_is_private_with_its_parents() {
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("a/b");
        assert_eq!(private_folder(&path, &[]).unwrap(), None);
        assert_eq!((mode(&path).unwrap(), mode(&outer.path().join("a")).unwrap()), (0o700, 0o700));
    }

    #[test]
    fn an_own_folder_is_closed_and_another_is_refused() {
        for (bits, names, expected) in [
            (0o700, &["music"][..], Some(None)),
            (0o500, &["music"], Some(None)),
            (0o755, &[], Some(Some(0o755))),
            (0o777, &["lost+found"], Some(Some(0o777))),
            (0o750, &["music", "core.redb"], Some(Some(0o750))),
            (0o755, &["music"], None),
            (0o710, &["music"], None),
            (0o1777, &[], None),
            (0o1777, &["core.redb"], None),
        ] {
            let (_outer, folder) = folder(bits, names);
            let result = private_folder(&folder, &["core.redb"]);
            assert_eq!(result.as_ref().ok(), expected.as_ref(), "{bits:o} {names:?}: {result:?}");
            let kept = matches!(expected, None | Some(None));
            assert_eq!(mode(&folder).unwrap(), if kept { bits } else { 0o700 }, "{bits:o} {names:?}");
            if let Err(error) = result {
                assert!(error.to_string().contains("chmod 0700"), "{error}");
            }
        }
    }

    #[test]
    fn a_file_loses_the_bits_of_others_only() {
        let (_outer, folder) = folder(0o700, &["core.redb"]);
        let file = folder.join("core.redb");
        for (bits, after, before) in
            [(0o644, 0o600, Some(0o644)), (0o666, 0o600, Some(0o666)), (0o400, 0o400, None)]
        {
            fs::set_permissions(&file, Permissions::from_mode(bits)).unwrap();
            assert_eq!(close_to_others(&file).unwrap(), before, "{bits:o}");
            assert_eq!(mode(&file).unwrap(), after, "{bits:o}");
        }
        assert_eq!(close_to_others(&folder.join("none")).unwrap(), None);
    }
}

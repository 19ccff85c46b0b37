//! File creation recovery: a crash during the creation of a new file.
//!
//! redb first gives the file its length, then writes a header without its magic number, and the number last. redb
//! refuses a file without it, although such a file holds no data yet.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Longer files are not new: redb makes them a little over one MiB.
const LONGEST: u64 = 2 * 1024 * 1024;
const MAGIC: usize = 9;
/// The header ends within the first sector, so whatever lies behind it was written later.
const HEADER: usize = 512;

/// Empties a file whose creation was interrupted, so that it can be created again. Returns whether it was one.
///
/// Only a file without magic number and with nothing but zeros behind the header counts, and only while no other
/// process has it open. Any other file is left unchanged.
pub(crate) fn undo_unfinished(path: &Path) -> io::Result<bool> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    // The lock redb takes: without it another process may be making the file right now.
    if file.try_lock().is_err() || file.metadata()?.len() > LONGEST {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let written = |bytes: &[u8]| bytes.iter().any(|byte| *byte != 0);
    let header = bytes.len().min(HEADER);
    if written(&bytes[..header.min(MAGIC)]) || written(&bytes[header..]) {
        return Ok(false);
    }
    tracing::warn!(path = %path.display(), "the creation of this store was interrupted; it is created again");
    file.set_len(0)?;
    file.sync_all()?;
    Ok(true)
}

/// Whether another process has the file open; a file that is not there, nobody has.
pub(crate) fn is_in_use(path: &Path) -> bool {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.is_ok_and(|file| file.try_lock().is_err())
}

/// Makes the name of the file durable: syncing the file alone does not promise that. At every opening, since
/// the process that made the file may have been killed before it came to this.
pub(crate) fn keep_name(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

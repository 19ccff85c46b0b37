//! The checksums of every page that is in use: what a disk, a copy or a hand has changed in the file.
//!
//! redb writes a checksum with each page and compares none of them in normal work. [`check_pages`] compares all of
//! them on a view whose changes stay in memory, so that a damaged file is left as it is. Not for a file that is open.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::backends::FileBackend;
use redb::{BackendError, Database, DatabaseError, StorageBackend};

use crate::disk_full::locks_of;
use crate::error::OpenError;

/// After an unclean stop the pages of a file up to this many bytes are checked before it is used, which takes moments.
const QUICK: u64 = 64 * 1024 * 1024;
/// Memory for pages meanwhile.
const CACHE: usize = 32 * 1024 * 1024;
/// Bytes kept together of what is changed.
const BLOCK: u64 = 4096;
/// Where redb says whether the file was closed.
const STATE_BYTE: usize = 9;
const NOT_CLOSED: u8 = 2;

/// Compares every page that is in use with its checksum. Never changes the file.
///
/// # Errors
/// [`OpenError::Damaged`]; [`OpenError::Locked`] while a process has the file.
pub fn check_pages(path: &Path) -> Result<(), OpenError> {
    let storage = |error: io::Error| OpenError::Storage { path: path.to_owned(), reason: error.to_string() };
    let is_closed = !was_interrupted(path).map_err(storage)?;
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(storage)?;
    let backend = FileBackend::new(file);
    // A malformed page may be more than redb expects of any file.
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let mut database =
            Database::builder().set_cache_size(CACHE).create_with_backend(Overlay::new(backend?)?)?;
        database.check_integrity()
    }));
    let reason = match checked {
        // After an unclean stop, pages that nothing uses may still be taken.
        Ok(Ok(sound)) if sound || !is_closed => return Ok(()),
        Ok(Ok(_)) => "what it says of its own pages is wrong".to_owned(),
        Ok(Err(DatabaseError::DatabaseAlreadyOpen)) => {
            return Err(OpenError::Locked { path: path.to_owned() });
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => "a page cannot be read".to_owned(),
    };
    Err(OpenError::Damaged { path: path.to_owned(), reason })
}

/// The same for a file that its last process did not close, unless it is large: then a start would take long.
///
/// # Errors
/// As [`check_pages`].
pub fn check_pages_after_crash(path: &Path) -> Result<(), OpenError> {
    // What cannot be read is found by the opening.
    let is_due = || Ok::<_, io::Error>(path.metadata()?.len() <= QUICK && was_interrupted(path)?);
    match is_due() {
        Ok(true) => match check_pages(path) {
            // The opening says so, or waits.
            Err(OpenError::Locked { .. }) => Ok(()),
            checked => checked,
        },
        _ => Ok(()),
    }
}

/// Whether the last process that wrote the file did not close it.
fn was_interrupted(path: &Path) -> io::Result<bool> {
    let mut head = [0; STATE_BYTE + 1];
    let mut file = File::open(path)?;
    match file.read_exact(&mut head) {
        Ok(()) => Ok(head[STATE_BYTE] & NOT_CLOSED != 0),
        // A file that was just made.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A file with changes over it that are never written.
#[derive(Debug)]
struct Overlay {
    file: FileBackend,
    /// Of the file itself.
    file_len: u64,
    changed: Mutex<Changed>,
}

#[derive(Debug)]
struct Changed {
    len: u64,
    blocks: HashMap<u64, Box<[u8]>>,
}

impl Overlay {
    fn new(file: FileBackend) -> io::Result<Self> {
        let file_len = file.len()?;
        let changed = Mutex::new(Changed { len: file_len, blocks: HashMap::new() });
        Ok(Self { file, file_len, changed })
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the file has at `offset`, and zeros behind its end.
    fn read_file(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = self.file_len.saturating_sub(offset).min(len(out));
        let (there, behind) = out.split_at_mut(usize::try_from(there).unwrap_or(usize::MAX));
        behind.fill(0);
        if there.is_empty() { Ok(()) } else { self.file.read(offset, there) }
    }
}

fn len(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

/// The blocks that `length` bytes at `offset` touch: the block, where in it they begin, and their range.
fn blocks(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + u64::try_from(done).ok()?;
        let inside = usize::try_from(at % BLOCK).ok()?;
        let size = (usize::try_from(BLOCK).ok()? - inside).min(length - done);
        let range = done..done + size;
        done += size;
        (size > 0).then_some((at / BLOCK, inside, range))
    })
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changed().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changed = self.changed();
        if offset.saturating_add(len(out)) > changed.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_file(offset, out)?;
        if !changed.blocks.is_empty() {
            for (block, inside, range) in blocks(offset, out.len()) {
                if let Some(bytes) = changed.blocks.get(&block) {
                    let size = range.len();
                    out[range].copy_from_slice(&bytes[inside..inside + size]);
                }
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.changed().len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changed = self.changed();
        for (block, inside, range) in blocks(offset, data.len()) {
            let bytes = match changed.blocks.get_mut(&block) {
                Some(bytes) => bytes,
                None => {
                    let mut bytes = vec![0; usize::try_from(BLOCK).unwrap_or_default()].into_boxed_slice();
                    self.read_file(block * BLOCK, &mut bytes)?;
                    changed.blocks.entry(block).or_insert(bytes)
                }
            };
            bytes[inside..inside + range.len()].copy_from_slice(&data[range]);
        }
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    // The locks are those of the file: nobody may have it meanwhile.

    locks_of!(file);
}

//! Low-water marks of the disks that the gateway writes to: a look each second, and the refusal of new work while one is low.
//!
//! Below its mark a disk takes no new task: what is free then is for the tasks that were accepted before, for text and
//! for the operator. A disk is watched, never reserved, so another process may still fill it; the store then waits for
//! room by itself. Never deletes anything.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gatehouse_model::{Clock, metric};
use gatehouse_store::Store;

use crate::errors::SubmitError;

/// Between two looks at the disks.
const INTERVAL: Duration = Duration::from_secs(1);

/// The mark of a disk without a configured one: this many bytes, or the share of a small disk.
const USUAL_MARK: u64 = 256 * MIB;
/// The most of a disk that the usual mark takes, as its part.
const USUAL_PART: u64 = 10;
const MIB: u64 = 1024 * 1024;
const UNKNOWN: u64 = u64::MAX;

/// The free space of a disk, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// What may still be written.
    pub free: u64,
    /// The size of the disk.
    pub size: u64,
}

/// One disk: what is kept there, and how its free space is read.
pub struct Disk {
    name: &'static str,
    mark_mib: Option<u32>,
    read: Box<dyn Fn() -> io::Result<DiskSpace> + Send + Sync>,
    is_low: AtomicBool,
    /// What was free above the mark at the last look; `UNKNOWN` before the first.
    room: AtomicU64,
}

impl Disk {
    /// The disk of what `name` says, for messages and the label of metrics. New tasks are refused while it has less
    /// than `mark_mib` free; without a mark, less than 256 MiB or a tenth of a small disk. `read` may block.
    pub fn new(
        name: &'static str,
        mark_mib: Option<u32>,
        read: impl Fn() -> io::Result<DiskSpace> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name,
            mark_mib,
            read: Box::new(read),
            is_low: AtomicBool::new(false),
            room: AtomicU64::new(UNKNOWN),
        }
    }

    /// Whether it takes no new task.
    fn is_low(&self) -> bool {
        self.is_low.load(Ordering::Relaxed)
    }

    /// Reads the free space and acts on it: the state, the metrics, and a log line where it changes.
    fn look(&self) {
        let space = match (self.read)() {
            Ok(space) => space,
            Err(error) => {
                tracing::warn!(disk = self.name, %error, "the free space of a disk cannot be read");
                return;
            }
        };
        let mark = mark(self.mark_mib, space.size);
        self.room.store(space.free.saturating_sub(mark).min(UNKNOWN - 1), Ordering::Relaxed);
        let was_low = self.is_low.load(Ordering::Relaxed);
        let is_low = is_low(space.free, mark, was_low);
        self.is_low.store(is_low, Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "disks are far smaller than 2^53 bytes")]
        metrics::gauge!(metric::DISK_FREE, "disk" => self.name).set(space.free as f64);
        metrics::gauge!(metric::DISK_LOW, "disk" => self.name).set(if is_low { 1.0 } else { 0.0 });
        let (disk, free_mib, mark_mib) = (self.name, space.free / MIB, mark / MIB);
        match (was_low, is_low) {
            (false, true) => {
                tracing::error!(disk, free_mib, mark_mib, "a disk is nearly full: new tasks are refused");
            }
            (true, false) => {
                tracing::info!(disk, free_mib, mark_mib, "a disk has room again: new tasks are accepted");
            }
            _ => {}
        }
    }
}

/// All disks that may become full, with the store, which waits for room by itself.
pub(crate) struct Disks {
    /// Without any, none is ever low.
    pub(crate) disks: Vec<Disk>,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Disks {
    /// Refuses what would write while a disk is low or full.
    pub(crate) fn check(&self) -> Result<(), SubmitError> {
        self.full().map_or(Ok(()), |disk| Err(SubmitError::DiskFull(disk)))
    }

    /// What is kept on the disk for whose sake new tasks are refused.
    pub(crate) fn full(&self) -> Option<&'static str> {
        if self.store.waits_for_room() {
            return Some("store");
        }
        self.disks.iter().find(|disk| disk.is_low()).map(|disk| disk.name)
    }

    /// What files may still take of the media store's disk, in bytes; `None` where that is not known.
    pub(crate) fn media_room(&self) -> Option<u64> {
        let media = self.disks.iter().find(|disk| disk.name == "media")?;
        Some(media.room.load(Ordering::Relaxed)).filter(|room| *room != UNKNOWN)
    }

    /// Reads the free space of every disk, on a blocking thread.
    pub(crate) async fn look(self: &Arc<Self>) {
        if self.disks.is_empty() {
            return;
        }
        let all = Arc::clone(self);
        // A failed join means that the runtime is going down.
        let _ = tokio::task::spawn_blocking(move || all.disks.iter().for_each(Disk::look)).await;
    }

    pub(crate) async fn watch(self: Arc<Self>) {
        while !self.disks.is_empty() {
            self.clock.pause(INTERVAL).await;
            self.look().await;
        }
    }
}

/// Bytes below which a disk of that size is low, and new tasks are refused.
#[must_use]
pub fn mark(configured_mib: Option<u32>, size: u64) -> u64 {
    configured_mib.map_or_else(|| USUAL_MARK.min(size / USUAL_PART), |mib| u64::from(mib) * MIB)
}

/// A disk that was low is so until a quarter more than its mark is free: otherwise it would change with every file.
fn is_low(free: u64, mark: u64, was_low: bool) -> bool {
    free < if was_low { mark.saturating_add(mark / 4) } else { mark }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_has_a_small_mark() {
        for (configured, size_mib, expected_mib) in [
            (None, 100_000, 256),
            (None, 2560, 256),
            (None, 40, 4),
            (None, 0, 0),
            (Some(8), 40, 8),
            (Some(0), 40, 0),
        ] {
            assert_eq!(mark(configured, size_mib * MIB), expected_mib * MIB, "{configured:?} {size_mib}");
        }
    }

    #[test]
    fn a_disk_is_low_until_clearly_more_than_its_mark_is_free() {
        for (free, was_low, expected) in [
            (100, false, false),
            (99, false, true),
            (99, true, true),
            (124, true, true),
            (124, false, false),
            (125, true, false),
            (0, true, true),
        ] {
            assert_eq!(is_low(free, 100, was_low), expected, "{free} {was_low}");
        }
        assert!(!is_low(0, 0, true), "a mark of nothing refuses nothing");
    }
}

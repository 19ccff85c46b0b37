//! The check of the disks: a look each second, and the refusal of new work while one is low or full.

use std::sync::Arc;
use std::time::Duration;

use crate::disks::Disk;
use crate::errors::SubmitError;
use crate::state::DriverState;

/// Between two looks at the disks.
const INTERVAL: Duration = Duration::from_secs(1);

impl DriverState {
    /// Refuses what would write while a disk is low or full.
    pub(crate) fn check_disks(&self) -> Result<(), SubmitError> {
        self.full_disk().map_or(Ok(()), |disk| Err(SubmitError::DiskFull(disk)))
    }

    /// What is kept on the disk for whose sake new tasks are refused.
    pub(crate) fn full_disk(&self) -> Option<&'static str> {
        if self.store.waits_for_room() {
            return Some("store");
        }
        self.disks.iter().find(|disk| disk.is_low()).map(Disk::name)
    }

    /// What files may still take of the media store's disk; `None` where that is not known.
    pub(crate) fn media_room(&self) -> Option<u64> {
        self.disks.iter().find(|disk| disk.name() == "media")?.room()
    }

    /// Reads the free space of every disk, on a blocking thread.
    pub(crate) async fn look_at_disks(self: &Arc<Self>) {
        if self.disks.is_empty() {
            return;
        }
        let state = Arc::clone(self);
        // A failed join means that the runtime is going down.
        let _ = tokio::task::spawn_blocking(move || state.disks.iter().for_each(Disk::look)).await;
    }

    pub(crate) async fn watch_disks(self: Arc<Self>) {
        while !self.disks.is_empty() {
            self.clock.pause(INTERVAL).await;
            self.look_at_disks().await;
        }
    }
}

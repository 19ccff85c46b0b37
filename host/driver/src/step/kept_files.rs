//! Files that a step has to keep: those of a reply, and copies of results. While the media store is away they wait, until the
//! task's deadline, as far as [`WaitingFiles`] allows without the permit of the task's account.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_media::NewBlob;
use gatehouse_model::{Call, Reading, Task};

use crate::live::live_tasks::LiveTasks;
use crate::shared::Shared;
use crate::step::run_context::HeldPermit;
use crate::waiting_files::{WaitingFiles, Waits};

/// How long a step waits after the media store failed; the disk may be full for a while.
pub(in crate::step) const STORE_PAUSE: Duration = Duration::from_secs(5);

/// Keeps files of steps, or has them wait.
pub(crate) struct FileKeeper {
    pub(crate) shared: Arc<Shared>,
    pub(crate) live: Arc<LiveTasks>,
    /// What waits for a media store that is away.
    pub(crate) waiting: Arc<WaitingFiles>,
}

impl FileKeeper {
    /// Whether the files that the call's reply may bring can be kept, or may at least wait.
    pub(in crate::step) fn may_bring_files(&self, call: &Call) -> bool {
        call.reading == Reading::Whole || self.waiting.has_room()
    }

    /// Keeps files of a reply. The call is made and perhaps paid, so an outage of the store is waited for until the task's
    /// deadline.
    pub(super) async fn keep_for(
        &self,
        task: &Task,
        blobs: &[NewBlob],
        held: &mut HeldPermit,
    ) -> Result<(), gatehouse_media::Error> {
        let mut waits = None;
        let kept = loop {
            let error = match self.shared.media.keep_for(&task.customer, blobs).await {
                Ok(()) => break Ok(()),
                Err(error) => error,
            };
            if error.outage().is_none() || self.shared.now() >= self.shared.deadline(task) {
                break Err(error);
            }
            if waits.is_none() {
                tracing::warn!(task = %task.id, %error, "the files of a reply wait for the media store");
                let bytes = blobs.iter().map(|blob| blob.bytes.len() as u64).sum();
                waits = Some(self.begin_wait(bytes, task, held));
            }
            self.shared.clock.pause(STORE_PAUSE).await;
        };
        self.end_wait(waits, task, held);
        kept
    }

    /// Begins a wait for the media store with so many bytes in memory. What is within the bounds of all that waits gives the
    /// permit of the task's account back: its provider has answered.
    pub(super) fn begin_wait(&self, bytes: u64, task: &Task, held: &mut HeldPermit) -> Waits {
        let waits = self.waiting.enter(bytes);
        if waits.fits {
            *held = None;
            self.live.drop_account_permit(task.id);
        }
        waits
    }

    /// Ends a wait, if there was one: the task has its permit again, even above the account's limit: its job may still be in flight there.
    pub(super) fn end_wait(&self, waits: Option<Waits>, task: &Task, held: &mut HeldPermit) {
        let (Some(true), Some(assigned)) = (waits.map(|waits| waits.fits), &task.assignment) else {
            return;
        };
        let permit = self.shared.upstream.resume(&assigned.provider, &assigned.account, &task.customer);
        if let Some(permit) = permit.map(Arc::new) {
            self.live.keep_account_permit(task.id, Arc::clone(&permit));
            *held = Some(permit);
        }
    }
}

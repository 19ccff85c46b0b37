//! Recovery at start: every live task is pinned, placed and scheduled again.
//!
//! Reads the store, changes nothing in it: what is ambiguous is resolved by the task's own next step.
//! First visits are spread out, so that a restart does not stampede the providers (goal G10).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Phase, Task, UnixMs};
use gatehouse_store::StoreError;

use crate::driver::Inner;

/// First visits of tasks that wait for their provider spread over at least this and at most
/// [`SPREAD_MAX`], following the pace at which such tasks are polled anyway.
const SPREAD_MIN: Duration = Duration::from_secs(2);
const SPREAD_MAX: Duration = Duration::from_secs(30);

impl Inner {
    pub(crate) async fn recover(&self) -> Result<(), StoreError> {
        let now = self.now();
        let (mut live, mut homeless) = (0_u64, 0_u64);
        for task in self.store.live_tasks() {
            let task = task?;
            live += 1;
            let version = match self.families.version(&task.digest) {
                Ok(version) => Some(version),
                Err(missing) => {
                    homeless += 1;
                    tracing::error!(task = %task.id, family = task.family, %missing, "task waits for its plugin version");
                    None
                }
            };
            // A task already at its provider occupies its place there, limit or not.
            let place =
                task.assignment.as_ref().and_then(|seat| self.upstream.resume(&seat.provider, &seat.account));
            let due = self.first_visit(&task, now);
            self.live.add(task.id, version, place.map(Arc::new), due);
        }
        if live > 0 {
            tracing::info!(live, homeless, "picked up live tasks");
        }
        Ok(())
    }

    /// At once for work of our own; spread out for questions to a provider.
    fn first_visit(&self, task: &Task, now: UnixMs) -> UnixMs {
        let Phase::Wait(until) = task.phase else { return now };
        if until > now {
            return until.min(task.deadline);
        }
        let pace = (now.since(task.created) / 8).clamp(SPREAD_MIN, SPREAD_MAX);
        now.plus(pace.mul_f64(self.seed.unit())).min(task.deadline)
    }
}

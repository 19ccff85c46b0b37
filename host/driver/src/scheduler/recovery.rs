//! Recovery at a start: every live task gets its version, its account permit and its due time again, and what requests of the
//! process before held is released.
//!
//! It changes nothing of a task: the task's own next step resolves an ambiguous call. First steps are spread out, so that a restart
//! does not stampede the providers (goal G10).

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Phase, Task, UnixMs};
use gatehouse_store::StoreError;
use gatehouse_tasks::Command;

use crate::scheduler::run_loop::Scheduler;

/// First steps of tasks that wait for their provider are spread over at least this and at most [`SPREAD_MAX`],
/// by the pace at which such tasks are polled anyway.
const SPREAD_MIN: Duration = Duration::from_secs(2);
const SPREAD_MAX: Duration = Duration::from_secs(30);

impl Scheduler {
    pub(crate) async fn recover(&self) -> Result<(), StoreError> {
        self.release_requests().await?;
        let now = self.shared.now();
        let (mut live, mut without_version, mut last) = (0_u64, 0_u64, None);
        loop {
            let tasks = self.shared.when_there(|| self.shared.store.live_tasks(last)).await?;
            let Some(newest) = tasks.last() else { break };
            last = Some(newest.id);
            for task in tasks {
                live += 1;
                without_version += u64::from(!self.resume(&task, now).await);
            }
        }
        if live > 0 {
            tracing::info!(live, without_version, "recovered live tasks");
        }
        Ok(())
    }

    /// Releases what requests hold that another process began to answer: it is gone, nobody else ends them, and until they expire
    /// they would count against the limits of their keys and the money of their customers.
    async fn release_requests(&self) -> Result<(), StoreError> {
        let left = self.shared.when_there(|| self.shared.store.open_requests()).await?;
        if !left.is_empty() {
            tracing::info!(requests = left.len(), "released what requests of the process before held");
        }
        let now = self.shared.now();
        left.into_iter().try_for_each(|id| self.shared.store.post(Command::Release { id, at: now }))
    }

    /// Schedules a task; whether its version is there.
    async fn resume(&self, task: &Task, now: UnixMs) -> bool {
        let version = self.shared.plugins.version(&task.digest).await.inspect_err(|missing| {
            tracing::error!(task = %task.id, family = task.family, %missing, "task waits for its plugin version");
        });
        let version = version.ok();
        let has_version = version.is_some();
        // The provider already works on the task, so it counts there even above the limit.
        let permit = task.assignment.as_ref().and_then(|assigned| {
            self.shared.upstream.resume(&assigned.provider, &assigned.account, &task.customer)
        });
        self.live.add(task.id, version, permit.map(Arc::new), self.first_run(task, now));
        has_version
    }

    /// At once for the host's own work; spread out for a poll of a provider.
    fn first_run(&self, task: &Task, now: UnixMs) -> UnixMs {
        let Phase::Wait(until) = task.phase else { return now };
        if !task.joined.is_empty() {
            return now;
        }
        if until > now {
            return until.min(self.shared.deadline(task));
        }
        let pace = (now.since(task.created) / 8).clamp(SPREAD_MIN, SPREAD_MAX);
        now.plus(pace.mul_f64(self.shared.seed.unit())).min(self.shared.deadline(task))
    }
}

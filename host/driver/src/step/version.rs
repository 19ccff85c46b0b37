//! Which plugin version takes a task's next step: the active one if it reads the task's state, else the one that
//! admitted the task.

use std::sync::Arc;
use std::time::Duration;

use gatehouse_model::{Task, UnixMs};
use gatehouse_runtime::{Fault as PluginFault, StateBefore, StepRoute, Version, VersionUnavailable};

use crate::step::plugin::{BUSY_PAUSE, PluginSteps};
use crate::step::run_context::RunContext;

/// How long a task waits for a missing plugin version before the next look-up.
const MISSING_PAUSE: Duration = Duration::from_secs(30);

/// A version, and the state before a migration for it.
type Found = (Arc<Version>, Option<StateBefore>);

impl PluginSteps {
    /// The version for the next step. Migrates the state where the active version reads it. The error is the
    /// moment of the next look-up: a task without its version waits, and never fails silently.
    pub(super) async fn version_for(&self, run: &mut RunContext) -> Result<Found, UnixMs> {
        let task = &run.task;
        match self.shared.plugins.route(&task.family, &task.digest, task.state_version).await {
            Ok(StepRoute::Run(version)) => Ok((version, None)),
            Ok(StepRoute::Migrate(active)) if !self.live.is_unread_by(task.id, active.digest()) => {
                self.migrate(run, active).await
            }
            Ok(StepRoute::Migrate(_)) => self.pinned(task).await,
            Err(missing) => Err(self.without_version(task, &missing)),
        }
    }

    /// Rewrites the state for the active version, or stays with the pinned one where that fails.
    async fn migrate(&self, run: &mut RunContext, active: Arc<Version>) -> Result<Found, UnixMs> {
        let task = &mut run.task;
        let writer = self.shared.plugins.version(&task.digest).await;
        let migrated = self.shared.plugins.migrate(&active, task.state_version, task.state.clone()).await;
        let reason = match migrated {
            Ok(Ok(state)) => {
                let before = std::mem::replace(&mut task.state, state);
                task.state_version = active.about().state_version;
                task.digest = active.digest();
                self.live.pin(task.id, Arc::clone(&active));
                return Ok((active, writer.ok().map(|by| StateBefore { by, state: before })));
            }
            Ok(Err(reason)) => reason,
            Err(PluginFault::Busy) => return Err(self.shared.now().plus(BUSY_PAUSE)),
            Err(fault) => fault.to_string(),
        };
        // Tried once: a version that fails slowly would otherwise slow down every step of the task.
        self.live.mark_unread(task.id, active.digest());
        tracing::warn!(task = %task.id, family = task.family, reason, "state not migrated, staying on the pinned version");
        if active.is_first_unread() {
            let remedy = "read the older forms in `migrate`, or take them out of READS_STATE";
            tracing::warn!(family = task.family, digest = %active.digest(), remedy, "a version claims to read states that it cannot read");
        }
        self.pinned(task).await
    }

    async fn pinned(&self, task: &Task) -> Result<Found, UnixMs> {
        let pinned = self.shared.plugins.version(&task.digest).await;
        pinned.map(|version| (version, None)).map_err(|missing| self.without_version(task, &missing))
    }

    fn without_version(&self, task: &Task, missing: &VersionUnavailable) -> UnixMs {
        tracing::error!(task = %task.id, family = task.family, digest = %task.digest, %missing, "task waits for its plugin version");
        self.shared.now().plus(MISSING_PAUSE)
    }
}

//! Schedules a task again when its step panics.

use std::time::Duration;

use gatehouse_model::{Clock, TaskId};

use crate::live::live_tasks::LiveTasks;

/// How long a task rests after a panic in its step.
const PANIC_PAUSE: Duration = Duration::from_secs(30);

/// A step that has begun; its task rests, if this is dropped without [`StepGuard::end`].
pub(crate) struct StepGuard<'a> {
    live: &'a LiveTasks,
    clock: &'a dyn Clock,
    task: TaskId,
    has_ended: bool,
}

impl<'a> StepGuard<'a> {
    pub(crate) fn new(live: &'a LiveTasks, clock: &'a dyn Clock, task: TaskId) -> Self {
        Self { live, clock, task, has_ended: false }
    }

    /// The step has ended, and its task is scheduled again or forgotten.
    pub(crate) fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for StepGuard<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            let now = self.clock.now();
            self.live.rearm(self.task, now.plus(PANIC_PAUSE), now);
        }
    }
}
